// Number the distinct strings of a column in sorted order.
//
// Blocks of rows are numbered in threads, each by a hash table of its own. The tables are merged in the order of the
// blocks, and the distinct strings are sorted: neither blocks nor threads show in the result.
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "threads.hpp"

namespace suffice {
namespace {

constexpr Index block_rows = Index(1) << 16;

// The bytes of a word that come first in memory: that many.
constexpr auto masks = [] {
    std::array<std::uint64_t, 9> out{};
    for (std::size_t n = 1; n < out.size(); ++n) out[n] = out[n - 1] << 8 | 0xFF;
    if constexpr (std::endian::native == std::endian::big)
        for (std::size_t n = 1; n < out.size(); ++n) out[n] <<= 64 - 8 * n;
    return out;
}();

SUFFICE_INLINE std::uint64_t word(const char* text) {
    std::uint64_t out;
    std::memcpy(&out, text, 8);
    return out;
}

// The first and the last 8 bytes of a string, which may overlap, tell strings of up to 16 bytes of one length apart. A
// shorter string is both, with zeros.
struct Key {
    std::uint64_t first, last, size;
    bool operator==(const Key&) const = default;

    Key() = default;
    SUFFICE_INLINE Key(const char* at, std::size_t length, const char* end) : size(length) {
        if (end - at >= 8) [[likely]] {  // it may read beyond the string
            // Without a branch on the length, which no processor can guess.
            const std::size_t more = (length - 8) & -std::size_t(length > 8);
            first = word(at) & masks[length - more];
            last = word(at + more) & masks[length - more];
        } else {
            first = 0;
            std::memcpy(&first, at, length);
            last = first;
        }
    }

    SUFFICE_INLINE std::uint64_t hash(const char* at) const {
        std::uint64_t h = (first + std::rotl(last, 23)) ^ size;
        if (size > 16) [[unlikely]]
            for (std::size_t k = 8; k + 8 < size; k += 8) h = (h ^ h >> 29 ^ word(at + k)) * 0xBF58476D1CE4E5B9u;
        return (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
    }
};

// The distinct strings in the order in which they came, all of a buffer that ends at `end`.
class Distinct {
public:
    explicit Distinct(const char* end) : slots_(256), end_(end) {}

    std::vector<std::string_view> text;

    SUFFICE_INLINE std::int32_t number(std::string_view one) {
        const Key key(one.data(), one.size(), end_);
        const Slot* slots = slots_.data();
        std::size_t at = std::size_t(key.hash(one.data()) >> 32) & mask_;
        for (; slots[at].number >= 0; at = (at + 1) & mask_)
            if (slots[at].key == key && (key.size <= 16 || text[slots[at].number] == one)) return slots[at].number;
        return add(one, key, at);
    }

private:
    struct Slot {
        Key key;
        std::int32_t number = -1;
    };

    std::int32_t add(std::string_view one, const Key& key, std::size_t at) {
        const std::int32_t number = std::int32_t(text.size());
        slots_[at] = {key, number};
        text.push_back(one);
        if (2 * text.size() > slots_.size()) grow();
        return number;
    }

    void grow() {
        slots_.assign(4 * slots_.size(), Slot());
        mask_ = slots_.size() - 1;
        for (std::size_t k = 0; k < text.size(); ++k) {
            const Key key(text[k].data(), text[k].size(), end_);
            std::size_t at = std::size_t(key.hash(text[k].data()) >> 32) & mask_;
            while (slots_[at].number >= 0) at = (at + 1) & mask_;
            slots_[at] = {key, std::int32_t(k)};
        }
    }

    std::vector<Slot> slots_;
    std::size_t mask_ = 255;
    const char* end_;
};

// Number the strings of rows lo .. hi-1, and return the row in which each came first.
template <class Offset>
std::vector<Index> number_rows(StringColumn<Offset> column, Index lo, Index hi, Distinct& found, std::int32_t* codes) {
    std::vector<Index> first;
    Index seen = 0;
    for (Index i = lo; i < hi; ++i) {
        const std::int32_t code = column.present(i) ? found.number(column[i]) : -1;
        codes[i] = code;
        if (code == seen) [[unlikely]]
            first.push_back(i), ++seen;
    }
    return first;
}

}  // namespace

template <class Offset>
std::vector<Index> string_codes(StringColumn<Offset> column, std::int32_t* codes) {
    const Index n = column.rows, blocks = (n + block_rows - 1) / block_rows;
    const char* end = column.bytes + column.offset[n];
    std::vector<Distinct> found(blocks, Distinct(end));
    std::vector<std::vector<Index>> first(blocks);  // the row in which each distinct string came first
    const int threads = threads_for(8 * n, blocks);
    for_blocks(blocks, threads, [&](Index b, int) {
        first[b] = number_rows(column, b * block_rows, std::min(n, (b + 1) * block_rows), found[b], codes);
    });
    Distinct all(end);
    std::vector<Index> rows;
    std::vector<std::vector<std::int32_t>> place(blocks);
    for (Index b = 0; b < blocks; ++b)
        for (std::size_t k = 0; k < found[b].text.size(); ++k) {
            place[b].push_back(all.number(found[b].text[k]));
            if (std::size_t(place[b].back()) == rows.size()) rows.push_back(first[b][k]);
        }
    std::vector<std::int32_t> order(rows.size()), rank(rows.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = std::int32_t(k);
    // Bytes of UTF-8 sort as the characters do.
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return all.text[a] < all.text[b]; });
    std::vector<Index> sorted(rows.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
        rank[order[k]] = std::int32_t(k);
        sorted[k] = rows[order[k]];
    }
    for_blocks(blocks, threads, [&](Index b, int) {
        std::vector<std::int32_t> found{-1};  // that of a missing string comes first
        for (const std::int32_t number : place[b]) found.push_back(rank[number]);
        const std::int32_t* after = found.data() + 1;
        for (Index i = b * block_rows; i < std::min(n, (b + 1) * block_rows); ++i) codes[i] = after[codes[i]];
    });
    return sorted;
}

template std::vector<Index> string_codes(StringColumn<std::int32_t>, std::int32_t*);
template std::vector<Index> string_codes(StringColumn<std::int64_t>, std::int32_t*);

}  // namespace suffice
