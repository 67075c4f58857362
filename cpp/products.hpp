// Small dense products held in registers: the inside of the kernels for covariance matrices.
#pragma once

#include "transpose.hpp"

namespace suffice {

// to[r * to_stride + c] += Σ_k left[k * left_stride + r] right[k * right_stride + c] for a block of `rows` rows and
// 8 * `vectors` columns.
template <int rows, int vectors>
SUFFICE_INLINE void add_product(const double* left, Index left_stride, const double* right, Index right_stride,
                                Index depth, double* to, Index to_stride) {
    Lanes sum[rows][vectors] = {};
    for (Index k = 0; k < depth; ++k, left += left_stride, right += right_stride) {
        const Lanes* b = reinterpret_cast<const Lanes*>(right);
        Lanes held[vectors];
        for (int v = 0; v < vectors; ++v) held[v] = b[v];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) sum[r][v] += held[v] * left[r];
    }
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) reinterpret_cast<Lanes*>(to + r * to_stride)[v] += sum[r][v];
}

}  // namespace suffice
