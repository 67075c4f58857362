// Scores of numbers by the bin they fall into, or by the value that they are.
#include <cmath>

#include "search.hpp"

namespace suffice {

Index step_scores(const double* x, Index stride, Index n, const double* edges, Index m, bool exact,
                  const double* scores, Index width, Index classes, double* out) {
    FirstPosition infinite;
    for_searched(x, stride, n, edges, m, [&](Index lo, Index rows, const double* value, const std::int32_t* below) {
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
