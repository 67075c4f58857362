// Tables of pairs of columns: their counts by class, and the scores looked up for them.
#include <vector>

#include "search.hpp"

namespace suffice {
namespace {

constexpr Index block_rows = 1 << 12;
constexpr Index few_rows = 1 << 10;  // whose codes and scores stay in the first cache
constexpr Index slice_rows = 1 << 17;
constexpr Index pairs_at_once = 8;  // that are counted together: their tables stay in the second cache

// Pairs first .. last-1 of the same first column.
struct PairGroup {
    Index first, last;
};

std::vector<PairGroup> groups_of(const ColumnPairs& of) {
    std::vector<PairGroup> groups;
    for (Index q = 0; q < of.pairs; ++q)
        if (groups.empty() || of.first[groups.back().first] != of.first[q] || q - groups.back().first == pairs_at_once)
            groups.push_back({q, q + 1});
        else
            groups.back().last = q + 1;
    return groups;
}

// Count the rows begin .. end-1. They are added to two tables in turn, as the next addition to a number has to wait for
// the one before. The last row and column of a table are of missing values. Numbers of rows add up to the same in any
// order; `lock` is of the group.
void count_group(const CodedColumns& x, const ColumnPairs& of, PairGroup group, const Rows& rows, Index begin,
                 Index end, Index cells, std::mutex& lock, double* table) {
    const Index height = x.sizes[of.first[group.first]];
    const std::uint8_t* a = x.codes + of.first[group.first] * x.rows;
    std::vector<std::vector<std::uint32_t>> counts;
    for (Index q = group.first; q < group.last; ++q)
        counts.emplace_back(2 * (rows.classes * height + 1) * (x.sizes[of.second[q]] + 1));
    std::vector<std::uint32_t> row(block_rows);
    for (Index lo = begin; lo < end; lo += block_rows) {
        const Index n = std::min(block_rows, end - lo);
        for (Index i = 0; i < n; ++i)
            row[i] = a[lo + i] < height ? std::uint32_t(rows.code[lo + i] * height + a[lo + i])
                                        : std::uint32_t(rows.classes * height);
        for (Index q = group.first; q < group.last; ++q) {
            const std::uint8_t* b = x.codes + of.second[q] * x.rows + lo;
            const std::uint32_t width = std::uint32_t(x.sizes[of.second[q]]), step = width + 1;
            std::uint32_t* __restrict even = counts[q - group.first].data();
            std::uint32_t* __restrict odd = even + counts[q - group.first].size() / 2;
            Index i = 0;
            for (; i + 2 <= n; i += 2) {
                ++even[row[i] * step + std::min<std::uint32_t>(b[i], width)];
                ++odd[row[i + 1] * step + std::min<std::uint32_t>(b[i + 1], width)];
            }
            if (i < n) ++even[row[i] * step + std::min<std::uint32_t>(b[i], width)];
        }
    }
    std::lock_guard hold(lock);
    for (Index q = group.first; q < group.last; ++q) {
        const Index width = x.sizes[of.second[q]], half = Index(counts[q - group.first].size() / 2);
        const std::uint32_t* from = counts[q - group.first].data();
        for (Index c = 0; c < rows.classes; ++c)
            for (Index v = 0; v < height; ++v, from += width + 1)
                for (Index w = 0; w < width; ++w)
                    table[c * cells + of.offsets[q] + v * width + w] += double(from[w]) + from[half + w];
    }
}

// Codes of rows lo .. hi-1 of every column, one after the other; missing values get the code after the last.
void known_codes(const CodedColumns& x, Index columns, Index lo, Index hi, std::uint8_t* out) {
    for (Index j = 0; j < columns; ++j)
        for (Index i = lo; i < hi; ++i)
            out[j * few_rows + i - lo] = std::min<std::uint8_t>(x.codes[j * x.rows + i], std::uint8_t(x.sizes[j]));
}

template <int classes>  // 0: any number
SUFFICE_INLINE void scores_of_rows(const std::uint8_t* codes, const Index* sizes, const ColumnPairs& of,
                                   const double* scores, Index any, Index rows, double* __restrict out) {
    const Index K = classes ? classes : any;
    for (Index q = 0; q < of.pairs; ++q) {
        const std::uint8_t* a = codes + of.first[q] * few_rows;
        const std::uint8_t* b = codes + of.second[q] * few_rows;
        const std::uint32_t step = std::uint32_t(sizes[of.second[q]] + 1);
        const double* __restrict table = scores;
        for (Index i = 0; i < rows; ++i) {
            const double* __restrict score = table + (a[i] * step + b[i]) * std::uint32_t(K);
            for (Index k = 0; k < K; ++k) out[i * K + k] += score[k];
        }
        scores += (sizes[of.first[q]] + 1) * Index(step) * K;
    }
}

}  // namespace

void pair_counts(CodedColumns x, ColumnPairs of, Rows rows, double* table) {
    const std::vector<PairGroup> groups = groups_of(of);
    const Index cells = of.offsets[of.pairs], n = Index(groups.size());
    // Several slices of rows where there are few groups for the threads: each has tables of its own to fill and add.
    const Index most = std::max<Index>(1, x.rows / slice_rows), wanted = threads_for(x.rows * of.pairs, n * most);
    const Index slices = n ? std::min(most, (3 * wanted + n - 1) / n) : 1;
    std::vector<std::mutex> locks(groups.size());
    for_blocks(n * slices, int(wanted), [&](Index task, int) {
        const Index g = task / slices, s = task % slices;
        count_group(x, of, groups[g], rows, s * x.rows / slices, (s + 1) * x.rows / slices, cells, locks[g], table);
    });
}

void pair_scores(CodedColumns x, Index columns, ColumnPairs of, const double* scores, Index width, double* out) {
    const Index blocks = (x.rows + few_rows - 1) / few_rows;
    auto work = [&](Index block, int) {
        const Index lo = block * few_rows, hi = std::min(x.rows, lo + few_rows), rows = hi - lo;
        std::vector<std::uint8_t> codes(std::size_t(columns * few_rows));
        std::vector<double> sum(std::size_t(rows * width));
        known_codes(x, columns, lo, hi, codes.data());
        switch (width) {
            case 1: scores_of_rows<1>(codes.data(), x.sizes, of, scores, width, rows, sum.data()); break;
            case 2: scores_of_rows<2>(codes.data(), x.sizes, of, scores, width, rows, sum.data()); break;
            case 3: scores_of_rows<3>(codes.data(), x.sizes, of, scores, width, rows, sum.data()); break;
            default: scores_of_rows<0>(codes.data(), x.sizes, of, scores, width, rows, sum.data());
        }
        for (Index i = 0; i < rows; ++i)
            for (Index k = 0; k < width; ++k) out[(lo + i) * (width + 1) + k + 1] += sum[i * width + k];
    };
    for_blocks(blocks, threads_for(x.rows * of.pairs * width, blocks), work);
}

void bin_codes(const double* values, Index n, Index stride, const double* edges, Index count, std::uint8_t missing,
               std::uint8_t* out) {
    for_searched(values, stride, n, edges, count,
                 [&](Index lo, Index rows, const double* value, const std::int32_t* below) {
                     for (Index i = 0; i < rows; ++i)
                         out[lo + i] = value[i] == value[i] ? std::uint8_t(below[i]) : missing;
                 });
}

}  // namespace suffice
