// Columns of category codes: their range, their counts by class, and the scores looked up for them.
#include <cmath>
#include <limits>
#include <type_traits>

#include "double_double.hpp"
#include "threads.hpp"

namespace suffice {
namespace {

template <class T>
SUFFICE_INLINE Index code_of(T v) {
    if constexpr (std::is_floating_point_v<T>) {
        constexpr T most = T(Index(1) << 53);  // beyond this doubles do not represent every integer
        return v == v ? Index(v < -most ? -most : v > most ? most : v) : -1;
    } else {
        return Index(v);
    }
}

template <class T, class Use>
SUFFICE_INLINE void for_entries(const Matrix<T>& x, Index lo, Index hi, Use use) {
    if (x.col_stride == 1) {
        for (Index i = lo; i < hi; ++i)
            for (Index j = 0; j < x.cols; ++j) use(i, j, x.data[i * x.row_stride + j]);
    } else {
        for (Index j = 0; j < x.cols; ++j)
            for (Index i = lo; i < hi; ++i) use(i, j, x.data[i + j * x.col_stride]);
    }
}

template <class T>
Index scores_block(const Matrix<T>& x, Index lo, Index hi, const Index* offsets, const double* scores, Index stride,
                   Index classes, double* out) {
    Index negative = -1;
    if (x.cols == 1 && classes == 2) {  // the most common case: a block of one column at a time
        const Index last = offsets[1] - offsets[0] - 1;
        for (Index i = lo; i < hi; ++i) {
            const T value = x.data[i * x.row_stride];
            const Index code = code_of(value);
            if (code < 0) {
                if (negative < 0 && value < 0) negative = i;
                continue;
            }
            const double* score = scores + (offsets[0] + std::min(code, last)) * stride;
            out[2 * i] += score[0];
            out[2 * i + 1] += score[1];
        }
        return negative;
    }
    // Eight classes at a time: their running sums stay in one register.
    for (Index c0 = 0; c0 < classes; c0 += 8) {
        for (Index i = lo; i < hi; ++i) {
            double sum[8] = {};
            for (Index j = 0; j < x.cols; ++j) {
                const T value = x.data[i * x.row_stride + j * x.col_stride];
                Index code = code_of(value);
                if (code < 0) {
                    if (negative < 0 && value < 0) negative = i * x.cols + j;
                    continue;
                }
                code = std::min(code, offsets[j + 1] - offsets[j] - 1);
                const double* __restrict score = scores + (offsets[j] + code) * stride + c0;
#pragma omp simd
                for (Index c = 0; c < 8; ++c) sum[c] += score[c];
            }
            for (Index c = 0; c < std::min<Index>(8, classes - c0); ++c) out[i * classes + c0 + c] += sum[c];
        }
    }
    return negative;
}

}  // namespace

SUFFICE_DISPATCH(category_scores_block, scores_block<double>, scores_block<float>, scores_block<std::int32_t>,
                 scores_block<std::int64_t>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr Index block_rows = 1 << 14;

}  // namespace

template <class T>
Index category_range(Matrix<T> x, Index* lowest, Index* highest) {
    constexpr Index none = std::numeric_limits<Index>::max();
    std::fill_n(lowest, x.cols, none);
    std::fill_n(highest, x.cols, -1);
    const Index blocks = (x.rows + block_rows - 1) / block_rows;
    const int threads = threads_for(x.rows * x.cols, blocks);
    // Ranges are kept in the type of the data, so that the compiler can vectorize comparisons.
    std::vector<std::vector<T>> low(threads), high(threads);
    FirstPosition infinite;
    auto work = [&](Index b, int slot) {
        const Index lo = b * block_rows, hi = std::min(x.rows, lo + block_rows);
        if (low[slot].empty()) {
            low[slot].assign(x.cols, std::numeric_limits<T>::max());
            high[slot].assign(x.cols, std::numeric_limits<T>::lowest());
        }
        T* __restrict l = low[slot].data();
        T* __restrict h = high[slot].data();
        // A NaN compares false both ways, and so does not change the range.
        for_entries(x, lo, hi, [&](Index, Index j, T v) {
            l[j] = v < l[j] ? v : l[j];
            h[j] = v > h[j] ? v : h[j];
        });
        if constexpr (std::is_floating_point_v<T>) {
            bool any = false;
            for (Index j = 0; j < x.cols; ++j) any |= std::isinf(l[j]) || std::isinf(h[j]);
            if (any)
                for_entries(x, lo, hi, [&](Index i, Index j, T v) {
                    if (std::isinf(v)) infinite.report(i * x.cols + j);
                });
        }
    };
    for_blocks(blocks, threads, work);
    for (int t = 0; t < threads; ++t)
        for (Index j = 0; j < Index(low[t].size()); ++j) {
            if (low[t][j] > high[t][j] || infinite.get() >= 0) continue;  // all entries are missing
            lowest[j] = std::min(lowest[j], code_of(low[t][j]));
            highest[j] = std::max(highest[j], code_of(high[t][j]));
        }
    return infinite.get();
}

template <class T>
Index category_counts(Matrix<T> x, Rows rows, const Index* offsets, double* table, double* low) {
    const Index m = offsets[x.cols], cells = rows.classes * m;
    const Index size = std::max(block_rows, std::min<Index>(cells, 1 << 20)), blocks = (x.rows + size - 1) / size;
    const int threads = threads_for(x.rows * x.cols, blocks);
    std::vector<std::vector<double>> partial(threads, std::vector<double>(low ? 2 * cells : cells));
    FirstPosition outside;
    auto work = [&](Index b, int slot) {
        const Index lo = b * size, hi = std::min(x.rows, lo + size);
        std::fill(partial[slot].begin(), partial[slot].end(), 0.0);
        double* __restrict count = partial[slot].data();
        for_entries(x, lo, hi, [&](Index i, Index j, T v) {
            const Index code = code_of(v);
            if (std::uint64_t(code) >= std::uint64_t(offsets[j + 1] - offsets[j])) [[unlikely]] {
                if (v == v) outside.report(i * x.cols + j);
                return;
            }
            const Index at = rows.code[i] * m + offsets[j] + code;
            if (low)
                add_to(count[at], count[cells + at], rows.weight[i]);
            else
                count[at] += rows.weight ? rows.weight[i] : 1.0;
        });
    };
    auto merge = [&](Index, int slot) {
        const double* count = partial[slot].data();
        for (Index at = 0; at < cells; ++at) {
            if (low)
                add_to(table[at], low[at], count[at]), low[at] += count[cells + at];
            else
                table[at] += count[at];
        }
    };
    for_blocks(blocks, threads, work, merge);
    return outside.get();
}

template <class T>
Index category_scores(Matrix<T> x, const Index* offsets, const double* scores, Index stride, Index classes,
                      double* out) {
    const Index size = 1024, blocks = (x.rows + size - 1) / size;
    FirstPosition negative;
    for_blocks(blocks, threads_for(x.rows * x.cols, blocks), [&](Index b, int) {
        const Index lo = b * size, hi = std::min(x.rows, lo + size);
        negative.report(fast::category_scores_block(x, lo, hi, offsets, scores, stride, classes, out));
    });
    return negative.get();
}

#define SUFFICE_INSTANTIATE(T)                                                       \
    template Index category_range(Matrix<T>, Index*, Index*);                        \
    template Index category_counts(Matrix<T>, Rows, const Index*, double*, double*); \
    template Index category_scores(Matrix<T>, const Index*, const double*, Index, Index, double*);
SUFFICE_INSTANTIATE(double)
SUFFICE_INSTANTIATE(float)
SUFFICE_INSTANTIATE(std::int32_t)
SUFFICE_INSTANTIATE(std::int64_t)

#endif

}  // namespace suffice
