#pragma once
#include <cstdint>
#include <exception>
#include <vector>
#include "kernels.hpp"
namespace suffice {
enum class Encoding : std::uint8_t { missing, utf8, latin1, ucs2, ucs4 };
struct Document { const void* data; Index size; Encoding encoding; };
enum class Analyzer : std::uint8_t { word, character, within_words };
enum class Accents : std::uint8_t { keep, ascii, unicode };
struct TokenOptions { bool lowercase; Accents accents; Analyzer analyzer; int least, most; };
struct BadText : std::exception { Index position; const char* what_; };
class Tokenizer {
public:
    explicit Tokenizer(TokenOptions) {}
    void begin(const Document& d) { p = (const std::uint8_t*)d.data; end = p + d.size; }
    bool next() {
        if (p == end) return false;
        const std::uint8_t* stop = end - p > 32768 ? p + 32768 : end;
        buf.resize(stop - p + 600 + 64); st.clear(); ln.clear();
        std::size_t o = 0, s = 0; bool in = false;
        for (;;) {
            if (p >= end) break;
            std::uint8_t c = *p;
            if (c >= 'A' && c <= 'Z') c += 32;
            bool w = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c >= 128;
            if (!w && p >= stop) break;
            if (o + 64 >= buf.size()) buf.resize(2 * buf.size());
            ++p;
            buf[o] = c;
            if (w && !in) s = o, in = true;
            if (!w && in) { in = false; if (o - s > 1) st.push_back(s), ln.push_back(o - s); }
            ++o;
        }
        if (in && o - s > 1) st.push_back(s), ln.push_back(o - s);
        return true;
    }
    Index size() const { return st.size(); }
    const std::uint8_t* bytes() const { return buf.data(); }
    const std::uint32_t* start() const { return st.data(); }
    const std::uint32_t* length() const { return ln.data(); }
private:
    const std::uint8_t *p, *end; std::vector<std::uint8_t> buf; std::vector<std::uint32_t> st, ln;
};
}
