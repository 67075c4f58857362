// Weight, mean and centred cross-products of the rows of each class.
//
// Rows are read class by class, some thousand at a time. A pivot near their mean is subtracted, so that no digits are
// lost where the mean is large. The rows are packed into a panel that stays in cache, and multiplied in registers. Only
// the half at and above the diagonal is computed.
#include <cmath>

#include "buffer.hpp"
#include "transpose.hpp"

namespace suffice {
namespace {

constexpr Index panel_rows = 64, unit_rows = 2048, pivot_rows = 64;

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
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) sum[r][v] += held[v] * left[r];
    }
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) reinterpret_cast<Lanes*>(to + r * to_stride)[v] += sum[r][v];
}

// panel[k] = (x - pivot) √w of one row, padded with zeros; false if an entry is not finite.
template <class T>
SUFFICE_INLINE bool pack(const T* __restrict x, const double* __restrict pivot, Index d, double root,
                         double* __restrict panel) {
    double probe = 0;
#pragma omp simd reduction(+ : probe)
    for (Index j = 0; j < d; ++j) {
        const double z = (double(x[j]) - pivot[j]) * root;
        panel[j] = z;
        probe += z * 0.0;
    }
    return probe == 0;
}

}  // namespace

#define SUFFICE_PACK(T)                                                                                      \
    SUFFICE_CLONES bool scatter_pack(const T* x, const double* pivot, Index d, double root, double* panel) { \
        return pack(x, pivot, d, root, panel);                                                               \
    }
SUFFICE_PACK(double)
SUFFICE_PACK(float)

// cross[i, j] += Σ_k panel[k, i] panel[k, j] for j ≥ i; sum[j] += Σ_k root[k] panel[k, j].
SUFFICE_CLONES void scatter_panel(const double* panel, const double* root, Index depth, Index stride, double* sum,
                                  double* cross) {
    for (Index k = 0; k < depth; ++k)
        for (Index j = 0; j < stride; ++j) sum[j] += root[k] * panel[k * stride + j];
    for (Index i = 0; i < stride; i += 8) {
        Index j = i;
        for (; j + 24 <= stride; j += 24)
            add_product<8, 3>(panel + i, stride, panel + j, stride, depth, cross + i * stride + j, stride);
        if (j + 16 <= stride) {
            add_product<8, 2>(panel + i, stride, panel + j, stride, depth, cross + i * stride + j, stride);
            j += 16;
        }
        if (j < stride) add_product<8, 1>(panel + i, stride, panel + j, stride, depth, cross + i * stride + j, stride);
    }
}

namespace {

struct Unit {
    Index cls, lo, hi;  // rows order[lo .. hi-1] of one class
};

struct Scratch {
    Buffer panel, root, sum, cross;
    double weight = 0;
    explicit Scratch(Index stride)
        : panel(panel_rows * stride), root(panel_rows), sum(stride), cross(stride * stride) {}
};

// The mean of some evenly spaced rows of each class: a pivot near the others.
template <class T>
void find_pivots(const Matrix<T>& x, const ByClassOrder& order, Index classes, double* pivot) {
    const Index d = x.cols;
    std::vector<double> sum(d), seen(d);
    for (Index c = 0; c < classes; ++c) {
        const Index n = order.start[c + 1] - order.start[c], step = std::max<Index>(1, n / pivot_rows);
        std::fill(sum.begin(), sum.end(), 0.0);
        std::fill(seen.begin(), seen.end(), 0.0);
        for (Index k = 0; k < n; k += step) {
            const T* row = x.data + order.row[order.start[c] + k] * x.row_stride;
            for (Index j = 0; j < d; ++j)
                if (std::isfinite(row[j])) sum[j] += row[j], seen[j] += 1;
        }
        for (Index j = 0; j < d; ++j) pivot[c * d + j] = seen[j] > 0 ? sum[j] / seen[j] : 0.0;
    }
}

}  // namespace

