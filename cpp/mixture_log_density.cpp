// Log-densities of every row under every class's mixtures, one mixture for each column.
//
// One logarithm is taken of the product of the sums of many columns. Each sum is between 1 and the number of
// components, because its largest term is factored out.
#include <cmath>
#include <limits>

#include "buffer.hpp"
#include "threads.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

constexpr Index tile_rows = 64, columns_a_log = 32;
constexpr double farthest = 1e300;  // the largest squared distance, so that log-densities stay finite

// `scratch` holds classes * 2 + components rows of tile_rows.
template <class T>
Index density_tile(const Matrix<T>& x, Index i0, const MixtureTables& tables, double* scratch, double* out) {
    const Index rows = std::min(tile_rows, x.rows - i0), d = x.cols, classes = tables.classes;
    double* const score = scratch;
    double* const product = score + classes * tile_rows;
    double* const terms = product + classes * tile_rows;
    std::fill_n(score, classes * tile_rows, 0.0);
    std::fill_n(product, classes * tile_rows, 1.0);
    alignas(64) double value[tile_rows] = {}, top[tile_rows], sum[tile_rows];
    Index infinite = -1;
    for (Index j = 0; j < d; ++j) {
        const T* from = x.data + i0 * x.row_stride + j * x.col_stride;
        double probe = 0;
        for (Index i = 0; i < rows; ++i) value[i] = from[i * x.row_stride];
        for (Index i = 0; i < rows; ++i) probe += value[i] * 0.0;
        if (probe != 0)
            for (Index i = rows - 1; i >= 0; --i)
                if (std::isinf(value[i]) && (infinite < 0 || (i0 + i) * d + j < infinite)) infinite = (i0 + i) * d + j;
        for (Index c = 0; c < classes; ++c) {
            const Index at = c * d + j, used = tables.used[at];
            const double* norm = tables.log_norm + at * tables.components;
            const double* mean = tables.mean + at * tables.components;
            const double* precision = tables.precision + at * tables.components;
            double* const to = score + c * tile_rows;
            double* const times = product + c * tile_rows;
            if (!used) continue;
            for (Index i = 0; i < tile_rows; ++i) top[i] = -std::numeric_limits<double>::infinity(), sum[i] = 0;
            for (Index k = 0; k < used; ++k) {
                const double m = mean[k], p = precision[k], constant = norm[k];
                double* term = terms + k * tile_rows;
#pragma omp simd
                for (Index i = 0; i < tile_rows; ++i) {
                    double far = (value[i] - m) * p, squared = far * far;
                    double l = constant - 0.5 * (squared < farthest ? squared : farthest);
                    term[i] = l;
                    top[i] = l > top[i] ? l : top[i];
                }
            }
            if (used == 1) {
#pragma omp simd
                for (Index i = 0; i < tile_rows; ++i) to[i] += value[i] == value[i] ? top[i] : 0.0;
                continue;
            }
            for (Index k = 0; k < used; ++k) {
                const double* term = terms + k * tile_rows;
#pragma omp simd
                for (Index i = 0; i < tile_rows; ++i) sum[i] += vector_exp(term[i] - top[i]);
            }
#pragma omp simd
            for (Index i = 0; i < tile_rows; ++i) {
                to[i] += value[i] == value[i] ? top[i] : 0.0;
                times[i] *= value[i] == value[i] ? sum[i] : 1.0;
            }
        }
        if (j % columns_a_log == columns_a_log - 1 || j == d - 1) {
#pragma omp simd
            for (Index i = 0; i < classes * tile_rows; ++i) {
                score[i] += vector_log(product[i]);
                product[i] = 1.0;
            }
        }
    }
    for (Index i = 0; i < rows; ++i)
        for (Index c = 0; c < classes; ++c) out[(i0 + i) * classes + c] = score[c * tile_rows + i];
    return infinite;
}

}  // namespace

SUFFICE_DISPATCH(mixture_tile, density_tile<double>, density_tile<float>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
Index mixture_log_density(Matrix<T> x, MixtureTables tables, double* out) {
    constexpr Index together = 8;
    const Index tiles = (x.rows + tile_rows - 1) / tile_rows, blocks = (tiles + together - 1) / together;
    const int threads = threads_for(x.rows * x.cols * tables.classes * tables.components * 2, blocks);
    std::vector<Buffer> scratch;
    for (int t = 0; t < threads; ++t) scratch.emplace_back((2 * tables.classes + tables.components) * tile_rows);
    FirstPosition infinite;
    for_blocks(blocks, threads, [&](Index b, int slot) {
        for (Index t = b * together; t < std::min(tiles, (b + 1) * together); ++t)
            infinite.report(fast::mixture_tile(x, t * tile_rows, tables, scratch[slot].data(), out));
    });
    return infinite.get();
}

template Index mixture_log_density(Matrix<double>, MixtureTables, double*);
template Index mixture_log_density(Matrix<float>, MixtureTables, double*);

#endif

}  // namespace suffice
