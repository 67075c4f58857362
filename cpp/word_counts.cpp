// Sums over documents by class: every thread counts blocks of documents with its own lexicon. Blocks are merged in
// order, so that any number of threads gives the same bits.
#include <bit>
#include <stdexcept>

#include "double_double.hpp"
#include "radix_sort.hpp"
#include "text.hpp"

namespace suffice {
namespace {

// A sum with what rounding takes from it.
struct Exact {
    double high = 0, low = 0;
    Exact& operator+=(const Exact& other) {
        add_to(high, low, other.high);
        low += other.low;
        return *this;
    }
    bool operator==(double value) const { return high == value; }
};

// How totals are summed over blocks: integers as float64.
template <class V>
using TotalOf = std::conditional_t<std::is_same_v<V, Exact>, Exact, double>;

Exact product_of(double a, double b, Exact) {
    const Pair product = two_product(a, b);
    return {product.high, product.low};
}
double product_of(double a, double b, double) { return a * b; }

// The lexicon and sums of one thread.
struct Finder {
    Lexicon lexicon;
    FeatureReader reader;
    Bag bag;
    std::vector<double> value, total;  // of the bag; of the block, by feature
    std::vector<Exact> exact;          // of the block, if nothing is to be rounded
    std::vector<std::uint32_t> times;  // of the block, by feature: enough where every word counts 1
    std::vector<Feature> touched;

    explicit Finder(const Tokenization& tokenization) : reader(tokenization, lexicon) {}

    // Keep only the names of features.
    void close() {
        lexicon.close();
        bag = {};
        value = {}, total = {}, exact = {}, times = {}, touched = {};
    }
};

// Documents of one class. V is an integer if every word counts 1, which halves the memory.
template <class V>
struct Block {
    std::int32_t code;
    Index lo, hi;  // places in the order by class
    int finder = 0;
    TotalOf<V> documents{}, words{};
    Large<Feature> feature = {};
    Large<V> total = {};
};

// The features of the documents that are to be kept, in the numbers of the thread that read them.
struct Kept {
    struct Document {
        int finder = 0;
        std::vector<Feature> feature;
        std::vector<std::uint32_t> count;
    };
    std::vector<std::int32_t> row;  // of each document among those kept, or -1; empty if none is kept
    std::vector<Document> documents;

    Kept(const Index* kept, Index n, Index texts) : row(n ? std::size_t(texts) : 0, -1), documents(n) {
        for (Index k = 0; k < n; ++k) row[kept[k]] = std::int32_t(k);
    }
    bool takes(Index i) const { return !row.empty() && row[i] >= 0; }
    void take(Index i, int finder, const Bag& bag) { documents[row[i]] = {finder, bag.feature, bag.count}; }

