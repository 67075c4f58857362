// The spread of weighted values without one of them, for the bandwidth of a kernel density.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.hpp"

namespace suffice {

void spread_without(const double* values, const double* weight, Index n, const Index* place, const double* removed,
                    Index m, double divisor, double residue, double* out) {
    const double half = n ? 0.5 * values[n - 1] - 0.5 * values[0] : 0.0;
    if (half == 0) {
        std::fill_n(out, m, 0.0);
        return;
    }
    std::vector<double> at(n), below(n);  // values from 0 to 1, so that squares neither overflow nor underflow
    double total = 0, mean = 0;
    for (Index i = 0; i < n; ++i) {
        at[i] = (0.5 * values[i] - 0.5 * values[0]) / half;
        below[i] = total += weight[i];
        mean += weight[i] * at[i];
    }
    mean /= total;
    auto squares_around = [&](double centre, Index changed, double own) {
        double sum = 0;
        for (Index i = 0; i < n; ++i) sum += (i == changed ? own : weight[i]) * (at[i] - centre) * (at[i] - centre);
        return sum;
    };
    const double squares = squares_around(mean, -1, 0.0);
    // Ranks are integers, and so are sums of weights, but for rounding: a weight of 1 that faded and grew again is 1.
    const double rounding = 1e-12 * total;
    auto first_above = [&](double rank) {
        return std::upper_bound(below.begin(), below.end(), rank + rounding) - below.begin();
    };
    for (Index i = 0; i < m; ++i) {
        const Index own = place[i];
        const double less = removed[i], off = at[own] - mean;
        const bool gone = weight[own] - less <= residue * weight[own];
        if (n - gone < 2) {
            out[i] = 0;
            continue;
        }
        const Index last = gone && own == n - 1 ? n - 2 : n - 1;
        const double left = total - less;
        double rest = squares - off * off * less * total / left;
        if (rest < 1e-5 * squares) {  // too few digits are left: sum the others again
            const double kept = gone ? 0.0 : weight[own] - less;
            rest = squares_around((mean * total - (weight[own] - kept) * at[own]) / left, own, kept);
        }
        const double deviation = std::sqrt(std::max(rest, 0.0) / std::max(left - 1.0, 0.5 * left));
        auto value_of_rank = [&](double rank) {
            const Index found = first_above(rank);
            return at[std::min(found < own ? found : std::max<Index>(own, first_above(rank + less)), last)];
        };
        auto quantile = [&](double share) {
            const double rank = std::max(share * (left - 1.0), 0.0), low = std::floor(rank);
            const double under = value_of_rank(low);
            return under + (rank - low) * (value_of_rank(std::ceil(rank)) - under);
        };
        const double between = (quantile(0.75) - quantile(0.25)) / divisor;
        out[i] = half * 2.0 * (between > 0 ? std::min(deviation, between) : deviation);
    }
}

}  // namespace suffice
