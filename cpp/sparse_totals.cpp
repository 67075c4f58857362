// Σ w·x of every class and column of a sparse matrix.
//
// Rows are visited class by class, so that the sums of one class stay in cache. A class is cut into pieces only if it
// would keep one thread busy on its own.
#include <bit>
#include <cmath>
#include <limits>

#include "double_double.hpp"
#include "threads.hpp"

namespace suffice {
namespace {

constexpr std::uint64_t infinity_bits = 0x7FF0000000000000;

struct Piece {
    Index cls, first, last;  // rows order.row[first .. last)
    bool whole;              // the class's only piece: it may write to the output itself
};

template <class T, class I>
class Adder {
public:
    Adder(const Sparse<T, I>& x, const Rows& rows, CountRule rule, const ByClassOrder& order)
        : x_(x), rows_(rows), reading_(rule), order_(order) {}

    // `low` gets what rounding takes from the sums, unless it is null.
    void add(const Piece& piece, double* __restrict sum, double* __restrict low) {
        for (Index k = piece.first; k < piece.last; ++k) {
            const Index i = order_.row[k];
            if (k + 2 < piece.last) {  // rows of a class are apart in memory: prefetch the next ones
                const Index first = x_.indptr[order_.row[k + 2]], last = x_.indptr[order_.row[k + 2] + 1];
                for (Index e = first; e < last; e += 64 / sizeof(I)) prefetch(x_.indices + e);
                for (Index e = first; e < last; e += 64 / sizeof(T)) prefetch(x_.data + e);
            }
            const double w = rows_.weight ? rows_.weight[i] : 1.0;
            if (low)
                reading_.binarize ? add_row<true, true>(i, w, sum, low) : add_row<false, true>(i, w, sum, low);
            else
                reading_.binarize ? add_row<true, false>(i, w, sum, low) : add_row<false, false>(i, w, sum, low);
        }
    }
    Index refused = -1;
    SparseFindings found{};

private:
    template <bool binarize, bool exact>
    void add_row(Index i, double w, double* __restrict sum, double* __restrict low) {
        I before = -1;
        bool increases = true;
        for (Index e = x_.indptr[i]; e < x_.indptr[i + 1]; ++e) {
            const I j = x_.indices[e];
            double v = x_.data[e];
            if (std::uint64_t(j) >= std::uint64_t(x_.cols)) [[unlikely]] {
                found.malformed = true;
                continue;
            }
            increases &= j > before;
            before = j;
            // One comparison for the usual value, which is finite and not negative.
            if (std::bit_cast<std::uint64_t>(v) >= infinity_bits) [[unlikely]]
                v = unusual(i, j, v);
            if constexpr (binarize) v = v > reading_.threshold ? 1.0 : 0.0;
            if constexpr (exact) {
                const Pair term = rows_.weight ? two_product(w, v) : Pair{v, 0};
                add_to(sum[j], low[j], term.high);
                low[j] += term.low;
            } else {
                sum[j] += w * v;
            }
        }
        found.duplicate |= !increases;
    }
    double unusual(Index i, Index j, double v) {
        if (v != v) {
            found.missing = true;
            return 0;
        }
        if (std::isinf(v) || (v < 0 && !reading_.binarize)) refused = refused < 0 ? i * x_.cols + j : refused;
        return v;
    }

    const Sparse<T, I>& x_;
    const Rows& rows_;
    CountRule reading_;
    const ByClassOrder& order_;
};

}  // namespace

template <class T, class I>
Index sparse_totals(Sparse<T, I> x, Rows rows, CountRule rule, double* total, double* low, SparseFindings* found) {
    ByClassOrder order;
    order.sort_in_threads(rows, x.rows);

    // A piece must be long compared with the sums that it is merged into.
    const Index stored = x.rows ? x.indptr[x.rows] : 0;
    const Index piece_size = std::max<Index>({Index(1) << 20, 8 * x.cols, stored / 64});
    std::vector<Piece> pieces;
    for (Index c = 0; c < rows.classes; ++c) {
        Index first = order.start[c], last = order.start[c + 1], size = 0, begun = first;
        for (Index k = first; k < last; ++k) {
            size += x.indptr[order.row[k] + 1] - x.indptr[order.row[k]];
            if (size >= piece_size || k + 1 == last) {
                pieces.push_back({c, begun, k + 1, begun == first && k + 1 == last});
                begun = k + 1, size = 0;
            }
        }
    }
    const int threads = threads_for(stored, Index(pieces.size()));
    std::vector<Adder<T, I>> adders(threads, Adder<T, I>(x, rows, rule, order));
    std::vector<std::vector<double>> sums(threads);

    auto work = [&](Index b, int slot) {
        const Piece& piece = pieces[b];
        const Index at = piece.cls * x.cols;
        if (piece.whole) return adders[slot].add(piece, total + at, low ? low + at : nullptr);
        sums[slot].assign(low ? 2 * x.cols : x.cols, 0.0);
        adders[slot].add(piece, sums[slot].data(), low ? sums[slot].data() + x.cols : nullptr);
    };
    auto merge = [&](Index b, int slot) {
        if (pieces[b].whole) return;
        const Index at = pieces[b].cls * x.cols;
        for (Index j = 0; j < x.cols; ++j) {
            if (low)
                add_to(total[at + j], low[at + j], sums[slot][j]), low[at + j] += sums[slot][x.cols + j];
            else
                total[at + j] += sums[slot][j];
        }
    };
    for_blocks(Index(pieces.size()), threads, work, merge);

    FirstPosition refused;
    *found = {};
    for (const auto& adder : adders) {
        refused.report(adder.refused);
        found->missing |= adder.found.missing;
        found->duplicate |= adder.found.duplicate;
        found->malformed |= adder.found.malformed;
    }
    return refused.get();
}

template Index sparse_totals(Sparse<double, std::int32_t>, Rows, CountRule, double*, double*, SparseFindings*);
template Index sparse_totals(Sparse<double, std::int64_t>, Rows, CountRule, double*, double*, SparseFindings*);
template Index sparse_totals(Sparse<float, std::int32_t>, Rows, CountRule, double*, double*, SparseFindings*);
template Index sparse_totals(Sparse<float, std::int64_t>, Rows, CountRule, double*, double*, SparseFindings*);

}  // namespace suffice
