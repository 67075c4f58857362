// Sort doubles as integers: by counting the leading bits, eleven at a time, then equal ones by comparison.
#include <bit>
#include <utility>

#include "threads.hpp"

namespace suffice {
namespace {

using Bits = std::uint64_t;

// An integer for each double that has the same order; NaN is last.
Bits rank_of(double x) {
    if (x != x) return ~Bits(0);
    const Bits bits = std::bit_cast<Bits>(x);
    return bits ^ (Bits(std::int64_t(bits) >> 63) | Bits(1) << 63);
}
double value_of(Bits rank) { return std::bit_cast<double>(rank ^ (Bits(std::int64_t(~rank) >> 63) | Bits(1) << 63)); }

struct Lone {
    Bits rank;
    Lone(Bits r, Index) : rank(r) {}
    Lone() = default;
    void tell(Index*) const {}
};
struct Placed {
    Bits rank;
    Index place;
    Placed(Bits r, Index p) : rank(r), place(p) {}
    Placed() = default;
    void tell(Index* to) const { *to = place; }
};

template <class Item>
void sort_segment(double* values, Index lo, Index n, Index* order, std::vector<Item>& items, std::vector<Item>& spare) {
    constexpr int digit = 11, digits = 3, buckets = 1 << digit;
    items.resize(n);
    Bits low = ~Bits(0), high = 0;
    for (Index i = 0; i < n; ++i) {
        items[i] = Item(rank_of(values[i]), lo + i);
        low = std::min(low, items[i].rank);
        high = std::max(high, items[i].rank);
    }
    auto less = [](const Item& a, const Item& b) { return a.rank < b.rank; };
    if (n < 256) {
        std::sort(items.begin(), items.end(), less);
    } else {
        // Three digits above the lowest `drop` bits distinguish nearly all values.
        const int drop = std::max(0, int(std::bit_width(high - low)) - digit * digits);
        std::vector<Index> begin(digits * buckets);
        auto bucket = [&](const Item& item, int d) {
            return d * buckets + Index((item.rank - low) >> (drop + d * digit) & (buckets - 1));
        };
        for (const Item& item : items)
            for (int d = 0; d < digits; ++d) ++begin[bucket(item, d)];
        spare.resize(n);
        for (int d = 0; d < digits; ++d) {
            Index at = 0;
            for (Index b = d * buckets; b < (d + 1) * buckets; ++b) at += std::exchange(begin[b], at);
            for (const Item& item : items) spare[begin[bucket(item, d)]++] = item;
            items.swap(spare);
        }
        for (Index i = 0, j; drop && i < n; i = j) {
            const Bits lead = (items[i].rank - low) >> drop;
            for (j = i + 1; j < n && (items[j].rank - low) >> drop == lead;) ++j;
            if (j - i > 1) std::sort(items.begin() + i, items.begin() + j, less);
        }
    }
    for (Index i = 0; i < n; ++i) {
        values[i] = value_of(items[i].rank);
        items[i].tell(order + i);
    }
}

template <class Item>
void sort_all(double* values, const Index* start, Index segments, Index* order) {
    const int threads = threads_for(start[segments] * 8, segments);
    Index longest = 0;
    for (Index c = 0; c < segments; ++c) longest = std::max(longest, start[c + 1] - start[c]);
    std::vector<std::vector<Item>> items(threads), spare(threads);
    for (auto* scratch : {&items, &spare})
        for (auto& own : *scratch)
            own.reserve(longest);  // in this thread: memory allocated by a new thread is always new to the process
    for_blocks(segments, threads, [&](Index c, int slot) {
        sort_segment(values + start[c], start[c], start[c + 1] - start[c], order ? order + start[c] : nullptr,
                     items[slot], spare[slot]);
    });
}

}  // namespace

void sort_segments(double* values, const Index* start, Index segments, Index* order) {
    order ? sort_all<Placed>(values, start, segments, order) : sort_all<Lone>(values, start, segments, order);
}

}  // namespace suffice
