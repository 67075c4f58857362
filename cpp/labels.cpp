// Labels that are integers of a small range, and the codes of labels.
#include <limits>

#include "threads.hpp"

namespace suffice {
namespace {

template <class T>
void widen(const T* values, Index lo, Index hi, T& low, T& high) {
    T least = low, most = high;
    for (Index i = lo; i < hi; ++i) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    low = least, high = most;
}

}  // namespace

SUFFICE_DISPATCH(widen_range, widen<std::int64_t>, widen<std::int32_t>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr Index at_once = 1 << 16;  // rows

// Call work(lo, hi, slot) for all blocks of n rows.
template <class Work>
void for_rows(Index n, int threads, Work work) {
    for_blocks((n + at_once - 1) / at_once, threads,
               [&](Index b, int slot) { work(b * at_once, std::min(n, (b + 1) * at_once), slot); });
}

// Threads that each have a table of `size` entries, which must not take more memory than the rows.
int threads_for_rows(Index n, Index size = 1) {
    return size > at_once ? 1 : threads_for(4 * n, (n + at_once - 1) / at_once);  // codes are looked up: 1 ns a row
}

template <class T>
std::pair<T, T> range_of(const T* values, Index n) {
    using Limits = std::numeric_limits<T>;
    const int threads = threads_for_rows(n);
    std::vector<T> low(threads, Limits::max()), high(threads, Limits::min());
    for_rows(n, threads, [&](Index lo, Index hi, int t) { fast::widen_range(values, lo, hi, low[t], high[t]); });
    return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

}  // namespace

std::pair<std::int64_t, std::int64_t> integer_range(const std::int64_t* values, Index n) { return range_of(values, n); }

bool codes_within(const std::int32_t* codes, Index n, Index classes) {
    const auto [low, high] = range_of(codes, n);
    return n == 0 || (low >= 0 && high < classes);
}

bool number_integers(const std::int64_t* values, Index n, std::int64_t low, Index range, std::int32_t* codes,
                     bool* seen) {
    const int threads = threads_for_rows(n, range);
    std::vector<std::vector<char>> found(threads, std::vector<char>(range));
    std::atomic<bool> inside{true};
    for_rows(n, threads, [&](Index lo, Index hi, int slot) {
        char* own = found[slot].data();
        for (Index i = lo; i < hi; ++i) {
            const std::uint64_t offset = std::uint64_t(values[i]) - std::uint64_t(low);
            if (offset >= std::uint64_t(range)) {
                inside = false;
                return;
            }
            codes[i] = std::int32_t(offset);
            own[offset] = 1;
        }
    });
    for (const auto& own : found)
        for (Index v = 0; v < range; ++v) seen[v] |= own[v] != 0;
    return inside;
}

void count_codes(const std::int32_t* codes, Index n, Index classes, double* out) {
    // Four separate counts: neighbouring rows are often of one class, and each addition would wait for the one before.
    constexpr Index ways = 4;
    const int threads = threads_for_rows(n, classes);
    std::vector<std::vector<Index>> counts(threads, std::vector<Index>(ways * classes));
    for_rows(n, threads, [&](Index lo, Index hi, int slot) {
        Index* count = counts[slot].data();
        Index i = lo;
        for (; i + ways <= hi; i += ways)
            for (Index w = 0; w < ways; ++w) ++count[w * classes + codes[i + w]];
        for (; i < hi; ++i) ++count[codes[i]];
    });
    for (const auto& own : counts)
        for (Index at = 0; at < ways * classes; ++at) out[at % classes] += double(own[at]);
}

#endif

}  // namespace suffice
