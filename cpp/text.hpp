// Every kernel on texts: a table of contents beside kernels.hpp.
#pragma once

#include "features.hpp"
#include "pages.hpp"

namespace suffice {

// The amount of text that one thread reads at a time.
constexpr Index block_bytes = Index(1) << 19;

// A vocabulary: feature i is the bytes start[i] .. start[i + 1] of text. Features are sorted and distinct.
struct Names {
    Large<std::uint8_t> text;
    Large<Index> start;
};
struct View {
    const std::uint8_t* text;
    const Index* start;
    Index n;
};

// vocabulary.cpp: all features of several lexicons, sorted by name: n-grams of `least` words or more, and of the first
// `replaced` words only those that were `used`. source[source_start[i]] .. source[source_start[i + 1]] are the numbers
// of feature i in the lexicons.
struct Source {
    std::uint32_t lexicon;
    Feature feature;
};
struct Learned {
    const Lexicon* lexicon;
    std::vector<std::uint8_t>
        used;  // which of the replaced words were used; they come first in a lexicon without buckets

    Learned(const Lexicon& lexicon, const Tokenization& tokenization)
        : lexicon(&lexicon), used(tokenization.buckets ? 0 : std::size_t(tokenization.replaced.n), 0) {}
    void use(const Large<Feature>& features) {
        if (used.empty()) return;
        for (Feature f : features)
            if (f < used.size()) used[f] = 1;
    }
};
struct Ordered {
    Names names;
    Large<Source> source;
    Large<Index> source_start;

