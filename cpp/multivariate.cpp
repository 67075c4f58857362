// Log-densities of multivariate Gaussians: |W (x − μ)|² with W the inverse of the covariance's Cholesky factor.
//
// A tile of rows is packed column by column, so that one instruction works on eight rows. W is lower triangular, so
// half of the product is skipped. If the classes share W, rows are multiplied by W once for all classes.
#include <cmath>
#include <cstring>

#include "buffer.hpp"
#include "threads.hpp"
#include "transpose.hpp"

namespace suffice {
namespace {

constexpr Index tile_rows = 32, together = 8;  // rows in a tile, rows of W in a block
constexpr int vectors = tile_rows / 8;

// Eight coordinates of W z for all rows of a tile; z is (d padded to 8, tile_rows).
SUFFICE_INLINE void turn_block(const double* __restrict w, Index columns, const double* __restrict z,
                               Lanes (&sum)[together / 2][vectors], int half) {
    constexpr int some = register_bytes == 64 ? vectors : 1;  // whose sums fit into registers
    for (int first = 0; first < vectors; first += some) {
        Lanes own[together / 2][some] = {};
        for (Index j = 0; j < columns; ++j) {
            Lanes held[some];
            for (int v = 0; v < some; ++v) held[v] = load<Lanes>(z + j * tile_rows + 8 * (first + v));
            const double* coefficient = w + j * together + half * together / 2;
            SUFFICE_UNROLL(4)
            for (int k = 0; k < together / 2; ++k) SUFFICE_UNROLL(4)
            for (int v = 0; v < some; ++v) own[k][v] += held[v] * coefficient[k];
        }
        for (int k = 0; k < together / 2; ++k)
            for (int v = 0; v < some; ++v) sum[k][first + v] = own[k][v];
    }
}

template <class T>
bool pack(const Matrix<T>& x, Index i0, Index rows, double* tile) {
    return pack_tile<tile_rows>(x, i0, rows, 0, x.cols, tile);
}

// centred = tile − origin. In vectors, as clang does not make them of a loop whose arrays might overlap.
SUFFICE_INLINE void centre(const double* tile, Index d, const double* origin, double* centred) {
    for (Index j = 0; j < d; ++j) {
        const Lanes* from = reinterpret_cast<const Lanes*>(tile + j * tile_rows);
        Lanes* to = reinterpret_cast<Lanes*>(centred + j * tile_rows);
        for (int v = 0; v < vectors; ++v) to[v] = from[v] - origin[j];
    }
}

// distance[r] = |W (x_r − mean)|².
void add_distances(const double* tile, Index d, const double* w, const double* mean, double* centred,
                   double* distance) {
    centre(tile, d, mean, centred);
    Lanes total[vectors] = {};
    for (Index k0 = 0; k0 < d; k0 += together) {
        for (int half = 0; half < 2; ++half) {
            Lanes sum[together / 2][vectors];
            turn_block(w, k0 + together, centred, sum, half);
            for (auto& row : sum)
                for (int v = 0; v < vectors; ++v) total[v] += row[v] * row[v];
        }
        w += together * (k0 + together);
    }
    for (int v = 0; v < vectors; ++v) store(total[v], distance + 8 * v);
}

// turned[k][r] = (W (x_r − origin))_k.
void turn(const double* tile, Index d, const double* w, const double* origin, double* centred, double* turned) {
    centre(tile, d, origin, centred);
    for (Index k0 = 0; k0 < d; k0 += together) {
        for (int half = 0; half < 2; ++half) {
            Lanes sum[together / 2][vectors];
            turn_block(w, k0 + together, centred, sum, half);
            double* to = turned + (k0 + half * together / 2) * tile_rows;
            for (int k = 0; k < together / 2; ++k)
                for (int v = 0; v < vectors; ++v) store(sum[k][v], to + k * tile_rows + 8 * v);
        }
        w += together * (k0 + together);
    }
}

// distance[r] = Σ_k (turned[k][r] − mean[k])².
void compare(const double* turned, Index d, const double* mean, double* distance) {
    Lanes total[vectors] = {};
    for (Index k = 0; k < d; ++k) {
        const Lanes* z = reinterpret_cast<const Lanes*>(turned + k * tile_rows);
        for (int v = 0; v < vectors; ++v) {
            const Lanes off = z[v] - mean[k];
            total[v] += off * off;
        }
    }
    for (int v = 0; v < vectors; ++v) store(total[v], distance + 8 * v);
}

}  // namespace

SUFFICE_DISPATCH(multivariate_pack, pack<double>, pack<float>)
SUFFICE_DISPATCH(multivariate_distance, add_distances)
SUFFICE_DISPATCH(multivariate_turn, turn)
SUFFICE_DISPATCH(multivariate_compare, compare)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

// Rows of W by eights, each block's columns side by side: block b holds columns 0 .. 8b+7.
Index packed_size(Index d) {
    const Index blocks = (d + together - 1) / together;
    return together * together * blocks * (blocks + 1) / 2;
}

void pack_triangle(const double* w, Index d, double* to) {
    for (Index k0 = 0; k0 < d; k0 += together)
        for (Index j = 0; j < k0 + together; ++j)
            for (Index k = k0; k < k0 + together; ++k) *to++ = k < d && j <= k ? w[k * d + j] : 0.0;
}

// The parameters as the tiles read them.
struct Packed {
    std::vector<Buffer> triangle;
    std::vector<double> origin, turned_mean, constant;

