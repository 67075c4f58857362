// Vocabularies in the order of their names.
#include <bit>
#include <stdexcept>

#include "text.hpp"

namespace suffice {
namespace {

struct Item {
    std::uint64_t key;
    std::uint32_t lexicon;
    Feature feature;
};

// Sort by key, `bits` of it at most, 11 at a time from the lowest: stable.
void radix_sort(std::vector<Item>& items, int bits) {
    constexpr int digit = 11;
    std::vector<Item> other(items.size());
    for (int shift = 0; shift < bits; shift += digit) {
        std::vector<Index> at((1 << digit) + 1, 0);
        for (const Item& item : items) ++at[(item.key >> shift & ((1 << digit) - 1)) + 1];
        if (*std::max_element(at.begin(), at.end()) == Index(items.size())) continue;  // all have the same digit
        for (int d = 0; d < 1 << digit; ++d) at[d + 1] += at[d];
        for (const Item& item : items) other[at[item.key >> shift & ((1 << digit) - 1)]++] = item;
        items.swap(other);
    }
}

// The first 8 bytes, the first the most significant.
std::uint64_t first_bytes(const std::uint8_t* bytes, std::uint32_t length) {
    std::uint64_t out = 0;
    std::memcpy(&out, bytes, std::min<std::uint32_t>(length, 8));
    return __builtin_bswap64(out);
}

int compare(const std::uint8_t* a, Index m, const std::uint8_t* b, Index n) {
    const int c = std::memcmp(a, b, std::size_t(std::min(m, n)));
    return c ? c : (m > n) - (m < n);
}

using Ranks = std::vector<std::vector<std::int32_t>>;  // of each lexicon's features

// Sort tokens by their bytes; equal ones have one rank. Returns how many ranks there are.
Index rank_tokens(const std::vector<const Lexicon*>& lexicons, Ranks& rank) {
    std::vector<Item> items;
    for (std::size_t l = 0; l < lexicons.size(); ++l)
        for (Index f = 0; f < lexicons[l]->size(); ++f)
            if (!lexicons[l]->is_pair(f))
                items.push_back({first_bytes(lexicons[l]->bytes(f), lexicons[l]->length(f)), std::uint32_t(l), Feature(f)});
    radix_sort(items, 64);
    auto bytes = [&](const Item& i) { return lexicons[i.lexicon]->bytes(i.feature); };
    auto length = [&](const Item& i) { return lexicons[i.lexicon]->length(i.feature); };
    auto order = [&](const Item& a, const Item& b) { return compare(bytes(a), length(a), bytes(b), length(b)); };
    Index ranks = 0;
    for (std::size_t lo = 0, hi; lo < items.size(); lo = hi) {
        for (hi = lo + 1; hi < items.size() && items[hi].key == items[lo].key;) ++hi;
        if (hi > lo + 1)  // only tokens longer than 8 bytes, and those of several lexicons
            std::sort(items.begin() + lo, items.begin() + hi, [&](const Item& a, const Item& b) { return order(a, b) < 0; });
        for (std::size_t e = lo; e < hi; ++e) {
            if (e > lo && order(items[e - 1], items[e])) ++ranks;
            rank[items[e].lexicon][items[e].feature] = std::int32_t(ranks);
        }
        ++ranks;
    }
    return ranks;
}

}  // namespace

// A word comes right before the n-grams that begin with it, because a space is less than all that words are made of: names
// are in the order of (rank of the n-gram without its last word, rank of that word). So n-grams are sorted by numbers.
Ordered order_features(const std::vector<const Lexicon*>& lexicons, const std::vector<std::vector<std::uint8_t>>& used) {
    Ranks word(lexicons.size());
    Index features = 0;
    int levels = 1;
    std::vector<std::vector<std::uint8_t>> level(lexicons.size());
    for (std::size_t l = 0; l < lexicons.size(); ++l) {
        const Index size = lexicons[l]->size();
        word[l].assign(size, -1);
        level[l].assign(size, 1);
        for (Index f = 0; f < size; ++f)
            if (lexicons[l]->is_pair(f)) {  // an n-gram is numbered after the one that it extends
                level[l][f] = level[l][lexicons[l]->prefix(f)] + 1;
                levels = std::max(levels, int(level[l][f]));
            }
        features += size;
    }
    if (features > most_features) throw std::length_error("more than 2^31 - 1 different features");
    const Index words = rank_tokens(lexicons, word);
    Ranks rank = word;
    Index ranks = words;
    std::vector<Item> items;
    items.reserve(features);
    for (int now = 2; now <= levels; ++now) {
        items.clear();
        for (std::size_t l = 0; l < lexicons.size(); ++l)
            for (Index f = 0; f < lexicons[l]->size(); ++f) {
                if (level[l][f] > now) continue;
                const bool joined = level[l][f] == now;
                const std::uint64_t first = joined ? rank[l][lexicons[l]->prefix(f)] : rank[l][f];
                const std::uint64_t second = joined ? word[l][lexicons[l]->last(f)] + 1 : 0;
                items.push_back({first * (words + 1) + second, std::uint32_t(l), Feature(f)});
            }
        radix_sort(items, std::bit_width(std::uint64_t(ranks) * (words + 1)));
        ranks = 0;
        for (std::size_t e = 0; e < items.size(); ++e) {
            ranks += e && items[e].key != items[e - 1].key;
            rank[items[e].lexicon][items[e].feature] = std::int32_t(ranks);
        }
        ranks += !items.empty();
    }

    // One of the equals names the feature; what nobody uses has no place.
    std::vector<std::pair<std::uint32_t, Feature>> first(ranks, {~std::uint32_t(0), 0});
    for (std::size_t l = 0; l < lexicons.size(); ++l)
        for (Index f = 0; f < lexicons[l]->size(); ++f)
            if (used[l][f]) first[rank[l][f]] = {std::uint32_t(l), Feature(f)};
    std::vector<std::int32_t> place(ranks, -1);
    Ordered out;
    out.names.start.reserve(ranks + 1);
    out.names.start.push_back(0);
    auto name_length = [&](const Lexicon& lexicon, Feature f) {
        Index n = 0;
        for (; lexicon.is_pair(f); f = lexicon.prefix(f)) n += 1 + lexicon.length(lexicon.last(f));
        return n + lexicon.length(f);
    };
    for (Index r = 0, next = 0; r < ranks; ++r) {
        if (first[r].first == ~std::uint32_t(0)) continue;
        place[r] = std::int32_t(next);
        first[next++] = first[r];
        out.names.start.push_back(out.names.start.back() + name_length(*lexicons[first[r].first], first[r].second));
    }
    const Index n = Index(out.names.start.size()) - 1;
    out.names.text.reserve(out.names.start.back() + 1);  // a place to copy to, even if all names are empty
    out.names.text.resize(out.names.start.back());
    const Index size = 8192, blocks = (n + size - 1) / size;
    for_blocks(blocks, threads_for(16 * n, blocks), [&](Index b, int) {
        for (Index i = b * size; i < std::min(n, (b + 1) * size); ++i) {
            const Lexicon& lexicon = *lexicons[first[i].first];
            std::uint8_t* end = out.names.text.data() + out.names.start[i + 1];
            Feature f = first[i].second;
            for (; lexicon.is_pair(f); f = lexicon.prefix(f)) {
                const Feature last = lexicon.last(f);
                end -= lexicon.length(last);
                std::memcpy(end, lexicon.bytes(last), lexicon.length(last));
                *--end = ' ';
            }
            std::memcpy(end - lexicon.length(f), lexicon.bytes(f), lexicon.length(f));
        }
    });
    for (std::size_t l = 0; l < lexicons.size(); ++l)
        for (std::int32_t& r : rank[l]) r = r < 0 ? -1 : place[r];
    out.place = std::move(rank);
    return out;
}

Merged merge_names(View a, View b) {
    Merged out;
    out.place_a.resize(a.n), out.place_b.resize(b.n);
    std::vector<std::pair<bool, Index>> from;  // which of the two names each
    from.reserve(std::max(a.n, b.n));
    for (Index i = 0, j = 0; i < a.n || j < b.n;) {
        const int c = i == a.n   ? 1
                      : j == b.n ? -1
                                 : compare(a.text + a.start[i], a.start[i + 1] - a.start[i], b.text + b.start[j],
                                           b.start[j + 1] - b.start[j]);
        const Index place = Index(from.size());
        from.push_back(c <= 0 ? std::pair(false, i) : std::pair(true, j));
        if (c <= 0) out.place_a[i++] = place;
        if (c >= 0) out.place_b[j++] = place;
    }
    out.names.start.reserve(from.size() + 1);
    out.names.start.push_back(0);
    for (const auto& [second, i] : from) {
        const View& v = second ? b : a;
        out.names.start.push_back(out.names.start.back() + v.start[i + 1] - v.start[i]);
    }
    out.names.text.reserve(out.names.start.back() + 1);  // a place to copy to, even if all names are empty
    out.names.text.resize(out.names.start.back());
    for (std::size_t p = 0; p < from.size(); ++p) {
        const View& v = from[p].first ? b : a;
        const Index i = from[p].second;
        std::memcpy(out.names.text.data() + out.names.start[p], v.text + v.start[i], v.start[i + 1] - v.start[i]);
    }
    return out;
}

}  // namespace suffice
