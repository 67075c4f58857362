// A function of a number that is linear between knots.
#include "search.hpp"

namespace suffice {

void interpolate(const double* x, Index stride, Index n, const double* knots, const double* values, Index m, float* out,
                 Index out_stride) {
    for_searched(x, stride, n, knots, m, [&](Index lo, Index rows, const double* value, const std::int32_t* below) {
        for (Index i = 0; i < rows; ++i) {
            const Index k = below[i];
            double found = 0;  // of NaN
            if (k > 0 && k < m && knots[k] != value[i])
                found =
                    (values[k] - values[k - 1]) / (knots[k] - knots[k - 1]) * (value[i] - knots[k - 1]) + values[k - 1];
            else if (value[i] == value[i])
                found = values[std::min(k, m - 1)];
            out[(lo + i) * out_stride] = float(found);
        }
    });
}

}  // namespace suffice
