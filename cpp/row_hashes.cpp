// The hash of each row: splitmix64 over 64 bits of every entry.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <memory>

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

// Returns whether all codes are in the table.
bool mix_codes(const std::uint64_t* bits, const std::int32_t* code, Index last, Index n, std::uint64_t* out) {
    std::int32_t largest = -1;
    for (Index i = 0; i < n; ++i) largest = std::max(largest, code[i]);
    if (largest > last) return false;
    for (Index i = 0; i < n; ++i) out[i] = mixed(out[i] ^ bits[code[i] < 0 ? last : Index(code[i])]);
    return true;
}

}  // namespace

bool row_hashes(const HashColumn* columns, Index cols, Index rows, std::uint64_t missing, std::uint64_t* out) {
    constexpr Index block = Index(1) << 13;  // rows whose hashes stay in the cache while all columns are mixed in
    const Index blocks = (rows + block - 1) / block;
    std::atomic<bool> within{true};
    for_blocks(blocks, threads_for(rows * cols * 2, blocks), [&](Index b, int) {
        const Index lo = b * block, n = std::min(block, rows - lo);
        std::fill_n(out + lo, n, 0);
        for (Index j = 0; j < cols; ++j) {
            const HashColumn& column = columns[j];
            if (column.number)
                fast::mix_numbers(column.number + lo, n, missing, out + lo);
            else if (!column.code)
                fast::mix_bits(column.bits + lo, n, out + lo);
            else if (!mix_codes(column.bits, column.code + lo, column.last, n, out + lo))
                within = false;
        }
    });
    return within;
}

namespace {

constexpr Index looked_at = Index(1) << 15;  // rows at a time

// The `size` least distinct hashes of rows, ascending. Rows of no weight do not count, nor those of a hash above `most`,
// which falls as soon as there are enough.
class LeastHashes {
public:
    LeastHashes(const std::uint64_t* hashes, const double* weight, Index size, Index rows, std::uint64_t most)
        : hashes_(hashes),
          weight_(weight),
          size_(size),
          full_(3 * std::size_t(std::min(size, rows)) + 1024),
          most_(most),
          seen_(std::bit_ceil(2 * full_)) {}

    void add(Index lo, Index hi) {
        for (Index i = lo; i < hi; ++i) {
            const std::uint64_t hash = hashes_[i];
            if (hash > most_ || (weight_ && !(weight_[i] > 0))) continue;
            if (!is_new(hash)) continue;
            least_.push_back(hash);
            if (least_.size() <= full_) continue;
            tidy();
            std::fill(seen_.begin(), seen_.end(), 0);
            for (const std::uint64_t each : least_) is_new(each);
        }
    }
    void tidy() {
        std::sort(least_.begin(), least_.end());
        least_.erase(std::unique(least_.begin(), least_.end()), least_.end());
        bound();
    }
    // Add those of other rows; both are tidy.
    void add(const LeastHashes& other) {
        std::vector<std::uint64_t> both;
        both.reserve(least_.size() + other.least_.size());
        std::set_union(least_.begin(), least_.end(), other.least_.begin(), other.least_.end(),
                       std::back_inserter(both));
        least_.swap(both);
        bound();
    }
    std::uint64_t most() const { return most_; }
    Index distinct() const { return Index(least_.size()); }
    bool enough() const { return Index(least_.size()) >= size_; }

private:
    // Remember a hash, and return whether it was unknown; 0 stands for no hash, and may come again.
    bool is_new(std::uint64_t hash) {
        std::size_t at = hash & (seen_.size() - 1);
        while (seen_[at] && seen_[at] != hash) at = (at + 1) & (seen_.size() - 1);
        if (seen_[at] && hash) return false;
        seen_[at] = hash;
        return true;
    }
    void bound() {
        if (!enough()) return;
        least_.resize(size_);
        most_ = least_.back();
    }
    const std::uint64_t* hashes_;
    const double* weight_;
    Index size_;
    std::size_t full_;
    std::uint64_t most_;
    std::vector<std::uint64_t> least_, seen_;  // a table of hashes: equal rows often come again
};

int threads_of(Index rows) { return threads_for(4 * rows, (rows + looked_at - 1) / looked_at); }

// Call body(lo, hi, block, slot) for blocks of rows.
template <class Body>
void for_rows(Index rows, Body body) {
    for_blocks((rows + looked_at - 1) / looked_at, threads_of(rows),
               [&](Index b, int slot) { body(b * looked_at, std::min(rows, (b + 1) * looked_at), b, slot); });
}

// Those of at least one row, none above `most`.
std::unique_ptr<LeastHashes> least_of(const std::uint64_t* hashes, const double* weight, Index rows, Index size,
                                      std::uint64_t most) {
    std::vector<std::unique_ptr<LeastHashes>> least(threads_of(rows));
    for_rows(rows, [&](Index lo, Index hi, Index, int slot) {
        if (!least[slot]) least[slot] = std::make_unique<LeastHashes>(hashes, weight, size, rows, most);
        least[slot]->add(lo, hi);
    });
    std::erase(least, nullptr);
    for_blocks(Index(least.size()), int(least.size()), [&](Index slot, int) { least[slot]->tidy(); });
    for (std::size_t slot = 1; slot < least.size(); ++slot) least[0]->add(*least[slot]);
    return std::move(least[0]);
}

}  // namespace

std::vector<Index> least_hashes(const std::uint64_t* hashes, const double* weight, Index rows, Index size,
                                std::uint64_t most) {
    std::vector<Index> out;
    if (size <= 0 || rows <= 0) return out;
    // Hashes are random numbers: unless rows are equal, enough are below this share of all, and hardly more.
    const double share = (double(size) + 6 * std::sqrt(double(size)) + 64) / double(rows);
    std::uint64_t likely = share < 1 ? std::min(most, std::uint64_t(std::ldexp(share, 64))) : most;
    auto least = least_of(hashes, weight, rows, size, likely);
    // Where rows are equal, the distinct hashes that were found tell which share is likely enough.
    while (likely < most && !least->enough()) {
        const double next = double(likely) * 1.1 * double(size) / double(std::max<Index>(least->distinct(), 1));
        likely = next < double(most) ? std::uint64_t(next) : most;
        least = least_of(hashes, weight, rows, size, likely);
    }
    most = least->most();
    std::vector<std::vector<Index>> found((rows + looked_at - 1) / looked_at);
    for_rows(rows, [&](Index lo, Index hi, Index block, int) {
        for (Index i = lo; i < hi; ++i)
            if (hashes[i] <= most && (!weight || weight[i] > 0)) found[block].push_back(i);
    });
    for (const auto& own : found) out.insert(out.end(), own.begin(), own.end());
    return out;
}

std::vector<CountedRow> least_rows(const std::uint64_t* hashes, const std::int32_t* codes, Index rows, Index size,
                                   std::uint64_t most) {
    std::vector<CountedRow> out;
    std::vector<std::int32_t> place(1024, -1);  // in `out`, by hash and class
    auto find = [&](std::uint64_t hash, std::int32_t code) -> std::int32_t& {
        std::size_t at = std::size_t(mixed(hash + std::uint64_t(code))) & (place.size() - 1);
        while (place[at] >= 0 && (hashes[out[place[at]].row] != hash || codes[out[place[at]].row] != code))
            at = (at + 1) & (place.size() - 1);
        return place[at];
    };
    for (const Index i : least_hashes(hashes, nullptr, rows, size, most)) {
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
