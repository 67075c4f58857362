// Weight, mean and centred squares in one pass over the data.
//
// Within a block of rows each class sums x - p and (x - p)² around a pivot p, its first value there:
// shifted sums lose nothing to cancellation when the pivot lies among the data. Blocks are then
// merged by the pairwise formula of Chan, Golub and LeVeque (1979).
#include <cmath>
#include <limits>

#include "buffer.hpp"
#include "transpose.hpp"

namespace suffice {

// Sums of one block: entry c * stride + j belongs to class c and column j.
struct MomentSums {
    Index stride;
    Buffer weight, pivot, first, second;

    MomentSums(Index classes, Index cols)
        : stride(padded(cols)), weight(classes * stride), pivot(classes * stride), first(classes * stride),
          second(classes * stride) {}
    void clear() {
        weight.fill(0);
        pivot.fill(std::numeric_limits<double>::quiet_NaN());
        first.fill(0);
        second.fill(0);
    }
};

namespace {

SUFFICE_INLINE double* aligned(double* p) { return static_cast<double*>(__builtin_assume_aligned(p, 64)); }

// Where the sums of a class are, from one column on.
struct Place {
    double *weight, *pivot, *first, *second;
};

// One row into its class, no value missing: the class's weight and pivots are known beforehand.
template <bool weighted, class T>
SUFFICE_INLINE void add_row(const T* __restrict x, Index cols, double w, Place to) {
    const double* __restrict pivot = aligned(to.pivot);
    double *__restrict first = aligned(to.first), *__restrict second = aligned(to.second);
#pragma omp simd
    for (Index j = 0; j < cols; ++j) {
        const double d = x[j] - pivot[j], wd = weighted ? w * d : d;
        first[j] += wd;
        second[j] += wd * d;
    }
}

// The same where some values may be missing: every column has its own weight, and its first value as pivot.
template <class T>
SUFFICE_INLINE bool add_row_with_gaps(const T* __restrict x, Index cols, double w, Place to) {
    double *__restrict weight = aligned(to.weight), *__restrict pivot = aligned(to.pivot),
                       *__restrict first = aligned(to.first), *__restrict second = aligned(to.second);
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (Index j = 0; j < cols; ++j) {
        double v = x[j], p = pivot[j];
        p = p == p ? p : v;
        const bool seen = v == v;
        const double d = seen ? v - p : 0.0, wd = w * d, size = seen ? std::fabs(v) : 0.0;
        pivot[j] = p;
        weight[j] += seen ? w : 0.0;
        first[j] += wd;
        second[j] += wd * d;
        largest = largest > size ? largest : size;
    }
    return largest == std::numeric_limits<double>::infinity();
}

// Without gaps the weight of a class is the same in every column, and its first row holds its pivots.
template <class T>
SUFFICE_INLINE void start_classes(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    for (Index i = lo; i < hi; ++i) {
        const double w = rows.weight ? rows.weight[i] : 1.0;
        double& weight = sums.weight[rows.code[i] * sums.stride];
        if (weight == 0 && w != 0)
            for (Index j = 0; j < x.cols; ++j)
                sums.pivot[rows.code[i] * sums.stride + j] = x.data[i * x.row_stride + j * x.col_stride];
        weight += w;
    }
    for (Index c = 0; c < rows.classes; ++c)
        std::fill_n(sums.weight + c * sums.stride, x.cols, sums.weight[c * sums.stride]);
}

template <bool weighted, bool gaps, class T>
SUFFICE_INLINE bool add_block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    if (!gaps) start_classes(x, rows, lo, hi, sums);
    const Index stride = sums.stride;
    const Place all{sums.weight.data(), sums.pivot.data(), sums.first.data(), sums.second.data()};
    const std::int32_t* code = rows.code;
    bool infinite = false;
    for_stretches(x, lo, hi, [&](auto* row, Index row_stride, Index from, Index n, Index col, Index cols)
                                 SUFFICE_INLINE_LAMBDA {
        for (Index i = from; i < from + n; ++i, row += row_stride) {
            const double w = weighted ? rows.weight[i] : 1.0;
            if (weighted && w == 0) continue;
            const Index at = code[i] * stride + col;
            const Place to{all.weight + at, all.pivot + at, all.first + at, all.second + at};
            if (gaps)
                infinite |= add_row_with_gaps(row, cols, w, to);
            else
                add_row<weighted>(row, cols, w, to);
        }
    });
    return infinite;
}

template <class T>
SUFFICE_INLINE bool block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, bool gaps, MomentSums& sums) {
    if (rows.weight)
        return gaps ? add_block<true, true>(x, rows, lo, hi, sums) : add_block<true, false>(x, rows, lo, hi, sums);
    return gaps ? add_block<false, true>(x, rows, lo, hi, sums) : add_block<false, false>(x, rows, lo, hi, sums);
}

}  // namespace

