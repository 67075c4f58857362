// The tokens of a document in two steps: preprocess the text and set a bit for each byte that is part of a word, then
// find the runs of ones. ASCII is processed 64 bytes at a time, everything else a character at a time.
#include "tokens.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "threads.hpp"
#include "unicode_tables.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace suffice {
namespace {

constexpr Index segment_bytes = 1 << 15;
constexpr Index longest_token = 1 << 30;   // spans are 32 bits
constexpr Index tokens_at_once = 1 << 15;  // n-grams of characters that one call of next() gives
constexpr Index lanes = 64;                // bytes of a block, bits of a mask
// A segment needs more memory than its room: for the output of one character, for a whole block, and for readers.
constexpr Index margin = 4 * unicode::accent_longest + 2 * lanes;

constexpr std::uint64_t low_bits(Index n) { return n >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << n) - 1; }

SUFFICE_INLINE const unicode::Character& character(char32_t c) {
    return unicode::character_records
        [unicode::character_entry[unicode::character_block[c / unicode::block] * unicode::block + c % unicode::block]];
}

// A block of 64 bytes: bit i of `token` if byte i belongs to a token, of `other` if it is not ASCII.
struct Block {
    std::uint64_t token, other;
};

#if defined(__SSE2__)

SUFFICE_INLINE __m128i bytes_of(char c) { return _mm_set1_epi8(c); }

// 0xFF where first <= x < first + count, for ASCII.
SUFFICE_INLINE __m128i within(__m128i x, char first, char count) {
    return _mm_cmplt_epi8(_mm_add_epi8(x, bytes_of(char(-128 - first))), bytes_of(char(-128 + count)));
}

template <Analyzer analyzer>
SUFFICE_INLINE Block read_block(const std::uint8_t* in, bool lowercase, std::uint8_t* out) {
    Block block{0, 0};
    const __m128i fold = bytes_of(0x20), change = lowercase ? fold : _mm_setzero_si128();
    for (int part = 0; part < 4; ++part) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 16 * part));
        __m128i y = _mm_or_si128(x, _mm_and_si128(within(x, 'A', 26), change)), token;
        if constexpr (analyzer == Analyzer::word) {
            token = _mm_or_si128(_mm_or_si128(within(_mm_or_si128(x, fold), 'a', 26), within(x, '0', 10)),
                                 _mm_cmpeq_epi8(x, bytes_of('_')));
        } else {
            const __m128i space = _mm_or_si128(within(x, 0x09, 5), within(x, 0x1C, 5));
            token = _mm_cmpeq_epi8(space, _mm_setzero_si128());
            if constexpr (analyzer == Analyzer::within_words)
                y = _mm_or_si128(_mm_and_si128(token, y), _mm_and_si128(space, bytes_of(' ')));
        }
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * part), y);
        block.token |= std::uint64_t(unsigned(_mm_movemask_epi8(token))) << (16 * part);
        block.other |= std::uint64_t(unsigned(_mm_movemask_epi8(x))) << (16 * part);
    }
    return block;
}

#else

template <Analyzer analyzer>
SUFFICE_INLINE Block read_block(const std::uint8_t* in, bool lowercase, std::uint8_t* out) {
    Block block{0, 0};
    for (int i = 0; i < lanes; ++i) {
        const std::uint8_t x = std::uint8_t(in[i] & 0x7F);
        const bool upper = std::uint8_t(x - 'A') < 26, space = std::uint8_t(x - 9) < 5 || std::uint8_t(x - 0x1C) < 5;
        const bool of_word = std::uint8_t((x | 0x20) - 'a') < 26 || std::uint8_t(x - '0') < 10 || x == '_';
        const bool token = analyzer == Analyzer::word ? of_word : !space;
        out[i] = analyzer == Analyzer::within_words && space ? ' ' : std::uint8_t(x | (upper && lowercase ? 0x20 : 0));
        block.token |= std::uint64_t(token) << i;
        block.other |= std::uint64_t(in[i] != x) << i;
    }
    return block;
}

#endif

// Where a segment's text is written.
template <Analyzer analyzer>
struct Output {
    std::uint8_t* bytes;
    std::uint64_t* mask;  // zero from bit `at` to the end of its word
    Index at, space;
    bool ascii;

