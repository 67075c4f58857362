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

}  // namespace

SUFFICE_DISPATCH(ratios_of_row, log_ratios)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr Index block_bytes = 1 << 17;  // of evidence, which stays in the second cache
constexpr Index fewest_rows = 32, most_rows = 1024;
constexpr Index few_cells = 256;  // whose ratios stay in the first cache

// The weight of each code of the first and the second column of a pair, and of all, in one class.
struct Margins {
    std::vector<double> of;
    Index height = 0;

    Margins() = default;
    Margins(const double* table, Index height, Index width) : of(height + width + 1), height(height) {
        for (Index a = 0; a < height; ++a)
            for (Index b = 0; b < width; ++b) {
                const double count = std::max(table[a * width + b], 0.0);
                of[a] += count;
                of[height + b] += count;
                of[height + width] += count;
            }
    }
    const double* second() const { return of.data() + height; }
    double total() const { return of.back(); }
};

}  // namespace

void pair_ratios(const Index* sizes, ColumnPairs of, Index classes, const double* counts, double u, double* ratios) {
    const Index cells = of.offsets[of.pairs];
    for_blocks(of.pairs, threads_for(8 * cells * classes, of.pairs), [&](Index q, int) {
        const Index height = sizes[of.first[q]], width = sizes[of.second[q]];
        for (Index c = 0; c < classes; ++c) {
            const Index start = c * cells + of.offsets[q];
            const Margins margins(counts + start, height, width);
            for (Index a = 0; a < height; ++a)
                fast::ratios_of_row(counts + start + a * width, margins.of[a], margins.second(), width, margins.total(),
                                    u, ratios + start + a * width);
        }
    });
}

namespace {

template <class T, int few, class Own>  // classes, 0: any number
SUFFICE_INLINE void left_out_block(const CodedColumns& x, const ColumnPairs& of, const Rows& rows, const T* table,
                                   const double* exponents, const std::int32_t* to, Index width, Index lo, Index hi,
                                   Own own, T* apart, T* out) {
    const Index K = few ? few : rows.classes, n = hi - lo;
    std::int32_t cell[most_rows];
    for (Index q = 0; q < of.pairs; ++q) {
        const std::uint8_t* first = x.codes + of.first[q] * x.rows;
        const std::uint8_t* second = x.codes + of.second[q] * x.rows;
        const std::uint32_t height = std::uint32_t(x.sizes[of.first[q]]), w = std::uint32_t(x.sizes[of.second[q]]);
        const T* start = table + of.offsets[q] * 2 * K;
        const T exponent = T(exponents[q]);
        const Index at = to[q], other = to[of.pairs + q];
        // Cells of all rows are asked for before the first is read: they lie anywhere.
        for (Index i = lo; i < hi; ++i) {
            const std::uint32_t a = first[i], b = second[i];
            cell[i - lo] = a < height && b < w ? std::int32_t(a * w + b) : -1;
            const T* said = start + Index(std::max(cell[i - lo], 0)) * 2 * K;
            prefetch(said), prefetch(said + K), prefetch(said + 2 * K - 1);
        }
        for (Index i = lo; i < hi; ++i) {
            if (cell[i - lo] < 0) continue;
            const std::uint32_t a = first[i], b = second[i];
            const T* said = start + Index(cell[i - lo]) * 2 * K;
            const Index y = rows.code[i];
            const T mine = rows.weight[i] == 1.0 ? said[K + y] : T(own(q, a, b, i)), base = y == 0 ? mine : said[0];
            for (Index k = 1; k < K; ++k) apart[(k - 1) * n + i - lo] = exponent * (said[k] - base);
            if (y) apart[(y - 1) * n + i - lo] = exponent * (mine - base);
        }
        for (Index k = 1; k < K; ++k) {
            const T* from = apart + (k - 1) * n;
            T* row = out + ((k - 1) * x.rows + lo) * width;
            for (Index i = 0; i < n; ++i, row += width) {
                if (cell[i] < 0) continue;
                row[at] += from[i];
                if (other != at) row[other] += from[i];
            }
        }
    }
}

}  // namespace

template <class T>
void pair_left_out(CodedColumns x, ColumnPairs of, Rows rows, const double* counts, const double* ratios,
                   const double* own, const double* exponents, const std::int32_t* to, Index width, T* out) {
    const Index cells = of.offsets[of.pairs], K = rows.classes, each = (K - 1) * width * Index(sizeof(T));
    const Index block_rows = std::clamp<Index>(block_bytes / std::max<Index>(each, 1), fewest_rows, most_rows);
    const Index blocks = (x.rows + block_rows - 1) / block_rows;
    const bool odd = std::any_of(rows.weight, rows.weight + x.rows, [](double weight) { return weight != 1.0; });
    std::vector<Margins> margins(odd ? of.pairs * K : 0);
    // The ratios of all classes, and then those without a row, cell by cell.
    const Index step = 2 * K;
    std::vector<T> table(std::size_t(step * cells));
    for_blocks(of.pairs, threads_for(4 * K * cells, of.pairs), [&](Index q, int) {
        for (Index k = 0; odd && k < K; ++k)
            margins[q * K + k] = {counts + k * cells + of.offsets[q], x.sizes[of.first[q]], x.sizes[of.second[q]]};
        for (Index lo = of.offsets[q]; lo < of.offsets[q + 1]; lo += few_cells)
            for (Index k = 0; k < step; ++k) {
                const double* from = k < K ? ratios + k * cells : own + (k - K) * cells;
                for (Index cell = lo; cell < std::min(lo + few_cells, of.offsets[q + 1]); ++cell)
                    table[cell * step + k] = T(from[cell]);
            }
    });
    auto other = [&](Index q, Index a, Index b, Index i) {  // of a row of another weight than 1
        const Index y = rows.code[i], cell = of.offsets[q] + a * x.sizes[of.second[q]] + b;
        const Margins& m = margins[q * K + y];
        return std::log(ratio(counts[y * cells + cell], m.of[a], m.second()[b], m.total(), rows.weight[i]));
    };
    const int threads = threads_for(4 * x.rows * of.pairs * K, blocks);
    std::vector<std::vector<T>> apart(threads, std::vector<T>((K - 1) * block_rows));
    for_blocks(blocks, threads, [&](Index block, int slot) {
        const Index lo = block * block_rows, hi = std::min(x.rows, lo + block_rows);
        K == 2 ? left_out_block<T, 2>(x, of, rows, table.data(), exponents, to, width, lo, hi, other,
                                      apart[slot].data(), out)
               : left_out_block<T, 0>(x, of, rows, table.data(), exponents, to, width, lo, hi, other,
                                      apart[slot].data(), out);
    });
}

template void pair_left_out(CodedColumns, ColumnPairs, Rows, const double*, const double*, const double*, const double*,
                            const std::int32_t*, Index, double*);
template void pair_left_out(CodedColumns, ColumnPairs, Rows, const double*, const double*, const double*, const double*,
                            const std::int32_t*, Index, float*);

#endif

}  // namespace suffice
