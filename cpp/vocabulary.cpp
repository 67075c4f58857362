// Vocabularies sorted by name.
#include <bit>
#include <stdexcept>
#include <utility>

#include "radix_sort.hpp"
#include "text.hpp"

namespace suffice {
namespace {

struct Item {
    std::uint64_t key;
    std::uint32_t lexicon;
    Feature feature;
};

using Items = Large<Item>;

// Sorted items in parts that threads work on: part p is from bound[p] to bound[p + 1], and begins where `same` of an
// item and the one before is false.
struct Parts {
    std::vector<Index> bound;
    int threads;

    template <class Same>
    Parts(const Items& items, Same same) {
        const Index n = Index(items.size()), size = 1 << 15;
        bound.push_back(0);
        for (Index e = size; e < n; e = std::max(e, bound.back()) + size) {
            while (e < n && same(items[e - 1], items[e])) ++e;
            if (e < n) bound.push_back(e);
        }
        bound.push_back(n);
        threads = threads_for(8 * n, Index(bound.size()) - 1);
    }

    // Call work(part, first, end) for all parts.
    template <class Work>
    void each(Work work) const {
        for_blocks(Index(bound.size()) - 1, threads, [&](Index p, int) { work(p, bound[p], bound[p + 1]); });
    }
    // Sums before each part, of a number for each part.
    std::vector<Index> sums_before(const std::vector<Index>& of) const {
        std::vector<Index> out(1, 0);
        for (Index each : of) out.push_back(out.back() + each);
        return out;
    }
    std::vector<Index> zeros() const { return std::vector<Index>(bound.size() - 1, 0); }
};

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
        radix_sort<11>(items.data() + start[p], other.data() + start[p], start[p + 1] - start[p], shift,
                       [](const Item& item) { return item.key; });
    });
}

