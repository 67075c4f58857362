// Weight, mean and centred squares in one pass over the data.
//
// Within a block of rows each class sums x - p and (x - p)² around a pivot p, its first value there. Sums around a
// value among the data do not suffer from cancellation. A block is summed exactly, with what rounding takes from each
// number (double_double.hpp), if there are few rows, if they have weights, and if some of them outweigh the others:
// those must still be there after the heavy ones are taken away. Blocks are merged by the pairwise formula of Chan,
// Golub and LeVeque (1979), in pairs.
#include <cmath>
#include <limits>
#include <numeric>

#include "buffer.hpp"
#include "merge_moments.hpp"
#include "threads.hpp"
#include "transpose.hpp"

namespace suffice {

// The least part of the squares around a pivot that is not due to its distance from the mean: of plain sums, and of
// exact ones, which have digits to spare.
[[maybe_unused]] constexpr double plain_centre = 1e-8, exact_centre = 0x1p-20;

// Sums of one block: entry c * stride + j belongs to class c and column j.
struct MomentSums {
    Index stride;
    Buffer weight, pivot, first, second;
    Buffer weight_low, first_low, second_low;  // what rounding took, if the block is summed exactly
    std::vector<Index> exact_rows;             // of each class, if the block is summed exactly; else none
    Buffer typical;      // of each column, the square of a short distance between two of its values
    Buffer tile;         // eight columns of a column-major matrix, transposed to rows
    ByClassOrder order;  // its rows by class

