// From documents to the numbers of their features: words, their replacements, and n-grams.
#include "features.hpp"

#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace suffice {
namespace {

constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
constexpr Index most_bytes = std::numeric_limits<std::uint32_t>::max();  // in a segment

std::uint64_t load(const std::uint8_t* at, Index length) {
    std::uint64_t out = 0;
    if (length) std::memcpy(&out, at, std::size_t(length));  // the pointer of an empty text may be null
    return out;
}

}  // namespace

std::uint64_t stable_hash(const std::uint8_t* bytes, Index length, std::uint64_t seed) {
    std::uint64_t h = (seed ^ std::uint64_t(length)) * odd;
    for (; length >= 8; bytes += 8, length -= 8) h = std::rotl((h ^ load(bytes, 8)) * 0xD6E8FEB86659FD93u, 29);
    h = (h ^ load(bytes, length)) * 0xD6E8FEB86659FD93u;
    h = (h ^ (h >> 32)) * odd;
    return h ^ (h >> 29);
}

FeatureReader::FeatureReader(const Tokenization& tokenization, const Lexicon& fixed)
    : tokenizer_(tokenization.tokens),
      fixed_(&fixed),
      growing_(nullptr),
      least_(tokenization.tokens.analyzer == Analyzer::word ? tokenization.least : 1),
      most_(tokenization.tokens.analyzer == Analyzer::word ? tokenization.most : 1),
      buckets_(tokenization.buckets),
      levels_(most_),
      before_(most_, no_feature) {
    const Replacements& list = tokenization.replaced;
    replaced_.resize(list.n);
    for (Index i = 0; i < list.n; ++i) replaced_[i] = list.target[i] < 0 ? no_feature : Feature(list.target[i]);
    if (!buckets_) return;
    filter_ = std::make_unique<Lexicon>();
    learn_replaced(*filter_, list);
}

FeatureReader::FeatureReader(const Tokenization& tokenization, Lexicon& growing)
    : FeatureReader(tokenization, std::as_const(growing)) {
    growing_ = &growing;
    if (!buckets_ && !growing.size()) learn_replaced(growing, tokenization.replaced);
}

void learn_replaced(Lexicon& lexicon, const Replacements& replaced) {
    for (Index i = 0; i < replaced.n; ++i) {
        const std::uint32_t at = 0, length = std::uint32_t(replaced.start[i + 1] - replaced.start[i]);
        Feature out;
        lexicon.learn(replaced.text + replaced.start[i], &at, &length, 1, &out);
    }
}

namespace {

// Adds the features of a sorted vocabulary to a lexicon. An n-gram follows the one it extends, so that most of it is
// known. The longest n-grams, which nothing extends, are added many at a time.
class VocabularyLearner {
public:
    explicit VocabularyLearner(Lexicon& lexicon) : lexicon_(lexicon) {}

    void word(const std::uint8_t* name, Index length, Index i) { set(token(name, length), i); }

    void joined(const std::uint8_t* name, Index length, Index i) {
        const Index first = last_space(name, length);
        if (first < 0) {
            word(name, length, i);
            return;
        }
        if (first != prefix_length_ || std::memcmp(prefix_name_, name, std::size_t(first))) {
            prefix_ = path(name, first);
            prefix_name_ = name, prefix_length_ = first;
        }
        if (waiting_ && name + length - names_[0] > most_bytes) flush();  // positions are 32 bits
        prefixes_[waiting_] = prefix_;
        places_[waiting_] = i;
        names_[waiting_] = name + first + 1;
        lengths_[waiting_] = std::uint32_t(length - first - 1);
        if (++waiting_ == together) flush();
    }

    // Add the n-grams that wait.
    void flush() {
        if (!waiting_) return;
        std::uint32_t at[together];
        Feature last[together];
        // Names stand side by side: the first is the lowest.
        for (int w = 0; w < waiting_; ++w) at[w] = std::uint32_t(names_[w] - names_[0]);
        lexicon_.learn(names_[0], at, lengths_, waiting_, last);
        lexicon_.learn_pairs(prefixes_, last, waiting_, last);
        for (int w = 0; w < waiting_; ++w) set(last[w], places_[w]);
        waiting_ = 0;
    }

    Large<Feature> features() {
        flush();
        feature_of_.resize(lexicon_.size(), no_feature);
        return std::move(feature_of_);
    }

private:
    static constexpr int together = 256;

    static Index last_space(const std::uint8_t* name, Index length) {
        Index at = length - 1;
        while (at >= 0 && name[at] != ' ') --at;
        return at;
    }

    Feature token(const std::uint8_t* name, Index length) {
        const std::uint32_t at = 0, size = std::uint32_t(length);
        Feature out;
        lexicon_.learn(name, &at, &size, 1, &out);
        return out;
    }

    // Add an n-gram of so many bytes, word by word.
    Feature path(const std::uint8_t* name, Index length) {
        const Index first = last_space(name, length);
        if (first < 0) return token(name, length);
        Feature before = path(name, first), last = token(name + first + 1, length - first - 1), out;
        lexicon_.learn_pairs(&before, &last, 1, &out);
        return out;
    }

