// Documents as rows of a sparse matrix.
#include "text.hpp"

namespace suffice {
namespace {

// Documents lo .. hi-1 and their features.
struct Piece {
    Index lo, hi;
    int finder = 0;
    std::vector<Index> length = {}, words = {};  // of rows
    Large<Feature> feature = {};
    Large<std::uint32_t> count = {};
};

std::vector<Piece> pieces_of(const Texts& texts, Index& bytes) {
    std::vector<Piece> pieces;
    bytes = 0;
    for (Index lo = 0, hi; lo < texts.n; lo = hi) {
        Index size = 0;
        for (hi = lo; hi < texts.n && size < block_bytes; ++hi) size += texts.size(hi) + 64;
        pieces.push_back({lo, hi});
        bytes += size;
    }
    return pieces;
}

void read_piece(const Texts& texts, FeatureReader& reader, const Lexicon& lexicon, Bag& bag, Piece& piece,
                FirstPosition& refused) {
    read_each(nullptr, piece.lo, piece.hi, refused, [&](Index i) {
        if (texts.missing(i)) {
            piece.length.push_back(0);
            piece.words.push_back(0);
            return;
        }
        bag.read(reader, texts, i, lexicon);
        piece.words.push_back(bag.words);
        piece.length.push_back(Index(bag.feature.size()));
        piece.feature.insert(piece.feature.end(), bag.feature.begin(), bag.feature.end());
        piece.count.insert(piece.count.end(), bag.count.begin(), bag.count.end());
    });
}

// Where each row begins.
template <class T>
void lay_out(const std::vector<Piece>& pieces, Index rows, WordMatrix<T>& out) {
    out.start.assign(1, 0);
    out.start.reserve(rows + 1);
    for (const Piece& piece : pieces) {
        for (Index length : piece.length) out.start.push_back(out.start.back() + length);
        out.words.insert(out.words.end(), piece.words.begin(), piece.words.end());
    }
    out.feature.resize(out.start.back());
    out.value.resize(out.start.back());
}

// Write rows, each by ascending feature; place(f) is the number of a feature in the vocabulary.
template <class T, class Place>
void write_counts(const Piece& piece, Place place, WordMatrix<T>& out) {
    std::vector<std::uint64_t> keys;
    Index from = 0;
    for (Index i = piece.lo; i < piece.hi; ++i) {
        const Index to = out.start[i], n = out.start[i + 1] - to;
        keys.resize(n);
        for (Index e = 0; e < n; ++e)
            keys[e] = std::uint64_t(std::uint32_t(place(piece.feature[from + e]))) << 32 | piece.count[from + e];
        std::sort(keys.begin(), keys.end());
        for (Index e = 0; e < n; ++e) {
            out.feature[to + e] = std::int32_t(keys[e] >> 32);
            out.value[to + e] = T(std::uint32_t(keys[e]));
        }
        from += n;
    }
}

// Write rows as they were read, their counts as values.
void write_values(const Piece& piece, const Tokenization& tokenization, const std::vector<std::uint8_t>& group_of,
                  Weighting weighting, WordMatrix<double>& out) {
    const int groups = tokenization.n_sizes();
    const Index to = out.start[piece.lo], all = out.start[piece.hi] - to;
    std::copy_n(piece.feature.data(), all, out.feature.data() + to);
    if (weighting.plain()) {
        std::copy_n(piece.count.data(), all, out.value.data() + to);
        return;
    }
    std::vector<Run> runs;
    for (Index i = piece.lo; i < piece.hi; ++i) {
        const Index from = out.start[i] - to, n = out.start[i + 1] - out.start[i];
        double* unknown = out.unknown.data() + i * groups;
        for (int b = 0; b < groups; ++b) unknown[b] = tokenization.features(out.words[i], b);
        runs.clear();
        for (Index e = 0; e < n; ++e) {
            const std::uint8_t group = group_of[piece.feature[from + e]];
            add_run(runs, e + 1, group);
            unknown[group] -= piece.count[from + e];
        }
        weigh(weighting, piece.count.data() + from, runs, groups, unknown, out.value.data() + out.start[i]);
    }
}

}  // namespace

WordMatrix<std::int64_t> word_matrix(const Texts& texts, const Tokenization& tokenization) {
    struct Finder {
        Lexicon lexicon;
        FeatureReader reader;
        Bag bag;
        explicit Finder(const Tokenization& tokenization) : reader(tokenization, lexicon) {}
    };
    Index bytes;
    std::vector<Piece> pieces = pieces_of(texts, bytes);
    const int threads = threads_for(bytes, Index(pieces.size()));
    std::vector<std::unique_ptr<Finder>> finders;
    for (int t = 0; t < threads; ++t) finders.push_back(std::make_unique<Finder>(tokenization));
    FirstPosition refused;
    for_blocks(Index(pieces.size()), threads, [&](Index p, int slot) {
        pieces[p].finder = slot;
        read_piece(texts, finders[slot]->reader, finders[slot]->lexicon, finders[slot]->bag, pieces[p], refused);
    });
    throw_refused(refused, texts, tokenization);
    for (auto& finder : finders) finder->lexicon.close();

    std::vector<Learned> learned;
    for (const auto& finder : finders) learned.emplace_back(finder->lexicon, tokenization);
    for (const Piece& piece : pieces) learned[piece.finder].use(piece.feature);
    Ordered ordered = order_features(learned, tokenization);
    WordMatrix<std::int64_t> out;
    out.names = std::move(ordered.names);
    lay_out(pieces, texts.n, out);
    const std::vector<Large<std::int32_t>> places = ordered.places(learned);
    for_blocks(Index(pieces.size()), threads, [&](Index p, int) {
        const Large<std::int32_t>& place = places[pieces[p].finder];
        write_counts(pieces[p], [&](Feature f) { return place[f]; }, out);
        pieces[p].feature = {}, pieces[p].count = {};
    });
    return out;
}

FixedLexicon fixed_lexicon(View vocabulary, const Tokenization& tokenization, const std::uint8_t* tier) {
    FixedLexicon out;
    const bool joined =
        tokenization.tokens.analyzer == Analyzer::word && tokenization.most > 1 && !tokenization.buckets;
    if (!tokenization.buckets) learn_replaced(out.lexicon, tokenization.replaced);
    out.feature = learn_vocabulary(out.lexicon, vocabulary.text, vocabulary.start, vocabulary.n, joined, tier);
    out.size = vocabulary.n;
    out.group.resize(vocabulary.n);
    if (joined) name_sizes(vocabulary, tokenization.least, tokenization.n_sizes() - 1, out.group.data());
    return out;
}

template <class T>
WordMatrix<T> word_matrix(const Texts& texts, const Tokenization& tokenization, const FixedLexicon& vocabulary,
                          Weighting weighting) {
    struct Finder {
        FeatureReader reader;
        Bag bag;
    };
    Index bytes;
    std::vector<Piece> pieces = pieces_of(texts, bytes);
    const int threads = threads_for(bytes, Index(pieces.size()));
    std::vector<Finder> finders;
    for (int t = 0; t < threads; ++t) finders.push_back({FeatureReader(tokenization, vocabulary.lexicon), {}});
    FirstPosition refused;
    const Feature* feature = vocabulary.feature.data();
    for_blocks(Index(pieces.size()), threads, [&](Index p, int slot) {
        Piece& piece = pieces[p];
        read_piece(texts, finders[slot].reader, vocabulary.lexicon, finders[slot].bag, piece, refused);
        // Words that only occur in n-grams, and replaced words, are not features.
        Index from = 0, to = 0;
        for (Index& length : piece.length) {
            const Index end = from + length, first = to;
            for (; from < end; ++from)
                if (feature[piece.feature[from]] != no_feature) {
                    piece.feature[to] = feature[piece.feature[from]];
                    piece.count[to++] = piece.count[from];
                }
            length = to - first;
        }
    });
    throw_refused(refused, texts, tokenization);
    WordMatrix<T> out;
    lay_out(pieces, texts.n, out);
    out.unknown.resize(texts.n * tokenization.n_sizes());
    for_blocks(Index(pieces.size()), threads, [&](Index p, int) {
        if constexpr (std::is_same_v<T, double>)
            write_values(pieces[p], tokenization, vocabulary.group, weighting, out);
        else
            write_counts(pieces[p], [](Feature f) { return f; }, out);
        pieces[p].feature = {}, pieces[p].count = {};
    });
    return out;
}
template WordMatrix<std::int64_t> word_matrix(const Texts&, const Tokenization&, const FixedLexicon&, Weighting);
template WordMatrix<double> word_matrix(const Texts&, const Tokenization&, const FixedLexicon&, Weighting);

}  // namespace suffice