    MomentSums(Index classes, Index cols, Index tile_rows)
        : stride(padded(cols)),
          weight(classes * stride),
          pivot(classes * stride),
          first(classes * stride),
          second(classes * stride),
          weight_low(classes * stride),
          first_low(classes * stride),
          second_low(classes * stride),
          typical(stride),
          tile(8 * tile_rows + 8) {}
    void clear() {
        for (Buffer* sums : {&weight, &first, &second, &weight_low}) sums->fill(0);
        pivot.fill(std::numeric_limits<double>::quiet_NaN());
    }
    void clear_exact() {
        for (Buffer* sums : {&weight, &first, &second, &weight_low, &first_low, &second_low}) sums->fill(0);
    }
    // Whether the pivot of a class is so far from its mean, compared with its spread, that digits were lost, or a sum
    // overflows.
    bool is_off(Index at, double least) const {
        const double within = second[at] - first[at] * (first[at] / weight[at]);
        return weight[at] > 0 && second[at] != 0 && !(within >= least * second[at]);
    }
    bool off_centre(double least) const {
        bool off = false;
        for (Index at = 0; at < second.size(); ++at) off |= is_off(at, least);
        return off;
    }
    // Whether few values are so far from the others that rounding their squares hides those of the others.
    bool dominated(Index cols) const {
        bool any = false;
        for (Index at = 0; at < second.size(); at += stride)
            for (Index j = 0; j < cols; ++j)
                any |= typical[j] > 0 && second[at + j] > 0x1p20 * typical[j] * weight[at + j];
        return any;
    }
    // Take the mean as pivot where the pivot is far from it, and finite.
    void recentre() {
        for (Index at = 0; at < second.size(); ++at) {
            const double mean = pivot[at] + first[at] / weight[at];
            if (is_off(at, exact_centre) && std::isfinite(mean)) pivot[at] = mean;
        }
    }
};

// How a block is summed: around the first values, expecting none to be missing, with or without weights, or some; or
// exactly.
enum class Way { complete, weighted, missing, exact };

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- Row-major: rows are read in order, each added to the sums of its class.

// Add one complete row to its class, whose pivots are known.
template <bool weighted, class T>
SUFFICE_INLINE void add_row(const T* __restrict x, Index cols, double w, Index at, MomentSums& sums) {
    const double* __restrict pivot = on_cache_line(sums.pivot + at);
    double* __restrict first = on_cache_line(sums.first + at);
    double* __restrict second = on_cache_line(sums.second + at);
#pragma omp simd
    for (Index j = 0; j < cols; ++j) {
        const double d = x[j] - pivot[j], wd = weighted ? w * d : d;
        first[j] += wd;
        second[j] += wd * d;
    }
}

// The same for a row that may have missing values: every column has its own weight, and its first value as pivot.
// Returns whether a value is infinite.
template <class T>
SUFFICE_INLINE bool add_row_with_missing(const T* __restrict x, Index cols, Index at, MomentSums& sums) {
    double* __restrict weight = on_cache_line(sums.weight + at);
    double* __restrict pivot = on_cache_line(sums.pivot + at);
    double* __restrict first = on_cache_line(sums.first + at);
    double* __restrict second = on_cache_line(sums.second + at);
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (Index j = 0; j < cols; ++j) {
        double v = x[j], p = pivot[j];
        p = p == p ? p : v;
        const bool seen = v == v;
        const double d = seen ? v - p : 0.0, size = seen ? std::fabs(v) : 0.0;
        pivot[j] = p;
        weight[j] += seen ? 1.0 : 0.0;
        first[j] += d;
        second[j] += d * d;
        largest = largest > size ? largest : size;
    }
    return largest == infinity;
}

// Where nothing is missing the weight of a class is the same in every column, and its first row holds its pivots.
template <class T>
SUFFICE_INLINE void start_class(const Matrix<T>& x, Index row, Index cls, MomentSums& sums) {
    double* pivot = sums.pivot + cls * sums.stride;
    for (Index j = 0; j < x.cols; ++j) pivot[j] = x.data[row * x.row_stride + j * x.col_stride];
    std::fill(pivot + x.cols, pivot + sums.stride, 0.0);
}

// Add one row to its class exactly, whatever its weight and the pivots are. Returns whether a value is infinite.
template <bool weighted, class T>
SUFFICE_INLINE bool add_exactly(const T* __restrict x, Index cols, double w, Index at, MomentSums& sums) {
    double* __restrict weight = sums.weight + at;
    const double* __restrict pivot = sums.pivot + at;
    double* __restrict first = sums.first + at;
    double* __restrict second = sums.second + at;
    double* __restrict weight_low = sums.weight_low + at;
    double* __restrict first_low = sums.first_low + at;
    double* __restrict second_low = sums.second_low + at;
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (Index j = 0; j < cols; ++j) {
        const double v = x[j];
        const bool seen = v == v;
        const double size = seen ? std::fabs(v) : 0.0;
        largest = largest > size ? largest : size;
        const Pair d = two_sum(seen ? v : pivot[j], -pivot[j]);
        Pair wd = d;
        if (weighted) {
            wd = two_product(w, d.high);
            wd.low += w * d.low;
        }
        Pair square = two_product(wd.high, d.high);
        square.low += wd.low * d.high + wd.high * d.low;
        if (weighted)
            add_to(weight[j], weight_low[j], seen ? w : 0.0);
        else
            weight[j] += seen ? 1.0 : 0.0;
        add_to(first[j], first_low[j], wd.high);
        add_to(second[j], second_low[j], square.high);
        first_low[j] += wd.low, second_low[j] += square.low;
    }
    return largest == infinity;
}

template <Way way, class T>
SUFFICE_INLINE bool add_rows(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    bool infinite = false;
    for (Index i = lo; i < hi; ++i) {
        const T* row = x.data + i * x.row_stride;
        const Index at = rows.code[i] * sums.stride;
        if (way == Way::exact) {
            if (!rows.weight)
                infinite |= add_exactly<false>(row, x.cols, 1.0, at, sums);
            else if (rows.weight[i] != 0)
                infinite |= add_exactly<true>(row, x.cols, rows.weight[i], at, sums);
        } else if (way == Way::missing) {
            infinite |= add_row_with_missing(row, x.cols, at, sums);
        } else {
            const double w = way == Way::weighted ? rows.weight[i] : 1.0;
            if (w == 0) continue;
            if (sums.weight[at] == 0) start_class(x, i, rows.code[i], sums);
            way == Way::weighted ? add_to(sums.weight[at], sums.weight_low[at], w) : void(sums.weight[at] += 1);
            add_row<way == Way::weighted>(row, x.cols, w, at, sums);
        }
    }
    return infinite;
}

// ---- Column-major: eight columns at a time are transposed, and their rows visited class by class, so that the sums
// of a class stay in registers.

SUFFICE_INLINE Lanes& lanes(Buffer& sums, Index at) { return *reinterpret_cast<Lanes*>(sums + at); }

// Add rows row[0 .. n) of the tile, all of one class, to the sums at `at`.
template <Way way>
SUFFICE_INLINE bool add_run(const double* tile, const std::int32_t* row, Index n, const double* row_weight, Index at,
                            Index cols, MomentSums& sums) {
    constexpr bool missing = way == Way::missing;
    Lanes p = lanes(sums.pivot, at), s = lanes(sums.first, at), q = lanes(sums.second, at);
    Lanes w = lanes(sums.weight, at), largest{};
    for (Index k = 0; k < n; ++k) {
        const Lanes v = *reinterpret_cast<const Lanes*>(tile + 8 * row[k]);
        Lanes d = v - p;
        if (missing) {
            p = select(p == p, p, v);
            d = select(v == v, Lanes(v - p), Lanes{});
            w += select(v == v, Lanes{} + 1.0, Lanes{});
            const Lanes size = size_of(v);
            largest = select(size > largest, size, largest);
        }
        const Lanes wd = way == Way::weighted ? row_weight[row[k]] * d : d;
        s += wd;
        q += wd * d;
    }
    lanes(sums.first, at) = s, lanes(sums.second, at) = q;
    bool infinite = false;
    if (missing) {
        lanes(sums.pivot, at) = p, lanes(sums.weight, at) = w;
        for (Index l = 0; l < cols; ++l) infinite |= largest[l] == infinity;
    }
    return infinite;
}

template <Way way, class T>
SUFFICE_INLINE bool add_columns(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    bool infinite = false;
    double* tile = sums.tile.data();
    const std::vector<Index>& start = sums.order.start;
    const std::int32_t* row = sums.order.row.data();
    for (Index j = 0; j < x.cols; j += 8) {
        const Index cols = std::min<Index>(8, x.cols - j);
        // If fewer than eight columns are left, columns before them are transposed again, and rows start later in the
        // tile. Sums of the entries behind a row go to places that are not read.
        const Index back = x.cols >= 8 ? 8 - cols : 0;
        if (cols + back < 8) std::fill_n(tile, 8 * (hi - lo), 0.0);
        const T* from = x.data + lo + (j - back) * x.col_stride;
        transpose(from, x.col_stride, hi - lo, cols + back, tile, 8, j + 16 <= x.cols ? 8 * x.col_stride : 0);
        for (Index c = 0; c < rows.classes; ++c) {
            const Index at = c * sums.stride + j, n = start[c + 1] - start[c];
            if (way == Way::exact)
                for (Index k = start[c]; k < start[c + 1]; ++k) {
                    const double* entries = tile + back + 8 * row[k];
                    infinite |= rows.weight ? add_exactly<true>(entries, cols, rows.weight[lo + row[k]], at, sums)
                                            : add_exactly<false>(entries, cols, 1.0, at, sums);
                }
            else if (n)
                infinite |= add_run<way>(tile + back, row + start[c], n, rows.weight + lo, at, cols, sums);
        }
    }
    return infinite;
}

template <class T>
SUFFICE_INLINE void start_classes(const Matrix<T>& x, const Rows& rows, Index lo, MomentSums& sums) {
    const auto& row = sums.order.row;
    const auto& start = sums.order.start;
    for (Index c = 0; c < rows.classes; ++c) {
        const Index n = start[c + 1] - start[c];
        if (n == 0) continue;
        start_class(x, lo + row[start[c]], c, sums);
        double &weight = sums.weight[c * sums.stride], &low = sums.weight_low[c * sums.stride];
        if (!rows.weight) weight = double(n);
        for (Index k = start[c]; rows.weight && k < start[c + 1]; ++k) add_to(weight, low, rows.weight[lo + row[k]]);
    }
}

// ---- Both.

template <Way way, class T>
SUFFICE_INLINE bool add_block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    constexpr bool complete = way == Way::complete || way == Way::weighted;
    if (complete && x.col_stride != 1) start_classes(x, rows, lo, sums);
    const bool infinite =
        x.col_stride == 1 ? add_rows<way>(x, rows, lo, hi, sums) : add_columns<way>(x, rows, lo, hi, sums);
    if (complete)  // the weight of a class is the same in every column
        for (Index c = 0; c < rows.classes; ++c)
            for (Buffer* weight : {&sums.weight, &sums.weight_low})
                std::fill_n(*weight + c * sums.stride, x.cols, (*weight)[c * sums.stride]);
    return infinite;
}

