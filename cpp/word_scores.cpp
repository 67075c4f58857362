// From documents to the scores of classes in one pass: no matrix of features is made.
#include <cmath>

#include "text.hpp"

namespace suffice {
namespace {

// The documents that one thread has read last. Those of a part are read first and scored then: the look-up table and the
// coefficients do not drive each other out of the cache.
struct Finder {
    FeatureReader reader;
    Bag bag;
    std::vector<Feature> feature;
    std::vector<std::uint32_t> count;
    std::vector<std::uint8_t> group;
    std::vector<Index> start, words;  // of documents; a missing one has -1 words
    std::vector<double> value;

    void clear() {
        feature.clear(), count.clear(), group.clear(), words.clear();
        start.assign(1, 0);
    }
    void skip() {
        words.push_back(-1);
        start.push_back(start.back());
    }
    // Read a document, and keep the features of the vocabulary: words that only occur in n-grams, and replaced words,
    // are none.
    void read(const Texts& texts, Index i, const FixedLexicon& vocabulary) {
        constexpr std::size_t ahead = 16;
        bag.read(reader, texts, i, vocabulary.lexicon);
        const Feature* place = vocabulary.feature.data();
        for (std::size_t e = 0; e < bag.feature.size(); ++e) {
            if (e + ahead < bag.feature.size()) __builtin_prefetch(place + bag.feature[e + ahead]);
            const Feature f = place[bag.feature[e]];
            if (f == no_feature) continue;
            feature.push_back(f);
            count.push_back(bag.count[e]);
            group.push_back(bag.group[e]);
        }
        words.push_back(bag.words);
        start.push_back(Index(feature.size()));
    }
};

SUFFICE_CLONES void add_scores(const Feature* feature, const double* value, Index n, const Entries& entries,
                               const double* coef, Index classes, double* score) {
    constexpr Index ahead = 12;
    for (Index e = 0; e < n; ++e) {
        if (e + 2 * ahead < n) __builtin_prefetch(entries.start + feature[e + 2 * ahead]);
        if (e + ahead < n) {
            const Index next = entries.start[feature[e + ahead]];
            __builtin_prefetch(coef + next);
            __builtin_prefetch(entries.code + next);
        }
        const double v = value[e];
        const Index from = entries.start[feature[e]], m = entries.start[feature[e] + 1] - from;
        if (m == classes) {  // a word that all classes have
            for (Index c = 0; c < classes; ++c) score[c] += v * coef[from + c];
        } else {
            for (Index k = from; k < from + m; ++k) score[entries.code[k]] += v * coef[k];
        }
    }
}

}  // namespace

void word_scores(const Texts& texts, const Tokenization& tokenization, const FixedLexicon& vocabulary,
                 Weighting weighting, const Entries& entries, const LinearScores& scores, double* out) {
    const int groups = tokenization.n_sizes();
    std::vector<Index> start{0};  // of parts, each of about as much text
    Index bytes = 0;
    for (Index i = 0, size = 0; i < texts.n; ++i) {
        size += texts.size(i) + 64;
        bytes += texts.size(i) + 64;
        if (size >= block_bytes || i + 1 == texts.n) start.push_back(i + 1), size = 0;
    }
    const Index parts = Index(start.size()) - 1, classes = scores.classes;
    const int threads = threads_for(bytes, parts);
    std::vector<Finder> finders;
    for (int t = 0; t < threads; ++t)
        finders.push_back({FeatureReader(tokenization, vocabulary.lexicon), {}, {}, {}, {}, {}, {}, {}});
    FirstPosition refused;
    for_blocks(parts, threads, [&](Index p, int slot) {
        Finder& own = finders[slot];
        own.clear();
        read_each(nullptr, start[p], start[p + 1], refused,
                  [&](Index i) { texts.missing(i) ? own.skip() : own.read(texts, i, vocabulary); });
        if (refused.get() >= 0) return;
        own.value.resize(own.feature.size());
        for (Index i = start[p]; i < start[p + 1]; ++i) {
            const Index k = i - start[p], from = own.start[k], n = own.start[k + 1] - from;
            double* score = out + i * classes;
            std::fill_n(score, classes, 0.0);
            if (own.words[k] < 0) continue;
            const std::uint8_t* group = own.group.data() + from;
            double *value = own.value.data() + from, length[most_words], factor[most_words];
            for (int b = 0; b < groups; ++b) {
                length[b] = tokenization.features(own.words[k], b);
                factor[b] = std::exp(scores.exponent * (std::log1p(length[b]) - scores.length[b]));
            }
            for (Index e = 0; e < n; ++e) length[group[e]] -= own.count[from + e];
            weigh(weighting, own.count.data() + from, group, n, groups, length, value);
            for (int b = 0; b < groups; ++b) length[b] *= factor[b];
            for (Index e = 0; e < n; ++e) {
                value[e] *= factor[group[e]];
                length[group[e]] += value[e];
            }
            add_scores(own.feature.data() + from, value, n, entries, scores.coef, classes, score);
            for (int b = 0; b < groups; ++b)
                for (Index c = 0; c < classes; ++c) score[c] += length[b] * scores.base[b * classes + c];
        }
    });
    throw_refused(refused, texts, tokenization);
}

}  // namespace suffice
