// The families of many columns of numbers, chosen by their cells: see `Automatic` in families/choose.py.
#pragma once

#include <vector>

#include "kernels.hpp"

namespace suffice {

// Distinct values of columns: those of class c of column j are at[start[j * classes + c]] .., ascending, with weights
// that are integers of at least 1.
struct ManyPoints {
    const double* at;
    const double* weight;
    const Index* start;
    Index columns, classes;
};

struct ChoiceRules {
    double smoothing;       // added to every count
    Index bins;             // of about equal weight
    Index most_categories;  // distinct values that may be categories
    double repeats;         // times that a value must occur on average for that
    double common;          // if one value has a larger share, there is no kernel
    double margin;          // standard errors by which a column must beat the class prior to vote; negative: it votes
};

enum Candidate { student, bins, values, kernel, candidates, general = -1 };

// What is left of a column after the choice: enough to score rows.
struct ChosenColumn {
    int choice = general;  // the caller must choose
    bool votes = true;
    double score = 0, chance = 0;
    std::vector<double> place;  // Student's means, edges of bins, values, or bandwidths
    std::vector<double> scale;  // Student's 1 / (√ν s), ½ (ν + 1) and log-norms
    std::vector<double> table;  // log-probabilities of bins or values, (values + 1, classes), the last of unknown ones
};

// Rows to leave out: their values in each column (columns, rows), NaN being missing, and their classes.
struct LeftOut {
    const double* x;
    const std::int32_t* code;
    Index rows;
};

// Choose the family of each column by exact leave-one-out. evidence (rows, classes) gets the log-densities of the rows
// left out, each under the points without it, up to a term that all classes share; columns that `general` stands for are
// left out of it. Returns whether all rows were among the points.
bool choose_columns(ManyPoints points, ChoiceRules rules, LeftOut left, std::vector<ChosenColumn>& out,
                    double* evidence);

// out (rows, classes) += log-densities of the values of rows in chosen columns, up to a term that all classes share.
// Column j is x[j], of stride[j]. Returns the position row * columns + j of an infinite value, or -1.
Index add_chosen(ManyPoints points, const std::vector<ChosenColumn>& chosen, const std::vector<const double*>& x,
                 const std::vector<Index>& stride, Index rows, double* out);

}  // namespace suffice
