// Scores of the families that a column may have, each by exact leave-one-out.
#pragma once

#include <vector>

#include "student.hpp"

namespace suffice {

// Cells of a column, class by class, each ascending: they begin at `edge`, end with `last`, and stand for values at
// `place` of some weight. Class c is at start[c] : start[c + 1].
struct ColumnPoints {
    const double *edge, *last, *place, *weight;
    const Index* start;
    Index points() const { return start[classes]; }
    Index classes;
};

// How many distinct cells all classes of a column have, their weight, and the largest weight of one.
struct ColumnShape {
    Index distinct;
    double total, largest;
};
ColumnShape shape_of(const ColumnPoints& column);

enum class CandidateKind : int { student = 0, bins = 1, values = 2 };

// A family to score: bins and values have an amount of smoothing, and a number of bins or of categories.
struct Candidate {
    CandidateKind kind;
    double amount;
    Index bins;
};

// The mean log p(y | x) of rows that were left out, the mean log p(y), and the standard error of the difference.
struct Score {
    double mean, chance, error;
};

// Score candidates of a column on some of its points, or on all (null). A point of larger weight than 1 stands for as
// many rows. Returns false if the squares of the values are too large for double.
bool score_candidates(const ColumnPoints& column, const Index* some, Index scored, StudentPrior prior,
                      const std::vector<Candidate>& candidates, Score* out);

// Score log p(x | y) of rows, (rows, classes), that were left out.
Score score_log_densities(const double* log_density, Rows rows, Index n);

// Cut sorted values with the last number that belongs to each into bins: a value with more than 1/bins of the weight is
// a bin of its own, the others share `bins` bins of about equal weight, and at most `bins` values are a bin each. Writes
// whether there is a cut after each value.
void cut_with_ties(const double* weight, Index n, Index bins, std::vector<char>& cut);

// The table of counts of a column, (classes, sizes): of the bins that `cut_with_ties` makes, with the edges between them,
// or with bins = 0 of its distinct values, which are the edges then.
struct ColumnTable {
    std::vector<double> edges, weight;
    Index size = 0;
};
ColumnTable table_of(const ColumnPoints& column, Index bins);

// The middle of a and b, or a if there is no number between them.
double between(double a, double b);

}  // namespace suffice