    Packed(const double* mean, const double* whitening, Index classes, Index matrices, Index d)
        : origin(d), turned_mean(classes * d), constant(classes) {
        for (Index m = 0; m < matrices; ++m) {
            triangle.emplace_back(packed_size(d));
            pack_triangle(whitening + m * d * d, d, triangle[m].data());
        }
        for (Index c = 0; c < classes; ++c) {
            const double* w = whitening + (matrices > 1 ? c : 0) * d * d;
            double log_determinant = 0;
            for (Index j = 0; j < d; ++j) log_determinant -= std::log(w[j * d + j]);
            constant[c] = -log_determinant - 0.5 * double(d) * log_2pi;
        }
        std::copy_n(mean, d, origin.begin());
        for (Index c = 0; c < classes; ++c)
            for (Index k = 0; k < d; ++k)
                for (Index j = 0; j <= k; ++j)
                    turned_mean[c * d + k] += whitening[k * d + j] * (mean[c * d + j] - origin[j]);
    }
};

}  // namespace

template <class T>
Index multivariate_log_density(Matrix<T> x, const double* mean, const double* whitening, Index classes, Index matrices,
                               double* out, bool* incomplete) {
    const Index d = x.cols, tiles = (x.rows + tile_rows - 1) / tile_rows;
    const Packed packed(mean, whitening, classes, matrices, d);
    constexpr Index tiles_a_block = 16;
    const Index blocks = (tiles + tiles_a_block - 1) / tiles_a_block;
    const int threads = threads_for(x.rows * (d * d / 2 * matrices + d * classes) / 8, blocks);
    std::vector<Buffer> scratch;
    for (int t = 0; t < threads; ++t) scratch.emplace_back(3 * padded(d) * tile_rows);
    FirstPosition infinite;
    for_blocks(blocks, threads, [&](Index b, int slot) {
        double *tile = scratch[slot].data(), *centred = tile + padded(d) * tile_rows,
               *turned = centred + padded(d) * tile_rows;
        alignas(64) double distance[tile_rows];
        for (Index t = b * tiles_a_block; t < std::min(tiles, (b + 1) * tiles_a_block); ++t) {
            const Index i0 = t * tile_rows, rows = std::min(tile_rows, x.rows - i0);
            const bool finite = fast::multivariate_pack(x, i0, rows, tile);
            if (!finite)
                for (Index i = 0; i < rows; ++i)
                    for (Index j = 0; j < d; ++j) {
                        const double value = tile[j * tile_rows + i];
                        if (std::isinf(value)) infinite.report((i0 + i) * d + j);
                        if (!std::isfinite(value)) incomplete[i0 + i] = true;
                    }
            if (matrices == 1)
                fast::multivariate_turn(tile, d, packed.triangle[0].data(), packed.origin.data(), centred, turned);
            for (Index c = 0; c < classes; ++c) {
                if (matrices == 1)
                    fast::multivariate_compare(turned, d, packed.turned_mean.data() + c * d, distance);
                else
                    fast::multivariate_distance(tile, d, packed.triangle[c].data(), mean + c * d, centred, distance);
                for (Index i = 0; i < rows; ++i) out[(i0 + i) * classes + c] = packed.constant[c] - 0.5 * distance[i];
            }
        }
    });
    return infinite.get();
}

template Index multivariate_log_density(Matrix<double>, const double*, const double*, Index, Index, double*, bool*);
template Index multivariate_log_density(Matrix<float>, const double*, const double*, Index, Index, double*, bool*);

#endif

}  // namespace suffice
