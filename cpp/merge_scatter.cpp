// The cross-products of two sets of rows together, and of one without the other.
#include "dispatch.hpp"
#include "merge_moments.hpp"
#include "scatter_sums.hpp"

namespace suffice {
namespace {

void add_row(const double* x, const double* pivot, double w, double* __restrict z, double* __restrict z_low,
             ScatterSums sums) {
    const Index d = sums.cols;
    double* sum = sums.sum();
    add_to(sums.weight()[0], sums.weight()[1], w);
    for (Index j = 0; j < d; ++j) {
        const Pair step = two_sum(x[j], -pivot[j]);
        z[j] = step.high, z_low[j] = step.low;
        const Pair term = two_product(w, step.high);
        add_to(sum[j], sum[d + j], term.high);
        sum[d + j] += term.low + w * step.low;
    }
    for (Index i = 0; i < d; ++i) {
        Pair wz = two_product(w, z[i]);
        wz.low += w * z_low[i];
        double* __restrict high = sums.cross() + i * d;
        double* __restrict low = high + d * d;
#pragma omp simd
        for (Index j = i; j < d; ++j) {
            const double product = wz.high * z[j], lost = product_error(wz.high, z[j], product);
            const double whole = high[j] + product, part = whole - high[j];
            low[j] += ((high[j] - (whole - part)) + (product - part)) + (lost + (wz.low * z[j] + wz.high * z_low[j]));
            high[j] = whole;
        }
    }
}

}  // namespace

SUFFICE_DISPATCH(scatter_row, add_row)

#ifndef SUFFICE_ONLY_LOOPS_FOR

void add_product(const double* x, const double* pivot, double w, double* z, double* z_low, ScatterSums sums) {
    fast::scatter_row(x, pivot, w, z, z_low, sums);
}

void add_plain(const double* values, const double* low, Index n, double* high_to, double* low_to) {
    for (Index k = 0; k < n; ++k) {
        add_to(high_to[k], low_to[k], values[k]);
        if (low) low_to[k] += low[k];
    }
}

void finish_scatter(ScatterSums sums, const double* pivot, Index exact_rows, Scatter out) {
    const Index d = sums.cols;
    const double rounding = exact_rows ? exact_error(exact_rows) : plain_error;
    const Pair w = two_sum(sums.weight()[0], sums.weight()[1]);
    out.weight[0] = w.high;
    if (!(w.high > 0)) return;
    double *mean_rest = out.rest + 2, *doubt = mean_rest + 2 * d, *low = doubt + d;
    out.rest[0] = w.low, out.rest[1] = w.low != 0 ? weight_error(rounding) * w.high : 0.0;
    auto sum_of = [&](Index j) { return two_sum(sums.sum()[j], sums.sum()[d + j]); };
    for (Index i = 0; i < d; ++i) {
        const Pair sum = sum_of(i), shift = sum / w, mean = Pair{pivot[i], 0} + shift;
        const double second = sums.cross()[i * d + i];
        out.mean[i] = mean.high, mean_rest[i] = mean.low;
        mean_rest[d + i] = rounding * std::sqrt(second / w.high) + pair_error * std::fabs(mean.high);
        doubt[i] = rounding * second;
        for (Index j = i; j < d; ++j) {
            const Index at = i * d + j;
            Pair cross = two_sum(sums.cross()[at], sums.cross()[d * d + at]) - shift * sum_of(j);
            if (i == j && cross.high <= (rounding < 0x1p-53 ? 2 * doubt[i] : 0.0)) cross = {};  // a NaN stays
            out.cross[at] = out.cross[j * d + i] = cross.high;
            low[at] = low[j * d + i] = cross.low;
        }
    }
    for (Index i = 0; i < d; ++i)  // a column that does not vary goes with no other
        for (Index j = 0; j < d && out.cross[i * d + i] == 0; ++j)
            out.cross[i * d + j] = out.cross[j * d + i] = low[i * d + j] = low[j * d + i] = 0;
}

namespace {

// One class of a table.
Scatter class_of(const Scatter& t, Index c, Index d) {
    const Index width = 2 + 3 * d + d * d;
    return {t.weight + c, t.mean + c * d, t.cross + c * d * d, t.rest ? t.rest + c * width : nullptr};
}

Sum weight_of(const Scatter& t) {
    if (t.rest) return {{t.weight[0], t.rest[0]}, t.rest[1]};
    return {{t.weight[0], 0}, outside_doubt(t.weight[0])};
}

Cell cell_of(const Scatter& t, Index j, Index d) {
    const double w = t.weight[0], m = t.mean[j], s = t.cross[j * d + j];
    if (t.rest) {
        const double *p = t.rest + 2, *low = p + 3 * d;
        return {weight_of(t), {{m, p[j]}, p[d + j]}, {{s, low[j * d + j]}, p[2 * d + j]}};
    }
    const double spread = std::sqrt(s / (w > 0 ? w : 1.0)), doubt = outside_error * (std::fabs(m) + spread);
    return {weight_of(t), {{m, 0}, doubt}, {{s, 0}, outside_error * s + 2 * w * spread * doubt}};
}

Pair cross_of(const Scatter& t, Index at, Index d) { return {t.cross[at], t.rest ? t.rest[2 + 3 * d + at] : 0.0}; }

}  // namespace

Index merge_scatter(Scatter all_a, Scatter all_b, Index classes, Index cols, double sign, Scatter all_out,
                    Index* what) {
    const Index d = cols;
    Index found = -1;
    *what = 0;
    std::vector<Pair> step(d);
    std::vector<Cell> cell(d);
    for (Index c = 0; c < classes; ++c) {
        const Scatter a = class_of(all_a, c, d), b = class_of(all_b, c, d), out = class_of(all_out, c, d);
        const Sum p = weight_of(a), q = weight_of(b), weight = sign > 0 ? p + q : p - q;
        auto report = [&](Refused why, Index j) {
            if (why != Refused::none && found < 0) found = c * std::max<Index>(d, 1) + j, *what = Index(why);
        };
        if (sign < 0 && exceeds(q, p)) report(Refused::weight, 0);
        const bool no_a = !(p.value.high > 0), no_b = !(q.value.high > 0), none = !(weight.value.high > 0);
        out.weight[0] = weight.value.high, out.rest[0] = weight.value.low, out.rest[1] = weight.doubt;
        double *mean_rest = out.rest + 2, *doubt = mean_rest + 2 * d, *low = doubt + d;
        for (Index j = 0; j < d; ++j) {
            Refused refused = Refused::none;
            const Cell own = cell_of(a, j, d), other = cell_of(b, j, d);
            step[j] = other.mean.value - own.mean.value;
            cell[j] = sign > 0 ? merged(own, other) : without(own, other, refused);
            const double sizes = cell[j].weight.value.high + cell[j].mean.value.high + cell[j].squares.value.high;
            if (refused == Refused::none && !std::isfinite(sizes)) refused = Refused::overflow;
            report(refused, j);
            out.mean[j] = cell[j].mean.value.high, mean_rest[j] = cell[j].mean.value.low;
            mean_rest[d + j] = cell[j].mean.doubt, doubt[j] = cell[j].squares.doubt;
        }
        const Pair lever = none ? Pair{} : p.value * (q.value / weight.value);
        for (Index i = 0; i < d; ++i)
            for (Index j = i; j < d; ++j) {
                const Index at = i * d + j;
                const Pair mine = cross_of(a, at, d), theirs = cross_of(b, at, d);
                Pair cross = {};
                if (i == j)
                    cross = cell[i].squares.value;
                else if (none || cell[i].squares.value.high == 0 || cell[j].squares.value.high == 0)
                    cross = {};
                else if (no_b)
                    cross = mine;
                else if (no_a)
                    cross = theirs;
                else if (sign > 0)
                    cross = mine + (theirs + step[i] * step[j] * lever);
                else
                    cross = mine - (theirs + step[i] * step[j] * lever);
                if (!std::isfinite(cross.high)) report(Refused::overflow, j);
                out.cross[at] = out.cross[j * d + i] = cross.high;
                low[at] = low[j * d + i] = cross.low;
            }
    }
    return found;
}

#endif

}  // namespace suffice
