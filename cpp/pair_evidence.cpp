// What pairs of columns say beyond the two, with all rows and without one.
#include <algorithm>
#include <cmath>
#include <vector>

#include "threads.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

constexpr double smoothing = 3;  // rows that every cell, and what is expected of it, is drawn by towards equality
constexpr double least_total = 1e-300;  // what counts are divided by, at least

SUFFICE_INLINE double ratio(double count, double first, double second, double total, double u) {
    const double expected = std::max(first - u, 0.0) * std::max(second - u, 0.0) / std::max(total - u, least_total);
    return (std::max(count - u, 0.0) + smoothing) / (expected + smoothing);
}

void log_ratios(const double* __restrict count, double first, const double* __restrict second, Index width,
                double total, double u, double* __restrict out) {
    for (Index b = 0; b < width; ++b) out[b] = vector_log(ratio(count[b], first, second[b], total, u));
}

// Add the counts of a row of a table to the sums of its columns, and return their sum.
double add_row(const double* __restrict count, Index width, double* __restrict second) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index b = 0; b < width; ++b) {
        const double own = std::max(count[b], 0.0);
        second[b] += own;
        sum += own;
    }
    return sum;
}

}  // namespace

SUFFICE_DISPATCH(ratios_of_row, log_ratios)
SUFFICE_DISPATCH(margins_of_row, add_row)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr Index block_bytes = 1 << 17;  // of evidence, which stays in the second cache
constexpr Index fewest_rows = 32, most_rows = 1024;
constexpr Index together = 16;  // pairs that are added at a time: places side by side are a line of the cache

// The weight of each code of the first and the second column of a pair, and of all, in one class.
struct Margins {
    std::vector<double> of;
    Index height = 0;

    Margins() = default;
    Margins(const double* table, Index height, Index width) : of(height + width + 1), height(height) {
        for (Index a = 0; a < height; ++a) {
            of[a] = fast::margins_of_row(table + a * width, width, of.data() + height);
            of[height + width] += of[a];
        }
    }
    const double* second() const { return of.data() + height; }
    double total() const { return of.back(); }
};

}  // namespace

void pair_ratios(const Index* sizes, ColumnPairs of, Index classes, const double* counts, double* ratios) {
    const Index cells = of.offsets[of.pairs];
    for_blocks(of.pairs, threads_for(8 * cells * classes, of.pairs), [&](Index q, int) {
        const Index height = sizes[of.first[q]], width = sizes[of.second[q]];
        for (Index c = 0; c < classes; ++c) {
            const Index start = c * cells + of.offsets[q];
            const Margins margins(counts + start, height, width);
            for (Index a = 0; a < height; ++a)
                fast::ratios_of_row(counts + start + a * width, margins.of[a], margins.second(), width, margins.total(),
                                    0.0, ratios + start + a * width);
        }
    });
}

namespace {

// What a pair says about rows lo .. hi-1, 0 where a code is missing: entry (k - 1, row) is out[((k - 1) * n + row) * together].
template <class T, int few, class Own>  // classes, 0: any number
SUFFICE_INLINE void left_out_of_pair(const CodedColumns& x, const ColumnPairs& of, const Rows& rows, double usual,
                                     const T* table, T exponent, Index q, Index lo, Index hi, Own own, T* out) {
    const Index K = few ? few : rows.classes, n = hi - lo;
    const std::uint8_t* first = x.codes + of.first[q] * x.rows;
    const std::uint8_t* second = x.codes + of.second[q] * x.rows;
    const std::uint32_t height = std::uint32_t(x.sizes[of.first[q]]), width = std::uint32_t(x.sizes[of.second[q]]);
    const T* start = table + of.offsets[q] * 2 * K;
    std::int32_t cell[most_rows];
    // Cells of all rows are asked for before the first is read: they lie anywhere.
    for (Index i = 0; i < n; ++i) {
        const std::uint32_t a = first[lo + i], b = second[lo + i];
        cell[i] = a < height && b < width ? std::int32_t(a * width + b) : -1;
        const T* said = start + Index(std::max(cell[i], 0)) * 2 * K;
        prefetch(said), prefetch(said + K), prefetch(said + 2 * K - 1);
    }
    for (Index i = 0; i < n; ++i) {
        if (cell[i] < 0) {
            for (Index k = 1; k < K; ++k) out[((k - 1) * n + i) * together] = 0;
            continue;
        }
        const T* said = start + Index(cell[i]) * 2 * K;
        const Index y = rows.code[lo + i];
        const T mine = rows.weight[lo + i] == usual ? said[K + y] : T(own(q, first[lo + i], second[lo + i], lo + i));
        const T base = y == 0 ? mine : said[0];
        for (Index k = 1; k < K; ++k) out[((k - 1) * n + i) * together] = exponent * (said[k] - base);
        if (y) out[((y - 1) * n + i) * together] = exponent * (mine - base);
    }
}

// Rows lo .. hi-1 of all pairs; `apart` holds (classes - 1, rows, together) numbers.
template <class T, int few, class Own>
SUFFICE_INLINE void left_out_block(const CodedColumns& x, const ColumnPairs& of, const Rows& rows, double usual,
                                   const T* table, const double* exponents, const std::int32_t* to, Index width,
                                   Index lo, Index hi, Own own, T* apart, T* out) {
    const Index K = few ? few : rows.classes, n = hi - lo;
    for (Index q = 0; q < of.pairs; q += together) {
        const Index some = std::min(together, of.pairs - q);
        for (Index t = 0; t < some; ++t)
            left_out_of_pair<T, few>(x, of, rows, usual, table, T(exponents[q + t]), q + t, lo, hi, own, apart + t);
        const std::int32_t *at = to + q, *other = to + of.pairs + q;
        bool side_by_side = true;
        for (Index t = 0; t < some; ++t) side_by_side &= at[t] == at[0] + t && other[t] == at[t];
        const T* __restrict from = apart;
        for (Index k = 1; k < K; ++k) {
            T* __restrict row = out + ((k - 1) * x.rows + lo) * width;
            for (Index i = 0; i < n; ++i, row += width, from += together) {
                if (side_by_side)
                    for (Index t = 0; t < some; ++t) row[at[0] + t] += from[t];
                else
                    for (Index t = 0; t < some; ++t) {
                        row[at[t]] += from[t];
                        if (other[t] != at[t]) row[other[t]] += from[t];
                    }
            }
        }
    }
}

}  // namespace