    // Write the counts by ascending place in the vocabulary.
    void write(const std::vector<Learned>& learned, const Ordered& ordered, WordTotals& out) const {
        const Index n = Index(documents.size()), width = 64, blocks = (n + width - 1) / width;
        const int threads = int(learned.size());
        out.kept_start.assign(1, 0);
        if (!n) return;
        const std::vector<Large<std::int32_t>> places = ordered.places(learned);
        const int bits = std::bit_width(std::uint64_t(ordered.source_start.size()));
        for (const Document& each : documents)
            out.kept_start.push_back(out.kept_start.back() + Index(each.feature.size()));
        out.kept_feature.resize(out.kept_start[n]);
        out.kept_count.resize(out.kept_start[n]);
        for_blocks(blocks, threads, [&](Index b, int) {
            std::vector<std::uint64_t> keys, spare;
            for (Index k = b * width; k < std::min(n, (b + 1) * width); ++k) {
                const Document& own = documents[k];
                keys.resize(own.feature.size());
                for (std::size_t e = 0; e < keys.size(); ++e)
                    keys[e] = std::uint64_t(std::uint32_t(places[own.finder][own.feature[e]])) << 32 | own.count[e];
                spare.resize(keys.size());
                radix_sort<8>(keys.data(), spare.data(), Index(keys.size()), bits,
                              [](std::uint64_t key) { return key >> 32; });
                for (std::size_t e = 0; e < keys.size(); ++e) {
                    out.kept_feature[out.kept_start[k] + e] = std::int32_t(keys[e] >> 32);
                    out.kept_count[out.kept_start[k] + e] = Index(std::uint32_t(keys[e]));
                }
            }
        });
    }
};

template <class T>
void make_room(std::vector<T>& table, const Lexicon& lexicon) {
    if (Index(table.size()) < lexicon.size()) table.resize(lexicon.size() + lexicon.size() / 2);
}

// Move the counts to the block.
template <class V>
void hand_over(std::vector<Feature>& touched, std::vector<V>& counted, Block<V>& block) {
    block.feature.assign(touched.begin(), touched.end());
    block.total.resize(touched.size());
    for (std::size_t e = 0; e < touched.size(); ++e) {
        block.total[e] = counted[touched[e]], counted[touched[e]] = V{};
        if constexpr (std::is_integral_v<V>)
            if (!block.total[e]) throw_too_often();
    }
    touched.clear();
}

// If every word of every document counts 1, documents need not be distinguished.
void count(const Texts& texts, const Rows&, const Tokenization&, Weighting, const std::int32_t* row, Finder& own,
           Block<std::uint32_t>& block, Kept& kept, FirstPosition& refused) {
    read_each(row, block.lo, block.hi, refused, [&](Index i) {
        if (texts.missing(i)) return;
        block.documents += 1;
        if (kept.takes(i)) {
            own.bag.read(own.reader, texts, i, own.lexicon);
            kept.take(i, block.finder, own.bag);
            make_room(own.times, own.lexicon);
            for (std::size_t e = 0; e < own.bag.feature.size(); ++e) {
                std::uint32_t& times = own.times[own.bag.feature[e]];
                if (!times) own.touched.push_back(own.bag.feature[e]);
                times += own.bag.count[e];
            }
            block.words += double(own.bag.words);
            return;
        }
        block.words += double(own.reader.read(texts, i, [&](const Feature* features, Index n, int) {
            make_room(own.times, own.lexicon);
            std::uint32_t* times = own.times.data();
            for (Index t = 0; t < n; ++t)
                if (features[t] != no_feature && !times[features[t]]++) own.touched.push_back(features[t]);
        }));
    });
    hand_over(own.touched, own.times, block);
}

template <class V>
void count(const Texts& texts, const Rows& rows, const Tokenization& tokenization, Weighting weighting,
           const std::int32_t* row, Finder& own, Block<V>& block, Kept& kept, FirstPosition& refused) {
    std::vector<V>& totals = [&]() -> std::vector<V>& {
        if constexpr (std::is_same_v<V, Exact>)
            return own.exact;
        else
            return own.total;
    }();
    read_each(row, block.lo, block.hi, refused, [&](Index i) {
        if (texts.missing(i)) return;
        own.bag.read(own.reader, texts, i, own.lexicon);
        if (kept.takes(i)) kept.take(i, block.finder, own.bag);
        const Index n = Index(own.bag.feature.size());
        own.value.resize(n);
        double unknown[most_words] = {};
        weigh(weighting, own.bag.count.data(), own.bag.runs, tokenization.n_sizes(), unknown, own.value.data());
        make_room(totals, own.lexicon);
        const double w = rows.weight ? rows.weight[i] : 1.0;
        for (Index e = 0; e < n; ++e) {
            V& total = totals[own.bag.feature[e]];
            if (total == 0) own.touched.push_back(own.bag.feature[e]);
            total += product_of(w, own.value[e], V{});
        }
        block.documents += product_of(w, 1.0, V{});
        block.words += product_of(w, double(own.bag.words), V{});
    });
    hand_over(own.touched, totals, block);
}

// The totals that one thread's blocks have of each of its features, in the order of the blocks.
template <class V>
struct Found {
    struct Entry {
        V total;
        std::int32_t block;
    };
    Large<std::uint32_t> start;
    Large<Entry> entry;

