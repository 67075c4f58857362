// Scores of numbers by functions that are linear between breaks, and may jump at them.
#include <algorithm>

#include "search.hpp"

namespace suffice {

void line_scores(const double* x, Index stride, Index n, const double* breaks, Index m, Lines lines, Index classes,
                 double* out) {
    for_searched(x, stride, n, breaks, m, [&](Index lo, Index rows, const double* value, const std::int32_t* below) {
        for (Index i = 0; i < rows; ++i) {
            const bool missing = value[i] != value[i];
            const Index piece = missing ? m + 1 : below[i];
            const double bounded = std::min(std::max(value[i], breaks[0]), breaks[m - 1]);
            const double apart = missing ? 0.0 : bounded - lines.origin[piece];
            const double *level = lines.level + piece * classes, *slope = lines.slope + piece * classes;
            double* own = out + (lo + i) * classes;
            for (Index c = 0; c < classes; ++c) own[c] += slope[c] * apart + level[c];
        }
    });
}

}  // namespace suffice
