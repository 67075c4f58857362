// Cells of the values of a column: [k 2^e, (k + 1) 2^e), each named by its lower edge, which is a double.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels.hpp"

namespace suffice {

// The level at which every double is a cell of its own, and the one with two cells: numbers below 0, and the others.
constexpr int finest_level = -1074, coarsest_level = 1024;

// The cells of one level.
class Grid {
public:
    explicit Grid(int level)
        : level_(level),
          simple_(level > -1000 && level < 1000),
          scale_(simple_ ? std::ldexp(1.0, -level) : 0.0),
          width_(simple_ ? std::ldexp(1.0, level) : 0.0),
          far_(std::ldexp(1.0, level + 52)) {}

    int level() const { return level_; }
    bool simple() const { return simple_; }  // whether 2^e and 2^-e are doubles far from the ends of their range
    double scale() const { return scale_; }  // 2^-e

    // The lower edge of the cell that holds x. Below the least double, the edge is the least double.
    double edge(double x) const {
        if (level_ == finest_level || !(std::abs(x) < far_)) return x + 0.0;  // a multiple of 2^e; -0 is 0
        double below = std::floor(simple_ ? x * scale_ : std::ldexp(x, -level_));
        if (below == 0.0 && x < 0.0) below = -1.0;  // the product was rounded to 0
        const double found = simple_ ? below * width_ : std::ldexp(below, level_);
        return std::max(found, std::numeric_limits<double>::lowest()) + 0.0;
    }

private:
    int level_;
    bool simple_;
    double scale_, width_, far_;
};

// A cell: its edge, its weight, and what rounding took from the weight.
struct ValueCell {
    double edge, weight, low;
};

// The cells of one column, class by class, each ascending.
struct ColumnCells {
    int level = finest_level;
    std::vector<std::vector<ValueCell>> of_class;
};

// Add the cells of the n values of every column, NaN being missing, to `out`, at the least level, not below level[j], at which no class has
// more than `limit`. infinite[j] gets the row of an infinite value, if it is -1 and there is one.
void count_cells(const std::vector<StridedColumn>& columns, Rows rows, Index n, Index limit, const int* level,
                 std::vector<ColumnCells>& out, std::vector<Index>& infinite);

// Raise the cells of a column to a coarser level.
void coarsen(ColumnCells& column, int level);

// Add the cells of `other`, then take the least level at which no class has more than `limit` cells.
void add_cells(ColumnCells& column, ColumnCells&& other, Index limit);

}  // namespace suffice
