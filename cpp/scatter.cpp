// Weight, mean and centred cross-products of the rows of each class.
//
// Rows are read class by class, some thousand at a time. A pivot near their mean is subtracted, so that no digits are
// lost where the mean is large. The rows are packed into a panel that stays in cache, and multiplied in registers. Only
// the half at and above the diagonal is computed. Few rows, and rows of which some outweigh the others, are summed
// exactly instead, with what rounding takes from each product.
#include <cmath>

#include "buffer.hpp"
#include "scatter_sums.hpp"
#include "threads.hpp"
#include "transpose.hpp"

namespace suffice {
namespace {

// to[r * to_stride + c] += Σ_k left[k * left_stride + r] right[k * right_stride + c] for a block of `rows` rows and
// 8 * `vectors` columns.
template <int rows, int vectors>
SUFFICE_INLINE void add_product(const double* left, Index left_stride, const double* right, Index right_stride,
                                Index depth, double* to, Index to_stride) {
    Lanes sum[rows][vectors] = {};
    for (Index k = 0; k < depth; ++k, left += left_stride, right += right_stride) {
        const Lanes* b = reinterpret_cast<const Lanes*>(right);
        Lanes held[vectors];
        for (int v = 0; v < vectors; ++v) held[v] = b[v];
        SUFFICE_UNROLL(8)
        for (int r = 0; r < rows; ++r) SUFFICE_UNROLL(4)
        for (int v = 0; v < vectors; ++v) sum[r][v] += held[v] * left[r];
    }
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) reinterpret_cast<Lanes*>(to + r * to_stride)[v] += sum[r][v];
}

// panel[k] = (x - pivot) √w of one row, padded with zeros; false if an entry is not finite.
template <class T>
bool pack(const T* __restrict x, const double* __restrict pivot, Index d, double root, double* __restrict panel) {
    double probe = 0;
#pragma omp simd reduction(+ : probe)
    for (Index j = 0; j < d; ++j) {
        const double z = (double(x[j]) - pivot[j]) * root;
        panel[j] = z;
        probe += z * 0.0;
    }
    return probe == 0;
}

// cross[i, j] += Σ_k panel[k, i] panel[k, j] for j ≥ i; sum[j] += Σ_k root[k] panel[k, j].
void add_panel(const double* panel, const double* root, Index depth, Index stride, double* sum, double* cross) {
    for (Index k = 0; k < depth; ++k)
        for (Index j = 0; j < stride; ++j) sum[j] += root[k] * panel[k * stride + j];
    // As many sums as registers hold.
    constexpr int rows = register_bytes == 64 ? 8 : 4, most = register_bytes == 64 ? 3 : 1;
    for (Index i = 0; i < stride; i += rows) {
        Index j = i / 8 * 8;
        auto add = [&]<int vectors>(std::integral_constant<int, vectors>) SUFFICE_INLINE_LAMBDA {
            for (; j + 8 * vectors <= stride; j += 8 * vectors)
                add_product<rows, vectors>(panel + i, stride, panel + j, stride, depth, cross + i * stride + j, stride);
        };
        if constexpr (most > 1) {
            add(std::integral_constant<int, 3>());
            add(std::integral_constant<int, 2>());
        }
        add(std::integral_constant<int, 1>());
    }
}

}  // namespace

SUFFICE_DISPATCH(scatter_pack, pack<double>, pack<float>)
SUFFICE_DISPATCH(scatter_panel, add_panel)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr Index panel_rows = 64, unit_rows = 2048, pivot_rows = 64;

struct Unit {
    Index cls, lo, hi;  // rows order[lo .. hi-1] of one class
};

struct Scratch {
    Buffer panel, root, sum, cross;
    double weight[2] = {};  // and what rounding took from it
    explicit Scratch(Index stride)
        : panel(panel_rows * stride), root(panel_rows), sum(stride), cross(stride * stride) {}
};

