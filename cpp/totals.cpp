// Σ w·x of every class and column of a dense matrix, and the weight of what is missing.

#include "buffer.hpp"
#include "double_double.hpp"
#include "threads.hpp"
#include "vectors.hpp"

namespace suffice {

// 0 for an entry that may be added, otherwise another number or NaN, as ∞ − ∞ is: infinite ones are refused, and those below
// 0 unless they are only compared with a threshold.
template <bool binarize, class V>
SUFFICE_INLINE V refusal(V v) {
    return (binarize ? v : select(v < 0, V(-v), v)) - v;
}

// The sum of the refusals, and the number of missing entries.
template <class V>
struct Odd {
    V refused{}, missing{};
};

namespace {

// Add one entry to the total of its column, or as many as a vector has.
template <bool binarize, class V>
SUFFICE_INLINE void add_entries(V x, double w, double threshold, V& total, Odd<V>& odd) {
    const V none{}, one = none + 1.0;
    const auto seen = x == x;
    const V v = select(seen, x, none);
    odd.refused += refusal<binarize>(v);
    odd.missing += select(seen, none, one);
    total += binarize ? select(x > threshold, V(none + w), none) : V(w * v);
}

// Vectors are written out, since compilers differ in what they make of the last columns of a row.
template <bool binarize, class T>
SUFFICE_INLINE void add_row(const T* __restrict x, Index cols, double w, double threshold, double* __restrict total,
                            Odd<double>& odd) {
    Odd<Eight> eight;
    Odd<double> rest;
    Index j = 0;
    for (; j + 8 <= cols; j += 8) {
        Eight sum = load_eight(total + j);
        add_entries<binarize>(load_eight(x + j), w, threshold, sum, eight);
        store(sum, total + j);
    }
    for (; j < cols; ++j) add_entries<binarize>(double(x[j]), w, threshold, total[j], rest);
    for (int i = 0; i < 8; ++i) rest.refused += eight.refused[i], rest.missing += eight.missing[i];
    odd.refused += rest.refused, odd.missing = rest.missing;
}

// The same with what rounding takes from the totals.
template <bool binarize, class T>
SUFFICE_INLINE void add_row_exactly(const T* __restrict x, Index cols, double w, double threshold,
                                    double* __restrict total, double* __restrict low, Odd<double>& odd) {
    for (Index j = 0; j < cols; ++j) {
        double v = x[j];
        const bool seen = v == v;
        v = seen ? v : 0.0;
        odd.refused += refusal<binarize>(v);
        odd.missing += seen ? 0.0 : 1.0;
        const Pair term = two_product(w, binarize ? (seen && v > threshold ? 1.0 : 0.0) : v);
        add_to(total[j], low[j], term.high);
        low[j] += term.low;
    }
}

template <bool binarize, class T>
SUFFICE_INLINE Odd<double> block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, CountRule rule,
                                 double* total, double* missing, double* low) {
    Odd<double> odd;
    for_stretches(x, lo, hi,
                  [&](auto* row, Index row_stride, Index first_row, Index n, Index first_col, Index cols)
                      SUFFICE_INLINE_LAMBDA {
                          for (Index i = first_row; i < first_row + n; ++i, row += row_stride) {
                              const double w = rows.weight ? rows.weight[i] : 1.0;
                              if (w == 0) continue;
                              const Index at = rows.code[i] * x.cols + first_col;
                              odd.missing = 0;
                              if (low)
                                  add_row_exactly<binarize>(row, cols, w, rule.threshold, total + at, low + at, odd);
                              else
                                  add_row<binarize>(row, cols, w, rule.threshold, total + at, odd);
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
Odd<double> any_block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, CountRule rule, double* total,
                      double* missing, double* low) {
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
    const auto refuses = rule.binarize ? refusal<true, double> : refusal<false, double>;

    auto work = [&](Index b, int slot) {
        const Index lo = b * size, hi = std::min(x.rows, lo + size);
        sums[slot].fill(0);
        double* sum = sums[slot].data();
        const Odd<double> odd =
            fast::totals_block(x, rows, lo, hi, rule, sum, sum + cells, low ? sum + 2 * cells : nullptr);
        if (odd.refused != 0)
            for (Index i = lo; i < hi; ++i)
                for (Index j = 0; j < d && (!rows.weight || rows.weight[i] != 0); ++j) {
                    const double v = x.data[i * x.row_stride + j * x.col_stride];
                    if (v == v && refuses(v) != 0) refused.report(i * d + j);
                }
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
