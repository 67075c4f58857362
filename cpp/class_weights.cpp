// The weight of the rows of each class.
#include "dispatch.hpp"
#include "double_double.hpp"

namespace suffice {

namespace {

bool are_whole(const double* values, Index n, bool summed) {
    double largest = 0, odd = 0;
#pragma omp simd reduction(max : largest) reduction(+ : odd)
    for (Index i = 0; i < n; ++i) {
        const double size = std::fabs(values[i]), shifted = size + 0x1p52;
        largest = largest > size ? largest : size;
        odd += shifted - 0x1p52 == size ? 0.0 : 1.0;
    }
    return odd == 0 && largest * (summed ? double(n) : 1.0) < 0x1p53;
}

}  // namespace

SUFFICE_DISPATCH(all_whole, are_whole)

#ifndef SUFFICE_ONLY_LOOPS_FOR

bool all_whole(const double* values, Index n, bool summed) { return fast::all_whole(values, n, summed); }

void class_weights(Rows rows, Index n, double* out, double* low) {
    if (!rows.weight) return count_codes(rows.code, n, rows.classes, out);
    // Four separate sums: neighbouring rows are often of one class, and each addition would wait for the one before.
    constexpr Index ways = 4;
    const Index k = rows.classes;
    std::vector<double> high(ways * k), lost(ways * k);
    for (Index i = 0; i < n; ++i) {
        const Index at = (i < n / ways * ways ? i % ways : 0) * k + rows.code[i];
        add_to(high[at], lost[at], rows.weight[i]);
    }
    for (Index at = 0; at < ways * k; ++at) {
        add_to(out[at % k], low[at % k], high[at]);
        low[at % k] += lost[at];
    }
}

#endif

}  // namespace suffice