    // The position of every feature of each lexicon, -1 if it has none.
    std::vector<Large<std::int32_t>> places(const std::vector<Learned>& learned) const;
};
Ordered order_features(const std::vector<Learned>& learned, const Tokenization& tokenization);
// The union of two vocabularies, and the position in it of each feature of either.
struct Merged {
    Names names;
    std::vector<Index> place_a, place_b;
};
Merged merge_names(View a, View b);
// The position of each name in another vocabulary, or -1. Few of its names are looked at, and only these are checked to
// lie within its `size` bytes.
void find_names(View names, View among, Index size, Index* out);
// The number of words of each feature less `least`, between 0 and `most`: words are joined by spaces.
void name_sizes(View names, Index least, Index most, std::uint8_t* out);

// word_counts.cpp: the total of every feature in every class that has it: start[i] .. start[i + 1] of code and total
// are those of feature i, by ascending class. Also the weight of the documents of each class, and of their words. If they
// are to be `exact`, what rounding takes from these sums is beside them. Besides, the counts of the features of some
// documents, which are to be kept: row k has those of document kept[k], by ascending feature.
struct WordTotals {
    Names names;
    Large<Index> start;
    Large<std::int32_t> code;
    Large<double> total, total_low;
    std::vector<double> documents, words, documents_low, words_low;
    Large<Index> kept_start, kept_count;
    Large<std::int32_t> kept_feature;
};
WordTotals word_totals(const Texts& texts, const Rows& rows, const Tokenization& tokenization, Weighting weighting,
                       bool exact, const Index* kept, Index n_kept);

// word_matrix.cpp: a row for each document, with the counts of its features. With a vocabulary of all features found:
template <class T>
struct WordMatrix {
    Names names;
    std::vector<Index> start;  // of rows
    Large<std::int32_t> feature;
    Large<T> value;
    std::vector<Index> words;     // of each row
    std::vector<double> unknown;  // (rows, sizes): sums of the values of features outside the vocabulary; see `weigh`
};
WordMatrix<std::int64_t> word_matrix(const Texts& texts, const Tokenization& tokenization);
// A vocabulary ready to be looked up.
struct FixedLexicon {
    Lexicon lexicon;
    Large<Feature> feature;           // of each number of the lexicon, or no_feature
    std::vector<std::uint8_t> group;  // of each feature
    Index size;
};
FixedLexicon fixed_lexicon(View vocabulary, const Tokenization& tokenization, const std::uint8_t* tier = nullptr);
// With a given vocabulary; other features are left out. Counts are by ascending feature, values by first occurrence.
template <class T>
WordMatrix<T> word_matrix(const Texts& texts, const Tokenization& tokenization, const FixedLexicon& vocabulary,
                          Weighting weighting);

// text_hashes.cpp: a hash of each document, the same for every encoding; 0 for a missing document.
void text_hashes(const Texts& texts, std::uint64_t* out);

// Rows of features with values, and a table with entries for some classes of every feature: start[j] .. start[j + 1] of
// code, in which classes ascend, and of other arrays are those of feature j.
struct Bags {
    const Index* start;
    const std::int32_t* feature;
    const double* value;
    Index rows;
};
struct Entries {
    const Index* start;
    const std::int32_t* code;
    Index features;
};
// entry_sums.cpp: the sum of the numbers of each feature, by_feature[j], and of each class over the features of a block,
// by_class[block[j], c], (blocks, classes).
void entry_sums(Entries entries, const double* value, const std::uint8_t* block, Index blocks, Index classes,
                double* by_feature, double* by_class);
// bag_scores.cpp: out[i, c] = base[c] Σ_j x_ij + Σ_j x_ij coef_jc, coef being 0 where there is no entry, and
// lengths[i] = Σ_j x_ij.
void bag_scores(Bags x, Entries entries, const double* coef, const double* base, Index classes, double* out,
                double* lengths);
// bag_log_sums.cpp: sums[i] = Σ_j x_ij log(table_jc + added - w_i x_ij) with c = code[i]; a logarithm is
// `of_nothing` where nothing is left.
void bag_log_sums(Bags x, Rows rows, Entries entries, const double* table, double added, double of_nothing,
                  double* sums);
// bag_left_out.cpp: scores of rows that are taken out of their classes, in parts: word j is in part slot[j].
//     out[i, slot, c] = Σ_j x_ij log(1 + n_jc / a_slot),  c = code[i]: n_jc - w_i x_ij in place of n_jc
// where `all` is null; or otherwise of complements, where all_j = Σ_c n_jc is less by w_i x_ij as well:
//     out[i, slot, c] = Σ_j x_ij log((all_j + a_slot) / (all_j - n_jc + a_slot))
struct LeftOut {
    Entries entries;
    const double *total, *all;
    const std::uint16_t* slot;
    const double* added;
    Index slots;
};
void bag_left_out(Bags x, Rows rows, const LeftOut& model, double* out);
// mixed_coef.cpp: out[e] = w log(1 + n / a) + w' log((all_j + a') / (all_j - n + a')) of the total n at place[e], which
// is of word j = owner[e] in slot[j], whose weights and smoothing are in `scores`.
struct SlotScores {
    double weight, added, complement_weight, complement_added;
};
void mixed_coef(const Index* place, const Index* owner, Index n, const double* total, const double* all,
                const std::uint16_t* slot, const SlotScores* scores, double* out);
// weighted_scores.cpp: -Σ_i w_i log p_i of φ = (u, v, logit ε), with c = code[i] and π = e^log_prior:
//     p_i = (1 - ε) softmax(log π_i + Σ_p e^(u_p + v log_ip) score_ip)_c + ε π_ic
// The gradient and the Hessian, (parts + 2) numbers in a row, are written unless `gradient` is null; those of ε lack
// what does not depend on the rows but on their weight, Σ_i w_i ε (1 - ε).
struct WeightedScores {
    const double *score, *log, *log_prior;  // (rows, parts, classes), (rows, parts), (rows, classes)
    const std::int32_t* code;
    const double* weight;
    Index rows, parts, classes;
};
double weighted_loss(const WeightedScores& x, const double* phi, double* gradient, double* hessian);
// bag_urns.cpp: out[i, c] = Σ_j f(n_jc) - f(0), f(n) = log Γ(n + added + x_ij) - log Γ(n + added), with rows taken out
// of their classes unless `rows.code` is null.
void bag_urns(Bags x, Rows rows, Entries entries, const double* total, double added, double* out);

// word_scores.cpp: the coefficients of features, in the order of the numbers of a lexicon. Most features have one class,
// whose coefficient is in their row. Few classes have an entry each. If they are more than half of all, all have one.
struct ScoreTable {
    struct Row {
        static constexpr std::int32_t all = INT32_MAX;
        union {
            double coef;
            Index at;  // in `few` or `dense`
        };
        std::int32_t size;  // the number of classes, `all`, or -1 if it is not a feature
        std::int32_t code;
    };
    struct Entry {
        double coef;
        Index code;
    };
    Index classes, width;  // `width` numbers for all classes
    bool complete = true;  // whether all are features; words that only occur in n-grams, and replaced words, are not
    Large<Row> row;
    Large<Entry> few;
    Large<double> dense;

    ScoreTable(const FixedLexicon& vocabulary, const Entries& entries, const double* coef, Index classes);
};
// out[i, c] = Σ_b L_ib base_bc + Σ_j x_ij coef_jc of the features j of document i. x is weighted, then multiplied by
// e^(exponent (log(1 + features of i of size b) - length_b)), and L_ib is the sum of x over the features of size b,
// unknown ones included. Missing documents have scores of 0. base is (sizes, classes).
struct LinearScores {
    const double *base, *length;
    double exponent;
};
void word_scores(const Texts& texts, const Tokenization& tokenization, const Lexicon& lexicon, Weighting weighting,
                 const ScoreTable& table, const LinearScores& scores, double* out);

}  // namespace suffice
