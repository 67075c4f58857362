// A hash table that numbers the features of texts: words, n-grams of words, n-grams of characters.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "kernels.hpp"
#include "pages.hpp"
#include "portable.hpp"

namespace suffice {

using Feature = std::uint32_t;
constexpr Feature no_feature = ~Feature(0);
constexpr Index most_features = (Index(1) << 31) - 1;  // places in a vocabulary are int32

// The bytes of a short token are the first bytes of the integer that holds it.
static_assert(std::endian::native == std::endian::little, "big-endian machines are not supported");

// Hash tables from features to the numbers 0, 1, 2, …: one of tokens, one of n-grams. A token of up to 8 bytes is its
// own key. A longer one is found by its hash and compared byte by byte. An n-gram of words is the pair (n-gram without
// its last word, last word).
class Lexicon {
public:
    Lexicon();

    // The numbers of tokens: bytes + start[t], length[t] bytes each, 8 bytes readable beyond. `learn`
    // numbers new ones; for `find` they are `no_feature`.
    void learn(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n,
               Feature* out);
    void find(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n,
              Feature* out) const;
    // The same for pairs; one with `no_feature` in it is `no_feature`.
    void learn_pairs(const Feature* prefix, const Feature* last, Index n, Feature* out);
    void find_pairs(const Feature* prefix, const Feature* last, Index n, Feature* out) const;

    Index size() const { return Index(value_.size()); }
    bool is_pair(Feature f) const { return length_[f] == pair; }
    Feature prefix(Feature f) const { return Feature(value_[f] >> 32); }
    Feature last(Feature f) const { return Feature(value_[f]); }
    const std::uint8_t* bytes(Feature f) const {
        return length_[f] <= 8 ? reinterpret_cast<const std::uint8_t*>(&value_[f]) : arena_.data() + value_[f];
    }
    std::uint32_t length(Feature f) const { return length_[f]; }

    // Allocate memory for so many tokens, and so many more pairs, in advance.
    void reserve(Index tokens, Index pairs);
    // Free the memory needed for lookup: from now on features only have names.
    void close() { tokens_ = Zeros<Slot>(1), pairs_ = {}; }

private:
    static constexpr std::uint32_t pair = ~std::uint32_t(0);
    // `kind` is 0 in a free slot, 1 + the length of a short token, or this.
    static constexpr std::uint32_t a_long = 10;
    struct Slot {
        std::uint64_t key;
        Feature feature;
        std::uint32_t kind;
    };
    // Pairs in buckets of a cache line. All bits are inverted, so that zeros are free places, which no pair equals.
    struct Pairs {
        struct Bucket {
            static constexpr int places = 5;
            std::uint64_t key[places];
            Feature feature[places + 1];  // the last is that of all other pairs: `no_feature`, or `elsewhere` if full
        };
        static constexpr Feature elsewhere = no_feature - 1;
        static_assert(sizeof(Bucket) == 64);
        Zeros<Bucket> buckets = Zeros<Bucket>(1);
        std::size_t size = 0;

        // Two pairs for each bucket: few are elsewhere, where nothing was prefetched.
        static std::size_t buckets_for(std::size_t pairs) { return pairs / 2 + 1; }
        std::size_t most() const { return 2 * buckets.size(); }
        std::size_t home(std::uint64_t hash) const { return (hash >> 32) * buckets.size() >> 32; }
        std::size_t after(std::size_t b) const { return b + 1 == buckets.size() ? 0 : b + 1; }
        void prefetch(std::uint64_t hash) const { suffice::prefetch(&buckets[home(hash)]); }
        Feature look(std::uint64_t key, std::uint64_t hash) const;
        void put(std::uint64_t key, std::uint64_t hash, Feature feature);
        void reserve(std::size_t pairs);
    };
    struct Probe {
        std::uint64_t key, hash;
        std::uint32_t kind;
    };

    static Probe probe(const std::uint8_t* token, std::uint32_t length);
    static std::uint64_t pair_hash(std::uint64_t key);
    bool same(const Slot& slot, const Probe& wanted, const std::uint8_t* token, std::uint32_t length) const;
    std::size_t place(std::uint64_t hash) const { return hash >> shift_; }
    Feature look(const Probe& wanted, const std::uint8_t* token, std::uint32_t length) const;
    Feature add(const Probe& wanted, const std::uint8_t* token, std::uint32_t length);
    Feature number(std::uint64_t value, std::uint32_t length);
    void grow_tokens(int shift);
    template <class Look>
    static void each_token(const Lexicon& own, const std::uint8_t* bytes, const std::uint32_t* start,
                           const std::uint32_t* length, Index n, Look look);
    template <class Look>
    static void each_pair(const Lexicon& own, const Feature* prefix, const Feature* last, Index n, Look look);

    Zeros<Slot> tokens_;
    int shift_;                 // of the hashes of tokens
    std::size_t n_tokens_ = 0;  // in the table
    Pairs pairs_;
    // Of each feature: the bytes of a short token, the position of a long one in the arena, or a pair; and its length.
    Large<std::uint64_t> value_;
    Large<std::uint32_t> length_;
    Large<std::uint8_t> arena_;
};

}  // namespace suffice
