// The weight of each class's rows.
#include "threads.hpp"

namespace suffice {

void class_weights(Rows rows, Index n, double* out) {
    // Four sums at a time: rows of one class follow each other, and each addition waits for the last.
    constexpr Index ways = 4;
    std::vector<double> sums(ways * rows.classes);
    for (Index i = 0; i < n; ++i)
        sums[(i % ways) * rows.classes + rows.code[i]] += rows.weight ? rows.weight[i] : 1.0;
    for (Index w = 0; w < ways; ++w)
        for (Index c = 0; c < rows.classes; ++c) out[c] += sums[w * rows.classes + c];
}

}  // namespace suffice