    void set(Feature f, Index i) {
        if (Index(feature_of_.size()) <= Index(f)) feature_of_.resize(std::max<std::size_t>(2 * f, 1024), no_feature);
        feature_of_[f] = Feature(i);
    }

    Lexicon& lexicon_;
    Large<Feature> feature_of_;
    const std::uint8_t* prefix_name_ = nullptr;
    Index prefix_length_ = -1;
    Feature prefix_ = no_feature;
    int waiting_ = 0;
    Feature prefixes_[together];
    Index places_[together];
    const std::uint8_t* names_[together];
    std::uint32_t lengths_[together];
};

}  // namespace

Large<Feature> learn_vocabulary(Lexicon& lexicon, const std::uint8_t* text, const Index* start, Index n, bool joined,
                                const std::uint8_t* tier) {
    Index pairs = 0;
    for (Index i = 0; joined && i < n; ++i)
        pairs += std::find(text + start[i], text + start[i + 1], ' ') != text + start[i + 1];
    lexicon.reserve(lexicon.size() + n - pairs, pairs);
    VocabularyLearner learner(lexicon);
    const int tiers = tier && n ? 1 + *std::max_element(tier, tier + n) : 1;
    for (int now = 0; now < tiers; ++now) {
        for (Index i = 0; i < n; ++i) {
            if (tiers > 1 && tier[i] != now) continue;
            if (joined)
                learner.joined(text + start[i], start[i + 1] - start[i], i);
            else
                learner.word(text + start[i], start[i + 1] - start[i], i);
        }
        learner.flush();
    }
    return learner.features();
}

void FeatureReader::remember(Index n) {
    for (int level = 0; level < most_; ++level) before_[level] = levels_[level][n];
    if (!buckets_) return;
    // Keep the words with which n-grams of the next segment may begin.
    const std::size_t kept = std::min<std::size_t>(word_start_.size(), most_ - 1), from = word_start_.size() - kept;
    const std::uint32_t gone = kept ? word_start_[from] : std::uint32_t(joined_.size());
    joined_.erase(joined_.begin(), joined_.begin() + gone);
    word_start_.erase(word_start_.begin(), word_start_.begin() + Index(from));
    word_length_.erase(word_length_.begin(), word_length_.begin() + Index(from));
    for (std::uint32_t& start : word_start_) start -= gone;
}

Index FeatureReader::cut(const Texts& texts, Index i, Index first, Index n) {
    const Index* token_start = texts.token_start + first;
    while (n > 1 && token_start[n] - token_start[0] > most_bytes) n /= 2;
    start_.resize(n), length_.resize(n);
    for (Index t = 0; t < n; ++t) {
        start_[t] = std::uint32_t(token_start[t] - token_start[0]);
        length_[t] = std::uint32_t(token_start[t + 1] - token_start[t]);
    }
    if (most_ == 1 || buckets_) return n;
    // Names of n-grams must show where words end, and sort like lists of words: see order_features.
    for (Index t = 0; t < n; ++t) {
        const std::uint8_t *from = texts.bytes + token_start[t], *end = texts.bytes + token_start[t + 1];
        if (std::any_of(from, end, [](std::uint8_t byte) { return byte <= ' '; }))
            throw BadText(first + t - texts.document_start[i],
                          "a word with white space, which cannot be joined to others,");
    }
    return n;
}

void FeatureReader::look_up(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length, Index n,
                            Feature* out) {
    if (growing_)
        growing_->learn(bytes, start, length, n, out);
    else
        fixed_->find(bytes, start, length, n, out);
}

Index FeatureReader::words(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length,
                           Index n) {
    std::vector<Feature>& found = levels_[0];
    if (Index(found.size()) < n + 1) found.resize(n + n / 2 + 1);
    found[0] = before_[0];
    if (buckets_) return join_words(bytes, start, length, n);
    look_up(bytes, start, length, n, found.data() + 1);
    return replaced_.empty() ? n : replace(n);
}

Index FeatureReader::replace(Index n) {
    Feature* word = levels_[0].data() + 1;
    Index kept = 0;
    for (Index t = 0; t < n; ++t) {
        const Feature f = word[t];
        if (f >= replaced_.size())
            word[kept++] = f;
        else if (replaced_[f] != no_feature)
            word[kept++] = replaced_[f];
    }
    return kept;
}

void FeatureReader::join(int level, Index n) {
    std::vector<Feature>& joined = levels_[level - 1];
    if (Index(joined.size()) < n + 1) joined.resize(n + n / 2 + 1);
    joined[0] = before_[level - 1];
    if (!buckets_) {
        const Feature *prefix = levels_[level - 2].data(), *last = levels_[0].data() + 1;
        if (growing_)
            growing_->learn_pairs(prefix, last, n, joined.data() + 1);
        else
            fixed_->find_pairs(prefix, last, n, joined.data() + 1);
        return;
    }
    find_buckets(level, n, joined.data() + 1);
}

