// The number of edges below each of many numbers.
#include "search.hpp"

#include "vectors.hpp"

namespace suffice {
namespace {

constexpr Index few = 64;  // up to which a comparison with each edge is faster than a search
constexpr int together = 4, lanes = 8;

// Compare some numbers with each edge; the counts stay in registers.
SUFFICE_INLINE void compare(const double* x, const double* edges, Index count, std::int32_t* out) {
    Eight value[together], below[together];
    for (int t = 0; t < together; ++t) value[t] = load<Eight>(x + t * lanes), below[t] = Eight{};
    for (Index k = 0; k < count; ++k) {
        const double edge = edges[k];
        SUFFICE_UNROLL(4)
        for (int t = 0; t < together; ++t) below[t] = select(value[t] > edge, Eight(below[t] + 1.0), below[t]);
    }
    for (int t = 0; t < together; ++t)
        for (int v = 0; v < lanes; ++v) out[t * lanes + v] = std::int32_t(below[t][v]);
}

void count(const double* x, Index rows, const double* edges, Index count, std::int32_t* out) {
    Index i = 0;
    for (; count <= few && i + together * lanes <= rows; i += together * lanes) compare(x + i, edges, count, out + i);
    const Index done = i;
    for (; i < rows; ++i) out[i] = 0;
    for (Index left = count; left > 0 && done < rows;) {
        const std::int32_t half = std::int32_t((left + 1) / 2);
#pragma omp simd
        for (Index i = done; i < rows; ++i) out[i] += edges[out[i] + half - 1] < x[i] ? half : 0;
        left -= half;
    }
}

}  // namespace

SUFFICE_DISPATCH(count_below, count)

#ifndef SUFFICE_ONLY_LOOPS_FOR

void count_below(const double* x, Index rows, const double* edges, Index count, std::int32_t* out) {
    fast::count_below(x, rows, edges, count, out);
}

#endif

}  // namespace suffice
