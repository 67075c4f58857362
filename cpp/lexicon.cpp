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

Lexicon::Lexicon() : tokens_(std::size_t(1) << 12), shift_(64 - 12) {}

SUFFICE_INLINE Lexicon::Probe Lexicon::probe(const std::uint8_t* token, std::uint32_t length) {
    if (length <= 8) [[likely]] {
        // The bytes beyond the token are shifted out.
        const std::uint64_t key = length ? load(token) << (64 - 8 * length) >> (64 - 8 * length) : 0;
        return {key, scatter_bits(key, 0x9E3779B97F4A7C15u), length + 1};
    }
    const std::uint64_t key = hash_long(token, length);
    return {key, scatter_bits(key, 0x9E3779B97F4A7C15u), a_long};
}

SUFFICE_INLINE std::uint64_t Lexicon::pair_hash(std::uint64_t key) { return scatter_bits(key, 0xD6E8FEB86659FD93u); }

SUFFICE_INLINE bool Lexicon::same(const Slot& slot, const Probe& wanted, const std::uint8_t* token,
                                  std::uint32_t length) const {
    if (slot.key != wanted.key || slot.kind != wanted.kind) return false;
    if (wanted.kind != a_long) [[likely]]
        return true;
    return length_[slot.feature] == length && !std::memcmp(arena_.data() + value_[slot.feature], token, length);
}

SUFFICE_INLINE Feature Lexicon::look(const Probe& wanted, const std::uint8_t* token, std::uint32_t length) const {
    for (std::size_t at = place(wanted.hash);; at = (at + 1) & (tokens_.size() - 1)) {
        if (same(tokens_[at], wanted, token, length)) return tokens_[at].feature;
        if (!tokens_[at].kind) return no_feature;
    }
}

SUFFICE_INLINE Feature Lexicon::Pairs::look(std::uint64_t key, std::uint64_t hash) const {
    for (std::size_t b = home(hash);; b = after(b)) {
        // All places are compared: branches on where a pair is would be mispredicted.
        const Bucket& own = buckets[b];
        unsigned found = 1u << Bucket::places;
        for (int i = 0; i < Bucket::places; ++i) found |= unsigned(own.key[i] == ~key) << i;
        const Feature feature = ~own.feature[std::countr_zero(found)];
        if (feature != elsewhere) [[likely]]
            return feature;
    }
}

SUFFICE_INLINE void Lexicon::Pairs::put(std::uint64_t key, std::uint64_t hash, Feature feature) {
    std::size_t b = home(hash);
    while (~buckets[b].feature[Bucket::places] == elsewhere) b = after(b);
    Bucket& own = buckets[b];
    int at = 0;
    while (own.key[at]) ++at;
    own.key[at] = ~key;
    own.feature[at] = ~feature;
    if (at + 1 == Bucket::places) own.feature[Bucket::places] = ~elsewhere;
    ++size;
}

void Lexicon::Pairs::reserve(std::size_t pairs) {
    if (pairs <= most()) return;
    Pairs larger{Zeros<Bucket>(buckets_for(pairs))};
    for (const Bucket& own : buckets)
        for (int i = 0; i < Bucket::places && own.key[i]; ++i)
            larger.put(~own.key[i], pair_hash(~own.key[i]), ~own.feature[i]);
    *this = std::move(larger);
}

Feature Lexicon::number(std::uint64_t value, std::uint32_t length) {
    if (Index(value_.size()) >= most_features) throw std::length_error("more than 2^31 - 1 different features");
    value_.push_back(value);
    length_.push_back(length);
    return Feature(value_.size() - 1);
}

Feature Lexicon::add(const Probe& wanted, const std::uint8_t* token, std::uint32_t length) {
    if (20 * n_tokens_ >= 13 * tokens_.size()) grow_tokens(shift_ - 1);
    std::size_t at = place(wanted.hash);
    while (tokens_[at].kind) at = (at + 1) & (tokens_.size() - 1);
    const bool is_long = wanted.kind == a_long;
    const Feature added = number(is_long ? arena_.size() : wanted.key, length);
    if (is_long) arena_.insert(arena_.end(), token, token + length);
    tokens_[at] = {wanted.key, added, wanted.kind};
    ++n_tokens_;
    return added;
}

void Lexicon::grow_tokens(int shift) {
    Zeros<Slot> before(std::size_t(1) << (64 - shift));
    std::swap(before, tokens_);
    shift_ = shift;
    for (const Slot& slot : before) {
        if (!slot.kind) continue;
        std::size_t at = place(scatter_bits(slot.key, 0x9E3779B97F4A7C15u));
        while (tokens_[at].kind) at = (at + 1) & (tokens_.size() - 1);
        tokens_[at] = slot;
    }
}

void Lexicon::reserve(Index tokens, Index pairs) {
    const int bits = std::bit_width(std::uint64_t(std::max<Index>(20 * tokens / 13 + 1, 2)));
    if (64 - bits < shift_) grow_tokens(64 - bits);
    pairs_.reserve(pairs_.size + std::size_t(pairs));
}

template <class Look>
SUFFICE_INLINE void Lexicon::each_token(const Lexicon& own, const std::uint8_t* bytes, const std::uint32_t* start,
                                        const std::uint32_t* length, Index n, Look look) {
    Probe probes[together];
    for (Index lo = 0; lo < n; lo += together) {
        const Index m = std::min(together, n - lo);
        for (Index t = 0; t < m; ++t) {
            probes[t] = probe(bytes + start[lo + t], length[lo + t]);
            prefetch(&own.tokens_[own.place(probes[t].hash)]);
        }
        for (Index t = 0; t < m; ++t) look(lo + t, probes[t], bytes + start[lo + t], length[lo + t]);
    }
}

template <class Look>
SUFFICE_INLINE void Lexicon::each_pair(const Lexicon& own, const Feature* prefix, const Feature* last, Index n,
                                       Look look) {
    std::uint64_t keys[together], hashes[together];
    for (Index lo = 0; lo < n; lo += together) {
        const Index m = std::min(together, n - lo);
        for (Index t = 0; t < m; ++t) {
            keys[t] = std::uint64_t(prefix[lo + t]) << 32 | last[lo + t];
            hashes[t] = pair_hash(keys[t]);
            own.pairs_.prefetch(hashes[t]);
        }
        for (Index t = 0; t < m; ++t)
            look(lo + t, keys[t], hashes[t], prefix[lo + t] == no_feature || last[lo + t] == no_feature);
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
    each_pair(*this, prefix, last, n, [&](Index t, std::uint64_t key, std::uint64_t hash, bool none) {
        out[t] = none ? no_feature : pairs_.look(key, hash);
    });
}

void Lexicon::learn_pairs(const Feature* prefix, const Feature* last, Index n, Feature* out) {
    each_pair(*this, prefix, last, n, [&](Index t, std::uint64_t key, std::uint64_t hash, bool none) {
        out[t] = none ? no_feature : pairs_.look(key, hash);
        if (none || out[t] != no_feature) return;
        if (pairs_.size >= pairs_.most()) pairs_.reserve(2 * pairs_.most());
        out[t] = number(key, pair);
        pairs_.put(key, hash, out[t]);
    });
}

}  // namespace suffice