Index FeatureReader::join_words(const std::uint8_t* bytes, const std::uint32_t* start, const std::uint32_t* length,
                                Index n) {
    Feature* listed = levels_[0].data() + 1;
    if (!replaced_.empty()) filter_->find(bytes, start, length, n, listed);
    Index kept = 0;
    for (Index t = 0; t < n; ++t) {
        const std::uint8_t* word = bytes + start[t];
        std::uint32_t size = length[t];
        if (!replaced_.empty() && listed[t] != no_feature) {
            const Feature target = replaced_[listed[t]];
            if (target == no_feature) continue;
            word = filter_->bytes(target), size = filter_->length(target);
        }
        if (Index(joined_.size()) + size >= most_bytes) throw std::length_error("words too long to be hashed together");
        ++kept;
        word_start_.push_back(std::uint32_t(joined_.size()));
        word_length_.push_back(size);
        joined_.insert(joined_.end(), word, word + size);
        joined_.push_back(' ');
    }
    find_buckets(1, kept, listed);
    return kept;
}

void FeatureReader::find_buckets(int level, Index n, Feature* out) {
    static const char digit[] = "0123456789abcdef";
    const Index before = Index(word_start_.size()) - n;
    bucket_names_.resize(8 * n + 8);
    start_.resize(n), length_.resize(n);
    for (Index t = 0; t < n; ++t) {
        const Index last = before + t, first = std::max<Index>(last - level + 1, 0);
        const std::uint32_t from = word_start_[first], size = word_start_[last] + word_length_[last] - from;
        const std::int64_t hash = std::int32_t(murmur_hash(joined_.data() + from, size));
        // As in scikit-learn: the smallest integer, whose absolute value overflows, gets another bucket.
        std::uint64_t bucket = hash == INT32_MIN ? (std::uint64_t(INT32_MAX) - std::uint64_t(buckets_ - 1)) % buckets_
                                                 : std::uint64_t(std::abs(hash)) % buckets_;
        std::uint8_t* name = bucket_names_.data() + 8 * t;
        for (int d = 7; d >= 1; --d, bucket >>= 4) name[d] = std::uint8_t(digit[bucket & 15]);
        name[0] = '#';
        start_[t] = std::uint32_t(8 * t), length_[t] = 8;
    }
    look_up(bucket_names_.data(), start_.data(), length_.data(), n, out);
    for (Index t = 0; t < n && before + t < level - 1; ++t) out[t] = no_feature;  // too few words before
}

std::uint32_t murmur_hash(const std::uint8_t* bytes, Index length) {
    std::uint32_t h = 0;
    auto mixed = [](std::uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; };
    Index at = 0;
    for (; at + 4 <= length; at += 4)
        h = std::rotl(h ^ mixed(std::uint32_t(load(bytes + at, 4))), 13) * 5 + 0xe6546b64u;
    if (at < length) h ^= mixed(std::uint32_t(load(bytes + at, length - at)));
    h ^= std::uint32_t(length);
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

void throw_refused(const FirstPosition& refused, const Texts& texts, const Tokenization& tokenization) {
    const Index i = refused.get();
    if (i < 0) return;
    const Lexicon none;
    FeatureReader reader(tokenization, none);
    try {
        reader.read(texts, i, [](const Feature*, Index, int) {});
    } catch (const BadText& bad) {
        throw BadDocument(i, bad.position, bad.what_);
    }
    throw BadDocument(i, 0, "a text that changed while it was read");
}

namespace {

// Σ v or Σ v². Roots squared are the counts, which are added exactly.
double norm_of(Weighting weighting, const std::uint32_t* count, const double* value, Index n) {
    double sum = 0;
    if (weighting.norm == LengthNorm::l1)
        for (Index e = 0; e < n; ++e) sum += value[e];
    else if (weighting.term == TermWeight::sqrt)
        return double(std::accumulate(count, count + n, std::uint64_t(0)));
    else
        for (Index e = 0; e < n; ++e) sum += value[e] * value[e];
    return sum;
}

}  // namespace

void weigh(Weighting weighting, const std::uint32_t* count, const std::vector<Run>& runs, int groups, double* unknown,
           double* value) {
    term_values(weighting.term, count, runs.empty() ? 0 : runs.back().end, value);
    if (weighting.norm == LengthNorm::none) {
        std::fill_n(unknown, groups, 0.0);
        return;
    }
    double norm[most_words];
    std::copy_n(unknown, groups, norm);
    auto each_run = [&](auto work) {
        Index from = 0;
        for (const Run& run : runs) work(run.group, from, run.end - from), from = run.end;
    };
    each_run([&](int b, Index from, Index n) { norm[b] += norm_of(weighting, count + from, value + from, n); });
    for (int b = 0; b < groups; ++b) {
        norm[b] = norm[b] <= 0 ? 1.0 : weighting.norm == LengthNorm::l2 ? 1.0 / std::sqrt(norm[b]) : 1.0 / norm[b];
        unknown[b] *= norm[b];
    }
    each_run([&](int b, Index from, Index n) {
        for (Index e = from; e < from + n; ++e) value[e] *= norm[b];
    });
}

void throw_too_often() { throw std::length_error("a feature occurs 2^32 times or more: cut the document into parts"); }

}  // namespace suffice