// The first 8 bytes, the first the most significant.
std::uint64_t first_bytes(const std::uint8_t* bytes, std::uint32_t length) {
    std::uint8_t first[8] = {};
    std::memcpy(first, bytes, std::min<std::uint32_t>(length, 8));
    std::uint64_t out = 0;
    for (const std::uint8_t byte : first) out = out << 8 | byte;
    return out;
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

// Where the items of each lexicon begin, if it has as many as `count` says.
template <class Count>
std::vector<Index> places_of(const std::vector<Learned>& learned, Count count) {
    const Index lexicons = Index(learned.size());
    std::vector<Index> out(lexicons + 1, 0);
    for_blocks(lexicons, int(lexicons), [&](Index l, int) { out[l + 1] = count(l); });
    for (Index l = 0; l < lexicons; ++l) out[l + 1] += out[l];
    return out;
}

// Tokens in the order of their bytes.
Items sorted_tokens(const std::vector<Learned>& learned) {
    const std::vector<Index> from = places_of(learned, [&](Index l) {
        const Lexicon& lexicon = *learned[l].lexicon;
        Index tokens = 0;
        for (Index f = 0; f < lexicon.size(); ++f) tokens += !lexicon.is_pair(f);
        return tokens;
    });
    Items items(from.back());
    for_blocks(Index(learned.size()), int(learned.size()), [&](Index l, int) {
        const Lexicon& lexicon = *learned[l].lexicon;
        Item* to = items.data() + from[l];
        for (Index f = 0; f < lexicon.size(); ++f)
            if (!lexicon.is_pair(f))
                *to++ = {first_bytes(lexicon.bytes(f), lexicon.length(f)), std::uint32_t(l), Feature(f)};
    });
    sort_items(items, 64);
    auto length = [&](const Item& item) { return learned[item.lexicon].lexicon->length(item.feature); };
    auto less = [&](const Item& a, const Item& b) {
        return compare(learned[a.lexicon].lexicon->bytes(a.feature), length(a),
                       learned[b.lexicon].lexicon->bytes(b.feature), length(b)) < 0;
    };
    Parts(items, [](const Item& a, const Item& b) { return a.key == b.key; }).each([&](Index, Index first, Index end) {
        for (Index lo = first, hi; lo < end; lo = hi) {
            bool whole = true;  // whether the keys hold all bytes
            for (hi = lo; hi < end && items[hi].key == items[lo].key; ++hi)
                whole = whole && length(items[hi]) == length(items[lo]) && length(items[hi]) <= 8;
            if (!whole) std::sort(items.begin() + lo, items.begin() + hi, less);
        }
    });
    return items;
}

// Number sorted items; equal ones get the same number. Returns the number of distinct items.
template <class Different>
Index number(const Items& items, Ranks& rank, Different differ) {
    const Parts parts(items, [](const Item&, const Item&) { return false; });
    std::vector<Index> distinct = parts.zeros();
    parts.each([&](Index p, Index lo, Index hi) {
        Index own = 0;
        for (Index e = lo; e < hi; ++e) own += !e || differ(items[e - 1], items[e]);
        distinct[p] = own;
    });
    const std::vector<Index> before = parts.sums_before(distinct);
    parts.each([&](Index p, Index lo, Index hi) {
        Index ranks = before[p] - 1;
        for (Index e = lo; e < hi; ++e) {
            ranks += !e || differ(items[e - 1], items[e]);
            rank[items[e].lexicon][items[e].feature] = std::int32_t(ranks);
        }
    });
    return before.back();
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
    running_sums(out.start.data(), n + 1);
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
    std::vector<int> highest(lexicons, 1);
    for_blocks(Index(lexicons), int(lexicons), [&](Index l, int) {
        const Lexicon& lexicon = *learned[l].lexicon;
        word[l].assign(lexicon.size(), -1);
        level[l].resize(lexicon.size());
        for (Index f = 0; f < lexicon.size(); ++f) {  // an n-gram is numbered after the one that it extends
            level[l][f] = lexicon.is_pair(f) ? level[l][lexicon.prefix(f)] + 1 : 1;
            highest[l] = std::max(highest[l], int(level[l][f]));
        }
    });
    const int levels = lexicons ? *std::max_element(highest.begin(), highest.end()) : 1;
    Index features = 0;
    for (const Learned& each : learned) features += each.lexicon->size();
    if (features > most_features) throw std::length_error("more than 2^31 - 1 different features");
    Items items = sorted_tokens(learned);
    const Index words = number(items, word, [&](const Item& a, const Item& b) { return different(a, b, learned); });
    Ranks rank;
    Index ranks = words;
    for (int now = 2; now <= levels; ++now) {
        const Ranks& before = now == 2 ? word : rank;
        const std::vector<Index> from = places_of(learned, [&](Index l) {
            return Index(std::count_if(level[l].begin(), level[l].end(), [&](int of) { return of <= now; }));
        });
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
    auto same = [&](const Item& a, const Item& b) {
        return a.key == b.key && (levels > 1 || !different(a, b, learned));
    };
    auto each_feature = [&](Index lo, Index hi, auto take) {  // take(item, whether it is the first of equal ones)
        bool named = false;
        for (Index e = lo; e < hi; ++e) {
            const Item& item = items[e];
            const std::vector<std::uint8_t>& used = learned[item.lexicon].used;
            named = named && e > lo && same(items[e - 1], item);
            if (level[item.lexicon][item.feature] < least) continue;
            if (item.feature < used.size() && !used[item.feature]) continue;
            take(item, !named);
            named = true;
        }
    };
    const Parts parts(items, same);
    std::vector<Index> sources = parts.zeros(), names = parts.zeros();
    parts.each([&](Index p, Index lo, Index hi) {
        Index all = 0, first = 0;
        each_feature(lo, hi, [&](const Item&, bool begins) { ++all, first += begins; });
        sources[p] = all, names[p] = first;
    });
    const std::vector<Index> source = parts.sums_before(sources), name = parts.sums_before(names);
    Ordered out;
    out.source.resize(source.back());
    out.source_start.resize(name.back() + 1);
    parts.each([&](Index p, Index lo, Index hi) {
        Index at = source[p], named = name[p];
        each_feature(lo, hi, [&](const Item& item, bool begins) {
            if (begins) out.source_start[named++] = at;
            out.source[at++] = {item.lexicon, item.feature};
        });
    });
    out.source_start.back() = source.back();
    out.names = write_names(learned, out);
    return out;
}

std::vector<Large<std::int32_t>> Ordered::places(const std::vector<Learned>& learned) const {
    std::vector<Large<std::int32_t>> out(learned.size());
    for_blocks(Index(learned.size()), int(learned.size()),
               [&](Index l, int) { out[l].assign(learned[l].lexicon->size(), -1); });
    const Index n = Index(source_start.size()) - 1, size = 8192, blocks = (n + size - 1) / size;
    for_blocks(blocks, threads_for(8 * Index(source.size()), blocks), [&](Index b, int) {
        for (Index i = b * size; i < std::min(n, (b + 1) * size); ++i)
            for (Index s = source_start[i]; s < source_start[i + 1]; ++s)
                out[source[s].lexicon][source[s].feature] = std::int32_t(i);
    });
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
