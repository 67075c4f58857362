// Gaussian log-densities of every row under every class.
//
// A tile of rows is packed column by column, so that one instruction works on many rows whatever the
// order of the matrix in memory; the classes then go over the tile while it is in cache.
#include <cmath>
#include <cstring>

#include "threads.hpp"
#include "transpose.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

constexpr Index tile_rows = 64, tile_cols = 32;

constexpr Index lanes = tile_rows / 8;

// distance[r] += Σ_j ((x_rj - mean_j) * precision_j)²
SUFFICE_INLINE void add_distance(const double* tile, Index cols, const double* mean, const double* precision,
                                 double* distance) {
    Lanes sum[lanes];
    for (Index l = 0; l < lanes; ++l) sum[l] = load<Lanes>(distance + 8 * l);
    for (Index j = 0; j < cols; ++j) {
        const Lanes* x = reinterpret_cast<const Lanes*>(tile + j * tile_rows);
        const double m = mean[j], p = precision[j];
        SUFFICE_UNROLL(8)
        for (Index l = 0; l < lanes; ++l) {
            Lanes z = (x[l] - m) * p;
            sum[l] += z * z;
        }
    }
    for (Index l = 0; l < lanes; ++l) store(sum[l], distance + 8 * l);
}

// The same plus -2 log precision for each entry, skipping missing ones.
SUFFICE_INLINE void add_distance_with_missing(const double* __restrict tile, Index cols, const double* mean,
                                              const double* precision, const double* log_variance,
                                              double* __restrict distance) {
    for (Index j = 0; j < cols; ++j) {
        const double m = mean[j], p = precision[j], v = log_variance[j];
#pragma omp simd
        for (Index i = 0; i < tile_rows; ++i) {
            double x = tile[j * tile_rows + i], z = (x - m) * p;
            distance[i] += x == x ? z * z + v : 0.0;
        }
    }
}

template <class T>
Index density_tile(const Matrix<T>& x, Index i0, const double* mean, const double* precision,
                   const double* log_variance, const double* chunk_log_variance, Index classes, double* distance,
                   double* out) {
    alignas(64) double tile[tile_cols * tile_rows];
    const Index rows = std::min(tile_rows, x.rows - i0), d = x.cols;
    Index infinite = -1;
    std::fill_n(distance, classes * tile_rows, 0.0);
    for (Index j0 = 0, chunk = 0; j0 < d; j0 += tile_cols, ++chunk) {
        const Index cols = std::min(tile_cols, d - j0);
        if (pack_tile<tile_rows>(x, i0, rows, j0, cols, tile)) {
            for (Index c = 0; c < classes; ++c) {
                double* to = distance + c * tile_rows;
                const double log_variances = chunk_log_variance[chunk * classes + c];
                add_distance(tile, cols, mean + c * d + j0, precision + c * d + j0, to);
                for (Index i = 0; i < tile_rows; ++i) to[i] += log_variances;
            }
            continue;
        }
        for (Index i = rows - 1; i >= 0; --i)
            for (Index j = cols - 1; j >= 0; --j)
                if (std::isinf(tile[j * tile_rows + i])) infinite = (i0 + i) * d + j0 + j;
        for (Index c = 0; c < classes; ++c)
            add_distance_with_missing(tile, cols, mean + c * d + j0, precision + c * d + j0, log_variance + c * d + j0,
                                      distance + c * tile_rows);
    }
    for (Index i = 0; i < rows; ++i)
        for (Index c = 0; c < classes; ++c) out[(i0 + i) * classes + c] = -0.5 * distance[c * tile_rows + i];
    return infinite;
}

}  // namespace

SUFFICE_DISPATCH(gaussian_tile, density_tile<double>, density_tile<float>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
Index gaussian_log_density(Matrix<T> x, const double* mean, const double* precision, Index classes, double* out) {
    const Index d = x.cols, chunks = (d + tile_cols - 1) / tile_cols, tiles = (x.rows + tile_rows - 1) / tile_rows;
    std::vector<double> log_variance(classes * d), chunk_log_variance(chunks * classes);
    for (Index c = 0; c < classes; ++c)
        for (Index j = 0; j < d; ++j) {
            log_variance[c * d + j] = log_2pi - 2 * std::log(precision[c * d + j]);
            chunk_log_variance[j / tile_cols * classes + c] += log_variance[c * d + j];
        }
    constexpr Index together = 16;
    const Index blocks = (tiles + together - 1) / together;
    const int threads = threads_for(x.rows * d * classes / 4, blocks);
    std::vector<std::vector<double>> distance(threads, std::vector<double>(classes * tile_rows));
    FirstPosition infinite;
    for_blocks(blocks, threads, [&](Index b, int slot) {
        for (Index t = b * together; t < std::min(tiles, (b + 1) * together); ++t)
            infinite.report(fast::gaussian_tile(x, t * tile_rows, mean, precision, log_variance.data(),
                                                chunk_log_variance.data(), classes, distance[slot].data(), out));
    });
    return infinite.get();
}

template Index gaussian_log_density(Matrix<double>, const double*, const double*, Index, double*);
template Index gaussian_log_density(Matrix<float>, const double*, const double*, Index, double*);

#endif

}  // namespace suffice
