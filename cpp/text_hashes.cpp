// Hashes of documents, as if they were encoded in UTF-8.
#include "text.hpp"

namespace suffice {
namespace {

void append_utf8(std::uint32_t c, std::vector<std::uint8_t>& out) {
    if (c < 0x80) {
        out.push_back(std::uint8_t(c));
    } else if (c < 0x800) {
        out.insert(out.end(), {std::uint8_t(0xC0 | c >> 6), std::uint8_t(0x80 | (c & 63))});
    } else if (c < 0x10000) {
        out.insert(out.end(),
                   {std::uint8_t(0xE0 | c >> 12), std::uint8_t(0x80 | (c >> 6 & 63)), std::uint8_t(0x80 | (c & 63))});
    } else {
        out.insert(out.end(), {std::uint8_t(0xF0 | c >> 18), std::uint8_t(0x80 | (c >> 12 & 63)),
                               std::uint8_t(0x80 | (c >> 6 & 63)), std::uint8_t(0x80 | (c & 63))});
    }
}

template <class Unit>
void transcode(const Document& document, std::vector<std::uint8_t>& out) {
    const Unit* unit = static_cast<const Unit*>(document.data);
    out.clear();
    for (Index u = 0; u < document.size; ++u) append_utf8(unit[u], out);
}

std::uint64_t hash_of(const Document& document, std::vector<std::uint8_t>& scratch) {
    switch (document.encoding) {
        case Encoding::missing: return 0;
        case Encoding::utf8: return stable_hash(static_cast<const std::uint8_t*>(document.data), document.size);
        case Encoding::latin1: transcode<std::uint8_t>(document, scratch); break;
        case Encoding::ucs2: transcode<std::uint16_t>(document, scratch); break;
        case Encoding::ucs4: transcode<std::uint32_t>(document, scratch); break;
    }
    return stable_hash(scratch.data(), Index(scratch.size()));
}

}  // namespace

void text_hashes(const Texts& texts, std::uint64_t* out) {
    const Index size = 256, blocks = (texts.n + size - 1) / size;
    Index bytes = 0;
    for (Index i = 0; i < texts.n; ++i) bytes += texts.size(i);
    for_blocks(blocks, threads_for(bytes / 8, blocks), [&](Index b, int) {
        std::vector<std::uint8_t> scratch;
        for (Index i = b * size; i < std::min(texts.n, (b + 1) * size); ++i) {
            if (texts.documents) {
                out[i] = hash_of(texts.documents[i], scratch);
                continue;
            }
            std::uint64_t h = 0;
            for (Index t = texts.document_start[i]; t < texts.document_start[i + 1]; ++t)
                h = stable_hash(texts.bytes + texts.token_start[t], texts.token_start[t + 1] - texts.token_start[t], h);
            out[i] = h;
        }
    });
}

}  // namespace suffice
