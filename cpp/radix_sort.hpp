// Sort by integers, some bits at a time.
#pragma once

#include <algorithm>

#include "kernels.hpp"

namespace suffice {

// Sort items by the lowest `bits` of key(item); higher bits are equal. `other` has room for as many items.
template <int digit, class T, class Key>
void radix_sort(T* items, T* other, Index n, int bits, Key key) {
    constexpr int values = 1 << digit;
    if (n < values / 8) {
        std::sort(items, items + n, [&](const T& a, const T& b) { return key(a) < key(b); });
        return;
    }
    T *from = items, *to = other;
    for (int shift = 0; shift < bits; shift += digit) {
        Index at[values + 1] = {};
        for (Index e = 0; e < n; ++e) ++at[(key(from[e]) >> shift & (values - 1)) + 1];
        if (*std::max_element(at, at + values + 1) == n) continue;  // all have the same digit
        for (int d = 0; d < values; ++d) at[d + 1] += at[d];
        for (Index e = 0; e < n; ++e) to[at[key(from[e]) >> shift & (values - 1)]++] = from[e];
        std::swap(from, to);
    }
    if (from != items) std::copy(from, from + n, items);
}

}  // namespace suffice