    SUFFICE_INLINE void mark(std::uint64_t bits, Index n) {
        const Index shift = at & 63;
        std::uint64_t* to = mask + (at >> 6);
        to[0] |= bits << shift;
        to[1] = (bits >> 1) >> (63 - shift);
        at += n;
    }

    SUFFICE_INLINE Index encode(char32_t c) {
        std::uint8_t* to = bytes + at;
        if (c < 0x80) {
            to[0] = std::uint8_t(c);
            return 1;
        }
        ascii = false;
        if (c < 0x800) {
            to[0] = std::uint8_t(0xC0 | c >> 6);
            to[1] = std::uint8_t(0x80 | (c & 0x3F));
            return 2;
        }
        if (c < 0x10000) {
            to[0] = std::uint8_t(0xE0 | c >> 12);
            to[1] = std::uint8_t(0x80 | (c >> 6 & 0x3F));
            to[2] = std::uint8_t(0x80 | (c & 0x3F));
            return 3;
        }
        to[0] = std::uint8_t(0xF0 | c >> 18);
        to[1] = std::uint8_t(0x80 | (c >> 12 & 0x3F));
        to[2] = std::uint8_t(0x80 | (c >> 6 & 0x3F));
        to[3] = std::uint8_t(0x80 | (c & 0x3F));
        return 4;
    }

    SUFFICE_INLINE void put(char32_t c, unsigned flags) {
        if constexpr (analyzer == Analyzer::word) {
            const Index width = encode(c);
            mark(flags & unicode::word ? low_bits(width) : 0, width);
        } else if constexpr (analyzer == Analyzer::within_words) {
            if (flags & unicode::space) {
                bytes[at] = ' ';
                mark(0, 1);
            } else {
                const Index width = encode(c);
                mark(low_bits(width), width);
            }
        } else if (flags & unicode::space) {
            put_space(c);
        } else {
            at += encode(c);
            space = -1;
        }
    }

    // White space is kept, but two or more characters of it become one space.
    void put_space(char32_t c) {
        if (space < 0) {
            space = at;
            at += encode(c);
        } else {
            bytes[space] = ' ';
            at = space + 1;
        }
    }

    // Keep the first n bytes of a block that was written at `at`.
    SUFFICE_INLINE void take(std::uint64_t token, Index n) {
        if constexpr (analyzer == Analyzer::character) {
            take_characters(~token & low_bits(n), n);
        } else {
            mark(token & low_bits(n), n);
        }
    }

    SUFFICE_INLINE void take_characters(std::uint64_t white, Index n) {
        if (n == 0) return;
        const std::uint64_t doubled = white & (white << 1 | std::uint64_t(space >= 0));
        if (doubled == 0) {
            at += n;
            space = white >> (n - 1) ? at - 1 : -1;
            return;
        }
        std::uint8_t block[lanes];
        std::memcpy(block, bytes + at, lanes);
        for (Index i = 0; i < n; ++i) {
            if (white >> i & 1) {
                put_space(block[i]);
            } else {
                bytes[at++] = block[i];
                space = -1;
            }
        }
    }
};

// The document's characters, one by one.
struct Input {
    const std::uint8_t *begin, *end;

    [[noreturn]] void refuse(const std::uint8_t* p) const { throw BadText(p - begin, "a byte that is not UTF-8"); }

