// Gaussian log-densities of every row, each with that row taken out of the statistics.
#include <cmath>

#include "threads.hpp"
#include "vector_math.hpp"

namespace suffice {

struct LeaveOneOutInput {
    double smoothing;
    const double* floor;  // (cols,)
    Index classes, cols;
    const double *weight, *mean, *squares;                                          // (classes, cols)
    std::vector<double> variance = {};                                              // (classes, cols), nothing added
    std::vector<double> pooled_weight = {}, pooled_mean = {}, pooled_squares = {};  // (cols,)
    // Variances with the smoothing term of all data, and not below the floor:
    double whole_extra = 0, largest_inverse = 0;
    std::vector<double> inverse = {}, log_variance = {};  // (classes, cols)
};

namespace {

// Mean and centred squares per weight of a column once an entry of weight w at x is taken out.
struct Without {
    double mean, variance;
    bool any;
};
SUFFICE_INLINE Without without(double x, double w, double weight, double mean, double squares) {
    const double left = weight - w, off = x - mean;
    const bool any = left > residue * weight;
    const double inverse = 1 / (any ? left : 1.0), share = w * inverse;
    double rest = squares - off * off * share * weight;
    rest = rest > 3.6e-15 * squares ? rest : 0.0;  // only rounding is left
    return {any ? mean - off * share : 0.0, any ? rest * inverse : 0.0, any};
}

// Σ_j log N(x_j; mean_j, variance_j + extra), missing entries left out.
SUFFICE_INLINE double log_density(const double* __restrict x, const double* __restrict mean,
                                  const double* __restrict variance, double extra, const double* __restrict floor,
                                  Index d) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index j = 0; j < d; ++j) {
        double v = variance[j] + extra;
        v = v > floor[j] ? v : floor[j];
        double off = x[j] - mean[j], term = off * off / v + vector_log(v) + log_2pi;
        sum += x[j] == x[j] ? term : 0.0;
    }
    return -0.5 * sum;
}

// The same for variances v with known inverses and logarithms, each changed by `extra`, which is so small that one
// step along the derivative, 1/v - off²/v², is exact to rounding.
SUFFICE_INLINE double log_density_nearby(const double* __restrict x, const double* __restrict mean,
                                         const double* __restrict inverse, const double* __restrict log_variance,
                                         double extra, Index d) {
    double sum = 0, slope = 0;
#pragma omp simd reduction(+ : sum, slope)
    for (Index j = 0; j < d; ++j) {
        const double off = x[j] - mean[j], z = off * off * inverse[j];
        sum += x[j] == x[j] ? z + log_variance[j] : 0.0;
        slope += x[j] == x[j] ? inverse[j] - z * inverse[j] : 0.0;
    }
    return -0.5 * (sum + extra * slope);
}

// One row; x, own_mean and own_variance are scratch of d entries, x holding the row.
void leave_out(const LeaveOneOutInput& in, Index cls, double w, const double* x, double* own_mean, double* own_variance,
               double* out) {
    const Index d = in.cols, own = cls * d;
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (Index j = 0; j < d; ++j) {
        const bool seen = x[j] == x[j];
        const double wj = seen ? w : 0.0, xj = seen ? x[j] : 0.0;
        Without here = without(xj, wj, in.weight[own + j], in.mean[own + j], in.squares[own + j]);
        Without all = without(xj, wj, in.pooled_weight[j], in.pooled_mean[j], in.pooled_squares[j]);
        own_mean[j] = here.any ? here.mean : all.mean;  // a class without values takes the pooled mean
        own_variance[j] = here.any ? here.variance : all.variance;
        largest = largest > all.variance ? largest : all.variance;
    }
    const double extra = in.smoothing * largest, change = extra - in.whole_extra;
    const bool nearby = std::fabs(change) * in.largest_inverse < 1e-9;
    for (Index c = 0; c < in.classes; ++c) {
        const Index at = c * d;
        if (c == cls)
            out[c] = log_density(x, own_mean, own_variance, extra, in.floor, d);
        else if (nearby)
            out[c] =
                log_density_nearby(x, in.mean + at, in.inverse.data() + at, in.log_variance.data() + at, change, d);
        else
            out[c] = log_density(x, in.mean + at, in.variance.data() + at, extra, in.floor, d);
    }
}

}  // namespace

SUFFICE_DISPATCH(gaussian_left_out, leave_out)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
Index gaussian_leave_one_out(Matrix<T> x, Rows rows, double smoothing, const double* floor, const double* weight,
                             const double* mean, const double* squares, double* out) {
    const Index d = x.cols, k = rows.classes, cells = k * d;
    LeaveOneOutInput in{smoothing, floor, k, d, weight, mean, squares};
    in.variance.resize(cells), in.inverse.resize(cells), in.log_variance.resize(cells);
    in.pooled_weight.resize(d), in.pooled_mean.resize(d), in.pooled_squares.resize(d);
    for (Index c = 0; c < k; ++c)
        for (Index j = 0; j < d; ++j) {
            const Index at = c * d + j;
            in.variance[at] = weight[at] > 0 ? squares[at] / weight[at] : 0.0;
            const double sum = in.pooled_weight[j] + weight[at], share = sum > 0 ? weight[at] / sum : 0.0;
            const double step = mean[at] - in.pooled_mean[j];
            in.pooled_squares[j] += squares[at] + step * step * in.pooled_weight[j] * share;
            in.pooled_mean[j] += step * share;
            in.pooled_weight[j] = sum;
        }
    for (Index j = 0; j < d; ++j)
        if (in.pooled_weight[j] > 0)
            in.whole_extra = std::max(in.whole_extra, smoothing * in.pooled_squares[j] / in.pooled_weight[j]);
    for (Index at = 0; at < cells; ++at) {
        const double v = std::max(in.variance[at] + in.whole_extra, floor[at % d]);
        in.inverse[at] = 1 / v;
        in.log_variance[at] = log_2pi + std::log(v);
        in.largest_inverse = std::max(in.largest_inverse, in.inverse[at]);
    }
    const Index size = 256, blocks = (x.rows + size - 1) / size;
    const int threads = threads_for(x.rows * cells, blocks);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>(3 * d));
    FirstPosition infinite;
    for_blocks(blocks, threads, [&](Index b, int slot) {
        double* row = scratch[slot].data();
        for (Index i = b * size; i < std::min(x.rows, (b + 1) * size); ++i) {
            for (Index j = 0; j < d; ++j) {
                row[j] = x.data[i * x.row_stride + j * x.col_stride];
                if (std::isinf(row[j])) infinite.report(i * d + j);
            }
            fast::gaussian_left_out(in, rows.code[i], rows.weight ? rows.weight[i] : 1.0, row, row + d, row + 2 * d,
                                    out + i * k);
        }
    });
    return infinite.get();
}

template Index gaussian_leave_one_out(Matrix<double>, Rows, double, const double*, const double*, const double*,
                                      const double*, double*);
template Index gaussian_leave_one_out(Matrix<float>, Rows, double, const double*, const double*, const double*,
                                      const double*, double*);

#endif

}  // namespace suffice
