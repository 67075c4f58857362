// The hash of each row: splitmix64 over 64 bits of every entry.
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

SUFFICE_CLONES void mix_numbers(const double* x, Index n, std::uint64_t missing, std::uint64_t* out) {
    for (Index i = 0; i < n; ++i) {
        const double value = x[i] + 0.0;  // -0 is 0
        out[i] = mixed(out[i] ^ (value == value ? std::bit_cast<std::uint64_t>(value) : missing));
    }
}

SUFFICE_CLONES void mix_bits(const std::uint64_t* x, Index n, std::uint64_t* out) {
    for (Index i = 0; i < n; ++i) out[i] = mixed(out[i] ^ x[i]);
}

}  // namespace

void row_hashes(const HashColumn* columns, Index cols, Index rows, std::uint64_t missing, std::uint64_t* out) {
    constexpr Index block = Index(1) << 13;  // rows whose hashes stay in the cache while all columns are mixed in
    const Index blocks = (rows + block - 1) / block;
    for_blocks(blocks, threads_for(rows * cols * 2, blocks), [&](Index b, int) {
        const Index lo = b * block, n = std::min(block, rows - lo);
        std::fill_n(out + lo, n, 0);
        for (Index j = 0; j < cols; ++j)
            columns[j].number ? mix_numbers(columns[j].number + lo, n, missing, out + lo)
                              : mix_bits(columns[j].bits + lo, n, out + lo);
    });
}

}  // namespace suffice