    SUFFICE_INLINE char32_t read(const std::uint8_t*& p) const {
        const unsigned first = *p;
        if (first < 0x80) {
            ++p;
            return first;
        }
        auto follows = [&](int i, unsigned least, unsigned most)
                           SUFFICE_INLINE_LAMBDA { return end - p > i && p[i] >= least && p[i] <= most; };
        if (first >= 0xC2 && first < 0xE0) {
            if (!follows(1, 0x80, 0xBF)) refuse(p);
            p += 2;
            return (first & 0x1F) << 6 | (p[-1] & 0x3F);
        }
        if (first >= 0xE0 && first < 0xF0) {
            // Neither overlong forms nor surrogates.
            if (!follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) || !follows(2, 0x80, 0xBF))
                refuse(p);
            p += 3;
            return (first & 0x0F) << 12 | (p[-2] & 0x3Fu) << 6 | (p[-1] & 0x3F);
        }
        if (first >= 0xF0 && first < 0xF5) {
            if (!follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) || !follows(2, 0x80, 0xBF) ||
                !follows(3, 0x80, 0xBF))
                refuse(p);
            p += 4;
            return (first & 0x07) << 18 | (p[-3] & 0x3Fu) << 12 | (p[-2] & 0x3Fu) << 6 | (p[-1] & 0x3F);
        }
        refuse(p);
    }

    // The character before p; all characters before it were read.
    char32_t read_back(const std::uint8_t*& p) const {
        do --p;
        while ((*p & 0xC0) == 0x80);
        const std::uint8_t* q = p;
        return read(q);
    }

    // Whether a Σ between `before` and `after` is the last letter of its word. The characters examined are between this
    // Σ and its neighbours, so that each is examined at most twice in all.
    bool final_sigma(const std::uint8_t* before, const std::uint8_t* after) const {
        unsigned flags = unicode::ignorable;
        while (flags & unicode::ignorable) {
            if (before == begin) return false;
            flags = character(read_back(before)).flags;
        }
        if (!(flags & unicode::cased)) return false;
        flags = unicode::ignorable;
        while (flags & unicode::ignorable) {
            if (after == end) return true;
            flags = character(read(after)).flags;
        }
        return !(flags & unicode::cased);
    }

    // Whether to continue with blocks: the next bytes are ASCII.
    SUFFICE_INLINE bool ascii_ahead(const std::uint8_t* p) const {
        constexpr int bytes = 8;
        if (end - p < bytes) return false;
        std::uint8_t all = 0;
        for (int i = 0; i < bytes; ++i) all |= p[i];
        return all < 0x80;
    }
};

template <Analyzer analyzer>
SUFFICE_INLINE void put_without_accents(Output<analyzer>& out, char32_t c, Accents accents) {
    constexpr char32_t hangul = 0xAC00, syllables = 11172;
    auto put = [&](char32_t part) SUFFICE_INLINE_LAMBDA {
        if (part < 0x80 || accents == Accents::unicode) out.put(part, character(part).flags);
    };
    if (c < 0x80) return put(c);
    if (c - hangul < syllables) {
        const char32_t s = c - hangul;
        put(0x1100 + s / 588);
        put(0x1161 + s % 588 / 28);
        if (s % 28) put(0x11A7 + s % 28);
        return;
    }
    const unsigned entry =
        unicode::accent_entry[unicode::accent_block[c / unicode::block] * unicode::block + c % unicode::block];
    if (entry == 0) return put(c);
    const std::uint8_t* p = unicode::accent_text + unicode::accent_start[entry];
    const std::uint8_t* end = unicode::accent_text + unicode::accent_start[entry + 1];
    const Input text{p, end};
    while (p < end) put(text.read(p));
}

// Bytes of the character that begins with this byte.
SUFFICE_INLINE std::uint32_t width(std::uint8_t first) {
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0);
}

// The same without words of a single character. Returns how many remain.
Index lengths_of_two(const std::uint8_t* bytes, std::uint32_t* start, std::uint32_t* end, Index n) {
    Index kept = 0;
    for (Index t = 0; t < n; ++t) {
        const std::uint32_t from = start[t], size = end[t] - from;
        start[kept] = from;
        end[kept] = size;
        kept += size > width(bytes[from]);
    }
    return kept;
}

template <class T>
void grow(std::vector<T>& to, Index size) {
    if (Index(to.size()) < size) to.resize(std::size_t(size));
}

}  // namespace

const char* unicode_version() { return unicode::version; }

Tokenizer::Tokenizer(TokenOptions options) : options_(options) { reserve(0); }

// Allocate memory for a segment that begins with bytes of the one before.
void Tokenizer::reserve(Index carried) {
    room_ = std::max(segment_bytes, 2 * carried);
    const Index bytes = room_ + margin, runs = bytes / 2 + 2 * lanes;
    grow(bytes_, bytes);
    grow(mask_, bytes / 64 + 3);
    if (options_.analyzer == Analyzer::word) {
        grow(start_, runs);
        grow(length_, runs);
    } else {
        grow(start_, tokens_at_once + 8);
        grow(length_, tokens_at_once + 8);
    }
    if (options_.analyzer == Analyzer::within_words) {
        grow(word_start_, runs);
        grow(word_end_, runs);
    }
}

void Tokenizer::begin(const Document& document) {
    document_ = document;
    if (document_.missing) document_.size = 0;
    read_ = end_ = carried_ = settled_ = done_ = size_ = 0;
    space_ = -1;
    ascii_ = true;
    emitting_ = false;
}

