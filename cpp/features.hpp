// From documents to the numbers of their features.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lexicon.hpp"
#include "threads.hpp"
#include "tokens.hpp"

namespace suffice {

// Documents to be cut into tokens; or, where `documents` is null, already cut: the tokens of document i are
// token_start[document_start[i]] .. token_start[document_start[i + 1]], places in bytes; `present`, where it is given, tells which
// of those are not missing.
struct Texts {
    const Document* documents;
    Index n;
    const std::uint8_t* bytes = nullptr;
    const Index* token_start = nullptr;
    const Index* document_start = nullptr;
    const bool* present = nullptr;

    bool missing(Index i) const {
        return documents ? documents[i].encoding == Encoding::missing : present && !present[i];
    }
    // About how much there is to read.
    Index size(Index i) const {
        if (!documents) {
            const Index lo = document_start[i], hi = document_start[i + 1];
            return token_start[hi] - token_start[lo] + (hi - lo);
        }
        const Encoding kind = documents[i].encoding;
        return documents[i].size * (kind == Encoding::ucs2 ? 2 : kind == Encoding::ucs4 ? 4 : 1);
    }
};

// Words that are left out (stop words), or read as another (stems). Word i of the list is read as word target[i] of
// the list, or left out where that is negative.
struct Replacements {
    const std::uint8_t* text = nullptr;  // 8 bytes readable beyond the end
    const Index* start = nullptr;
    const Index* target = nullptr;
    Index n = 0;
};

constexpr int most_words = 255;  // in an n-gram: blocks are numbered by a byte

// How documents are read.
struct Tokenization {
    TokenOptions tokens;
    int least, most;  // sizes of n-grams of words
    Index buckets;    // features are hashed into so many, and named by them; 0: each has its own name
    Replacements replaced;

    bool joins_words() const { return tokens.analyzer == Analyzer::word; }
    // Features of one size are a block, where sizes can be told apart.
    int n_sizes() const { return joins_words() && !buckets ? most - least + 1 : 1; }
    // How many features, known or not, a document of so many words has in a block.
    double features(Index words, int group) const {
        if (!joins_words()) return double(words);
        double out = 0;
        for (int size = buckets ? least : least + group; size <= (buckets ? most : least + group); ++size)
            out += double(std::max<Index>(words - size + 1, 0));
        return out;
    }
};

// A document that cannot be read, and where in it.
struct BadDocument : std::exception {
    Index document, position;
    std::string found;
    BadDocument(Index document, Index position, std::string found)
        : document(document), position(position), found(std::move(found)) {}
    const char* what() const noexcept override { return found.c_str(); }
};

// Reads documents, one at a time. Either new features are numbered by the lexicon, or it stays as it is.
class FeatureReader {
public:
    FeatureReader(const Tokenization& tokenization, Lexicon& growing);
    FeatureReader(const Tokenization& tokenization, const Lexicon& fixed);

    // Call take(features, n, block) for the features of the document, a part at a time and those of one size, whose
    // number is the block; some of them may be no_feature. Returns how many words the document has.
    template <class Take>
    Index read(const Texts& texts, Index i, Take take) {
        Index words = 0;
        std::fill(before_.begin(), before_.end(), no_feature);
        word_start_.clear(), word_length_.clear(), joined_.clear();
        if (texts.documents) {
            tokenizer_.begin(texts.documents[i]);
            while (tokenizer_.next())
                words += segment(tokenizer_.bytes(), tokenizer_.start(), tokenizer_.length(), tokenizer_.size(), take);
            return words;
        }
        for (Index lo = texts.document_start[i], end = texts.document_start[i + 1], n; lo < end; lo += n) {
            n = cut(texts, i, lo, std::min(at_once, end - lo));
            words += segment(texts.bytes + texts.token_start[lo], start_.data(), length_.data(), n, take);
        }
        return words;
    }

private:
    static constexpr Index at_once = 4096;  // tokens of a document that comes in tokens

    template <class Take>
    Index segment(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n,
                  Take take) {
        n = words(bytes, start, length, n);
        if (least_ <= 1) take(levels_[0].data() + 1, n, 0);
        for (int level = 2; level <= most_; ++level) {
            join(level, n);
            if (level >= least_) take(levels_[level - 1].data() + 1, n, buckets_ ? 0 : level - least_);
        }
        if (n) remember(n);
        return n;
    }
    void remember(Index n);
    // Make up to n tokens of document i, from `first`, a segment; returns how many.
    Index cut(const Texts& texts, Index i, Index first, Index n);
    // The words of a segment, without those left out; then their n-grams, from the ones a word shorter. The first
    // place of each level is for what came last in the segment before.
    Index words(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n);
    Index replace(Index n);
    void join(int level, Index n);
    // The same where features are hashed: words are joined by spaces, and n-grams are parts of that.
    Index join_words(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n);
    void find_buckets(int level, Index n, Feature* out);
    void look_up(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n,
                 Feature* out);

