// The algebra of sums that keep what rounding takes: a + b, a - b and factor * a, number by number.
#include "dispatch.hpp"
#include "kernels.hpp"
#include "merge_moments.hpp"

namespace suffice {
namespace {

bool add_numbers(const double* a, const double* b, Index n, double sign, double* out) {
    bool whole = true;
    for (Index i = 0; i < n; ++i) {
        const double sum = a[i] + sign * b[i];
        whole &= is_whole(a[i]), whole &= is_whole(b[i]), whole &= std::fabs(sum) < 0x1p53;  // without branches
        out[i] = sum;
    }
    return whole;
}

}  // namespace

SUFFICE_DISPATCH(add_whole, add_numbers)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

// Sum i of a table whose `rest` (n, 2) holds what rounding took and the doubt; without it the numbers are exact.
SUFFICE_INLINE Sum sum_at(Sums s, Index i) {
    if (s.rest) return {{s.value[i], s.rest[2 * i]}, s.rest[2 * i + 1]};
    return {{s.value[i], 0}, 0};
}

SUFFICE_INLINE void put(const Sum& sum, Sums out, Index i) {
    out.value[i] = sum.value.high;
    out.rest[2 * i] = sum.value.low, out.rest[2 * i + 1] = sum.doubt;
}

// The cell of class i and column j.
Cell cell_at(const Moments& t, Index i, Index j, Index cols) {
    const Index k = i * cols + j;
    const double w = t.weight[k], m = t.mean[k], s = t.squares[k];
    if (t.rest) {
        const double* p = t.rest + 6 * i * cols + j;
        return {{{w, p[0]}, p[3 * cols]}, {{m, p[cols]}, p[4 * cols]}, {{s, p[2 * cols]}, p[5 * cols]}};
    }
    const double spread = std::sqrt(s / (w > 0 ? w : 1.0)), doubt = outside_error * (std::fabs(m) + spread);
    return {{{w, 0}, outside_doubt(w)}, {{m, 0}, doubt}, {{s, 0}, outside_error * s + 2 * w * spread * doubt}};
}

}  // namespace

bool add_whole(const double* a, const double* b, Index n, double sign, double* out) {
    return fast::add_whole(a, b, n, sign, out);
}

Index add_sums(Sums a, Sums b, Index n, double sign, Sums out) {
    Index refused = -1;
    for (Index i = 0; i < n; ++i) {
        const Sum p = sum_at(a, i), q = sum_at(b, i);
        if (sign < 0 && refused < 0 && exceeds(q, p)) refused = i;
        put(sign < 0 ? p - q : p + q, out, i);
    }
    return refused;
}

bool join_parts(const double* value, const double* low, Index n, double error, Sums out) {
    bool any = false;
    for (Index i = 0; i < n; ++i) {
        const Pair sum = two_sum(value[i], low[i]);
        any |= low[i] != 0;
        put({sum, low[i] != 0 ? error * std::fabs(sum.high) : 0.0}, out, i);
    }
    return any;
}

void scale_sums(Sums a, Index n, double factor, Sums out) {
    int exponent;
    const bool exact = std::fabs(std::frexp(factor, &exponent)) == 0.5;  // a power of two keeps every digit
    for (Index i = 0; i < n; ++i) {
        const Sum own = sum_at(a, i);
        const Pair value = scaled(own.value, factor);
        const double digit = !exact && value.low != 0 ? scale_error * std::fabs(value.high) : 0.0;
        put({value, std::fabs(factor) * own.doubt + digit}, out, i);
    }
}

void sum_segments(const double* value, const double* low, const Index* start, Index segments, double* out,
                  double* out_low) {
    for (Index s = 0; s < segments; ++s) {
        double high = 0, lost = 0;
        for (Index i = start[s]; i < start[s + 1]; ++i) {
            add_to(high, lost, value[i]);
            if (low) lost += low[i];
        }
        const Pair sum = two_sum(high, lost);
        out[s] = sum.high, out_low[s] = sum.low;
    }
}

namespace {

// Write one cell; returns whether it is finite.
bool put_cell(const Cell& cell, Moments out, Index row, Index column, Index cols) {
    const Index k = row * cols + column;
    out.weight[k] = cell.weight.value.high, out.mean[k] = cell.mean.value.high;
    out.squares[k] = cell.squares.value.high;
    double* rest = out.rest + 6 * row * cols + column;
    rest[0] = cell.weight.value.low, rest[cols] = cell.mean.value.low;
    rest[2 * cols] = cell.squares.value.low, rest[3 * cols] = cell.weight.doubt;
    rest[4 * cols] = cell.mean.doubt, rest[5 * cols] = cell.squares.doubt;
    return std::isfinite(out.weight[k] + out.mean[k] + out.squares[k]);
}

}  // namespace

Index merge_moments(Moments a, Moments b, Index rows, Index cols, double sign, Moments out, Index* what) {
    Index at = -1;
    *what = 0;
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < cols; ++j) {
            Refused refused = Refused::none;
            const Cell p = cell_at(a, i, j, cols), q = cell_at(b, i, j, cols);
            const Cell cell = sign > 0 ? merged(p, q) : without(p, q, refused);
            const bool finite = put_cell(cell, out, i, j, cols);
            if (refused == Refused::none && !finite) refused = Refused::overflow;
            if (refused != Refused::none && at < 0) at = i * cols + j, *what = Index(refused);
        }
    return at;
}

Index pool_moments(Moments a, Index groups, Index classes, Index cols, Moments out) {
    Index at = -1;
    for (Index g = 0; g < groups; ++g)
        for (Index j = 0; j < cols; ++j) {
            Cell whole{};
            for (Index c = 0; c < classes; ++c) whole = merged(whole, cell_at(a, g * classes + c, j, cols));
            if (!put_cell(whole, out, g, j, cols) && at < 0) at = j;
        }
    return at;
}

#endif

}  // namespace suffice