bool Tokenizer::next() {
    size_ = 0;
    if (!emitting_ && read_ >= document_.size) return false;
    if (!emitting_) {
        options_.analyzer == Analyzer::character ? next_characters() : next_runs();
        if (options_.analyzer == Analyzer::word) return true;
        emitting_ = true;
        word_ = 0;
        n_ = options_.least;
        at_ = -1;
    }
    options_.analyzer == Analyzer::character ? emit_characters() : emit_within_words();
    return true;
}

// Move the bytes from `from` on to the front, as the beginning of the next segment.
Index Tokenizer::carry(Index from) {
    const Index size = end_ - from;
    if (size > longest_token) throw BadText(read_, "a token of more than 1 GiB");
    std::memmove(bytes_.data(), bytes_.data() + from, std::size_t(size));
    if (!ascii_) ascii_ = std::none_of(bytes_.data(), bytes_.data() + size, [](auto byte) { return byte >= 0x80; });
    end_ = size;
    reserve(size);
    return size;
}

void Tokenizer::fill() {
    switch (options_.analyzer) {
        case Analyzer::word: return fill_as<Analyzer::word>();
        case Analyzer::character: return fill_as<Analyzer::character>();
        case Analyzer::within_words: return fill_as<Analyzer::within_words>();
    }
}

// Read until the segment is full or the document ends.
template <Analyzer analyzer>
void Tokenizer::fill_as() {
    if (document_.missing) return;
    const Input in{document_.data, document_.data + document_.size};
    Output<analyzer> out{bytes_.data(), mask_.data(), end_, space_, ascii_};
    const bool lowercase = options_.lowercase;
    const Accents accents = options_.accents;
    const Index room = room_;
    auto put = [&](char32_t c, unsigned flags) SUFFICE_INLINE_LAMBDA {
        if (accents == Accents::keep) {
            out.put(c, flags);
        } else {
            put_without_accents(out, c, accents);
        }
    };
    const std::uint8_t* p = in.begin + read_;
    while (p < in.end && out.at < room) {
        std::uint8_t last[lanes];
        const std::uint8_t* from = p;
        const Index ahead = std::min<Index>(in.end - p, lanes);
        if (ahead < lanes) {
            std::memset(last, 0, sizeof last);
            std::memcpy(last, p, std::size_t(ahead));
            from = last;
        }
        const Block block = read_block<analyzer>(from, lowercase, out.bytes + out.at);
        const Index taken = std::min<Index>(std::countr_zero(block.other), ahead);
        out.take(block.token, taken);
        p += taken;
        if (taken == ahead) continue;
        do {
            const std::uint8_t* here = p;
            char32_t c = in.read(p);
            const unicode::Character* about = &character(c);
            if (lowercase && about->flags & unicode::lower) {
                if (about->flags & unicode::sequence) {
                    for (char32_t part : unicode::lower_sequences[about->lower])
                        if (part) put(part, character(part).flags);
                    continue;
                }
                c = c == 0x3A3 && in.final_sigma(here, p) ? 0x3C2 : char32_t(std::int32_t(c) + about->lower);
                about = &character(c);
            }
            put(c, about->flags);
        } while (p < in.end && out.at < room && !(*p < 0x80 && in.ascii_ahead(p)));
    }
    read_ = p - in.begin;
    end_ = out.at;
    space_ = out.space;
    ascii_ = out.ascii;
}

