// The hash of each row: splitmix64 over 64 bits of every entry.
#include <algorithm>
#include <bit>

#include "threads.hpp"

namespace suffice {
namespace {

// One step of splitmix64: a bijection, in which every output bit depends on all input bits.
SUFFICE_INLINE std::uint64_t mixed(std::uint64_t z) {
    z += 0x9E3779B97F4A7C15u;  // 2⁶⁴ / golden ratio
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void mix_numbers(const double* x, Index n, std::uint64_t missing, std::uint64_t* out) {
    for (Index i = 0; i < n; ++i) {
        const double value = x[i] + 0.0;  // -0 is 0
        out[i] = mixed(out[i] ^ (value == value ? std::bit_cast<std::uint64_t>(value) : missing));
    }
}

void mix_bits(const std::uint64_t* x, Index n, std::uint64_t* out) {
    for (Index i = 0; i < n; ++i) out[i] = mixed(out[i] ^ x[i]);
}

}  // namespace

SUFFICE_DISPATCH(mix_numbers, mix_numbers)
SUFFICE_DISPATCH(mix_bits, mix_bits)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

void mix_codes(const std::uint64_t* bits, const std::int32_t* code, Index last, Index n, std::uint64_t* out) {
    for (Index i = 0; i < n; ++i) out[i] = mixed(out[i] ^ bits[code[i] < 0 ? last : Index(code[i])]);
}

}  // namespace

void row_hashes(const HashColumn* columns, Index cols, Index rows, std::uint64_t missing, std::uint64_t* out) {
    constexpr Index block = Index(1) << 13;  // rows whose hashes stay in the cache while all columns are mixed in
    const Index blocks = (rows + block - 1) / block;
    for_blocks(blocks, threads_for(rows * cols * 2, blocks), [&](Index b, int) {
        const Index lo = b * block, n = std::min(block, rows - lo);
        std::fill_n(out + lo, n, 0);
        for (Index j = 0; j < cols; ++j) {
            const HashColumn& column = columns[j];
            if (column.number)
                fast::mix_numbers(column.number + lo, n, missing, out + lo);
            else if (column.code)
                mix_codes(column.bits, column.code + lo, column.last, n, out + lo);
            else
                fast::mix_bits(column.bits + lo, n, out + lo);
        }
    });
}

namespace {

// No hash beyond this one is among the `size` least distinct ones of rows of positive weight, and at most `most`.
std::uint64_t largest_of_least(const std::uint64_t* hashes, const double* weight, Index rows, Index size,
                               std::uint64_t most) {
    std::vector<std::uint64_t> least;
    const std::size_t full = 3 * std::size_t(std::min(size, rows)) + 1024;
    std::vector<std::uint64_t> seen(std::bit_ceil(full));  // equal rows often come again
    auto tidy = [&] {
        std::sort(least.begin(), least.end());
        least.erase(std::unique(least.begin(), least.end()), least.end());
        if (Index(least.size()) < size) return;
        least.resize(size);
        most = least.back();
    };
    for (Index i = 0; i < rows; ++i) {
        const std::uint64_t hash = hashes[i];
        if (hash > most || (weight && !(weight[i] > 0))) continue;
        std::uint64_t& last = seen[hash & (seen.size() - 1)];
        if (last == hash && hash) continue;
        last = hash;
        least.push_back(hash);
        if (least.size() > full) tidy();
    }
    tidy();
    return most;
}

}  // namespace

std::vector<Index> least_hashes(const std::uint64_t* hashes, const double* weight, Index rows, Index size,
                                std::uint64_t most) {
    std::vector<Index> out;
    if (size <= 0) return out;
    most = largest_of_least(hashes, weight, rows, size, most);
    for (Index i = 0; i < rows; ++i)
        if (hashes[i] <= most && (!weight || weight[i] > 0)) out.push_back(i);
    return out;
}

std::vector<CountedRow> least_rows(const std::uint64_t* hashes, const std::int32_t* codes, Index rows, Index size,
                                   std::uint64_t most) {
    std::vector<CountedRow> out;
    if (size <= 0) return out;
    most = largest_of_least(hashes, nullptr, rows, size, most);
    std::vector<std::int32_t> place(1024, -1);  // in `out`, by hash and class
    auto find = [&](std::uint64_t hash, std::int32_t code) -> std::int32_t& {
        std::size_t at = std::size_t(mixed(hash + std::uint64_t(code))) & (place.size() - 1);
        while (place[at] >= 0 && (hashes[out[place[at]].row] != hash || codes[out[place[at]].row] != code))
            at = (at + 1) & (place.size() - 1);
        return place[at];
    };
    for (Index i = 0; i < rows; ++i) {
        if (hashes[i] > most) continue;
        std::int32_t& at = find(hashes[i], codes[i]);
        if (at >= 0) {
            ++out[at].count;
            continue;
        }
        at = std::int32_t(out.size());
        out.push_back({i, 1});
        if (2 * out.size() > place.size()) {
            place.assign(2 * place.size(), -1);
            for (std::size_t k = 0; k < out.size(); ++k) find(hashes[out[k].row], codes[out[k].row]) = std::int32_t(k);
        }
    }
    std::sort(out.begin(), out.end(), [&](const CountedRow& a, const CountedRow& b) {
        return hashes[a.row] != hashes[b.row] ? hashes[a.row] < hashes[b.row] : codes[a.row] < codes[b.row];
    });
    return out;
}

#endif

}  // namespace suffice
