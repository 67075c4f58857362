// Copy a tile of a matrix into doubles, rows and columns exchanged.
#pragma once

#include <algorithm>

#include "kernels.hpp"
#include "vectors.hpp"

namespace suffice {

// Eight times eight: to[r * to_stride + c] = from[c * from_stride + r]. Three rounds exchange
// neighbours, pairs and halves.
template <class T>
SUFFICE_INLINE void transpose_8x8(const T* from, Index from_stride, double* to, Index to_stride) {
#if defined(SUFFICE_VECTOR_EXTENSION)
    Lanes a[8], b[8];
    for (int c = 0; c < 8; ++c) {
        typedef T Narrow __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T))));
        a[c] = __builtin_convertvector(*reinterpret_cast<const Narrow*>(from + c * from_stride), Lanes);
    }
    for (int c = 0; c < 8; c += 2) {
        b[c] = __builtin_shufflevector(a[c], a[c + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[c + 1] = __builtin_shufflevector(a[c], a[c + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int c = 0; c < 8; c += 4)
        for (int k = 0; k < 2; ++k) {
            a[c + k] = __builtin_shufflevector(b[c + k], b[c + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[c + k + 2] = __builtin_shufflevector(b[c + k], b[c + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int k = 0; k < 4; ++k) {
        *reinterpret_cast<Lanes*>(to + k * to_stride) =
            __builtin_shufflevector(a[k], a[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *reinterpret_cast<Lanes*>(to + (k + 4) * to_stride) =
            __builtin_shufflevector(a[k], a[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#else
    for (Index c = 0; c < 8; ++c)
        for (Index r = 0; r < 8; ++r) to[r * to_stride + c] = from[c * from_stride + r];
#endif
}

// to[r * to_stride + c] = from[c * from_stride + r] for r < rows, c < cols. Entries `ahead` of
// these are prefetched.
template <class T>
SUFFICE_INLINE void transpose(const T* from, Index from_stride, Index rows, Index cols, double* to, Index to_stride,
                              Index ahead = 0) {
    const Index whole_rows = rows / 8 * 8, whole_cols = cols / 8 * 8;
    for (Index c = 0; c < whole_cols; c += 8)
        for (Index r = 0; r < whole_rows; r += 8) {
            if (ahead)
                for (Index k = 0; k < 8; ++k) prefetch_later(from + ahead + (c + k) * from_stride + r);
            transpose_8x8(from + c * from_stride + r, from_stride, to + r * to_stride + c, to_stride);
        }
    for (Index c = 0; c < cols; ++c)
        for (Index r = c < whole_cols ? whole_rows : 0; r < rows; ++r)
            to[r * to_stride + c] = from[c * from_stride + r];
}

// Copy rows i0.., columns j0.. to tile[column][row], `tile_rows` apart, missing rows being zeros; true if every
// value is finite.
template <Index tile_rows, class T>
SUFFICE_INLINE bool pack_tile(const Matrix<T>& x, Index i0, Index rows, Index j0, Index cols, double* __restrict tile) {
    if (x.col_stride == 1) {
        transpose(x.data + i0 * x.row_stride + j0, x.row_stride, cols, rows, tile, tile_rows);
    } else {
        for (Index j = 0; j < cols; ++j) {
            const T* column = x.data + (j0 + j) * x.col_stride + i0;
            for (Index i = 0; i < rows; ++i) tile[j * tile_rows + i] = column[i];
            // Each column is a separate stream, and the hardware prefetches only a few.
            for (Index i = 0; i < tile_rows; i += 64 / sizeof(T)) prefetch(column + tile_rows + i);
        }
    }
    if (rows < tile_rows)
        for (Index j = 0; j < cols; ++j) std::fill_n(tile + j * tile_rows + rows, tile_rows - rows, 0.0);
    double probe = 0;
#pragma omp simd reduction(+ : probe)
    for (Index k = 0; k < cols * tile_rows; ++k) probe += tile[k] * 0.0;
    return probe == 0;
}

// Visit the entries of rows lo .. hi-1 as stretches of rows: use(row, row_stride, first_row, rows,
// first_col, cols), `row` pointing to the first entry and the entries of a row lying side by side. A
// row-major matrix is one stretch; of a column-major one, eight columns are transposed at a time,
// eight rows at a time: the hardware prefetches only a few streams.
template <class T, class Use>
SUFFICE_INLINE void for_stretches(const Matrix<T>& x, Index lo, Index hi, Use use) {
    if (x.col_stride == 1) {
        use(x.data + lo * x.row_stride, x.row_stride, lo, hi - lo, Index(0), x.cols);
        return;
    }
    constexpr Index side = 8;
    alignas(64) double tile[side * side];
    for (Index j = 0; j < x.cols; j += side)
        for (Index i = lo; i < hi; i += side) {
            const Index rows = std::min(side, hi - i), cols = std::min(side, x.cols - j);
            transpose(x.data + j * x.col_stride + i, x.col_stride, rows, cols, tile, side);
            use(static_cast<const double*>(tile), side, i, rows, j, cols);
        }
}

}  // namespace suffice
