// From log p(x, y) to p(y | x), in log space.
#include <cmath>
#include <limits>

#include "vector_math.hpp"

namespace suffice {

// Rows of one tile; `scratch` holds rows * classes values.
SUFFICE_CLONES Index posterior_tile(double* __restrict scores, Index rows, Index classes,
                                    const double* __restrict added, const double* fallback, bool as_log,
                                    double* __restrict scratch) {
    constexpr double impossible = -std::numeric_limits<double>::infinity();
    Index lost = 0;
    for (Index i = 0; i < rows; ++i) {
        double* row = scores + i * classes;
        double top = impossible;
        for (Index c = 0; c < classes; ++c) {
            row[c] += added[c];
            top = row[c] > top ? row[c] : top;
        }
        if (top == impossible) {
            std::copy_n(fallback, classes, row);
            ++lost;
            top = impossible;
            for (Index c = 0; c < classes; ++c) top = row[c] > top ? row[c] : top;
        }
        for (Index c = 0; c < classes; ++c) row[c] -= top;
    }
#pragma omp simd
    for (Index k = 0; k < rows * classes; ++k) scratch[k] = vector_exp(scores[k]);
    for (Index i = 0; i < rows; ++i) {
        double* row = scores + i * classes;
        const double* power = scratch + i * classes;
        double sum = 0;
        for (Index c = 0; c < classes; ++c) sum += power[c];
        if (as_log) {
            const double norm = std::log(sum);
            for (Index c = 0; c < classes; ++c) row[c] -= norm;
        } else {
            const double share = 1 / sum;
            for (Index c = 0; c < classes; ++c) row[c] = power[c] * share;
        }
    }
    return lost;
}

Index posterior(double* scores, Index rows, Index classes, const double* added, const double* fallback, bool as_log) {
    const Index size = std::max<Index>(1, 2048 / std::max<Index>(1, classes)), tiles = (rows + size - 1) / size;
    const int threads = threads_for(rows * classes * 4, tiles);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>(size * classes));
    std::atomic<Index> lost{0};
    for_blocks(tiles, threads, [&](Index b, int slot) {
        const Index lo = b * size, n = std::min(rows, lo + size) - lo;
        lost += posterior_tile(scores + lo * classes, n, classes, added, fallback, as_log, scratch[slot].data());
    });
    return lost;
}

void most_probable(const double* scores, Index rows, Index classes, const double* added, Index fallback, Index* out) {
    const Index size = 4096, tiles = (rows + size - 1) / size;
    for_blocks(tiles, threads_for(rows * classes, tiles), [&](Index b, int) {
        for (Index i = b * size; i < std::min(rows, (b + 1) * size); ++i) {
            const double* row = scores + i * classes;
            double top = -std::numeric_limits<double>::infinity();
            Index best = fallback;
            for (Index c = 0; c < classes; ++c)
                if (row[c] + added[c] > top) top = row[c] + added[c], best = c;
            out[i] = best;
        }
    });
}

}  // namespace suffice