template <class T>
Index scatter(Matrix<T> x, Rows rows, double* weight, double* mean, double* cross, bool* incomplete) {
    const Index d = x.cols, stride = padded(d), classes = rows.classes;
    ByClassOrder order;
    order.sort(rows, 0, x.rows);
    std::vector<double> pivot(classes * d);
    find_pivots(x, order, classes, pivot.data());
    std::vector<Unit> units;
    for (Index c = 0; c < classes; ++c)
        for (Index lo = order.start[c]; lo < order.start[c + 1]; lo += unit_rows)
            units.push_back({c, lo, std::min(order.start[c + 1], lo + unit_rows)});
    const int threads = threads_for(x.rows * d * (d + 8) / 8, Index(units.size()));
    std::vector<Scratch> scratch;
    for (int t = 0; t < threads; ++t) scratch.emplace_back(stride);
    FirstPosition infinite;
    auto work = [&](Index u, int slot) {
        const Unit& unit = units[u];
        Scratch& s = scratch[slot];
        s.sum.fill(0.0);
        s.cross.fill(0.0);
        s.weight = 0;
        const double* origin = pivot.data() + unit.cls * d;
        Index depth = 0;
        for (Index k = unit.lo; k < unit.hi; ++k) {
            const Index i = order.row[k];
            const T* row = x.data + i * x.row_stride;
            if (k + 8 < unit.hi) {
                const char* ahead = reinterpret_cast<const char*>(x.data + order.row[k + 8] * x.row_stride);
                for (Index byte = 0; byte < d * Index(sizeof(T)); byte += 64) __builtin_prefetch(ahead + byte, 0, 2);
            }
            const double w = rows.weight ? rows.weight[i] : 1.0, root = std::sqrt(w);
            if (!scatter_pack(row, origin, d, root, s.panel + depth * stride)) {
                incomplete[i] = true;
                for (Index j = 0; j < d; ++j)
                    if (std::isinf(row[j])) {
                        infinite.report(i * d + j);
                        break;
                    }
                std::fill_n(s.panel + depth * stride, d, 0.0);
                continue;
            }
            s.root[depth++] = root;
            s.weight += w;
            if (depth == panel_rows || k + 1 == unit.hi) {
                scatter_panel(s.panel.data(), s.root.data(), depth, stride, s.sum.data(), s.cross.data());
                depth = 0;
            }
        }
        if (depth) scatter_panel(s.panel.data(), s.root.data(), depth, stride, s.sum.data(), s.cross.data());
    };
    auto merge = [&](Index u, int slot) {
        const Index c = units[u].cls;
        const Scratch& s = scratch[slot];
        weight[c] += s.weight;
        for (Index j = 0; j < d; ++j) mean[c * d + j] += s.sum[j];
        for (Index i = 0; i < d; ++i)
            for (Index j = i; j < d; ++j) cross[(c * d + i) * d + j] += s.cross[i * stride + j];
    };
    for_blocks(Index(units.size()), threads, work, merge);
    for (Index c = 0; c < classes; ++c) {
        double *sum = mean + c * d, *own = cross + c * d * d, w = weight[c];
        if (!(w > 0)) continue;
        for (Index i = 0; i < d; ++i)
            for (Index j = i; j < d; ++j) own[i * d + j] -= sum[i] * (sum[j] / w);
        for (Index i = 0; i < d; ++i) {
            own[i * d + i] = std::max(own[i * d + i], 0.0);
            for (Index j = 0; j < i; ++j) own[i * d + j] = own[j * d + i];
        }
        for (Index j = 0; j < d; ++j) sum[j] = pivot[c * d + j] + sum[j] / w;
    }
    return infinite.get();
}

template Index scatter(Matrix<double>, Rows, double*, double*, double*, bool*);
template Index scatter(Matrix<float>, Rows, double*, double*, double*, bool*);

}  // namespace suffice
