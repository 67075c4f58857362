// Σ w·x of every class and column of a dense matrix, and the weight of what is missing.
#include <limits>

#include "buffer.hpp"
#include "double_double.hpp"
#include "threads.hpp"

namespace suffice {

// Which entries may be added: `least` to `most`, the range that a rule allows. Infinite ones are beyond every range.
struct Range {
    static constexpr double most = std::numeric_limits<double>::max();
    double least;

    explicit Range(CountRule rule) : least(rule.binarize ? -most : 0.0) {}
    bool excludes(double v) const { return v < least || v > most; }
};

// How many entries are outside of the range, and how many are missing. Counts, because clang does not vectorize the
// search for least and largest values.
struct Odd {
    double excluded = 0, missing = 0;
};

namespace {

template <bool binarize, class T>
SUFFICE_INLINE void add_row(const T* __restrict x, Index cols, double w, double threshold, Range range,
                            double* __restrict total, Odd& odd) {
    double excluded = 0, missing = 0;
#pragma omp simd reduction(+ : excluded, missing)
    for (Index j = 0; j < cols; ++j) {
        double v = x[j];
        bool seen = v == v;
        v = seen ? v : 0.0;
        excluded += range.excludes(v) ? 1.0 : 0.0;
        missing += seen ? 0.0 : 1.0;
        if (binarize) {
            total[j] += seen && v > threshold ? w : 0.0;
        } else {
            total[j] += w * v;
        }
    }
    odd.excluded += excluded, odd.missing = missing;
}

// The same with what rounding takes from the totals.
template <bool binarize, class T>
SUFFICE_INLINE void add_row_exactly(const T* __restrict x, Index cols, double w, double threshold, Range range,
                                    double* __restrict total, double* __restrict low, Odd& odd) {
    for (Index j = 0; j < cols; ++j) {
        double v = x[j];
        const bool seen = v == v;
        v = seen ? v : 0.0;
        odd.excluded += range.excludes(v) ? 1.0 : 0.0;
        odd.missing += seen ? 0.0 : 1.0;
        const Pair term = two_product(w, binarize ? (seen && v > threshold ? 1.0 : 0.0) : v);
        add_to(total[j], low[j], term.high);
        low[j] += term.low;
    }
}

template <bool binarize, class T>
SUFFICE_INLINE Odd block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, CountRule rule, double* total,
                         double* missing, double* low) {
    Odd odd;
    const Range range(rule);
    for_stretches(
        x, lo, hi,
        [&](auto* row, Index row_stride, Index first_row, Index n, Index first_col, Index cols) SUFFICE_INLINE_LAMBDA {
            for (Index i = first_row; i < first_row + n; ++i, row += row_stride) {
                const double w = rows.weight ? rows.weight[i] : 1.0;
                if (w == 0) continue;
                const Index at = rows.code[i] * x.cols + first_col;
                odd.missing = 0;
                if (low)
                    add_row_exactly<binarize>(row, cols, w, rule.threshold, range, total + at, low + at, odd);
                else
                    add_row<binarize>(row, cols, w, rule.threshold, range, total + at, odd);
                if (odd.missing > 0)
                    for (Index j = 0; j < cols; ++j)
                        if (row[j] != row[j]) {
                            if (low)
                                add_to(missing[at + j], low[rows.classes * x.cols + at + j], w);
                            else
                                missing[at + j] += w;
                        }
            }
        });
    return odd;
}

template <class T>
Odd any_block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, CountRule rule, double* total, double* missing,
              double* low) {
    return rule.binarize ? block<true>(x, rows, lo, hi, rule, total, missing, low)
                         : block<false>(x, rows, lo, hi, rule, total, missing, low);
}

}  // namespace

SUFFICE_DISPATCH(totals_block, any_block<double>, any_block<float>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
Index totals(Matrix<T> x, Rows rows, CountRule rule, double* total, double* missing, double* low) {
    const Index d = x.cols, cells = rows.classes * d;
    const Index size = std::clamp<Index>(16 * rows.classes, 4096, 1 << 16), blocks = (x.rows + size - 1) / size;
    const int threads = threads_for(x.rows * d, blocks);
    std::vector<Buffer> sums;
    for (int t = 0; t < threads; ++t) sums.emplace_back(low ? 4 * cells : 2 * cells);
    FirstPosition refused;
    const Range range(rule);

    auto work = [&](Index b, int slot) {
        const Index lo = b * size, hi = std::min(x.rows, lo + size);
        sums[slot].fill(0);
        double* sum = sums[slot].data();
        const Odd odd = fast::totals_block(x, rows, lo, hi, rule, sum, sum + cells, low ? sum + 2 * cells : nullptr);
        if (odd.excluded > 0)
            for (Index i = lo; i < hi; ++i)
                for (Index j = 0; j < d && (!rows.weight || rows.weight[i] != 0); ++j)
                    if (range.excludes(x.data[i * x.row_stride + j * x.col_stride])) refused.report(i * d + j);
    };
    auto merge = [&](Index, int slot) {
        const double* sum = sums[slot].data();
        for (Index at = 0; at < cells; ++at) {
            if (low) {
                add_to(total[at], low[at], sum[at]), low[at] += sum[2 * cells + at];
                add_to(missing[at], low[cells + at], sum[cells + at]), low[cells + at] += sum[3 * cells + at];
            } else {
                total[at] += sum[at], missing[at] += sum[cells + at];
            }
        }
    };
    for_blocks(blocks, threads, work, merge);
    return refused.get();
}

template Index totals(Matrix<double>, Rows, CountRule, double*, double*, double*);
template Index totals(Matrix<float>, Rows, CountRule, double*, double*, double*);

#endif

}  // namespace suffice
