// From log p(x, y) to p(y | x), in log space.
#include <cmath>
#include <limits>

#include "threads.hpp"
#include "vector_math.hpp"

namespace suffice {

// What a tile of rows showed: how many had no possible class, and the first that is not a number, or `rows`.
struct PosteriorTile {
    Index lost, odd;
};

namespace {

// Rows of one tile. Of the posterior a part is `kept`, and `share` is added; `scratch` holds rows * classes values.
template <class T, int known>  // classes, 0: any number
SUFFICE_INLINE PosteriorTile tile_of(double* scores, Index rows, Index any, const double* added, const double* fallback,
                                     const double* share, double kept, bool as_log, double* __restrict scratch,
                                     T* out) {
    const Index classes = known ? known : any;
    constexpr double impossible = -std::numeric_limits<double>::infinity();
    Index lost = 0, odd = rows;
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
        if (!(sum > 0) && odd == rows) odd = i;
        if (as_log) {
            const double norm = std::log(sum);
            for (Index c = 0; c < classes; ++c) to[c] = T(row[c] - norm);
        } else {
            const double scale = kept / sum;
            for (Index c = 0; c < classes; ++c) to[c] = T(power[c] * scale + share[c]);
        }
    }
    return {lost, odd};
}

template <class T>
PosteriorTile any_tile(double* scores, Index rows, Index classes, const double* added, const double* fallback,
                       const double* share, double kept, bool as_log, double* scratch, T* out) {
    return classes == 2 ? tile_of<T, 2>(scores, rows, classes, added, fallback, share, kept, as_log, scratch, out)
                        : tile_of<T, 0>(scores, rows, classes, added, fallback, share, kept, as_log, scratch, out);
}

}  // namespace

SUFFICE_DISPATCH(posterior_tile, any_tile<double>, any_tile<float>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

// Lower a number that several threads share to `value`, if it is larger.
static void lower(std::atomic<Index>& shared, Index value) {
    Index now = shared;
    while (value < now && !shared.compare_exchange_weak(now, value)) {
    }
}

template <class T>
Index posterior(double* scores, Index rows, Index classes, const double* added, const double* fallback, bool as_log,
                double mixed, T* out) {
    std::vector<double> share(classes);  // of the prior
    if (mixed > 0 && classes) {
        const double top = *std::max_element(fallback, fallback + classes);
        double sum = 0;
        for (Index c = 0; c < classes; ++c) sum += share[c] = std::exp(fallback[c] - top);
        for (double& each : share) each *= mixed / sum;
    }
    const Index size = std::max<Index>(1, 2048 / std::max<Index>(1, classes)), tiles = (rows + size - 1) / size;
    const int threads = threads_for(rows * classes * 4, tiles);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>(size * classes));
    std::atomic<Index> lost{0}, odd{rows};
    for_blocks(tiles, threads, [&](Index b, int slot) {
        const Index at = b * size * classes, n = std::min(rows, (b + 1) * size) - b * size;
        const PosteriorTile found = fast::posterior_tile(scores + at, n, classes, added, fallback, share.data(),
                                                         1 - mixed, as_log, scratch[slot].data(), out + at);
        lost += found.lost;
        if (found.odd < n) lower(odd, b * size + found.odd);
    });
    return odd < rows ? -1 - odd : lost.load();
}

template Index posterior(double*, Index, Index, const double*, const double*, bool, double, double*);
template Index posterior(double*, Index, Index, const double*, const double*, bool, double, float*);

Index most_probable(const double* scores, Index rows, Index classes, const double* added, Index fallback, Index* out) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const Index size = 4096, tiles = (rows + size - 1) / size;
    std::atomic<Index> odd{rows};
    for_blocks(tiles, threads_for(rows * classes, tiles), [&](Index b, int) {
        for (Index i = b * size; i < std::min(rows, (b + 1) * size); ++i) {
            const double* row = scores + i * classes;
            double top = -infinite;
            Index best = fallback;
            bool numbers = true;
            for (Index c = 0; c < classes; ++c) {
                const double score = row[c] + added[c];
                numbers &= score < infinite;  // NaN is not
                if (score > top) top = score, best = c;
            }
            if (!numbers) lower(odd, i);
            out[i] = best;
        }
    });
    return odd < rows ? odd.load() : -1;
}

#endif

}  // namespace suffice