// The median of some evenly spaced rows of each class: a pivot near the others, also if one of them is far out. `typical`
// gets the median of the squares of their distances from it, but for those that are 0.
template <class T>
void find_pivots(const Matrix<T>& x, const ByClassOrder& order, Index classes, double* pivot, double* typical) {
    const Index d = x.cols;
    auto median = [](std::vector<double>& some) {
        const auto middle = some.begin() + Index(some.size()) / 2;
        std::nth_element(some.begin(), middle, some.end());
        return some.empty() ? 0.0 : *middle;
    };
    for_blocks(classes, threads_for(classes * d * 2 * pivot_rows * 16, classes), [&](Index c, int) {
        const Index n = order.start[c + 1] - order.start[c], step = std::max<Index>(1, n / pivot_rows);
        std::vector<T> taken;  // row by row, which are far apart in memory
        for (Index k = 0; k < n; k += step) {
            const T* row = x.data + order.row[order.start[c] + k] * x.row_stride;
            taken.insert(taken.end(), row, row + d);
        }
        std::vector<double> some;
        for (Index j = 0; j < d; ++j) {
            some.clear();
            for (Index at = j; at < Index(taken.size()); at += d)
                if (std::isfinite(taken[at])) some.push_back(taken[at]);
            const double centre = pivot[c * d + j] = median(some);
            for (double& v : some) v = (v - centre) * (v - centre);
            std::erase(some, 0.0);
            typical[c * d + j] = median(some);
        }
    });
}

bool unequal(const double* weight, Index n) {
    double least = 0, most = 0;
    for (Index i = 0; i < n; ++i) {
        most = std::max(most, weight[i]);
        if (weight[i] > 0 && (least == 0 || weight[i] < least)) least = weight[i];
    }
    return most > unequal_weights * least;
}

constexpr Index few_products = 1 << 16;  // so few are summed exactly in no time

}  // namespace