template <class T>
bool block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, Way way, MomentSums& sums) {
    if (way == Way::exact) return add_block<Way::exact>(x, rows, lo, hi, sums);
    if (way == Way::weighted) return add_block<Way::weighted>(x, rows, lo, hi, sums);
    return way == Way::missing ? add_block<Way::missing>(x, rows, lo, hi, sums)
                               : add_block<Way::complete>(x, rows, lo, hi, sums);
}

// Add the sums of a block to the moments of each class, of which row r is at[r * stride]: weight, mean, squares, what
// rounding took from each, and their doubts.
void merge_sums(Index classes, MomentSums& s, Buffer& moments) {
    const bool exact = !s.exact_rows.empty();
    const Lanes zero{}, one = zero + 1.0;
    for (Index c = 0; c < classes; ++c)
        for (Index j = 0; j < s.stride; j += 8) {
            const Index k = c * s.stride + j, at = 9 * c * s.stride + j;
            const auto low = [&](Buffer& sums) SUFFICE_INLINE_LAMBDA { return exact ? lanes(sums, k) : zero; };
            double most = 0;
            for (Index l = 0; l < 8; ++l) most = std::max(most, s.weight[k + l]);
            if (most == 0) continue;  // no row of this class: a single row has many such classes
            // What the sums of the block may have lost, relative to their size.
            const double rounding = exact ? exact_error(s.exact_rows[c]) : plain_error;
            const auto w = two_sum(lanes(s.weight, k), lanes(s.weight_low, k));
            const auto any = w.high > 0;
            const PairOf<Lanes> whole = {select(any, w.high, one), w.low},
                                pivot = {select(any, lanes(s.pivot, k), zero), zero};
            const auto first = two_sum(lanes(s.first, k), low(s.first_low));
            const auto second = two_sum(lanes(s.second, k), low(s.second_low));
            const auto shift = first / whole, mean = pivot + shift, within = second - first * shift;
            const Lanes doubt = rounding * second.high, apart = root_of(second.high / whole.high);
            const auto nothing =
                within.high <= (exact ? Lanes(2 * doubt) : zero);  // a NaN of sums that overflowed stays
            const CellOf<Lanes> own = {
                {w, select(w.low != 0, Lanes(weight_error(rounding) * w.high), zero)},
                {mean, rounding * apart + pair_error * size_of(mean.high)},
                {{select(nothing, zero, within.high), select(nothing, zero, within.low)}, doubt}};
            const auto part = [&](Index r)
                                  SUFFICE_INLINE_LAMBDA -> Lanes& { return lanes(moments, at + r * s.stride); };
            const CellOf<Lanes> both = merged(
                CellOf<Lanes>{
                    {{part(0), part(3)}, part(6)}, {{part(1), part(4)}, part(7)}, {{part(2), part(5)}, part(8)}},
                own);
            part(0) = both.weight.value.high, part(3) = both.weight.value.low, part(6) = both.weight.doubt;
            part(1) = both.mean.value.high, part(4) = both.mean.value.low, part(7) = both.mean.doubt;
            part(2) = both.squares.value.high, part(5) = both.squares.value.low, part(8) = both.squares.doubt;
        }
}

}  // namespace

