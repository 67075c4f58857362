// The number of edges below each of many numbers.
#include "search.hpp"

namespace suffice {
namespace {

constexpr Index few = 24;  // up to which a comparison with each edge is faster than a search

void count(const double* x, Index rows, const double* edges, Index count, std::int32_t* out) {
    for (Index i = 0; i < rows; ++i) out[i] = 0;
    for (Index k = 0; count <= few && k < count; ++k) {
        const double edge = edges[k];
#pragma omp simd
        for (Index i = 0; i < rows; ++i) out[i] += x[i] > edge;
    }
    for (Index left = count > few ? count : 0; left > 0;) {
        const std::int32_t half = std::int32_t((left + 1) / 2);
#pragma omp simd
        for (Index i = 0; i < rows; ++i) out[i] += edges[out[i] + half - 1] < x[i] ? half : 0;
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
