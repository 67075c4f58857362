// From documents to the scores of classes in one pass: no matrix of features is made.
#include <cmath>
#include <utility>

#include "buffer.hpp"
#include "dispatch.hpp"
#include "text.hpp"

namespace suffice {
namespace {

// score[c] += Σ_e value[e] coef_fc of the features f.
void add_scores(const ScoreTable& table, const Feature* feature, const double* value, Index n,
                double* __restrict score) {
    constexpr Index ahead = 24;
    using Row = ScoreTable::Row;
    const Row* rows = table.row.data();
    const ScoreTable::Entry* few = table.few.data();
    const double* dense = table.dense.data();
    for (Index e = 0; e < n; ++e) {
        if (e + 2 * ahead < n) prefetch(rows + feature[e + 2 * ahead]);
        if (e + ahead < n) {
            const Row& soon = rows[feature[e + ahead]];
            if (soon.size == Row::all)
                for (Index c = 0; c < table.width; c += 8) prefetch(dense + soon.at + c);
            else if (soon.size > 1)
                prefetch(few + soon.at);
        }
        const Row& row = rows[feature[e]];
        const double v = value[e];
        if (row.size == 1) {
            score[row.code] += v * row.coef;
        } else if (row.size == Row::all) {
            const double* coef = dense + row.at;
            for (Index c = 0; c < table.width; ++c) score[c] += v * coef[c];
        } else {
            for (Index k = row.at; k < row.at + row.size; ++k) score[few[k].code] += v * few[k].coef;
        }
    }
}

}  // namespace

SUFFICE_DISPATCH(add_word_scores, add_scores)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

// Leave out what is not a feature of the vocabulary.
void filter(Bag& bag, const ScoreTable& table) {
    std::size_t from = 0, to = 0;
    for (Run& run : bag.runs) {
        for (; from < std::size_t(run.end); ++from) {
            if (table.row[bag.feature[from]].size < 0) continue;
            bag.feature[to] = bag.feature[from];
            bag.count[to++] = bag.count[from];
        }
        run.end = Index(to);
    }
    bag.feature.resize(to), bag.count.resize(to);
}

}  // namespace

ScoreTable::ScoreTable(const FixedLexicon& vocabulary, const Entries& entries, const double* coef, Index classes)
    : classes(classes), width(padded(classes)) {
    const Large<Feature>& feature = vocabulary.feature;
    const Index n = Index(feature.size());
    row.resize(n);
    Index n_few = 0, n_dense = 0;
    for (Index f = 0; f < n; ++f) {
        Row& own = row[f] = {{.at = 0}, -1, 0};
        if (feature[f] == no_feature) {
            complete = false;
            continue;
        }
        const Index from = entries.start[feature[f]], size = entries.start[feature[f] + 1] - from;
        const bool whole = 2 * size > classes;
        own.size = whole ? Row::all : std::int32_t(size);
        if (size == 1 && !whole)
            own.coef = coef[from], own.code = entries.code[from];
        else
            own.at = whole ? std::exchange(n_dense, n_dense + width) : std::exchange(n_few, n_few + size);
    }
    few.resize(n_few);
    dense.resize(n_dense, 0.0);
    for (Index f = 0; f < n; ++f) {
        const Row own = row[f];
        if (own.size < 2) continue;
        const Index from = entries.start[feature[f]], size = entries.start[feature[f] + 1] - from;
        for (Index k = 0; k < size; ++k)
            if (own.size == Row::all)
                dense[own.at + entries.code[from + k]] = coef[from + k];
            else
                few[own.at + k] = {coef[from + k], entries.code[from + k]};
    }
}

void word_scores(const Texts& texts, const Tokenization& tokenization, const Lexicon& lexicon, Weighting weighting,
                 const ScoreTable& table, const LinearScores& scores, double* out) {
    struct Finder {
        FeatureReader reader;
        Bag bag;
        std::vector<double> value;
        Buffer score;
    };
    const int groups = tokenization.n_sizes();
    std::vector<Index> start{0};  // of parts, each of about as much text
    Index bytes = 0;
    for (Index i = 0, size = 0; i < texts.n; ++i) {
        size += texts.size(i) + 64;
        bytes += texts.size(i) + 64;
        if (size >= block_bytes || i + 1 == texts.n) start.push_back(i + 1), size = 0;
    }
    const Index parts = Index(start.size()) - 1, classes = table.classes;
    const int threads = threads_for(bytes, parts);
    std::vector<Finder> finders;
    for (int t = 0; t < threads; ++t)
        finders.push_back({FeatureReader(tokenization, lexicon), {}, {}, Buffer(table.width)});
    FirstPosition refused;
    for_blocks(parts, threads, [&](Index p, int slot) {
        Finder& own = finders[slot];
        Bag& bag = own.bag;
        read_each(nullptr, start[p], start[p + 1], refused, [&](Index i) {
            double* score = out + i * classes;
            std::fill_n(score, classes, 0.0);
            if (texts.missing(i)) return;
            bag.read(own.reader, texts, i, lexicon);
            if (!table.complete) filter(bag, table);
            own.value.resize(bag.feature.size());
            double *value = own.value.data(), length[most_words];
            for (int b = 0; b < groups; ++b) length[b] = tokenization.features(bag.words, b);
            double factor[most_words];
            for (int b = 0; b < groups; ++b)
                factor[b] = std::exp(scores.exponent * (std::log1p(length[b]) - scores.length[b]));
            Index e = 0;
            for (const Run& run : bag.runs) {
                std::uint64_t known = 0;
                for (; e < run.end; ++e) known += bag.count[e];
                length[run.group] -= double(known);
            }
            weigh(weighting, bag.count.data(), bag.runs, groups, length, value);
            for (int b = 0; b < groups; ++b) length[b] *= factor[b];
            e = 0;
            for (const Run& run : bag.runs) {
                double sum = 0;
                for (; e < run.end; ++e) sum += value[e] *= factor[run.group];
                length[run.group] += sum;
            }
            own.score.fill(0.0);
            fast::add_word_scores(table, bag.feature.data(), value, Index(bag.feature.size()), own.score.data());
            for (int b = 0; b < groups; ++b)
                for (Index c = 0; c < classes; ++c) own.score[c] += length[b] * scores.base[b * classes + c];
            std::copy_n(own.score.data(), classes, score);
        });
    });
    throw_refused(refused, texts, tokenization);
}

#endif

}  // namespace suffice