template <class T>
void pair_left_out(CodedColumns x, ColumnPairs of, Rows rows, const double* counts, const double* ratios,
                   const double* exponents, const std::int32_t* to, Index width, T* out) {
    const Index cells = of.offsets[of.pairs], K = rows.classes, each = (K - 1) * width * Index(sizeof(T));
    const Index block_rows = std::clamp<Index>(block_bytes / std::max<Index>(each, 1), fewest_rows, most_rows);
    const Index blocks = (x.rows + block_rows - 1) / block_rows;
    const double usual = x.rows ? rows.weight[0] : 1.0;  // of most rows, whose logarithms are computed once for a cell
    const bool odd = std::any_of(rows.weight, rows.weight + x.rows, [&](double weight) { return weight != usual; });
    std::vector<Margins> margins(odd ? of.pairs * K : 0);
    // The ratios of all classes, and then those without a row, cell by cell.
    const Index step = 2 * K;
    std::vector<T> table(std::size_t(step * cells));
    for_blocks(of.pairs, threads_for(8 * K * cells, of.pairs), [&](Index q, int) {
        const Index height = x.sizes[of.first[q]], w = x.sizes[of.second[q]];
        std::vector<double> without(w);
        for (Index k = 0; k < K; ++k) {
            const Index start = k * cells + of.offsets[q];
            const Margins own(counts + start, height, w);
            T* to = table.data() + of.offsets[q] * step + k;
            for (Index a = 0; a < height; ++a) {
                fast::ratios_of_row(counts + start + a * w, own.of[a], own.second(), w, own.total(), usual,
                                    without.data());
                for (Index b = 0; b < w; ++b, to += step) {
                    to[0] = T(ratios[start + a * w + b]);
                    to[K] = T(without[b]);
                }
            }
            if (odd) margins[q * K + k] = own;
        }
    });
    auto other = [&](Index q, Index a, Index b, Index i) {  // of a row of another weight
        const Index y = rows.code[i], cell = of.offsets[q] + a * x.sizes[of.second[q]] + b;
        const Margins& m = margins[q * K + y];
        return std::log(ratio(counts[y * cells + cell], m.of[a], m.second()[b], m.total(), rows.weight[i]));
    };
    const int threads = threads_for(4 * x.rows * of.pairs * K, blocks);
    std::vector<std::vector<T>> apart(threads, std::vector<T>((K - 1) * block_rows * together));
    for_blocks(blocks, threads, [&](Index block, int slot) {
        const Index lo = block * block_rows, hi = std::min(x.rows, lo + block_rows);
        K == 2 ? left_out_block<T, 2>(x, of, rows, usual, table.data(), exponents, to, width, lo, hi, other,
                                      apart[slot].data(), out)
               : left_out_block<T, 0>(x, of, rows, usual, table.data(), exponents, to, width, lo, hi, other,
                                      apart[slot].data(), out);
    });
}

template void pair_left_out(CodedColumns, ColumnPairs, Rows, const double*, const double*, const double*,
                            const std::int32_t*, Index, double*);
template void pair_left_out(CodedColumns, ColumnPairs, Rows, const double*, const double*, const double*,
                            const std::int32_t*, Index, float*);

#endif

}  // namespace suffice