SUFFICE_CLONES bool moments_block(const Matrix<double>& x, const Rows& rows, Index lo, Index hi, bool gaps,
                                  MomentSums& sums) {
    return block(x, rows, lo, hi, gaps, sums);
}
SUFFICE_CLONES bool moments_block(const Matrix<float>& x, const Rows& rows, Index lo, Index hi, bool gaps,
                                  MomentSums& sums) {
    return block(x, rows, lo, hi, gaps, sums);
}

// Add a class's block sums to its moments: means by the weighted step, squares with the step's own part.
SUFFICE_CLONES void merge_moments(Index cols, const double* __restrict w, const double* __restrict pivot,
                                  const double* __restrict first, const double* __restrict second,
                                  double* __restrict weight, double* __restrict mean,
                                  double* __restrict squares) {
#pragma omp simd
    for (Index j = 0; j < cols; ++j) {
        double n = w[j], old = weight[j], sum = old + n;
        bool any = n > 0;
        double inverse = 1 / (any ? n : 1.0), shift = first[j] * inverse;
        double here = pivot[j] + shift;
        double within = second[j] - first[j] * shift;
        within = within > 0 ? within : 0.0;
        double share = n / (any ? sum : 1.0), step = here - (old > 0 ? mean[j] : here);
        double moved = old > 0 ? mean[j] + step * share : here;
        double grown = squares[j] + within + step * step * old * share;
        mean[j] = any ? moved : mean[j];
        squares[j] = any ? grown : squares[j];
        weight[j] = sum;
    }
}

template <class T>
Index moments(Matrix<T> x, Rows rows, double* weight, double* mean, double* squares) {
    const Index d = x.cols, k = rows.classes;
    // Large enough that merging k classes costs little beside reading the block.
    const Index size = std::clamp<Index>(16 * k, 4096, 1 << 16), blocks = (x.rows + size - 1) / size;
    const int threads = threads_for(x.rows * d, blocks);
    std::vector<MomentSums> sums;
    for (int t = 0; t < threads; ++t) sums.emplace_back(k, d);
    std::atomic<bool> expect_gaps{false};
    FirstPosition infinite;

    auto work = [&](Index b, int slot) {
        const Index lo = b * size, hi = std::min(x.rows, lo + size);
        MomentSums& s = sums[slot];
        auto pass = [&](bool gaps) {
            s.clear();
            return moments_block(x, rows, lo, hi, gaps, s);
        };
        // Without gaps is faster; a NaN then shows in the sums, and both ways give the same bits.
        bool gaps = expect_gaps.load(std::memory_order_relaxed), found = pass(gaps);
        if (!gaps) {
            double probe = 0;
            for (Index at = 0; at < s.second.size(); ++at) probe += s.second[at] * 0;
            if (probe != probe) {
                expect_gaps.store(true, std::memory_order_relaxed);
                found = pass(true);
            }
        }
        if (found)
            for (Index i = lo; i < hi; ++i)
                for (Index j = 0; j < d; ++j)
                    if (std::isinf(x.data[i * x.row_stride + j * x.col_stride])) infinite.report(i * d + j);
    };
    auto merge = [&](Index, int slot) {
        const MomentSums& s = sums[slot];
        for (Index c = 0; c < k; ++c) {
            const Index at = c * s.stride, to = c * d;
            merge_moments(d, s.weight + at, s.pivot + at, s.first + at, s.second + at, weight + to, mean + to,
                          squares + to);
        }
    };
    for_blocks(blocks, threads, work, merge);
    return infinite.get();
}

template Index moments(Matrix<double>, Rows, double*, double*, double*);
template Index moments(Matrix<float>, Rows, double*, double*, double*);

}  // namespace suffice
