// The weight of the rows of each class, and whether all codes are valid.
#include "threads.hpp"

namespace suffice {

void class_weights(Rows rows, Index n, double* out) {
    // Four separate sums: neighbouring rows are often of one class, and each addition would wait for the one before.
    constexpr Index ways = 4;
    const Index k = rows.classes;
    auto add = [&](auto& sums, auto weight_of) {
        Index i = 0;
        for (; i + ways <= n; i += ways)
            for (Index w = 0; w < ways; ++w) sums[w * k + rows.code[i + w]] += weight_of(i + w);
        for (; i < n; ++i) sums[rows.code[i]] += weight_of(i);
        for (Index c = 0; c < k; ++c)
            for (Index w = 0; w < ways; ++w) out[c] += double(sums[w * k + c]);
    };
    if (rows.weight) {
        std::vector<double> sums(ways * k);
        add(sums, [&](Index i) { return rows.weight[i]; });
    } else {
        std::vector<Index> counts(ways * k);
        add(counts, [](Index) { return Index(1); });
    }
}

bool codes_within(const std::int32_t* codes, Index n, Index classes) {
    std::int32_t low = 0, high = -1;
#pragma omp simd reduction(min : low) reduction(max : high)
    for (Index i = 0; i < n; ++i) {
        low = codes[i] < low ? codes[i] : low;
        high = codes[i] > high ? codes[i] : high;
    }
    return low >= 0 && high < classes;
}

}  // namespace suffice
