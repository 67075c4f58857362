// Binary search of many numbers at once, without branches that a processor could only guess.
#pragma once

#include "threads.hpp"

namespace suffice {

constexpr Index searched_rows = 1024;  // at most, that are searched at once

// out[i] is the number of ascending edges below x[i], i < rows; NaN has none below.
SUFFICE_INLINE void count_below(const double* __restrict x, Index rows, const double* edges, Index count,
                                std::int32_t* __restrict out) {
    for (Index i = 0; i < rows; ++i) out[i] = 0;
    for (Index left = count; left > 0;) {
        const std::int32_t half = std::int32_t((left + 1) / 2);
#pragma omp simd
        for (Index i = 0; i < rows; ++i) out[i] += edges[out[i] + half - 1] < x[i] ? half : 0;
        left -= half;
    }
}

}  // namespace suffice
