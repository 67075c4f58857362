// Vocabularies sorted by name.
#include <bit>
#include <stdexcept>
#include <utility>

#include "text.hpp"

namespace suffice {
namespace {

struct Item {
    std::uint64_t key;
    std::uint32_t lexicon;
    Feature feature;
};

using Items = Large<Item>;

// Sort some items by the lowest `bits` of their keys, 11 at a time.
void sort_part(Item* items, Item* other, Index n, int bits) {
    constexpr int digit = 11, values = 1 << digit;
    if (n < 256) {
        std::sort(items, items + n, [](const Item& a, const Item& b) { return a.key < b.key; });
        return;
    }
    Item *from = items, *to = other;
    for (int shift = 0; shift < bits; shift += digit) {
        Index at[values + 1] = {};
        for (Index e = 0; e < n; ++e) ++at[(from[e].key >> shift & (values - 1)) + 1];
        if (*std::max_element(at, at + values + 1) == n) continue;  // all have the same digit
        for (int d = 0; d < values; ++d) at[d + 1] += at[d];
        for (Index e = 0; e < n; ++e) to[at[from[e].key >> shift & (values - 1)]++] = from[e];
        std::swap(from, to);
    }
    if (from != items) std::copy(from, from + n, items);
}

// Sort by keys of so many bits: first into parts by the highest bits, then each part, which fits into the cache.
void sort_items(Items& items, int bits) {
    constexpr int digit = 10;
    const int shift = std::max(bits - digit, 0);
    const Index n = Index(items.size()), parts = Index(1) << (bits - shift);
    if (n < 2) return;
    // Each thread moves some of the items, to positions after those of the threads before.
    const Index shares = threads_for(n, 64), share = (n + shares - 1) / shares;
    std::vector<std::vector<Index>> at(shares, std::vector<Index>(parts, 0));
    auto each_share = [&](auto work) {
        for_blocks(shares, int(shares), [&](Index t, int) {
            for (Index e = t * share; e < std::min(n, (t + 1) * share); ++e) work(at[t], items[e]);
        });
    };
    each_share([&](std::vector<Index>& own, const Item& item) { ++own[item.key >> shift]; });
    std::vector<Index> start(parts + 1, 0);
    for (Index d = 0; d < parts; ++d) {
        start[d + 1] = start[d];
        for (std::vector<Index>& own : at) start[d + 1] += std::exchange(own[d], start[d + 1]);
    }
    Items other(n);
    each_share([&](std::vector<Index>& own, const Item& item) { other[own[item.key >> shift]++] = item; });
    items.swap(other);
    for_blocks(parts, threads_for(4 * n, parts), [&](Index p, int) {
        sort_part(items.data() + start[p], other.data() + start[p], start[p + 1] - start[p], shift);
    });
}

// The first 8 bytes, the first the most significant.
std::uint64_t first_bytes(const std::uint8_t* bytes, std::uint32_t length) {
    std::uint64_t out = 0;
    std::memcpy(&out, bytes, std::min<std::uint32_t>(length, 8));
    return __builtin_bswap64(out);
}

int compare(const std::uint8_t* a, Index m, const std::uint8_t* b, Index n) {
    const Index both = std::min(m, n);
    const int c = both ? std::memcmp(a, b, std::size_t(both)) : 0;  // the pointer of empty names may be null
    return c ? c : (m > n) - (m < n);
}

using Ranks = std::vector<Large<std::int32_t>>;  // of each lexicon's features

bool different(const Item& a, const Item& b, const std::vector<Learned>& learned) {
    const Lexicon &first = *learned[a.lexicon].lexicon, &second = *learned[b.lexicon].lexicon;
    const std::uint32_t m = first.length(a.feature), n = second.length(b.feature);
    return a.key != b.key || m != n || (m > 8 && std::memcmp(first.bytes(a.feature), second.bytes(b.feature), m));
}

// Tokens in the order of their bytes.
Items sorted_tokens(const std::vector<Learned>& learned) {
    Items items;
    for (std::size_t l = 0; l < learned.size(); ++l) {
        const Lexicon& lexicon = *learned[l].lexicon;
        for (Index f = 0; f < lexicon.size(); ++f)
            if (!lexicon.is_pair(f))
                items.push_back({first_bytes(lexicon.bytes(f), lexicon.length(f)), std::uint32_t(l), Feature(f)});
    }
    sort_items(items, 64);
    auto less = [&](const Item& a, const Item& b) {
        const Lexicon &first = *learned[a.lexicon].lexicon, &second = *learned[b.lexicon].lexicon;
        return compare(first.bytes(a.feature), first.length(a.feature), second.bytes(b.feature),
                       second.length(b.feature)) < 0;
    };
    for (std::size_t lo = 0, hi; lo < items.size(); lo = hi) {
        bool whole = true;  // whether the keys hold all bytes
        for (hi = lo; hi < items.size() && items[hi].key == items[lo].key; ++hi)
            whole = whole &&
                    learned[items[hi].lexicon].lexicon->length(items[hi].feature) ==
                        learned[items[lo].lexicon].lexicon->length(items[lo].feature) &&
                    learned[items[hi].lexicon].lexicon->length(items[hi].feature) <= 8;
        if (!whole) std::sort(items.begin() + Index(lo), items.begin() + Index(hi), less);
    }
    return items;
}

// Number sorted items; equal ones get the same number. Returns the number of distinct items.
template <class Different>
Index number(const Items& items, Ranks& rank, Different differ) {
    Index ranks = 0;
    for (std::size_t e = 0; e < items.size(); ++e) {
        ranks += e && differ(items[e - 1], items[e]);
        rank[items[e].lexicon][items[e].feature] = std::int32_t(ranks);
    }
    return ranks + !items.empty();
}

// Write the names of sorted features. If all are empty, there is no text, and `memcpy` must not be given its null pointer.
Names write_names(const std::vector<Learned>& learned, const Ordered& ordered) {
    const Index n = Index(ordered.source_start.size()) - 1;
    auto first = [&](Index i) {
        const Source& source = ordered.source[ordered.source_start[i]];
        return std::pair(learned[source.lexicon].lexicon, source.feature);
    };
    Names out;
    out.start.resize(n + 1);
    out.start[0] = 0;
    const Index size = 8192, blocks = (n + size - 1) / size;
    const int threads = threads_for(16 * n, blocks);
    for_blocks(blocks, threads, [&](Index b, int) {
        for (Index i = b * size; i < std::min(n, (b + 1) * size); ++i) {
            auto [lexicon, f] = first(i);
            Index length = 0;
            for (; lexicon->is_pair(f); f = lexicon->prefix(f)) length += 1 + lexicon->length(lexicon->last(f));
            out.start[i + 1] = length + lexicon->length(f);
        }
    });
    for (Index i = 0; i < n; ++i) out.start[i + 1] += out.start[i];
    out.text.resize(out.start[n]);
    for_blocks(blocks, threads, [&](Index b, int) {
        for (Index i = b * size; i < std::min(n, (b + 1) * size); ++i) {
            auto [lexicon, f] = first(i);
            std::uint8_t* end = out.text.data() + out.start[i + 1];
            for (; lexicon->is_pair(f); f = lexicon->prefix(f)) {
                const Feature last = lexicon->last(f);
                end -= lexicon->length(last);
                std::copy_n(lexicon->bytes(last), lexicon->length(last), end);
                *--end = ' ';
            }
            std::copy_n(lexicon->bytes(f), lexicon->length(f), end - lexicon->length(f));
        }
    });
    return out;
}

}  // namespace

// A word comes right before the n-grams that begin with it, because a space sorts before all word characters. So the
// order of names is that of (rank of the n-gram without its last word, rank of that word), and n-grams are sorted by
// numbers.
Ordered order_features(const std::vector<Learned>& learned, const Tokenization& tokenization) {
    const int least = tokenization.joins_words() && !tokenization.buckets ? tokenization.least : 1;
    const std::size_t lexicons = learned.size();
    Ranks word(lexicons);
    std::vector<Large<std::uint8_t>> level(lexicons);
    int levels = 1;
    Index features = 0;
    for (std::size_t l = 0; l < lexicons; ++l) {
        const Lexicon& lexicon = *learned[l].lexicon;
        word[l].assign(lexicon.size(), -1);
        level[l].resize(lexicon.size());
        for (Index f = 0; f < lexicon.size(); ++f) {  // an n-gram is numbered after the one that it extends
            level[l][f] = lexicon.is_pair(f) ? level[l][lexicon.prefix(f)] + 1 : 1;
            levels = std::max(levels, int(level[l][f]));
        }
        features += lexicon.size();
    }
    if (features > most_features) throw std::length_error("more than 2^31 - 1 different features");
    Items items = sorted_tokens(learned);
    const Index words = number(items, word, [&](const Item& a, const Item& b) { return different(a, b, learned); });
    Ranks rank;
    Index ranks = words;
    for (int now = 2; now <= levels; ++now) {
        const Ranks& before = now == 2 ? word : rank;
        std::vector<Index> from(lexicons + 1, 0);
        for (std::size_t l = 0; l < lexicons; ++l)
            from[l + 1] = from[l] + std::count_if(level[l].begin(), level[l].end(), [&](int of) { return of <= now; });
        items.resize(from[lexicons]);
        for_blocks(Index(lexicons), int(lexicons), [&](Index l, int) {
            const Lexicon& lexicon = *learned[l].lexicon;
            Item* to = items.data() + from[l];
            for (Index f = 0; f < lexicon.size(); ++f) {
                if (level[l][f] > now) continue;
                const bool joined = level[l][f] == now;
                const std::uint64_t first = before[l][joined ? lexicon.prefix(f) : Feature(f)];
                const std::uint64_t second = joined ? word[l][lexicon.last(f)] + 1 : 0;
                *to++ = {first * (words + 1) + second, std::uint32_t(l), Feature(f)};
            }
        });
        sort_items(items, std::bit_width(std::uint64_t(ranks) * (words + 1)));
        if (now == levels) break;
        if (now == 2) rank = word;
        ranks = number(items, rank, [](const Item& a, const Item& b) { return a.key != b.key; });
    }

    // One of equal features gives the name; what is not a feature has no position.
    Ordered out;
    out.source.reserve(items.size());
    out.source_start.reserve(items.size() + 1);
    bool named = false;
    for (std::size_t e = 0; e < items.size(); ++e) {
        const Item& item = items[e];
        const std::vector<std::uint8_t>& used = learned[item.lexicon].used;
        const bool same = e && items[e - 1].key == item.key && (levels > 1 || !different(items[e - 1], item, learned));
        named = named && same;
        if (level[item.lexicon][item.feature] < least) continue;
        if (item.feature < used.size() && !used[item.feature]) continue;
        if (!named) out.source_start.push_back(Index(out.source.size()));
        named = true;
        out.source.push_back({item.lexicon, item.feature});
    }
    out.source_start.push_back(Index(out.source.size()));
    out.names = write_names(learned, out);
    return out;
}

Large<std::int32_t> Ordered::places(std::uint32_t lexicon, Index size) const {
    Large<std::int32_t> out(size, -1);
    for (Index i = 0; i + 1 < Index(source_start.size()); ++i)
        for (Index s = source_start[i]; s < source_start[i + 1]; ++s)
            if (source[s].lexicon == lexicon) out[source[s].feature] = std::int32_t(i);
    return out;
}

void find_names(View names, View among, Index size, Index* out) {
    auto before = [&](Index i, Index j) {  // whether name i of the others is less than name j
        if (among.start[i] < 0 || among.start[i] > among.start[i + 1] || among.start[i + 1] > size)
            throw std::invalid_argument("names beyond the text");
        return compare(among.text + among.start[i], among.start[i + 1] - among.start[i], names.text + names.start[j],
                       names.start[j + 1] - names.start[j]) < 0;
    };
    Index lo = 0;  // both ascend: the next name is not before the last one
    for (Index j = 0; j < names.n; ++j) {
        Index hi = lo, step = 1;
        while (hi < among.n && before(hi, j)) lo = hi + 1, hi += step, step *= 2;
        hi = std::min(hi, among.n);
        while (lo < hi) {
            const Index middle = lo + (hi - lo) / 2;
            before(middle, j) ? lo = middle + 1 : hi = middle;
        }
        const bool same =
            lo < among.n && among.start[lo + 1] - among.start[lo] == names.start[j + 1] - names.start[j] &&
            std::equal(names.text + names.start[j], names.text + names.start[j + 1], among.text + among.start[lo]);
        out[j] = same ? lo : -1;
    }
}

void name_sizes(View names, Index least, Index most, std::uint8_t* out) {
    const Index width = 1 << 14, blocks = (names.n + width - 1) / width;
    for_blocks(blocks, threads_for(names.n ? names.start[names.n] : 0, blocks), [&](Index b, int) {
        for (Index i = b * width; i < std::min(names.n, (b + 1) * width); ++i) {
            const Index size = 1 + std::count(names.text + names.start[i], names.text + names.start[i + 1], ' ');
            out[i] = std::uint8_t(std::clamp<Index>(size - least, 0, most));
        }
    });
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
    out.names.text.reserve(out.names.start.back() + 1);  // not null, even if all names are empty
    out.names.text.resize(out.names.start.back());
    for (std::size_t p = 0; p < from.size(); ++p) {
        const View& v = from[p].first ? b : a;
        const Index i = from[p].second;
        std::copy(v.text + v.start[i], v.text + v.start[i + 1], out.names.text.data() + out.names.start[p]);
    }
    return out;
}

}  // namespace suffice