    // Features are numbered in order of occurrence, so those new in a block are side by side.
    void collect(std::vector<Block<V>>& blocks, int finder, Index features) {
        Index entries = 0;
        for (const Block<V>& own : blocks) entries += own.finder == finder ? Index(own.feature.size()) : 0;
        if (entries > UINT32_MAX) throw std::length_error("too many texts at once: pass them in parts");
        start.assign(features + 2, 0);
        for (const Block<V>& own : blocks)
            if (own.finder == finder)
                for (Feature f : own.feature) ++start[f + 2];
        for (Index f = 0; f < features; ++f) start[f + 2] += start[f + 1];
        entry.resize(start[features + 1]);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            if (blocks[b].finder != finder) continue;
            for (std::size_t e = 0; e < blocks[b].feature.size(); ++e) {
                entry[start[blocks[b].feature[e] + 1]++] = {blocks[b].total[e], std::int32_t(b)};
            }
            blocks[b].feature = {}, blocks[b].total = {};
        }
    }
};

// The totals of one feature by class, those of several threads in the order of the blocks. Returns how many there are.
template <class V>
Index merge(const Source* from, const Source* end, const std::vector<Found<V>>& found,
            const std::vector<Block<V>>& blocks, std::vector<Index>& at, std::int32_t* code, TotalOf<V>* total) {
    if (end - from == 1) {  // as most are
        const Found<V>& own = found[from->lexicon];
        Index n = 0;
        for (Index e = own.start[from->feature]; e < own.start[from->feature + 1]; ++e) {
            const std::int32_t c = blocks[own.entry[e].block].code;
            if (n && code[n - 1] == c)
                total[n - 1] += own.entry[e].total;
            else
                code[n] = c, total[n++] = TotalOf<V>(own.entry[e].total);
        }
        return n;
    }
    at.clear();
    for (const Source* s = from; s < end; ++s) at.push_back(found[s->lexicon].start[s->feature]);
    Index n = 0;
    for (;;) {
        const Source* next = nullptr;
        for (const Source* s = from; s < end; ++s) {
            const Found<V>& own = found[s->lexicon];
            if (at[s - from] == own.start[s->feature + 1]) continue;
            if (!next || own.entry[at[s - from]].block < found[next->lexicon].entry[at[next - from]].block) next = s;
        }
        if (!next) return n;
        const Found<V>& own = found[next->lexicon];
        const Index e = at[next - from]++;
        const std::int32_t c = blocks[own.entry[e].block].code;
        if (n && code[n - 1] == c) {
            total[n - 1] += own.entry[e].total;
        } else {
            code[n] = c;
            total[n++] = TotalOf<V>(own.entry[e].total);
        }
    }
}

// Merge the totals of the threads, feature by feature. Blocks are sorted by class, and so are the totals of a feature.
template <class V>
void gather(std::vector<Block<V>>& blocks, const std::vector<Learned>& learned, const Ordered& ordered,
            WordTotals& out) {
    const int finders = int(learned.size());
    std::vector<Found<V>> found(finders);
    for_blocks(finders, finders, [&](Index t, int) { found[t].collect(blocks, int(t), learned[t].lexicon->size()); });

    const Index n = Index(ordered.source_start.size()) - 1, width = 8192, parts = (n + width - 1) / width;
    const Source* source = ordered.source.data();
    // The totals of a feature are anywhere in memory: prefetch them.
    const Index last = Index(ordered.source.size()), ahead = 16;
    auto fetch = [&](Index s) {
        if (s + 2 * ahead >= last) return;
        const Source &soon = source[s + ahead], &later = source[s + 2 * ahead];
        prefetch(found[later.lexicon].start.data() + later.feature);
        prefetch(found[soon.lexicon].entry.data() + found[soon.lexicon].start[soon.feature]);
    };
    out.start.resize(n + 1);
    out.start[0] = 0;
    for_blocks(parts, finders, [&](Index p, int) {
        for (Index i = p * width; i < std::min(n, (p + 1) * width); ++i) {
            fetch(ordered.source_start[i]);
            Index most = 0;
            for (Index s = ordered.source_start[i]; s < ordered.source_start[i + 1]; ++s) {
                const Large<std::uint32_t>& start = found[source[s].lexicon].start;
                most += start[source[s].feature + 1] - start[source[s].feature];
            }
            out.start[i + 1] = most;
        }
    });
    running_sums(out.start.data(), n + 1);
    out.code.resize(out.start[n]);
    Large<TotalOf<V>> total(out.start[n]);
    Large<Index> start(n + 1);
    start[0] = 0;
    for_blocks(parts, finders, [&](Index p, int) {
        std::vector<Index> at;
        for (Index i = p * width; i < std::min(n, (p + 1) * width); ++i) {
            fetch(ordered.source_start[i]);
            start[i + 1] = merge(source + ordered.source_start[i], source + ordered.source_start[i + 1], found, blocks,
                                 at, out.code.data() + out.start[i], total.data() + out.start[i]);
        }
    });
    // Where blocks of one class were merged, places are left over.
    running_sums(start.data(), n + 1);
    Large<std::int32_t> code(start[n]);
    out.total.resize(start[n]);
    if constexpr (std::is_same_v<V, Exact>) out.total_low.resize(start[n]);
    for_blocks(parts, finders, [&](Index p, int) {
        for (Index i = p * width; i < std::min(n, (p + 1) * width); ++i)
            for (Index e = out.start[i], to = start[i]; to < start[i + 1]; ++e, ++to) {
                code[to] = out.code[e];
                if constexpr (std::is_same_v<V, Exact>)
                    out.total[to] = total[e].high, out.total_low[to] = total[e].low;
                else
                    out.total[to] = total[e];
            }
    });
    out.start = std::move(start);
    out.code = std::move(code);
}

template <class V>
WordTotals totals_as(const Texts& texts, const Rows& rows, const Tokenization& tokenization, Weighting weighting,
                     Kept kept) {
    ByClassOrder order;
    order.sort_in_threads(rows, texts.n);
    std::vector<Block<V>> blocks;
    Index bytes = 0;
    for (Index c = 0; c < rows.classes; ++c)
        for (Index lo = order.start[c], hi; lo < order.start[c + 1]; lo = hi) {
            Index size = 0;
            for (hi = lo; hi < order.start[c + 1] && size < block_bytes; ++hi) size += texts.size(order.row[hi]) + 64;
            blocks.push_back({std::int32_t(c), lo, hi});
            bytes += size;
        }
    const int threads = threads_for(bytes, Index(blocks.size()));
    std::vector<std::unique_ptr<Finder>> finders;
    for (int t = 0; t < threads; ++t) finders.push_back(std::make_unique<Finder>(tokenization));
    FirstPosition refused;
    for_blocks(Index(blocks.size()), threads, [&](Index b, int slot) {
        blocks[b].finder = slot;
        count(texts, rows, tokenization, weighting, order.row.data(), *finders[slot], blocks[b], kept, refused);
    });
    throw_refused(refused, texts, tokenization);
    for_blocks(threads, threads, [&](Index t, int) { finders[t]->close(); });

    WordTotals out;
    std::vector<TotalOf<V>> documents(rows.classes), words(rows.classes);
    std::vector<Learned> learned;
    for (const auto& finder : finders) learned.emplace_back(finder->lexicon, tokenization);
    for (const Block<V>& block : blocks) {
        learned[block.finder].use(block.feature);
        documents[block.code] += block.documents;
        words[block.code] += block.words;
    }
    if constexpr (std::is_same_v<V, Exact>) {
        for (const Exact& sum : documents) out.documents.push_back(sum.high), out.documents_low.push_back(sum.low);
        for (const Exact& sum : words) out.words.push_back(sum.high), out.words_low.push_back(sum.low);
    } else {
        out.documents = std::move(documents), out.words = std::move(words);
    }
    Ordered ordered = order_features(learned, tokenization);
    out.names = std::move(ordered.names);
    kept.write(learned, ordered, out);
    gather(blocks, learned, ordered, out);
    return out;
}

}  // namespace

WordTotals word_totals(const Texts& texts, const Rows& rows, const Tokenization& tokenization, Weighting weighting,
                       bool exact, const Index* kept, Index n_kept) {
    Kept own(kept, n_kept, texts.n);
    if (exact) return totals_as<Exact>(texts, rows, tokenization, weighting, std::move(own));
    if (weighting.plain() && !rows.weight)
        return totals_as<std::uint32_t>(texts, rows, tokenization, weighting, std::move(own));
    return totals_as<double>(texts, rows, tokenization, weighting, std::move(own));
}

}  // namespace suffice
