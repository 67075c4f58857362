// Weight, mean and centred squares in one pass over the data.
//
// Within a block of rows each class sums x - p and (x - p)² around a pivot p, its first value there. Sums around a
// value among the data do not suffer from cancellation. Blocks are then merged by the pairwise formula of Chan, Golub
// and LeVeque (1979).
#include <cmath>
#include <limits>

#include "buffer.hpp"
#include "transpose.hpp"

namespace suffice {

// Sums of one block: entry c * stride + j belongs to class c and column j.
struct MomentSums {
    Index stride;
    Buffer weight, pivot, first, second;
    Buffer tile;         // eight columns of a column-major matrix, transposed to rows
    ByClassOrder order;  // its rows by class

    MomentSums(Index classes, Index cols, Index tile_rows)
        : stride(padded(cols)),
          weight(classes * stride),
          pivot(classes * stride),
          first(classes * stride),
          second(classes * stride),
          tile(8 * tile_rows + 8) {}
    void clear() {
        weight.fill(0);
        pivot.fill(std::numeric_limits<double>::quiet_NaN());
        first.fill(0);
        second.fill(0);
    }
    // Whether the pivot of a class is so far from its mean, compared with its spread, that digits were lost. This
    // happens with weights only: the first row is an outlier of tiny weight.
    bool off_centre() const {
        bool off = false;
        for (Index at = 0; at < second.size(); ++at)
            off |= weight[at] > 0 && second[at] - first[at] * (first[at] / weight[at]) < 1e-8 * second[at];
        return off;
    }
    // Start again with the means as pivots.
    void recentre() {
        for (Index at = 0; at < second.size(); ++at)
            if (weight[at] > 0) pivot[at] += first[at] / weight[at];
        weight.fill(0);
        first.fill(0);
        second.fill(0);
    }
};

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- Row-major: rows are read in order, each added to the sums of its class.

SUFFICE_INLINE double* aligned(double* p) { return static_cast<double*>(__builtin_assume_aligned(p, 64)); }

// Add one complete row to its class, whose pivots are known.
template <bool weighted, class T>
SUFFICE_INLINE void add_row(const T* __restrict x, Index cols, double w, Index at, MomentSums& sums) {
    const double* __restrict pivot = aligned(sums.pivot + at);
    double* __restrict first = aligned(sums.first + at);
    double* __restrict second = aligned(sums.second + at);
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
SUFFICE_INLINE bool add_row_with_missing(const T* __restrict x, Index cols, double w, Index at, MomentSums& sums) {
    double* __restrict weight = aligned(sums.weight + at);
    double* __restrict pivot = aligned(sums.pivot + at);
    double* __restrict first = aligned(sums.first + at);
    double* __restrict second = aligned(sums.second + at);
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (Index j = 0; j < cols; ++j) {
        double v = x[j], p = pivot[j];
        p = p == p ? p : v;
        const bool seen = v == v;
        const double d = seen ? v - p : 0.0, wd = w * d, size = seen ? std::fabs(v) : 0.0;
        pivot[j] = p;
        weight[j] += seen ? w : 0.0;
        first[j] += wd;
        second[j] += wd * d;
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

template <bool weighted, bool missing, class T>
SUFFICE_INLINE bool add_rows(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    bool infinite = false;
    for (Index i = lo; i < hi; ++i) {
        const double w = weighted ? rows.weight[i] : 1.0;
        if (weighted && w == 0) continue;
        const T* row = x.data + i * x.row_stride;
        const Index at = rows.code[i] * sums.stride;
        if (missing) {
            infinite |= add_row_with_missing(row, x.cols, w, at, sums);
        } else {
            double& weight = sums.weight[at];
            if (weight == 0) start_class(x, i, rows.code[i], sums);
            weight += w;
            add_row<weighted>(row, x.cols, w, at, sums);
        }
    }
    return infinite;
}

// ---- Column-major: eight columns at a time are transposed, and their rows visited class by class, so that the sums
// of a class stay in registers.

SUFFICE_INLINE Lanes& lanes(Buffer& sums, Index at) { return *reinterpret_cast<Lanes*>(sums + at); }

// Add rows row[0 .. n) of the tile, all of one class, to the sums at `at`.
template <bool weighted, bool missing>
SUFFICE_INLINE bool add_run(const double* tile, const std::int32_t* row, Index n, const double* row_weight, Index at,
                            Index cols, MomentSums& sums) {
    Lanes p = lanes(sums.pivot, at), s = lanes(sums.first, at), q = lanes(sums.second, at);
    Lanes w = lanes(sums.weight, at), largest{};
    for (Index k = 0; k < n; ++k) {
        const Lanes v = *reinterpret_cast<const Lanes*>(tile + 8 * row[k]);
        const double wk = weighted ? row_weight[row[k]] : 1.0;
        Lanes d = v - p;
        if (missing) {
            p = p == p ? p : v;
            d = v == v ? v - p : Lanes{};
            w += v == v ? wk + Lanes{} : Lanes{};
            const Lanes size = v < 0 ? -v : v;
            largest = size > largest ? size : largest;
        }
        const Lanes wd = weighted ? wk * d : d;
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

template <bool weighted, bool missing, class T>
SUFFICE_INLINE bool add_columns(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    bool infinite = false;
    double* tile = sums.tile.data();
    const std::vector<Index>& start = sums.order.start;
    for (Index j = 0; j < x.cols; j += 8) {
        const Index cols = std::min<Index>(8, x.cols - j);
        // If fewer than eight columns are left, columns before them are transposed again, and rows start later in the
        // tile. Sums of the entries behind a row go to places that are not read.
        const Index back = x.cols >= 8 ? 8 - cols : 0;
        if (cols + back < 8) std::fill_n(tile, 8 * (hi - lo), 0.0);
        const T* from = x.data + lo + (j - back) * x.col_stride;
        transpose(from, x.col_stride, hi - lo, cols + back, tile, 8, j + 16 <= x.cols ? 8 * x.col_stride : 0);
        for (Index c = 0; c < rows.classes; ++c)
            if (start[c + 1] > start[c])
                infinite |=
                    add_run<weighted, missing>(tile + back, sums.order.row.data() + start[c], start[c + 1] - start[c],
                                               weighted ? rows.weight + lo : nullptr, c * sums.stride + j, cols, sums);
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
        double weight = rows.weight ? 0.0 : double(n);
        for (Index k = start[c]; rows.weight && k < start[c + 1]; ++k) weight += rows.weight[lo + row[k]];
        sums.weight[c * sums.stride] = weight;
    }
}

// ---- Both.

template <bool weighted, bool missing, class T>
SUFFICE_INLINE bool add_block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, MomentSums& sums) {
    if (!missing && x.col_stride != 1) start_classes(x, rows, lo, sums);
    const bool infinite = x.col_stride == 1 ? add_rows<weighted, missing>(x, rows, lo, hi, sums)
                                            : add_columns<weighted, missing>(x, rows, lo, hi, sums);
    if (!missing)
        for (Index c = 0; c < rows.classes; ++c)
            std::fill_n(sums.weight + c * sums.stride, x.cols, sums.weight[c * sums.stride]);
    return infinite;
}

template <class T>
SUFFICE_INLINE bool block(const Matrix<T>& x, const Rows& rows, Index lo, Index hi, bool missing, MomentSums& sums) {
    if (rows.weight)
        return missing ? add_block<true, true>(x, rows, lo, hi, sums) : add_block<true, false>(x, rows, lo, hi, sums);
    return missing ? add_block<false, true>(x, rows, lo, hi, sums) : add_block<false, false>(x, rows, lo, hi, sums);
}

}  // namespace

SUFFICE_CLONES bool moments_block(const Matrix<double>& x, const Rows& rows, Index lo, Index hi, bool missing,
                                  MomentSums& sums) {
    return block(x, rows, lo, hi, missing, sums);
}
SUFFICE_CLONES bool moments_block(const Matrix<float>& x, const Rows& rows, Index lo, Index hi, bool missing,
                                  MomentSums& sums) {
    return block(x, rows, lo, hi, missing, sums);
}

// Add the sums of a block to the moments of a class, by the pairwise formula.
SUFFICE_CLONES void merge_moments(Index cols, const double* __restrict w, const double* __restrict pivot,
                                  const double* __restrict first, const double* __restrict second,
                                  double* __restrict weight, double* __restrict mean, double* __restrict squares) {
#pragma omp simd
    for (Index j = 0; j < cols; ++j) {
        double n = w[j], old = weight[j], sum = old + n;
        bool any = n > 0;
        double inverse = 1 / (any ? n : 1.0), shift = first[j] * inverse;
        double here = pivot[j] + shift;
        double within = second[j] - first[j] * shift;
        within = within < 0 ? 0.0 : within;  // a NaN of sums that overflowed stays
        double share = n / (any ? sum : 1.0), step = here - (old > 0 ? mean[j] : here);
        double moved = old > 0 ? mean[j] + step * share : here;
        double grown = squares[j] + within + step * step * old * share;
        mean[j] = any ? moved : mean[j];
        squares[j] = any ? grown : squares[j];
        weight[j] = sum;
    }
}

template <class T>
Index moments(Matrix<T> x, Rows rows, double* weight, double* mean, double* squares) {
    const Index d = x.cols, k = rows.classes;
    // Large enough that merging k classes costs little compared with reading the block.
    const Index size = std::clamp<Index>(16 * k, 2048, 1 << 16), blocks = (x.rows + size - 1) / size;
    const int threads = threads_for(x.rows * d, blocks);
    std::vector<MomentSums> sums;
    for (int t = 0; t < threads; ++t) sums.emplace_back(k, d, x.col_stride == 1 ? 0 : std::min(size, x.rows));
    std::atomic<bool> expect_missing{false};
    FirstPosition infinite;

    auto work = [&](Index b, int slot) {
        const Index lo = b * size, hi = std::min(x.rows, lo + size);
        MomentSums& s = sums[slot];
        if (x.col_stride != 1) s.order.sort(rows, lo, hi);
        // Code that expects no NaN is faster. A NaN then shows in the sums, and both ways give the same bits.
        bool missing = expect_missing.load(std::memory_order_relaxed);
        s.clear();
        bool found = moments_block(x, rows, lo, hi, missing, s);
        if (!missing) {
            double probe = 0;
            for (Index at = 0; at < s.second.size(); ++at) probe += s.second[at] * 0;
            if (probe != probe) {
                expect_missing.store(true, std::memory_order_relaxed);
                s.clear();
                found = moments_block(x, rows, lo, hi, true, s);
            }
        }
        if (rows.weight && s.off_centre()) {
            s.recentre();
            found = moments_block(x, rows, lo, hi, true, s);  // keeps the pivots
        }
        if (found)
            for (Index i = lo; i < hi; ++i)
                for (Index j = 0; j < d && (!rows.weight || rows.weight[i] != 0); ++j)
                    if (std::isinf(x.data[i * x.row_stride + j * x.col_stride])) infinite.report(i * d + j);
    };
    auto merge = [&](Index, int slot) {
        const MomentSums& s = sums[slot];
        for (Index c = 0; c < k; ++c) {
            const Index at = c * s.stride, to = c * d;
            merge_moments(d, s.weight + at, s.pivot + at, s.first + at, s.second + at, weight + to, mean + to,
                          squares + to);
        }
    };
    for_blocks(blocks, threads, work, merge);
    return infinite.get();
}

template Index moments(Matrix<double>, Rows, double*, double*, double*);
template Index moments(Matrix<float>, Rows, double*, double*, double*);

}  // namespace suffice