SUFFICE_DISPATCH(moments_block, block<double>, block<float>)
SUFFICE_DISPATCH(merge_moments_block, merge_sums)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr Index few_entries = 1 << 12;  // so few are summed exactly in no time

// Whether some rows have weights so much larger than those of others that rounding hides the others.
bool unequal(const Rows& rows, Index lo, Index hi) {
    double least = infinity, most = 0;
    for (Index i = lo; i < hi; ++i) {
        const double w = rows.weight[i];
        least = w > 0 && w < least ? w : least;
        most = w > most ? w : most;
    }
    return most > unequal_weights * least;
}

// Look at some rows of the block for what is typical: the second shortest distance of a value of a column from one of the
// two before. So neither values far out nor classes far apart hide how little the others vary.
template <class T>
void look(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    const Index step = std::max<Index>(1, (hi - lo) / 8);
    for (Index j = 0; j < x.cols; ++j) {
        double last = std::numeric_limits<double>::quiet_NaN(), before = last, shortest = infinity, second = infinity;
        auto compare = [&](double distance) {
            if (!(distance > 0)) return;  // also if there is none
            second = std::min(second, std::max(shortest, distance));
            shortest = std::min(shortest, distance);
        };
        for (Index i = lo; i < hi; i += step) {
            const double v = x.data[i * x.row_stride + j * x.col_stride];
            if (!std::isfinite(v) || (rows.weight && rows.weight[i] == 0)) continue;
            compare(std::fabs(v - last)), compare(std::fabs(v - before));
            before = last, last = v;
        }
        const double typical = std::isfinite(second) ? second : shortest;
        sums.typical[j] = std::isfinite(typical) ? typical * typical : 0.0;
    }
}