// The words of a segment: runs of word characters, or of anything but white space between two spaces.
void Tokenizer::next_runs() {
    const Index blank = options_.analyzer == Analyzer::within_words;
    const Index carried = carry(carried_);
    if (blank && carried == 0) {
        bytes_[0] = ' ';
        end_ = 1;
    }
    // All carried bytes but the first space belong to the word.
    std::fill_n(mask_.data(), end_ / 64, ~std::uint64_t(0));
    mask_[end_ / 64] = low_bits(end_ % 64);
    if (blank) mask_[0] &= ~std::uint64_t(1);
    fill();
    // A word at the end of the segment continues in the next one.
    Index whole = end_;
    if (read_ < document_.size) {
        while (whole > 0 && mask_[(whole - 1) / 64] >> ((whole - 1) % 64) & 1) {
            const Index bits = (whole - 1) % 64 + 1;  // of this word of the mask, up to here
            whole -= std::min<Index>(bits, std::countl_one(mask_[(whole - 1) / 64] << (64 - bits)));
        }
        for (Index w = whole / 64; w <= end_ / 64; ++w) mask_[w] &= w == whole / 64 ? low_bits(whole % 64) : 0;
        carried_ = whole - blank;
    } else if (blank) {
        bytes_[end_] = ' ';
    }
    if (blank) {
        words_ = token_runs(mask_.data(), whole / 64 + 1, true, word_start_.data(), word_end_.data());
        return;
    }
    size_ = token_runs(mask_.data(), whole / 64 + 1, !ascii_, start_.data(), length_.data());
    if (ascii_) {
        token_lengths(start_.data(), length_.data(), size_);
    } else {
        size_ = lengths_of_two(bytes_.data(), start_.data(), length_.data(), size_);
    }
}

// The characters of a segment. The first ones were in the segment before, for n-grams across the border.
void Tokenizer::next_characters() {
    const Index from = carried_;
    if (space_ >= 0) space_ -= from;
    carry(from);
    fill();
    const bool last = read_ >= document_.size;
    const Index sure = last || space_ < 0 ? end_ : space_;  // white space at the end may still become a space
    Index keep = std::min<Index>(options_.most - 1, sure);
    if (ascii_) {
        settled_ = sure;
        carried_ = sure - keep;
    } else {
        settled_ = places(0, sure);
        keep = std::min<Index>(keep, settled_);
        carried_ = place_[settled_ - keep];
    }
}

// Find where the characters among these bytes start, and where the last one ends. Returns their number.
Index Tokenizer::places(Index from, Index to) {
    grow(place_, to - from + 1);
    const std::uint8_t* bytes = bytes_.data();
    std::uint32_t* place = place_.data();
    Index found = 0;
    for (Index i = from; i < to; ++i) {
        place[found] = std::uint32_t(i);
        found += (bytes[i] & 0xC0) != 0x80;
    }
    place[found] = std::uint32_t(to);
    return found;
}

// Tokens of n characters that begin with the character `first` and those after it, as far as there is room.
Index Tokenizer::emit(const std::uint32_t* place, Index first, Index n, Index count) {
    count = std::min(count, tokens_at_once - size_);
    std::uint32_t *start = start_.data() + size_, *length = length_.data() + size_;
    if (place) {
        for (Index i = 0; i < count; ++i) {
            start[i] = place[first + i];
            length[i] = place[first + i + n] - place[first + i];
        }
    } else {
        // Always eight at a time, although most words have fewer: a loop of varying length is mispredicted.
        for (Index i = 0; i < count; i += 8)
            for (Index k = i; k < i + 8; ++k) {
                start[k] = std::uint32_t(first + k);
                length[k] = std::uint32_t(n);
            }
    }
    size_ += count;
    return count;
}

void Tokenizer::emit_characters() {
    for (; n_ <= options_.most && n_ <= settled_; ++n_, at_ = -1) {
        if (at_ < 0) at_ = std::max<Index>(0, done_ - n_ + 1);
        at_ += emit(ascii_ ? nullptr : place_.data(), at_, n_, settled_ - n_ + 1 - at_);
        if (at_ <= settled_ - n_) return;
    }
    emitting_ = false;
    done_ = std::min<Index>(options_.most - 1, settled_);
}

void Tokenizer::emit_within_words() {
    for (; word_ < words_; ++word_, n_ = options_.least, at_ = -1) {
        const Index from = Index(word_start_[word_]) - 1, to = Index(word_end_[word_]) + 1;
        if (at_ < 0 && n_ == options_.least) settled_ = ascii_ ? to - from : places(from, to);
        const Index characters = settled_;
        const Index origin = ascii_ ? from : 0;
        const std::uint32_t* place = ascii_ ? nullptr : place_.data();
        for (; n_ <= options_.most; ++n_, at_ = -1) {
            if (at_ < 0) at_ = 0;
            // A word no longer than n is one token, and not again for larger n.
            const bool whole = n_ >= characters;
            const Index n = whole ? characters : n_;
            at_ += emit(place, origin + at_, n, characters - n + 1 - at_);
            if (at_ <= characters - n) return;
            if (whole) break;
        }
    }
    emitting_ = false;
}

}  // namespace suffice
