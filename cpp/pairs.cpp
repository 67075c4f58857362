// Tables of pairs of columns: their counts by class, and the scores looked up for them.
#include <algorithm>
#include <memory>
#include <vector>

#include "search.hpp"

namespace suffice {
namespace {

constexpr Index few_rows = 1 << 10;  // whose codes and scores stay in the first cache
[[maybe_unused]] constexpr Index slice_rows = 1 << 18, fewest_rows = 1 << 15;  // that are ordered by class at a time
constexpr Index tables = 4;
constexpr Index at_once = 4;                                // pairs of one first column whose scores are added together
[[maybe_unused]] constexpr Index most_rows = tables << 15;  // whose counts 16 bits hold

// Count rows of codes in cells a · step + b of a table. They are added to four tables in turn, as the next addition to a
// number has to wait for the one before.
void count_cells(const std::uint8_t* a, const std::uint8_t* b, Index rows, Index step, Index cells,
                 std::uint16_t* table) {
    std::uint16_t cell[few_rows];
    std::uint16_t* __restrict to[tables];
    for (Index t = 0; t < tables; ++t) to[t] = table + t * cells;
    for (Index lo = 0; lo < rows; lo += few_rows, a += few_rows, b += few_rows) {
        const Index n = std::min(few_rows, rows - lo);
#pragma omp simd
        for (Index i = 0; i < n; ++i) cell[i] = std::uint16_t(a[i] * std::uint16_t(step) + b[i]);
        Index i = 0;
        for (; i + tables <= n; i += tables)
            for (Index t = 0; t < tables; ++t) ++to[t][cell[i + t]];
        for (; i < n; ++i) ++to[0][cell[i]];
    }
}

// Add the counts of cells that are not of missing values, the last of each row, to `out`.
void add_counts(const std::uint16_t* table, Index height, Index width, Index cells, double* out) {
    for (Index v = 0; v < height; ++v, table += width + 1, out += width)
#pragma omp simd
        for (Index w = 0; w < width; ++w)
            out[w] += double(std::int32_t(table[w]) + table[cells + w] + table[2 * cells + w] + table[3 * cells + w]);
}

// Add the scores of `together` pairs of one first column: its codes, and the sums, are read once for all of them.
template <int classes, int together>  // classes 0: any number
SUFFICE_INLINE void add_scores(const std::uint8_t* codes, const Index* sizes, const ColumnPairs& of, Index q,
                               const double* const* tables, Index any, Index rows, double* __restrict out) {
    const Index K = classes ? classes : any;
    const std::uint8_t *a = codes + of.first[q] * few_rows, *b[together];
    std::uint32_t step[together];
    for (int t = 0; t < together; ++t) {
        b[t] = codes + of.second[q + t] * few_rows;
        step[t] = std::uint32_t(sizes[of.second[q + t]] + 1) * std::uint32_t(K);
    }
    for (Index i = 0; i < rows; ++i) {
        const std::uint32_t first = a[i];
        const double* score[together];
        for (int t = 0; t < together; ++t) score[t] = tables[t] + (first * step[t] + b[t][i] * std::uint32_t(K));
        for (Index k = 0; k < K; ++k) {
            double sum = score[0][k];
            for (int t = 1; t < together; ++t) sum += score[t][k];
            out[i * K + k] += sum;
        }
    }
}

template <int classes>
SUFFICE_INLINE void scores_of(const std::uint8_t* codes, const Index* sizes, const ColumnPairs& of,
                              const double* scores, Index any, Index rows, double* __restrict out) {
    const Index K = classes ? classes : any;
    Index count = 0;
    for (Index q = 0; q < of.pairs; q += count) {
        const double* tables[at_once];
        for (count = 0; count < at_once && q + count < of.pairs && of.first[q + count] == of.first[q]; ++count) {
            tables[count] = scores;
            scores += (sizes[of.first[q]] + 1) * (sizes[of.second[q + count]] + 1) * K;
        }
        switch (count) {
            case 4: add_scores<classes, 4>(codes, sizes, of, q, tables, any, rows, out); break;
            case 3: add_scores<classes, 3>(codes, sizes, of, q, tables, any, rows, out); break;
            case 2: add_scores<classes, 2>(codes, sizes, of, q, tables, any, rows, out); break;
            default: add_scores<classes, 1>(codes, sizes, of, q, tables, any, rows, out);
        }
    }
}

// Add the scores of all pairs of some rows of codes, (columns, few_rows), to `out`, (rows, classes).
void scores_of_rows(const std::uint8_t* codes, const Index* sizes, const ColumnPairs& of, const double* scores,
                    Index classes, Index rows, double* out) {
    switch (classes) {
        case 1: return scores_of<1>(codes, sizes, of, scores, classes, rows, out);
        case 2: return scores_of<2>(codes, sizes, of, scores, classes, rows, out);
        case 3: return scores_of<3>(codes, sizes, of, scores, classes, rows, out);
        default: return scores_of<0>(codes, sizes, of, scores, classes, rows, out);
    }
}

}  // namespace

SUFFICE_DISPATCH(count_cells_of, count_cells)
SUFFICE_DISPATCH(add_counts_of, add_counts)
SUFFICE_DISPATCH(pair_scores_of, scores_of_rows)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

// Codes of rows lo .. hi-1 of every column, one after the other; missing values get the code after the last.
void known_codes(const CodedColumns& x, Index columns, Index lo, Index hi, std::uint8_t* out) {
    for (Index j = 0; j < columns; ++j)
        for (Index i = lo; i < hi; ++i)
            out[j * few_rows + i - lo] = std::min<std::uint8_t>(x.codes[j * x.rows + i], std::uint8_t(x.sizes[j]));
}

}  // namespace