// Take the first finite value of each class and column as pivot: the sums of a class do not depend on other classes.
template <class T>
void start_exactly(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    sums.pivot.fill(std::numeric_limits<double>::quiet_NaN());
    for (Index i = lo; i < hi; ++i) {
        if (rows.weight && rows.weight[i] == 0) continue;
        double* pivot = sums.pivot + rows.code[i] * sums.stride;
        for (Index j = 0; j < x.cols; ++j) {
            const double v = x.data[i * x.row_stride + j * x.col_stride];
            if (pivot[j] != pivot[j] && std::isfinite(v)) pivot[j] = v;
        }
    }
    for (Index at = 0; at < sums.pivot.size(); ++at)
        if (sums.pivot[at] != sums.pivot[at]) sums.pivot[at] = 0;
}

// The classes that rows are of. Fewer rows than classes are numbered by the classes that they have, so that the work
// for a single row does not grow with the number of classes.
struct Present {
    std::vector<std::int32_t> classes, codes;

    Present(const Rows& rows, Index n) : classes(std::min(n, rows.classes)) {
        if (n >= rows.classes) {
            std::iota(classes.begin(), classes.end(), 0);
            return;
        }
        std::copy_n(rows.code, n, classes.begin());
        std::sort(classes.begin(), classes.end());
        classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
        for (Index i = 0; i < n; ++i)
            codes.push_back(std::lower_bound(classes.begin(), classes.end(), rows.code[i]) - classes.begin());
    }
    Rows numbered(const Rows& rows) const {
        return {codes.empty() ? rows.code : codes.data(), rows.weight, Index(classes.size())};
    }
};

