// Linear scores of dense rows: a matrix product with few columns, where general libraries are slow.
//
// One instruction works on eight classes; four rows are in registers while their columns are read.
#include <cmath>
#include <cstring>

#include "buffer.hpp"
#include "threads.hpp"
#include "vectors.hpp"

namespace suffice {
namespace {

constexpr Index side = 4, tile_cols = 256;

// sum[r][classes] += Σ_j x_rj coef[j] for `rows` rows, over as many classes as `First` and `Second` have lanes.
template <class T, int rows, class First, class Second, bool row_major>
SUFFICE_INLINE void add_scores(const T* x, Index row_stride, Index col_stride, Index cols, const double* coef,
                               Index stride, double* sum) {
    constexpr Index next = sizeof(First) / sizeof(double);
    First a[rows];
    Second b[rows];
    for (int r = 0; r < rows; ++r) {
        a[r] = load<First>(sum + r * stride);
        b[r] = load<Second>(sum + r * stride + next);
    }
    constexpr Index line = 64 / sizeof(T);
    const T* row[rows];  // a pointer for each: the stride is not known at compile time
    for (int r = 0; r < rows; ++r) row[r] = x + r * row_stride;
    for (Index j = 0; j < cols; ++j, coef += stride) {
        const First p = load<First>(coef);
        const Second q = load<Second>(coef + next);
        const Index at = row_major ? j : j * col_stride;
        if (row_major && j % line == 0)  // prefetch the next rows: the hardware follows only a few streams
            SUFFICE_UNROLL(8)
        for (int r = 0; r < rows; ++r) prefetch_later(row[r] + at + 8 * rows * row_stride);
        SUFFICE_UNROLL(8)
        for (int r = 0; r < rows; ++r) {
            const double value = row_major ? double(row[r][at]) : double(x[at + r]);
            a[r] += p * value;
            b[r] += q * value;
        }
    }
    for (int r = 0; r < rows; ++r) {
        store(a[r], sum + r * stride);
        store(b[r], sum + r * stride + next);
    }
}

// Sixteen classes at a time; fewer lanes for the last ones.
template <class T, int rows, bool row_major>
SUFFICE_INLINE void add_rows(const Matrix<T>& x, Index i, Index j0, Index cols, const double* coef, Index stride,
                             Index classes, double* sum) {
    const T* at = x.data + i * x.row_stride + j0 * x.col_stride;
    coef += j0 * stride;
    for (Index c = 0; c < classes; c += 16, coef += 16, sum += 16) {
        const Index left = classes - c;
        if (left > 12)
            add_scores<T, rows, Eight, Eight, row_major>(at, x.row_stride, x.col_stride, cols, coef, stride, sum);
        else if (left > 8)
            add_scores<T, rows, Eight, Four, row_major>(at, x.row_stride, x.col_stride, cols, coef, stride, sum);
        else
            add_scores<T, rows, Four, Four, row_major>(at, x.row_stride, x.col_stride, cols, coef, stride, sum);
    }
}

template <class T, bool row_major>
SUFFICE_INLINE void add_tile(const Matrix<T>& x, Index i0, Index rows, const double* coef, Index stride, Index classes,
                             double* sum) {
    for (Index j0 = 0; j0 < x.cols; j0 += tile_cols) {
        const Index cols = std::min(tile_cols, x.cols - j0);
        Index i = 0;
        for (; i + side <= rows; i += side)
            add_rows<T, side, row_major>(x, i0 + i, j0, cols, coef, stride, classes, sum + i * stride);
        for (; i < rows; ++i) add_rows<T, 1, row_major>(x, i0 + i, j0, cols, coef, stride, classes, sum + i * stride);
    }
}

template <class T>
bool scores_tile(const Matrix<T>& x, Index i0, Index rows, const double* coef, Index stride, const double* intercept,
                 Index classes, double* sum, double* out) {
    for (Index i = 0; i < rows; ++i) std::copy_n(intercept, classes, sum + i * stride);
    if (x.col_stride == 1)
        add_tile<T, true>(x, i0, rows, coef, stride, classes, sum);
    else
        add_tile<T, false>(x, i0, rows, coef, stride, classes, sum);
    for (Index i = 0; i < rows; ++i) std::copy_n(sum + i * stride, classes, out + (i0 + i) * classes);
    const double* written = out + i0 * classes;
    double probe = 0;
#pragma omp simd reduction(+ : probe)
    for (Index k = 0; k < rows * classes; ++k) probe += written[k] * 0.0;
    return probe == 0;
}

}  // namespace

SUFFICE_DISPATCH(dense_scores_tile, scores_tile<double>, scores_tile<float>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
bool dense_scores(Matrix<T> x, const double* coef, Index stride, const double* intercept, Index classes, double* out) {
    constexpr Index tile_rows = 64;
    const Index tiles = (x.rows + tile_rows - 1) / tile_rows;
    const int threads = threads_for(x.rows * x.cols * stride / 8, tiles);
    std::vector<Buffer> sum;
    for (int t = 0; t < threads; ++t) sum.emplace_back(tile_rows * stride);
    std::atomic<bool> finite{true};
    for_blocks(tiles, threads, [&](Index t, int slot) {
        const Index i0 = t * tile_rows, rows = std::min(tile_rows, x.rows - i0);
        if (!fast::dense_scores_tile(x, i0, rows, coef, stride, intercept, classes, sum[slot].data(), out))
            finite = false;
    });
    return finite;
}

template bool dense_scores(Matrix<double>, const double*, Index, const double*, Index, double*);
template bool dense_scores(Matrix<float>, const double*, Index, const double*, Index, double*);

#endif

}  // namespace suffice
