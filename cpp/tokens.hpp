// The tokens of one document, as spans of its preprocessed text.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include "kernels.hpp"

namespace suffice {

// A text in UTF-8, or none.
struct Document {
    const std::uint8_t* data = nullptr;
    Index size = 0;  // in bytes
    bool missing = true;
};

// scikit-learn's "word", "char" and "char_wb".
enum class Analyzer : std::uint8_t { word, character, within_words };

enum class Accents : std::uint8_t { keep, ascii, unicode };

struct TokenOptions {
    bool lowercase = true;
    Accents accents = Accents::keep;
    Analyzer analyzer = Analyzer::word;
    int least = 1, most = 1;  // sizes of character n-grams, 1 <= least <= most; not used for words
};

// The error of a document with bytes that are not UTF-8. The position counts bytes.
struct BadText : std::exception {
    BadText(Index where, const char* why) : position(where), what_(why) {}
    const char* what() const noexcept override { return what_; }
    Index position;
    const char* what_;
};

// The version of Unicode that says what letters are: that of the Python with which this was compiled.
const char* unicode_version();

// The tokens of one document, a segment at a time (some 32 KiB of text, more only if one token is longer), so that a
// document of any size needs little memory. Words are Python's `\w\w+`, lower case is `str.lower`, accents are removed
// as in scikit-learn, and n-grams of characters are its `char` and `char_wb`, in another order if there are several
// segments. The document must stay in memory until its last segment. After a BadText the tokenizer can begin another
// document. It reuses its memory for the next document.
class Tokenizer {
public:
    explicit Tokenizer(TokenOptions options);
    void begin(const Document& document);
    // Find the tokens of the next segment; false at the end of the document. A segment may have no tokens.
    bool next();
    // Token t is length()[t] bytes of UTF-8 at bytes() + start()[t].
    Index size() const { return size_; }
    const std::uint8_t* bytes() const { return bytes_.data(); }  // readable for 64 bytes beyond the last token
    const std::uint32_t* start() const { return start_.data(); }
    const std::uint32_t* length() const { return length_.data(); }

private:
    void reserve(Index carried);
    void fill();
    template <Analyzer analyzer>
    void fill_as();
    Index carry(Index from);
    void next_runs();
    void next_characters();
    void emit_characters();
    void emit_within_words();
    Index emit(const std::uint32_t* place, Index first, Index n, Index count);
    Index places(Index from, Index to);

    TokenOptions options_;
    Document document_;
    Index read_ = 0;     // bytes of the document that were read
    Index room_ = 0;     // bytes after which a segment ends
    Index end_ = 0;      // bytes of the segment
    Index carried_ = 0;  // where the part starts that belongs to the next segment
    Index space_ = -1;   // character n-grams: the position of the white space at the end of the segment, or -1
    bool ascii_ = true;  // whether all bytes of the segment are ASCII
    bool emitting_ = false;
    Index settled_ = 0, done_ = 0;  // characters to make n-grams of; those already used in the segment before
    Index n_ = 0, at_ = 0;          // size and first character of the next n-gram
    Index words_ = 0, word_ = 0;    // words between white space in the segment, and the one whose n-grams are next
    Index size_ = 0;
    std::vector<std::uint8_t> bytes_;
    std::vector<std::uint64_t> mask_;  // a bit for each byte: whether it is part of a token
    std::vector<std::uint32_t> start_, length_, word_start_, word_end_, place_;
};

// token_runs.cpp: runs of ones, their starts and ends; returns how many. Where `alone` is false, ones that stand alone are
// left out. Then the lengths in place of the ends.
Index token_runs(const std::uint64_t* mask, Index words, bool alone, std::uint32_t* start, std::uint32_t* end);
void token_lengths(const std::uint32_t* start, std::uint32_t* end, Index n);

}  // namespace suffice
