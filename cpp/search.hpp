// The number of edges below each of many numbers, without branches that a processor could only guess.
#pragma once

#include <vector>

#include "threads.hpp"

namespace suffice {

constexpr Index searched_rows = 1024;  // at a time

// A table of equal steps from the first edge to the last: how many edges lie in the steps before each. The step of a number
// is found by rounding, which never puts a greater number into an earlier step. So all edges in earlier steps are below
// it, and none in later steps; only those in its own step are compared with it.
struct StepTable {
    double from, per_step, last;  // a number x is in step min(max((x - from) * per_step, 0), last)
    const std::int32_t* before;   // of each step
    const double* edges;          // then infinity
    int most;                     // edges in one step; 0 if a table is of no use
};

// search.cpp: out[i] is the number of ascending edges below x[i], i < rows; NaN has none below.
void count_below(const double* x, Index rows, const double* edges, Index count, std::int32_t* out);

#ifndef SUFFICE_ONLY_LOOPS_FOR

// Ascending edges that n numbers are searched among: by a table of steps where there are enough numbers to make one, and
// where the edges are spread well enough.
class Search {
public:
    Search(const double* edges, Index count, Index n);

    void count_below(const double* x, Index rows, std::int32_t* out) const;

private:
    const double* edges_;
    Index count_;
    std::vector<double> closed_;  // the edges, then infinity
    std::vector<std::int32_t> before_;
    StepTable steps_{};
};

// Search n numbers in threads, and call body(lo, rows, value, below) for each block of rows lo .. lo+rows-1.
template <class Body>
void for_searched(const double* x, Index stride, Index n, const double* edges, Index count, Body body) {
    const Search search(edges, count, n);
    const Index blocks = (n + searched_rows - 1) / searched_rows;
    for_blocks(blocks, threads_for(8 * n, blocks), [&](Index block, int) {
        const Index lo = block * searched_rows, rows = std::min(searched_rows, n - lo);
        if (rows < 1) return;  // never; it tells the compiler that there are values
        double copied[searched_rows];
        std::int32_t below[searched_rows];
        const double* value = stride == 1 ? x + lo : copied;
        for (Index i = 0; stride != 1 && i < rows; ++i) copied[i] = x[(lo + i) * stride];
        search.count_below(value, rows, below);
        body(lo, rows, value, below);
    });
}

#endif

}  // namespace suffice
