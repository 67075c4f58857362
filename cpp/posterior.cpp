// From log p(x, y) to p(y | x), in log space.
#include <cmath>
#include <limits>

#include "vector_math.hpp"

namespace suffice {

// Rows of one tile; `scratch` holds rows * classes values.
template <class T>
SUFFICE_INLINE Index any_tile(double* scores, Index rows, Index classes, const double* added, const double* fallback,
                              bool as_log, double* __restrict scratch, T* out) {
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
        const double* row = scores + i * classes;
        T* to = out + i * classes;
        const double* power = scratch + i * classes;
        double sum = 0;
        for (Index c = 0; c < classes; ++c) sum += power[c];
        if (as_log) {
            const double norm = std::log(sum);
            for (Index c = 0; c < classes; ++c) to[c] = T(row[c] - norm);
        } else {
            const double share = 1 / sum;
            for (Index c = 0; c < classes; ++c) to[c] = T(power[c] * share);
        }
    }
    return lost;
}

SUFFICE_CLONES Index posterior_tile(double* scores, Index rows, Index classes, const double* added,
                                    const double* fallback, bool as_log, double* scratch, double* out) {
    return any_tile(scores, rows, classes, added, fallback, as_log, scratch, out);
}
SUFFICE_CLONES Index posterior_tile(double* scores, Index rows, Index classes, const double* added,
                                    const double* fallback, bool as_log, double* scratch, float* out) {
    return any_tile(scores, rows, classes, added, fallback, as_log, scratch, out);
}

template <class T>
Index posterior(double* scores, Index rows, Index classes, const double* added, const double* fallback, bool as_log,
                T* out) {
    const Index size = std::max<Index>(1, 2048 / std::max<Index>(1, classes)), tiles = (rows + size - 1) / size;
    const int threads = threads_for(rows * classes * 4, tiles);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>(size * classes));
    std::atomic<Index> lost{0};
    for_blocks(tiles, threads, [&](Index b, int slot) {
        const Index at = b * size * classes, n = std::min(rows, (b + 1) * size) - b * size;
        lost += posterior_tile(scores + at, n, classes, added, fallback, as_log, scratch[slot].data(), out + at);
    });
    return lost;
}

template Index posterior(double*, Index, Index, const double*, const double*, bool, double*);
template Index posterior(double*, Index, Index, const double*, const double*, bool, float*);

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
