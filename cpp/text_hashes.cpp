// Hashes of documents.
#include "text.hpp"

namespace suffice {

void text_hashes(const Texts& texts, std::uint64_t* out) {
    const Index size = 256, blocks = (texts.n + size - 1) / size;
    Index bytes = 0;
    for (Index i = 0; i < texts.n; ++i) bytes += texts.size(i);
    for_blocks(blocks, threads_for(bytes / 8, blocks), [&](Index b, int) {
        for (Index i = b * size; i < std::min(texts.n, (b + 1) * size); ++i) {
            if (texts.documents) {
                const Document& document = texts.documents[i];
                out[i] = document.missing ? 0 : stable_hash(document.data, document.size);
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