template <class T>
Index scatter(Matrix<T> x, Rows rows, double* weight, double* mean, double* cross, double* rest, bool* incomplete) {
    const Index d = x.cols, stride = padded(d), classes = rows.classes;
    ByClassOrder order;
    order.sort_in_threads(rows, x.rows);
    std::vector<double> pivot(classes * d), typical(classes * d);
    find_pivots(x, order, classes, pivot.data(), typical.data());
    std::vector<Unit> units;
    for (Index c = 0; c < classes; ++c)
        for (Index lo = order.start[c]; lo < order.start[c + 1]; lo += unit_rows)
            units.push_back({c, lo, std::min(order.start[c + 1], lo + unit_rows)});
    const int threads = threads_for(x.rows * d * (d + 8) / 8, Index(units.size()));
    const Index size = ScatterSums::size(d);
    std::vector<double> all(classes * size);
    auto sums_of = [&](Index c) { return ScatterSums{d, all.data() + c * size}; };
    FirstPosition infinite;
    auto is_incomplete = [&](Index i, const T* row) {
        incomplete[i] = true;
        for (Index j = 0; j < d; ++j)
            if (std::isinf(row[j])) return infinite.report(i * d + j);
    };

    auto sum_panels = [&] {
        std::vector<Scratch> scratch;
        for (int t = 0; t < threads; ++t) scratch.emplace_back(stride);
        auto work = [&](Index u, int slot) {
            const Unit& unit = units[u];
            Scratch& s = scratch[slot];
            s.sum.fill(0.0);
            s.cross.fill(0.0);
            s.weight[0] = s.weight[1] = 0;
            const double* origin = pivot.data() + unit.cls * d;
            Index depth = 0;
            for (Index k = unit.lo; k < unit.hi; ++k) {
                const Index i = order.row[k];
                const T* row = x.data + i * x.row_stride;
                if (k + 8 < unit.hi) {
                    const char* ahead = reinterpret_cast<const char*>(x.data + order.row[k + 8] * x.row_stride);
                    for (Index byte = 0; byte < d * Index(sizeof(T)); byte += 64) prefetch_later(ahead + byte);
                }
                const double w = rows.weight ? rows.weight[i] : 1.0, root = std::sqrt(w);
                if (!fast::scatter_pack(row, origin, d, root, s.panel + depth * stride)) {
                    is_incomplete(i, row);
                    std::fill_n(s.panel + depth * stride, d, 0.0);
                    continue;
                }
                s.root[depth++] = root;
                rows.weight ? add_plain(&w, nullptr, 1, s.weight, s.weight + 1) : void(s.weight[0] += 1);
                if (depth == panel_rows || k + 1 == unit.hi) {
                    fast::scatter_panel(s.panel.data(), s.root.data(), depth, stride, s.sum.data(), s.cross.data());
                    depth = 0;
                }
            }
            if (depth) fast::scatter_panel(s.panel.data(), s.root.data(), depth, stride, s.sum.data(), s.cross.data());
        };
        auto merge = [&](Index u, int slot) {
            const ScatterSums to = sums_of(units[u].cls);
            const Scratch& s = scratch[slot];
            add_plain(s.weight, s.weight + 1, 1, to.weight(), to.weight() + 1);
            add_plain(s.sum.data(), nullptr, d, to.sum(), to.sum() + d);
            for (Index i = 0; i < d; ++i)
                add_plain(s.cross + i * stride + i, nullptr, d - i, to.cross() + i * d + i,
                          to.cross() + (d + i) * d + i);
        };
        for_blocks(Index(units.size()), threads, work, merge);
    };
    // Whether the pivot of a class is far from its mean, compared with the spread, and whether rows are far from the others.
    auto is_off = [&](Index c, Index j, double least) {
        const ScatterSums own = sums_of(c);
        const double w = own.weight()[0], sum = own.sum()[j], second = own.cross()[j * d + j];
        return w > 0 && second > 0 && std::isfinite(second) && second - sum * (sum / w) < least * second;
    };
    auto is_dominated = [&](Index c, Index j) {
        const double usual = typical[c * d + j];
        return usual > 0 && sums_of(c).cross()[j * d + j] > 0x1p20 * usual * sums_of(c).weight()[0];
    };
    auto any = [&](auto holds) {
        bool found = false;
        for (Index c = 0; c < classes; ++c)
            for (Index j = 0; j < d; ++j) found |= holds(c, j);
        return found;
    };
    auto sum_exactly = [&] {
        std::vector<std::vector<double>> scratch(threads, std::vector<double>(size + 3 * d));
        auto work = [&](Index u, int slot) {
            std::fill(scratch[slot].begin(), scratch[slot].end(), 0.0);
            double* row = scratch[slot].data() + size;
            for (Index k = units[u].lo; k < units[u].hi; ++k) {
                const Index i = order.row[k];
                const T* from = x.data + i * x.row_stride;
                const double* origin = pivot.data() + units[u].cls * d;
                bool finite = true;
                for (Index j = 0; j < d; ++j) row[j] = from[j], finite &= std::isfinite(row[j] - origin[j]);
                if (finite)
                    add_product(row, origin, rows.weight ? rows.weight[i] : 1.0, row + d, row + 2 * d,
                                {d, scratch[slot].data()});
                else
                    is_incomplete(i, from);
            }
        };
        auto merge = [&](Index u, int slot) {
            const ScatterSums from{d, scratch[slot].data()}, to = sums_of(units[u].cls);
            add_plain(from.weight(), from.weight() + 1, 1, to.weight(), to.weight() + 1);
            add_plain(from.sum(), from.sum() + d, d, to.sum(), to.sum() + d);
            add_plain(from.cross(), from.cross() + d * d, d * d, to.cross(), to.cross() + d * d);
        };
        std::fill(all.begin(), all.end(), 0.0);
        for_blocks(Index(units.size()), threads, work, merge);
    };
    bool exact = x.rows * d * d <= few_products || (rows.weight && unequal(rows.weight, x.rows));
    if (!exact) {
        sum_panels();
        exact = any([&](Index c, Index j) { return is_off(c, j, 1e-8) || is_dominated(c, j); });
    }
    if (exact) {
        sum_exactly();
        std::vector<double> centre = pivot;  // a heavy row may be far from the pivot
        const bool off = any([&](Index c, Index j) {
            if (!is_off(c, j, 0x1p-20)) return false;
            centre[c * d + j] += sums_of(c).sum()[j] / sums_of(c).weight()[0];
            return true;
        });
        pivot = std::move(centre);
        if (off) sum_exactly();
    }
    const Index width = 2 + 3 * d + d * d;
    for (Index c = 0; c < classes; ++c) {
        const Index own_rows = std::max<Index>(order.start[c + 1] - order.start[c], 1);
        finish_scatter(sums_of(c), pivot.data() + c * d, exact ? own_rows : 0,
                       {weight + c, mean + c * d, cross + c * d * d, rest + c * width});
    }
    return infinite.get();
}

template Index scatter(Matrix<double>, Rows, double*, double*, double*, double*, bool*);
template Index scatter(Matrix<float>, Rows, double*, double*, double*, double*, bool*);

#endif

}  // namespace suffice
