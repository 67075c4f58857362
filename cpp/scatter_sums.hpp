// Sums of the products of rows with what rounding takes from them, for scatter.cpp. They are compiled without
// contraction, which the products of panels need.
#pragma once

#include "kernels.hpp"

namespace suffice {

// Sums of rows of one class about a pivot: weight, sum (cols,) and products (cols, cols) at and above the diagonal, each
// followed by what rounding took from it.
struct ScatterSums {
    Index cols;
    double* data;

    static Index size(Index cols) { return 2 * (1 + cols + cols * cols); }
    double* weight() const { return data; }
    double* sum() const { return data + 2; }
    double* cross() const { return data + 2 + 2 * cols; }
    Index cells() const { return 1 + cols + cols * cols; }
};

// Add n plain sums to those of a class, `low` may be null.
void add_plain(const double* values, const double* low, Index n, double* high_to, double* low_to);
// Add one row to the sums exactly; z and z_low are scratch of `cols`.
void add_product(const double* x, const double* pivot, double w, double* z, double* z_low, ScatterSums sums);
// Turn the sums of a class about its pivot into weight, mean, cross and rest. `exact_rows` is over how many rows the sums
// are exact, or 0 if they are rounded to float64.
void finish_scatter(ScatterSums sums, const double* pivot, Index exact_rows, Scatter out);

}  // namespace suffice