// Rows are ordered by class, so that the table of a pair, which is of one class then, stays in the first cache. Numbers of
// rows add up to the same in any order.
void pair_counts(CodedColumns x, ColumnPairs of, Rows rows, double* table) {
    if (!of.pairs || !x.rows) return;
    const Index cells = of.offsets[of.pairs];
    const Index columns = 1 + std::max(*std::max_element(of.first, of.first + of.pairs),
                                       *std::max_element(of.second, of.second + of.pairs));
    const int threads = threads_for(x.rows * of.pairs, x.rows);
    const Index size = std::clamp((x.rows + threads - 1) / threads, fewest_rows, slice_rows);
    const Index stretch = std::min(x.rows, size * threads);
    const std::unique_ptr<std::uint8_t[]> codes(new std::uint8_t[columns * stretch]);  // of each slice, by class
    std::vector<ByClassOrder> order((stretch + size - 1) / size);
    std::vector<std::vector<std::uint16_t>> counts(threads);
    std::vector<std::mutex> locks(of.pairs);
    for (Index begin = 0; begin < x.rows; begin += stretch) {
        const Index n = std::min(stretch, x.rows - begin), slices = (n + size - 1) / size;
        for_blocks(slices, threads,
                   [&](Index s, int) { order[s].sort(rows, begin + s * size, begin + std::min(n, (s + 1) * size)); });
        for_blocks(slices * columns, threads, [&](Index task, int) {
            const Index s = task / columns, j = task % columns;
            const std::uint8_t *from = x.codes + j * x.rows + begin + s * size, none = std::uint8_t(x.sizes[j]);
            std::uint8_t* to = codes.get() + j * stretch + s * size;
            for (const std::int32_t i : order[s].row) *to++ = std::min(from[i], none);
        });
        for_blocks(slices * of.pairs, threads, [&](Index task, int slot) {
            const Index s = task / of.pairs, q = task % of.pairs;
            const std::uint8_t* a = codes.get() + of.first[q] * stretch + s * size;
            const std::uint8_t* b = codes.get() + of.second[q] * stretch + s * size;
            const Index height = x.sizes[of.first[q]], width = x.sizes[of.second[q]], own = (height + 1) * (width + 1);
            std::vector<std::uint16_t>& count = counts[slot];
            for (Index c = 0; c < rows.classes; ++c)
                for (Index lo = order[s].start[c]; lo < order[s].start[c + 1]; lo += most_rows) {
                    const Index hi = std::min(lo + most_rows, order[s].start[c + 1]);
                    count.assign(tables * own, 0);
                    fast::count_cells_of(a + lo, b + lo, hi - lo, width + 1, own, count.data());
                    std::lock_guard hold(locks[q]);
                    fast::add_counts_of(count.data(), height, width, own, table + c * cells + of.offsets[q]);
                }
        });
    }
}

void pair_scores(CodedColumns x, Index columns, ColumnPairs of, const double* scores, Index width, double* out) {
    const Index blocks = (x.rows + few_rows - 1) / few_rows;
    auto work = [&](Index block, int) {
        const Index lo = block * few_rows, hi = std::min(x.rows, lo + few_rows), rows = hi - lo;
        std::vector<std::uint8_t> codes(std::size_t(columns * few_rows));
        std::vector<double> sum(std::size_t(rows * width));
        known_codes(x, columns, lo, hi, codes.data());
        fast::pair_scores_of(codes.data(), x.sizes, of, scores, width, rows, sum.data());
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

void category_codes(const std::int32_t* values, Index n, Index stride, const std::uint8_t* code, Index count,
                    std::uint8_t missing, std::uint8_t* out) {
    const Index blocks = (n + slice_rows - 1) / slice_rows;
    for_blocks(blocks, threads_for(n, blocks), [&](Index b, int) {
        for (Index i = b * slice_rows; i < std::min(n, (b + 1) * slice_rows); ++i) {
            const std::uint32_t value = std::uint32_t(values[i * stride]);  // a negative one is large
            out[i] = value < std::uint64_t(count) ? code[value] : missing;
        }
    });
}

#endif

}  // namespace suffice