// Moments of n rows of d columns. `rows_of(lo, hi, scratch)` are the rows lo .. hi-1 as a matrix, whose memory may be
// the scratch.
template <class RowsOf>
Index moments_in_blocks(Index n, Index d, bool row_major, RowsOf rows_of, Rows given, double* weight, double* mean,
                        double* squares, double* rest, Index* overflow) {
    const Present present(given, n);
    const Rows all_rows = present.numbered(given);
    const Index k = all_rows.classes;
    // Large enough that merging k classes costs little compared with reading the block.
    const Index size = std::clamp<Index>(std::max(64 * k, n / 128), 4096, 1 << 16), blocks = (n + size - 1) / size;
    const int threads = threads_for(n * d, blocks);
    std::vector<MomentSums> sums;
    std::vector<std::vector<double>> scratch(threads);
    for (int t = 0; t < threads; ++t) sums.emplace_back(k, d, row_major ? 0 : std::min(size, n));
    const bool few = n * d <= few_entries;
    const Index stride = padded(d);
    Buffer all(9 * k * stride);
    // Copy row r of the moments of class c from the outputs, or to them.
    auto for_parts = [&](auto copy) {
        for (Index c = 0; c < k; ++c)
            for (Index r = 0; r < 9; ++r) {
                const Index to = present.classes[c];
                double* own = r == 0   ? weight + to * d
                              : r == 1 ? mean + to * d
                              : r == 2 ? squares + to * d
                                       : rest + (6 * to + r - 3) * d;
                copy(own, all + (9 * c + r) * stride);
            }
    };
    for_parts([&](double* own, double* to) { std::copy_n(own, d, to); });
    std::atomic<bool> expect_missing{false};
    FirstPosition infinite;

    auto work = [&](Index b, int slot) {
        const Index from = b * size, lo = 0, hi = std::min(n - from, size);
        const auto x = rows_of(from, from + hi, scratch[slot]);
        const Rows rows = {all_rows.code + from, all_rows.weight ? all_rows.weight + from : nullptr, k};
        MomentSums& s = sums[slot];
        if (x.col_stride != 1) s.order.sort(rows, lo, hi);
        bool found = false, exact = few || (rows.weight && unequal(rows, lo, hi));
        if (!exact) {
            // Code that expects no NaN is faster. A NaN then shows in the sums, and both ways give the same bits.
            const bool missing = !rows.weight && expect_missing.load(std::memory_order_relaxed);
            look(x, rows, lo, hi, s);
            s.clear();
            found = fast::moments_block(x, rows, lo, hi,
                                        rows.weight ? Way::weighted
                                        : missing   ? Way::missing
                                                    : Way::complete,
                                        s);
            if (!missing) {
                double probe = 0;
                for (Index at = 0; at < s.second.size(); ++at) probe += s.second[at] * 0;
                if (probe != probe && rows.weight) {
                    exact = true;
                } else if (probe != probe) {
                    expect_missing.store(true, std::memory_order_relaxed);
                    s.clear();
                    found = fast::moments_block(x, rows, lo, hi, Way::missing, s);
                }
            }
            exact |= !found && (s.off_centre(plain_centre) || s.dominated(d));
        }
        if (exact) {
            start_exactly(x, rows, lo, hi, s);
            s.clear_exact();
            found = fast::moments_block(x, rows, lo, hi, Way::exact, s);
            if (!found && s.off_centre(exact_centre)) {
                s.recentre();
                s.clear_exact();
                found = fast::moments_block(x, rows, lo, hi, Way::exact, s);
            }
        }
        s.exact_rows.assign(exact ? k : 0, 0);
        for (Index i = lo; exact && i < hi; ++i) s.exact_rows[rows.code[i]] += !rows.weight || rows.weight[i] != 0;
        if (found)
            for (Index i = lo; i < hi; ++i)
                for (Index j = 0; j < d && (!rows.weight || rows.weight[i] != 0); ++j)
                    if (std::isinf(x.data[i * x.row_stride + j * x.col_stride])) infinite.report((from + i) * d + j);
    };
    auto merge = [&](Index, int slot) { fast::merge_moments_block(k, sums[slot], all); };
    for_blocks(blocks, threads, work, merge);
    for_parts([&](double* own, double* from) { std::copy_n(from, d, own); });
    *overflow = -1;
    for (Index c = 0; c < k && *overflow < 0; ++c)
        for (Index j = 0; j < d && *overflow < 0; ++j)
            if (!std::isfinite(all[(9 * c + 2) * stride + j])) *overflow = j;
    return infinite.get();
}

}  // namespace

template <class T>
Index moments(Matrix<T> x, Rows rows, double* weight, double* mean, double* squares, double* rest, Index* overflow) {
    auto rows_of = [&](Index lo, Index hi, std::vector<double>&) {
        return Matrix<T>{x.data + lo * x.row_stride, hi - lo, x.cols, x.row_stride, x.col_stride};
    };
    return moments_in_blocks(x.rows, x.cols, x.col_stride == 1, rows_of, rows, weight, mean, squares, rest, overflow);
}

Index moments(const std::vector<StridedColumn>& columns, Rows rows, Index n, double* weight, double* mean,
              double* squares, double* rest, Index* overflow) {
    const Index d = Index(columns.size());
    if (d == 1)
        return moments(Matrix<double>{columns[0].data, n, 1, columns[0].stride, 1}, rows, weight, mean, squares, rest,
                       overflow);
    auto rows_of = [&](Index lo, Index hi, std::vector<double>& scratch) {
        // Room behind each column: columns a power of two apart would share the same few lines of the cache.
        const Index stride = hi - lo + 8;
        if (Index(scratch.size()) < stride * d) scratch.resize(stride * d);
        for (Index j = 0; j < d; ++j)
            for (Index i = lo; i < hi; ++i) scratch[j * stride + i - lo] = columns[j][i];
        return Matrix<double>{scratch.data(), hi - lo, d, 1, stride};
    };
    return moments_in_blocks(n, d, false, rows_of, rows, weight, mean, squares, rest, overflow);
}

template Index moments(Matrix<double>, Rows, double*, double*, double*, double*, Index*);
template Index moments(Matrix<float>, Rows, double*, double*, double*, double*, Index*);

#endif

}  // namespace suffice
