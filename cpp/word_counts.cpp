// Documents by class, summed up: every thread counts with a lexicon of its own, block by block; blocks are put together in
// their order, so that any number of threads gives the same bits.
#include "text.hpp"

namespace suffice {
namespace {

// What one thread has found.
struct Finder {
    Lexicon lexicon;
    FeatureReader reader;
    Bag bag;
    std::vector<double> value, total;  // of the bag; of the block, by feature
    std::vector<std::uint32_t> times;  // of the block, by feature: enough where every word counts 1
    std::vector<Feature> touched;

    explicit Finder(const TextReading& reading) : reader(reading, lexicon) {}
};

// Documents of one class.
struct Block {
    std::int32_t code;
    Index lo, hi;  // places in the order by class
    int finder = 0;
    double documents = 0, words = 0;
    std::vector<Feature> feature = {};
    std::vector<double> total = {};
};

template <class T>
void make_room(std::vector<T>& table, const Lexicon& lexicon) {
    if (Index(table.size()) < lexicon.size()) table.resize(lexicon.size() + lexicon.size() / 2);
}

// Move what was counted to the block.
template <class T>
void hand_over(std::vector<Feature>& touched, std::vector<T>& counted, Block& block) {
    block.feature = touched;
    block.total.resize(touched.size());
    for (std::size_t e = 0; e < touched.size(); ++e) {
        block.total[e] = counted[touched[e]], counted[touched[e]] = 0;
        if (std::is_integral_v<T> && !block.total[e]) throw_too_often();
    }
    touched.clear();
}

// Every word of every document counts 1: no need to know which document it is in.
void count_plainly(const Texts& texts, const std::int32_t* row, Finder& own, Block& block, FirstPosition& refused) {
    read_each(row, block.lo, block.hi, refused, [&](Index i) {
        if (texts.missing(i)) return;
        block.documents += 1;
        block.words += double(own.reader.read(texts, i, [&](const Feature* features, Index n, int) {
            make_room(own.times, own.lexicon);
            std::uint32_t* times = own.times.data();
            for (Index t = 0; t < n; ++t)
                if (features[t] != no_feature && !times[features[t]]++) own.touched.push_back(features[t]);
        }));
    });
    hand_over(own.touched, own.times, block);
}

void count_weighted(const Texts& texts, const Rows& rows, int blocks, Weighting weighting, const std::int32_t* row, Finder& own,
                    Block& block, FirstPosition& refused) {
    read_each(row, block.lo, block.hi, refused, [&](Index i) {
        if (texts.missing(i)) return;
        own.bag.read(own.reader, texts, i, own.lexicon);
        const Index n = Index(own.bag.feature.size());
        own.value.resize(n);
        double unknown[most_words] = {};
        weigh(weighting, own.bag.count.data(), own.bag.block.data(), n, blocks, unknown, own.value.data());
        make_room(own.total, own.lexicon);
        const double w = rows.weight ? rows.weight[i] : 1.0;
        for (Index e = 0; e < n; ++e) {
            double& total = own.total[own.bag.feature[e]];
            if (total == 0) own.touched.push_back(own.bag.feature[e]);
            total += w * own.value[e];
        }
        block.documents += w;
        block.words += w * double(own.bag.words);
    });
    hand_over(own.touched, own.total, block);
}

}  // namespace

WordTotals word_totals(const Texts& texts, const Rows& rows, const TextReading& reading, Weighting weighting) {
    ByClassOrder order;
    order.sort(rows, 0, texts.n);
    std::vector<Block> blocks;
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
    for (int t = 0; t < threads; ++t) finders.push_back(std::make_unique<Finder>(reading));
    FirstPosition refused;
    for_blocks(Index(blocks.size()), threads, [&](Index b, int slot) {
        blocks[b].finder = slot;
        if (weighting.plain() && !rows.weight)
            count_plainly(texts, order.row.data(), *finders[slot], blocks[b], refused);
        else
            count_weighted(texts, rows, reading.blocks(), weighting, order.row.data(), *finders[slot], blocks[b], refused);
    });
    throw_refused(refused, texts, reading);

    std::vector<const Lexicon*> lexicons;
    std::vector<std::vector<std::uint8_t>> used;
    for (const auto& finder : finders) {
        lexicons.push_back(&finder->lexicon);
        used.emplace_back(finder->lexicon.size(), 0);
    }
    WordTotals out;
    out.documents.assign(rows.classes, 0);
    out.words.assign(rows.classes, 0);
    for (const Block& block : blocks) {
        for (Feature f : block.feature) used[block.finder][f] = 1;
        out.documents[block.code] += block.documents;
        out.words[block.code] += block.words;
    }
    Ordered ordered = order_features(lexicons, used);
    out.names = std::move(ordered.names);

    // Blocks are in the order of their classes, so that each feature's entries are too; equal classes become one.
    const Index n = Index(out.names.start.size()) - 1;
    std::vector<Index> at(n + 1, 0);
    for (const Block& block : blocks)
        for (Feature f : block.feature) ++at[ordered.place[block.finder][f] + 1];
    for (Index i = 0; i < n; ++i) at[i + 1] += at[i];
    out.start = at;
    out.code.resize(at[n]);
    out.total.resize(at[n]);
    for (Block& block : blocks) {
        const std::vector<std::int32_t>& place = ordered.place[block.finder];
        for (std::size_t e = 0; e < block.feature.size(); ++e) {
            const Index to = at[place[block.feature[e]]]++;
            out.code[to] = block.code;
            out.total[to] = block.total[e];
        }
        block.feature = {};
        block.total = {};
    }
    Index to = 0;
    for (Index i = 0; i < n; ++i) {
        const Index lo = out.start[i], hi = out.start[i + 1];
        out.start[i] = to;
        for (Index e = lo; e < hi; ++e) {
            if (e > lo && out.code[e] == out.code[to - 1]) {
                out.total[to - 1] += out.total[e];
            } else {
                out.code[to] = out.code[e];
                out.total[to++] = out.total[e];
            }
        }
    }
    out.start[n] = to;
    out.code.resize(to);
    out.total.resize(to);
    return out;
}

}  // namespace suffice
