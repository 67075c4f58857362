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

// Documents to be cut into tokens; or, if `documents` is null, documents in tokens: those of document i are at
// token_start[document_start[i]] .. token_start[document_start[i + 1]] of `bytes`. `present` marks those that are not
// missing; null means all.
struct Texts {
    const Document* documents;
    Index n;
    const std::uint8_t* bytes = nullptr;
    const Index* token_start = nullptr;
    const Index* document_start = nullptr;
    const bool* present = nullptr;

    bool missing(Index i) const { return documents ? documents[i].missing : present && !present[i]; }
    // The approximate number of bytes.
    Index size(Index i) const {
        if (!documents) {
            const Index lo = document_start[i], hi = document_start[i + 1];
            return token_start[hi] - token_start[lo] + (hi - lo);
        }
        return documents[i].size;
    }
};

// Words that are left out (stop words) or replaced (by stems): word i of the list becomes word target[i] of the list,
// or is left out if that is negative.
struct Replacements {
    const std::uint8_t* text = nullptr;  // 8 bytes readable beyond the end
    const Index* start = nullptr;
    const Index* target = nullptr;
    Index n = 0;
};

constexpr int most_words = 255;  // in an n-gram: its size is stored in a byte

// How documents are cut into features.
struct Tokenization {
    TokenOptions tokens;
    int least, most;  // sizes of n-grams of words
    Index buckets;    // the number of buckets that features are hashed to, and named by; 0: no hashing
    Replacements replaced;

    bool joins_words() const { return tokens.analyzer == Analyzer::word; }
    // The number of sizes of n-grams that are distinguished.
    int n_sizes() const { return joins_words() && !buckets ? most - least + 1 : 1; }
    // The number of features of one size, known or not, in a document of so many words.
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

// Reads documents, one at a time. A growing lexicon numbers new features; a fixed one does not change.
class FeatureReader {
public:
    FeatureReader(const Tokenization& tokenization, Lexicon& growing);
    FeatureReader(const Tokenization& tokenization, const Lexicon& fixed);

    // Call take(features, n, group) for parts of the features of the document, those of one size (group) at a time;
    // some may be no_feature. Returns the number of words of the document.
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
    static constexpr Index at_once = 4096;  // tokens, of documents given as tokens

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
    // Make a segment of up to n tokens of document i, from `first` on. Returns their number.
    Index cut(const Texts& texts, Index i, Index first, Index n);
    // The words of a segment without stop words; then their n-grams, made of those that are a word shorter. The first
    // place of each level is for the last one of the segment before.
    Index words(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n);
    Index replace(Index n);
    void join(int level, Index n);
    // The same for hashed features: words are joined by spaces, and n-grams are substrings.
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
    std::vector<Feature> replaced_;  // what the first words of the lexicon become
    std::vector<std::uint32_t> start_, length_;

    // For hashed features: the replaced words, and the last words of the document, joined.
    std::unique_ptr<Lexicon> filter_;
    std::vector<std::uint8_t> joined_, bucket_names_;
    std::vector<std::uint32_t> word_start_, word_length_;
};

// Add the replaced words to a lexicon, before any document: they are its first features.
void learn_replaced(Lexicon& lexicon, const Replacements& replaced);
// Add the sorted features of a vocabulary, n-grams as pairs if `joined`. Features of a lower tier get lower numbers, so
// that what is used often is close together; null means one tier. Returns the feature of each number of the lexicon, or
// no_feature.
Large<Feature> learn_vocabulary(Lexicon& lexicon, const std::uint8_t* text, const Index* start, Index n, bool joined,
                                const std::uint8_t* tier);
// A hash of bytes that is the same on all machines.
std::uint64_t stable_hash(const std::uint8_t* bytes, Index length, std::uint64_t seed = 0);
// MurmurHash3 of 32 bits, as used by scikit-learn's HashingVectorizer.
std::uint32_t murmur_hash(const std::uint8_t* bytes, Index length);

// The value of a feature by its count, and what the values of a document are divided by.
enum class TermWeight : std::uint8_t { count, binary, sqrt, log };
enum class LengthNorm : std::uint8_t { none, l1, l2 };
struct Weighting {
    TermWeight term;
    LengthNorm norm;
    bool plain() const { return term == TermWeight::count && norm == LengthNorm::none; }
};

// Features of one size (group) side by side, up to `end`; they begin where the run before ends.
struct Run {
    Index end;
    int group;
};
// Features up to `end` belong to a group: prolong the last run, or begin another.
inline void add_run(std::vector<Run>& runs, Index end, int group) {
    if (end == (runs.empty() ? 0 : runs.back().end)) return;
    if (!runs.empty() && runs.back().group == group)
        runs.back().end = end;
    else
        runs.push_back({end, group});
}

// term_values.cpp: v = c, 1, √c or 1 + log c of each count.
void term_values(TermWeight term, const std::uint32_t* count, Index n, double* value);

// The values of the distinct features of a document, by their counts and sizes. `unknown` is the number of other
// features of each size: each of them counts once, and is part of the norm. It becomes the sum of their values, or 0
// without a norm.
void weigh(Weighting weighting, const std::uint32_t* count, const std::vector<Run>& runs, int groups, double* unknown,
           double* value);

// Throw the error of a count that overflowed 32 bits, and so became 0.
[[noreturn]] void throw_too_often();

// The distinct features of the document read last, and their counts.
struct Bag {
    std::vector<Feature> feature;
    std::vector<std::uint32_t> count;
    std::vector<Run> runs;
    Index words = 0;

    // Read document i into the bag.
    void read(FeatureReader& reader, const Texts& texts, Index i, const Lexicon& lexicon) {
        feature.clear(), runs.clear();
        words = reader.read(texts, i, [&](const Feature* features, Index n, int own) {
            if (Index(times_.size()) < lexicon.size()) times_.resize(lexicon.size() + lexicon.size() / 2, 0);
            std::size_t found = feature.size();
            feature.resize(found + n);
            std::uint32_t* times = times_.data();
            for (Index t = 0; t < n; ++t) {
                if (features[t] == no_feature) continue;
                feature[found] = features[t];
                found += !times[features[t]]++;
            }
            feature.resize(found);
            add_run(runs, Index(found), own);
        });
        count.resize(feature.size());
        for (std::size_t e = 0; e < feature.size(); ++e) {
            count[e] = times_[feature[e]], times_[feature[e]] = 0;
            if (!count[e]) throw_too_often();
        }
    }

private:
    Large<std::uint32_t> times_;
};

// Call read(i) for documents lo .. hi-1, or for row[lo] .. row[hi-1]; report the first that cannot be read.
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
// Throw an error that says what is wrong with the document, if one was refused.
void throw_refused(const FirstPosition& refused, const Texts& texts, const Tokenization& tokenization);

}  // namespace suffice
