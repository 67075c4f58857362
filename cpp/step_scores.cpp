// Scores of numbers by the bin they fall into, or by the value that they are.
#include <cmath>

#include "search.hpp"

namespace suffice {
namespace {

constexpr Index few = 24;

// A comparison with each edge is faster than a search while they are few.
SUFFICE_CLONES void edges_below(const double* x, Index n, const double* edges, Index m, std::int32_t* out) {
    if (m > few) return count_below(x, n, edges, m, out);
    for (Index i = 0; i < n; ++i) out[i] = 0;
    for (Index k = 0; k < m; ++k) {
        const double edge = edges[k];
#pragma omp simd
        for (Index i = 0; i < n; ++i) out[i] += x[i] > edge;
    }
}

}  // namespace

Index step_scores(const double* x, Index stride, Index n, const double* edges, Index m, bool exact,
                  const double* scores, Index width, Index classes, double* out) {
    constexpr Index size = searched_rows;
    const Index blocks = (n + size - 1) / size;
    FirstPosition infinite;
    for_blocks(blocks, threads_for(n * 4, blocks), [&](Index b, int) {
        const Index lo = b * size, rows = std::min(size, n - lo);
        double value[size];
        std::int32_t below[size];
        for (Index i = 0; i < rows; ++i) value[i] = x[(lo + i) * stride];
        edges_below(value, rows, edges, m, below);
        for (Index i = 0; i < rows; ++i) {
            if (!std::isfinite(value[i])) {
                if (std::isinf(value[i])) infinite.report(lo + i);
                continue;
            }
            Index group = below[i];
            if (exact && (group == m || edges[group] != value[i])) group = m;
            const double* score = scores + group * width;
            for (Index c = 0; c < classes; ++c) out[(lo + i) * classes + c] += score[c];
        }
    });
    return infinite.get();
}

}  // namespace suffice
