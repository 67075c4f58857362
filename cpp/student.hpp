// Student's t of each class of one column: the normal distribution with mean and variance integrated out, under a weak
// normal-inverse-gamma prior that is centred on all classes together.
#pragma once

#include <vector>

#include "kernels.hpp"

namespace suffice {

// Weight, mean and centred squares of a class; the mean is relative to an origin near the values, so that large numbers
// that differ by little keep their digits.
struct ClassMoments {
    double weight = 0, mean = 0, squares = 0;
};

// All classes of a column, and what is known of the others of each class.
struct StudentColumn {
    StudentColumn(StudentPrior prior, double origin, std::vector<ClassMoments> classes);

    StudentPrior prior;
    double origin;
    std::vector<ClassMoments> of;
    std::vector<double> norm, norm_without_one;  // log Γ(a + ½) / Γ(a), a = shape + weight / 2; also without one row
    std::vector<double> weight, moment, within, largest;  // of the other classes: Σ n, Σ n mean, Σ squares, max |mean|
};

constexpr Index student_rows = 256;  // that are left out at a time

// Rows of one class, and what is left of the class without each.
struct StudentRows {
    Index n = 0;
    double x[student_rows], taken[student_rows];  // values, and the weight that is left out
    double weight[student_rows], mean[student_rows], squares[student_rows];
    bool lossy[student_rows];  // so much is taken that few digits are left: the caller computes it otherwise
    double centre[student_rows], pooled[student_rows], scale[student_rows], floor[student_rows], norm[student_rows];
};

// Take each row out of the moments of class c.
void leave_out(const StudentColumn& column, Index c, StudentRows& rows);

// Write log p(x | class) of rows of class c, each left out, to out (classes, student_rows).
void log_densities(const StudentColumn& column, Index c, StudentRows& rows, double* out);

}  // namespace suffice