    Tokenizer tokenizer_;
    const Lexicon* fixed_;
    Lexicon* growing_;
    int least_, most_;
    Index buckets_;
    std::vector<std::vector<Feature>> levels_;
    std::vector<Feature> before_;
    std::vector<Feature> replaced_;  // what the first words of the lexicon are read as
    std::vector<std::uint32_t> start_, length_;

    // Where features are hashed: the words replaced, and the document's last words, joined.
    std::unique_ptr<Lexicon> filter_;
    std::vector<std::uint8_t> joined_, bucket_names_;
    std::vector<std::uint32_t> word_start_, word_length_;
};

// What a lexicon must know before any document: the words replaced are its first.
void learn_replaced(Lexicon& lexicon, const Replacements& replaced);
// Learn the sorted features of a vocabulary, n-grams as pairs if `joined`; the feature of each number, or no_feature.
std::vector<Feature> learn_vocabulary(Lexicon& lexicon, const std::uint8_t* text, const Index* start, Index n,
                                      bool joined);
// A hash of bytes that is the same on all machines.
std::uint64_t stable_hash(const std::uint8_t* bytes, Index length, std::uint64_t seed = 0);
// MurmurHash3 of 32 bits, by which scikit-learn's HashingVectorizer finds columns.
std::uint32_t murmur_hash(const std::uint8_t* bytes, Index length);

// What a feature's count becomes, and what the values of a document are divided by.
enum class TermWeight : std::uint8_t { count, binary, sqrt, log };
enum class LengthNorm : std::uint8_t { none, l1, l2 };
struct Weighting {
    TermWeight term;
    LengthNorm norm;
    bool plain() const { return term == TermWeight::count && norm == LengthNorm::none; }
};

// The values of a document's distinct features, by their counts and blocks. `unknown` is how many more features each
// block has, of which nothing is known: each is one for itself, and part of the length. It becomes what their values
// sum to, or 0 where there is no length.
inline void weigh(Weighting weighting, const std::uint32_t* count, const std::uint8_t* group, Index n, int groups,
                  double* unknown, double* value) {
    double sum[most_words];
    for (int b = 0; b < groups; ++b) sum[b] = unknown[b];
    for (Index e = 0; e < n; ++e) {
        const double c = count[e];
        const double v = weighting.term == TermWeight::count    ? c
                         : weighting.term == TermWeight::binary ? 1.0
                         : weighting.term == TermWeight::sqrt   ? std::sqrt(c)
                                                                : 1.0 + std::log(c);
        value[e] = v;
        sum[group[e]] += weighting.norm == LengthNorm::l2 ? v * v : v;
    }
    for (int b = 0; b < groups; ++b) {
        const bool normed = weighting.norm != LengthNorm::none && sum[b] > 0;
        sum[b] = !normed ? 1.0 : weighting.norm == LengthNorm::l2 ? 1.0 / std::sqrt(sum[b]) : 1.0 / sum[b];
        unknown[b] = normed ? unknown[b] * sum[b] : 0.0;
    }
    if (weighting.norm == LengthNorm::none) return;
    for (Index e = 0; e < n; ++e) value[e] *= sum[group[e]];
}

// Counts have 32 bits: one that is 0 was too large.
[[noreturn]] void throw_too_often();

// Distinct features of the document read last, with how often each occurs.
struct Bag {
    std::vector<Feature> feature;
    std::vector<std::uint32_t> count;
    std::vector<std::uint8_t> group;
    Index words = 0;

    // Read document i into the bag.
    void read(FeatureReader& reader, const Texts& texts, Index i, const Lexicon& lexicon) {
        feature.clear(), group.clear();
        words = reader.read(texts, i, [&](const Feature* features, Index n, int own) {
            if (Index(times_.size()) < lexicon.size()) times_.resize(lexicon.size() + lexicon.size() / 2);
            std::uint32_t* times = times_.data();
            for (Index t = 0; t < n; ++t)
                if (features[t] != no_feature && !times[features[t]]++) feature.push_back(features[t]);
            group.resize(feature.size(), std::uint8_t(own));
        });
        count.resize(feature.size());
        for (std::size_t e = 0; e < feature.size(); ++e) {
            count[e] = times_[feature[e]], times_[feature[e]] = 0;
            if (!count[e]) throw_too_often();
        }
    }

private:
    std::vector<std::uint32_t> times_;
};

// Call read(i) for documents lo .. hi-1 or their numbers in `row`; the first that cannot be read is reported.
template <class Read>
void read_each(const std::int32_t* row, Index lo, Index hi, FirstPosition& refused, Read read) {
    for (Index r = lo; r < hi; ++r) {
        const Index i = row ? row[r] : r;
        try {
            read(i);
        } catch (const BadText&) {
            refused.report(i);
        }
    }
}
// Say what is wrong with the document, if one was refused.
void throw_refused(const FirstPosition& refused, const Texts& texts, const Tokenization& tokenization);

}  // namespace suffice
