#include "lexicon.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "threads.hpp"

namespace suffice {
namespace {

constexpr Index together = 64;  // lookups at a time: enough to hide the latency of cache misses

std::uint64_t load(const std::uint8_t* at) {
    std::uint64_t out;
    std::memcpy(&out, at, 8);
    return out;
}

// Multiplication by an odd number mixes every bit into the highest ones, which give the slot.
SUFFICE_INLINE std::uint64_t scatter_bits(std::uint64_t key, std::uint64_t by) { return (key ^ (key >> 29)) * by; }

std::uint64_t hash_long(const std::uint8_t* token, std::uint32_t length) {
    std::uint64_t h = length * 0x9E3779B97F4A7C15u;
    for (; length >= 8; token += 8, length -= 8) h = std::rotl((h ^ load(token)) * 0xD6E8FEB86659FD93u, 29);
    std::uint64_t rest = 0;
    std::memcpy(&rest, token, length);
    h = (h ^ rest) * 0xD6E8FEB86659FD93u;
    return h ^ (h >> 32);
}

}  // namespace

Lexicon::Lexicon() : slots_(std::size_t(1) << 12), shift_(64 - 12) {}

SUFFICE_INLINE Lexicon::Probe Lexicon::probe(const std::uint8_t* token, std::uint32_t length) {
    if (length <= 8) [[likely]] {
        // The bytes beyond the token are shifted out.
        const std::uint64_t key = length ? load(token) << (64 - 8 * length) >> (64 - 8 * length) : 0;
        return {key, scatter_bits(key, 0x9E3779B97F4A7C15u), length + 1};
    }
    const std::uint64_t key = hash_long(token, length);
    return {key, scatter_bits(key, 0x9E3779B97F4A7C15u), a_long};
}

SUFFICE_INLINE Lexicon::Probe Lexicon::probe(Feature prefix, Feature last) {
    const std::uint64_t key = std::uint64_t(prefix) << 32 | last;
    return {key, scatter_bits(key, 0xD6E8FEB86659FD93u), a_pair};
}

SUFFICE_INLINE bool Lexicon::same(const Slot& slot, const Probe& wanted, const std::uint8_t* token,
                                  std::uint32_t length) const {
    if (slot.key != wanted.key || slot.kind != wanted.kind) return false;
    if (wanted.kind != a_long) [[likely]]
        return true;
    return length_[slot.feature] == length && !std::memcmp(arena_.data() + value_[slot.feature], token, length);
}

SUFFICE_INLINE Feature Lexicon::look(const Probe& wanted, const std::uint8_t* token, std::uint32_t length) const {
    for (std::size_t at = place(wanted.hash);; at = (at + 1) & (slots_.size() - 1)) {
        if (same(slots_[at], wanted, token, length)) return slots_[at].feature;
        if (!slots_[at].kind) return no_feature;
    }
}

Feature Lexicon::add(const Probe& wanted, const std::uint8_t* token, std::uint32_t length) {
    if (Index(value_.size()) >= most_features) throw std::length_error("more than 2^31 - 1 different features");
    if (20 * value_.size() >= 13 * slots_.size()) grow(shift_ - 1);
    std::size_t at = place(wanted.hash);
    while (slots_[at].kind) at = (at + 1) & (slots_.size() - 1);
    const Feature added = Feature(value_.size());
    std::uint64_t value = wanted.key;
    if (wanted.kind == a_long) {
        value = arena_.size();
        arena_.insert(arena_.end(), token, token + length);
    }
    value_.push_back(value);
    length_.push_back(wanted.kind == a_pair ? pair : length);
    slots_[at] = {wanted.key, added, wanted.kind};
    return added;
}

void Lexicon::grow(int shift) {
    Zeros<Slot> before(std::size_t(1) << (64 - shift));
    std::swap(before, slots_);
    shift_ = shift;
    for (const Slot& slot : before) {
        if (!slot.kind) continue;
        const std::uint64_t by = slot.kind == a_pair ? 0xD6E8FEB86659FD93u : 0x9E3779B97F4A7C15u;
        std::size_t at = place(scatter_bits(slot.key, by));
        while (slots_[at].kind) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
}

void Lexicon::reserve(Index features) {
    const int bits = std::bit_width(std::uint64_t(std::max<Index>(20 * features / 13 + 1, 2)));
    if (64 - bits < shift_) grow(64 - bits);
    value_.reserve(features);
    length_.reserve(features);
}

template <class Look>
SUFFICE_INLINE void Lexicon::each_token(const Lexicon& own, const std::uint8_t* bytes, const std::uint32_t* start,
                                        const std::uint32_t* length, Index n, Look look) {
    Probe probes[together];
    for (Index lo = 0; lo < n; lo += together) {
        const Index m = std::min(together, n - lo);
        for (Index t = 0; t < m; ++t) {
            probes[t] = probe(bytes + start[lo + t], length[lo + t]);
            own.prefetch(probes[t].hash);
        }
        for (Index t = 0; t < m; ++t) look(lo + t, probes[t], bytes + start[lo + t], length[lo + t]);
    }
}

template <class Look>
SUFFICE_INLINE void Lexicon::each_pair(const Lexicon& own, const Feature* prefix, const Feature* last, Index n,
                                       Look look) {
    Probe probes[together];
    for (Index lo = 0; lo < n; lo += together) {
        const Index m = std::min(together, n - lo);
        for (Index t = 0; t < m; ++t) {
            probes[t] = probe(prefix[lo + t], last[lo + t]);
            own.prefetch(probes[t].hash);
        }
        for (Index t = 0; t < m; ++t)
            look(lo + t, probes[t], prefix[lo + t] == no_feature || last[lo + t] == no_feature);
    }
}

void Lexicon::find(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n,
                   Feature* out) const {
    each_token(*this, bytes, start, length, n,
               [&](Index t, const Probe& wanted, const std::uint8_t* token, std::uint32_t m) {
                   out[t] = look(wanted, token, m);
               });
}

void Lexicon::learn(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n,
                    Feature* out) {
    each_token(*this, bytes, start, length, n,
               [&](Index t, const Probe& wanted, const std::uint8_t* token, std::uint32_t m) {
                   const Feature known = look(wanted, token, m);
                   out[t] = known != no_feature ? known : add(wanted, token, m);
               });
}

void Lexicon::find_pairs(const Feature* prefix, const Feature* last, Index n, Feature* out) const {
    each_pair(*this, prefix, last, n,
              [&](Index t, const Probe& wanted, bool none) { out[t] = none ? no_feature : look(wanted, nullptr, 0); });
}

void Lexicon::learn_pairs(const Feature* prefix, const Feature* last, Index n, Feature* out) {
    each_pair(*this, prefix, last, n, [&](Index t, const Probe& wanted, bool none) {
        if (none) {
            out[t] = no_feature;
            return;
        }
        const Feature known = look(wanted, nullptr, 0);
        out[t] = known != no_feature ? known : add(wanted, nullptr, 0);
    });
}

}  // namespace suffice
