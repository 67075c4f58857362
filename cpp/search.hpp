// Binary search of many numbers at once, without branches that a processor could only guess.
#pragma once

#include "threads.hpp"

namespace suffice {

constexpr Index searched_rows = 1024;  // at a time

// search.cpp: out[i] is the number of ascending edges below x[i], i < rows; NaN has none below.
void count_below(const double* x, Index rows, const double* edges, Index count, std::int32_t* out);

#ifndef SUFFICE_ONLY_LOOPS_FOR

// Search n numbers in threads, and call body(lo, rows, value, below) for each block of rows lo .. lo+rows-1.
template <class Body>
void for_searched(const double* x, Index stride, Index n, const double* edges, Index count, Body body) {
    const Index blocks = (n + searched_rows - 1) / searched_rows;
    for_blocks(blocks, threads_for(8 * n, blocks), [&](Index block, int) {
        const Index lo = block * searched_rows, rows = std::min(searched_rows, n - lo);
        if (rows < 1) return;  // never; it tells the compiler that there are values
        double value[searched_rows];
        std::int32_t below[searched_rows];
        for (Index i = 0; i < rows; ++i) value[i] = x[(lo + i) * stride];
        count_below(value, rows, edges, count, below);
        body(lo, rows, value, below);
    });
}

#endif

}  // namespace suffice
