// From bits that say which bytes belong to tokens, to the places of the tokens.
#include <bit>

#include "dispatch.hpp"
#include "tokens.hpp"

namespace suffice {
namespace {

Index find_runs(const std::uint64_t* mask, Index words, bool alone, std::uint32_t* start, std::uint32_t* end) {
    const std::uint64_t lonely = alone ? ~std::uint64_t(0) : 0;
    std::uint64_t before = 0, kept_before = 0;
    Index found = 0, ended = 0;
    // Positions of the ones among `bits`: a fixed number at a time: a loop of varying length is mispredicted.
    auto positions = [](std::uint64_t bits, Index count, std::uint32_t base, std::uint32_t* to) SUFFICE_INLINE_LAMBDA {
        for (Index i = 0; i < count; i += 8)
            for (Index k = i; k < i + 8; ++k) {
                to[k] = base + std::uint32_t(std::countr_zero(bits));
                bits &= bits - 1;
            }
    };
    for (Index w = 0; w < words; ++w) {
        const std::uint64_t bits = mask[w], next = w + 1 < words ? mask[w + 1] << 63 : 0;
        const std::uint64_t kept = bits & ((bits << 1 | before) | (bits >> 1 | next) | lonely);
        const std::uint64_t shifted = kept << 1 | kept_before;
        const std::uint64_t starts = kept & ~shifted, ends = shifted & ~kept;
        const Index begin = std::popcount(starts), finish = std::popcount(ends);
        positions(starts, begin, std::uint32_t(64 * w), start + found);
        positions(ends, finish, std::uint32_t(64 * w), end + ended);
        found += begin;
        ended += finish;
        before = bits >> 63;
        kept_before = kept >> 63;
    }
    return ended;
}

void lengths(const std::uint32_t* __restrict start, std::uint32_t* __restrict end, Index n) {
    for (Index t = 0; t < n; ++t) end[t] -= start[t];
}

}  // namespace

SUFFICE_DISPATCH(token_runs, find_runs)
SUFFICE_DISPATCH(token_lengths, lengths)

#ifndef SUFFICE_ONLY_LOOPS_FOR

Index token_runs(const std::uint64_t* mask, Index words, bool alone, std::uint32_t* start, std::uint32_t* end) {
    return fast::token_runs(mask, words, alone, start, end);
}

void token_lengths(const std::uint32_t* start, std::uint32_t* end, Index n) { fast::token_lengths(start, end, n); }

#endif

}  // namespace suffice
