// Kernel density estimates of one column: log Σ_s w_s K((x - s) / h), queries and sources both sorted.
//
// Nearby queries share a box, and the sources are summed once for all of them, as coefficients of a polynomial in
// the query's place u within the box. For the Gaussian kernel, with everything measured in bandwidths from the box's
// centre t and d = (s - s0) / h from the source s0 nearest to t,
//
//     Σ_s w exp(-(x - s)²/2h²) = exp(-(x - s0)²/2h²) · Σ_s B_s e^(u d),   B_s = w exp(-d (d + 2 v0) / 2),
//
// and e^(u d) is expanded in powers of u d. Taking out the nearest source leaves a sum that is at least its weight,
// so there is no underflow however far x is from all sources. Every result is checked against a bound of the terms left
// out. If it fails, or if the query is alone in its box, sources are summed one by one.
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "buffer.hpp"
#include "transpose.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double farthest = 1e150;   // distances in bandwidths are at most this, so that squares stay finite
constexpr double tolerance = 1e-11;  // of the terms that a box leaves out, relative to the sum
constexpr double reach = 1.0;        // half the width of a box, in bandwidths
constexpr int powers = 28;           // terms of the expansion
constexpr Index tile = 32;

// The points of one class: distinct, ascending, with their weights, whose sum is `total`.
struct Sources {
    const double* at;
    const double* weight;
    Index n;
    double total;

    Index first_not_below(double x) const { return std::lower_bound(at, at + n, x) - at; }
    Index nearest(double x) const {
        Index k = first_not_below(x);
        return k == n || (k > 0 && x - at[k - 1] <= at[k] - x) ? k - 1 : k;
    }
};

SUFFICE_INLINE double clamp(double v) { return v < -farthest ? -farthest : v > farthest ? farthest : v; }

// ------------------------------------------------------------------------------------------ Gaussian

// Σ w exp(-d (d + 2 v0) / 2)
SUFFICE_CLONES double gaussian_sum(const double* at, const double* weight, Index n, double s0, double inverse,
                                   double v0) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) {
        const double d = (at[i] - s0) * inverse;
        sum += weight[i] * vector_exp(-0.5 * d * (d + 2.0 * v0));
    }
    return sum;
}

// moment[k] = Σ B d^k
SUFFICE_CLONES void gaussian_moments(const double* at, const double* weight, Index n, double s0, double inverse,
                                     double v0, double* moment) {
    constexpr Index parts = tile / 8;
    Lanes sums[powers] = {};
    alignas(64) double b[tile], d[tile];
    for (Index i = 0; i < n; i += tile) {
        const Index m = std::min(tile, n - i);
        if (m < tile) {
            std::fill_n(b, tile, 0.0);
            std::fill_n(d, tile, 0.0);
        }
#pragma omp simd
        for (Index k = 0; k < m; ++k) {
            d[k] = (at[i + k] - s0) * inverse;
            b[k] = weight[i + k] * vector_exp(-0.5 * d[k] * (d[k] + 2.0 * v0));
        }
        Lanes B[parts], D[parts], Q[parts];
        __builtin_memcpy(B, b, sizeof b);
        __builtin_memcpy(D, d, sizeof d);
        for (Index l = 0; l < parts; ++l) Q[l] = D[l] * D[l];
#pragma GCC unroll 14
        for (int k = 0; k < powers; k += 2) {
            sums[k] += (B[0] + B[1]) + (B[2] + B[3]);
            sums[k + 1] += (B[0] * D[0] + B[1] * D[1]) + (B[2] * D[2] + B[3] * D[3]);
#pragma GCC unroll 4
            for (Index l = 0; l < parts; ++l) B[l] *= Q[l];
        }
    }
    for (int k = 0; k < powers; ++k) {
        double sum = 0;
        for (int l = 0; l < 8; ++l) sum += sums[k][l];
        moment[k] = sum;
    }
}

// sum[i] = Σ_k coefficient[k] u^k, and value[i] = log sum[i] - ((x - s0) / h)² / 2
SUFFICE_CLONES void gaussian_values(const double* x, Index n, double t, double s0, double inverse,
                                    const double* coefficient, double* sum, double* value) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double u = (x[i] - t) * inverse;
        double p = coefficient[powers - 1];
#pragma GCC unroll 28
        for (int k = powers - 2; k >= 0; --k) p = p * u + coefficient[k];
        sum[i] = p;
    }
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double z = clamp((x[i] - s0) * inverse);
        value[i] = vector_log(sum[i]) - 0.5 * z * z;
    }
}

SUFFICE_CLONES double plain_sum(const double* values, Index n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += values[i];
    return sum;
}

// How far from the source nearest to t, in bandwidths, a source may be and still count: d (d + 2a) / 2 ≤ T.
double extent(double T, double a) {
    const double root = std::sqrt(2.0 * T + a * a);
    return a > 0 ? 2.0 * T / (root + a) : root - a;
}

// log Σ w exp(-((x - s)/h)²/2) source by source, `removed` being taken from the weight of the source at x.
double gaussian_at(const Sources& s, double h, double x, double removed) {
    const double inverse = 1.0 / h;
    Index k = s.nearest(x), own = -1;
    double left = s.weight[k];
    if (removed > 0) {
        own = k;
        left -= removed;
        if (left <= residue * s.weight[k]) {
            left = 0;
            if (s.n == 1) return -infinity;
            k = k == 0 || (k + 1 < s.n && s.at[k + 1] - x < x - s.at[k - 1]) ? k + 1 : k - 1;
        }
    }
    const double s0 = s.at[k], v0 = clamp((s0 - x) * inverse), w0 = k == own ? left : s.weight[k];
    const double T = std::min(700.0, std::log(s.total / w0) - std::log(tolerance));
    const Index lo = s.first_not_below(s0 - extent(T, -v0) * h);
    Index hi = std::upper_bound(s.at + lo, s.at + s.n, s0 + extent(T, v0) * h) - s.at;
    hi = std::max(hi, k + 1);
    double sum;
    if (own < 0) {
        sum = gaussian_sum(s.at + lo, s.weight + lo, hi - lo, s0, inverse, v0);
    } else {
        const double v = (s.at[own] - s0) * inverse;
        sum = gaussian_sum(s.at + lo, s.weight + lo, own - lo, s0, inverse, v0) +
              gaussian_sum(s.at + own + 1, s.weight + own + 1, hi - own - 1, s0, inverse, v0);
        if (left > 0) sum += left * std::exp(-0.5 * v * (v + 2.0 * v0));
    }
    return std::log(sum) - 0.5 * v0 * v0;
}

// value[i] = log(exp value[i] - removed[i]); sum[i] is set to -1 where few digits of it are left.
SUFFICE_CLONES void take_away(const double* removed, Index n, double* sum, double* value) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double whole = vector_exp(value[i]), others = whole - removed[i];
        const bool right = others > 0.2 * whole && whole >= std::numeric_limits<double>::min();
        const double rest = vector_log(right ? others : 1.0);
        value[i] = removed[i] > 0 ? rest : value[i];
        sum[i] = right || !(removed[i] > 0) ? sum[i] : -1.0;
    }
}

// The same for a box of queries, removed[i] (null: 0) from the source at x[i].
void gaussian_box(const Sources& s, double h, const double* x, const double* removed, Index n, double* sum,
                  double* value) {
    const double inverse = 1.0 / h, t = x[0] + 0.5 * (x[n - 1] - x[0]);
    const double half = std::max(x[n - 1] - t, t - x[0]) * inverse;
    const Index k = s.nearest(t);
    const double s0 = s.at[k], v0 = clamp((s0 - t) * inverse);
    const Index near_lo = s.first_not_below(t - h), near_hi = std::max(near_lo, s.first_not_below(t + h));
    // Sources within a bandwidth of t are within two of every query, and exp(-2²/2) > 0.13.
    const double least = std::max(s.weight[k], 0.13 * plain_sum(s.weight + near_lo, near_hi - near_lo));
    const double T = std::min(700.0, std::log(s.total / least) - std::log(tolerance));
    const Index lo = std::min(k, s.first_not_below(s0 - extent(T, -(v0 + half)) * h));
    const Index hi = std::max<Index>(k + 1, s.first_not_below(s0 + extent(T, v0 - half) * h));
    const double farther = std::max(s.at[hi - 1] - s0, s0 - s.at[lo]) * inverse, y = half * farther;
    double threshold = infinity;
    if (y <= 0.5 * powers) {
        alignas(64) double c[powers];
        gaussian_moments(s.at + lo, s.weight + lo, hi - lo, s0, inverse, v0, c);
        double magnitude = 0, term = 0, power = 1;  // power = half^k
        for (int j = 0; j < powers; ++j) {
            if (j > 0) {
                double factorial = 1;
                for (int f = 2; f <= j; ++f) factorial *= f;
                c[j] /= factorial;
                power *= half;
            }
            if (j % 2 == 0) magnitude += term = c[j] * power;
        }
        // What the series leaves out: from here on each even term is at most a quarter of the one before.
        const double rest = 2.7 * term * y * y / (powers * (powers - 1.0));
        // Beyond: sources outside the window, rounding, and the series.
        threshold = std::max({s.total * std::exp(-T) / tolerance * (1.0 - 1e-9), 2e-5 * magnitude, rest / tolerance});
        gaussian_values(x, n, t, s0, inverse, c, sum, value);
    }
    const bool expanded = threshold < infinity;
    for (Index i = 0; i < n; ++i)
        if (!(expanded && sum[i] >= threshold && sum[i] >= std::numeric_limits<double>::min())) sum[i] = -1;
    if (removed && expanded) take_away(removed, n, sum, value);
    for (Index i = 0; i < n; ++i)
        if (sum[i] < 0) value[i] = gaussian_at(s, h, x[i], removed ? removed[i] : 0.0);
}

void gaussian_logs(const Sources& s, double h, const double* x, const double* removed, Index n, double* sum,
                   double* value) {
    for (Index i = 0, j; i < n; i = j) {
        const double end = x[i] + 2.0 * reach * h;
        for (j = i + 1; j < n && x[j] <= end;) ++j;
        if (j - i >= 3) {
            gaussian_box(s, h, x + i, removed ? removed + i : nullptr, j - i, sum + i, value + i);
        } else {
            for (Index k = i; k < j; ++k) value[k] = gaussian_at(s, h, x[k], removed ? removed[k] : 0.0);
        }
    }
}

// ------------------------------------------------------------------------------------------ compact kernels

// sin y for |y| ≤ π/2
SUFFICE_INLINE double sine(double y) {
    const double q = y * y;
    double p = -1.0 / 25852016738884976640000.0;
    p = p * q + 1.0 / 51090942171709440000.0;
    p = p * q - 1.0 / 121645100408832000.0;
    p = p * q + 1.0 / 355687428096000.0;
    p = p * q - 1.0 / 1307674368000.0;
    p = p * q + 1.0 / 6227020800.0;
    p = p * q - 1.0 / 39916800.0;
    p = p * q + 1.0 / 362880.0;
    p = p * q - 1.0 / 5040.0;
    p = p * q + 1.0 / 120.0;
    p = p * q - 1.0 / 6.0;
    return y + y * q * p;
}

constexpr double half_pi = std::numbers::pi / 2;

// K(z) for |z| ≤ 1, without its constant.
template <Kernel kernel>
SUFFICE_INLINE double shape(double z) {
    const double inside = 1.0 - std::abs(z);
    if constexpr (kernel == Kernel::uniform) return 1.0;
    if constexpr (kernel == Kernel::triangular) return inside;
    if constexpr (kernel == Kernel::cosine) return sine(half_pi * inside);
    const double bow = inside * (1.0 + std::abs(z));  // 1 - z², accurate near the edge
    return kernel == Kernel::biweight ? bow * bow : bow;
}

// The constant that makes K a density, and K's standard deviation.
struct Scale {
    double constant, deviation;
};
Scale scale_of(Kernel kernel) {
    switch (kernel) {
        case Kernel::uniform: return {0.5, 1.0 / std::sqrt(3.0)};
        case Kernel::triangular: return {1.0, 1.0 / std::sqrt(6.0)};
        case Kernel::epanechnikov: return {0.75, 1.0 / std::sqrt(5.0)};
        case Kernel::biweight: return {15.0 / 16.0, 1.0 / std::sqrt(7.0)};
        case Kernel::cosine:
            return {std::numbers::pi / 4, std::sqrt(1.0 - 8.0 / (std::numbers::pi * std::numbers::pi))};
        default: return {1.0, 1.0};
    }
}

// Call `use` with the kernel as a compile-time constant.
template <class Use>
SUFFICE_INLINE auto with_kernel(Kernel kernel, Use use) {
    switch (kernel) {
        case Kernel::uniform: return use(std::integral_constant<Kernel, Kernel::uniform>{});
        case Kernel::triangular: return use(std::integral_constant<Kernel, Kernel::triangular>{});
        case Kernel::biweight: return use(std::integral_constant<Kernel, Kernel::biweight>{});
        case Kernel::cosine: return use(std::integral_constant<Kernel, Kernel::cosine>{});
        default: return use(std::integral_constant<Kernel, Kernel::epanechnikov>{});
    }
}

template <Kernel kernel>
SUFFICE_INLINE double shape_sum(const double* at, const double* weight, Index n, double x, double inverse) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += weight[i] * shape<kernel>((x - at[i]) * inverse);
    return sum;
}

// Σ w K((x - s) / h) without K's constant, over sources that all are within h of x.
SUFFICE_CLONES double compact_sum(Kernel kernel, const double* at, const double* weight, Index n, double x,
                                  double inverse) {
    return with_kernel(
        kernel, [&](auto k) SUFFICE_INLINE_LAMBDA { return shape_sum<decltype(k)::value>(at, weight, n, x, inverse); });
}

constexpr int terms = 5;

// Coefficients of Σ w K(u - v) as a polynomial in u, for the cosine kernel of cos and sin πu/2: added to c.
template <Kernel kernel>
SUFFICE_INLINE void add_shape_terms(const double* at, const double* weight, Index n, double t, double inverse,
                                    double side, double* c) {
    double a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0;
#pragma omp simd reduction(+ : a0, a1, a2, a3, a4)
    for (Index i = 0; i < n; ++i) {
        const double w = weight[i], v = (at[i] - t) * inverse;
        if constexpr (kernel == Kernel::uniform) a0 += w;
        if constexpr (kernel == Kernel::triangular) {  // 1 - side (u - v)
            a0 += w * (1.0 + side * v);
            a1 -= w * side;
        }
        if constexpr (kernel == Kernel::cosine) {
            a0 += w * sine(half_pi * (1.0 - std::abs(v)));
            a1 += w * sine(half_pi * v);
        }
        if constexpr (kernel == Kernel::epanechnikov) {
            a0 += w * (1.0 - std::abs(v)) * (1.0 + std::abs(v));
            a1 += w * 2.0 * v;
            a2 -= w;
        }
        if constexpr (kernel == Kernel::biweight) {
            const double bow = (1.0 - std::abs(v)) * (1.0 + std::abs(v));
            a0 += w * bow * bow;
            a1 += w * 4.0 * bow * v;
            a2 += w * (4.0 * v * v - 2.0 * bow);
            a3 -= w * 4.0 * v;
            a4 += w;
        }
    }
    c[0] += a0, c[1] += a1, c[2] += a2, c[3] += a3, c[4] += a4;
}

SUFFICE_CLONES void compact_terms(Kernel kernel, const double* at, const double* weight, Index n, double t,
                                  double inverse, double side, double* c) {
    with_kernel(kernel, [&](auto k) SUFFICE_INLINE_LAMBDA {
        add_shape_terms<decltype(k)::value>(at, weight, n, t, inverse, side, c);
    });
}

// The sources within h of x, by the rounded difference.
struct Window {
    Index lo, hi;
    void move(const Sources& s, double h, double x) {
        while (lo < s.n && !(x - s.at[lo] < h)) ++lo;
        hi = std::max(hi, lo);
        while (hi < s.n && s.at[hi] - x < h) ++hi;
    }
    static Window around(const Sources& s, double h, double x) {
        const double *end = s.at + s.n, *a = std::partition_point(s.at, end, [&](double p) { return !(x - p < h); }),
                     *b = std::partition_point(a, end, [&](double p) { return p - x < h; });
        return {a - s.at, b - s.at};
    }
};

// Σ w K source by source, `removed` being taken from the weight of the source at x.
double compact_at(Kernel kernel, const Sources& s, double h, Window in, double x, double removed) {
    const double inverse = 1.0 / h;
    if (!(removed > 0)) return compact_sum(kernel, s.at + in.lo, s.weight + in.lo, in.hi - in.lo, x, inverse);
    const Index own = s.nearest(x);
    const double left = s.weight[own] - removed;
    return compact_sum(kernel, s.at + in.lo, s.weight + in.lo, own - in.lo, x, inverse) +
           compact_sum(kernel, s.at + own + 1, s.weight + own + 1, in.hi - own - 1, x, inverse) +
           (left > residue * s.weight[own] ? left : 0.0);
}

void compact_box(Kernel kernel, const Sources& s, double h, Window in, const double* x, const double* removed, Index n,
                 double* sum) {
    const double inverse = 1.0 / h, t = x[0] + 0.5 * (x[n - 1] - x[0]);
    // Sources within h of every query of the box, less those amid the queries where K has its edge there.
    const Index lo = Window::around(s, h, x[n - 1]).lo, hi = std::max(lo, Window::around(s, h, x[0]).hi);
    double c[terms] = {};
    Index amid_lo = lo, amid_hi = lo;
    if (kernel == Kernel::triangular) {
        amid_lo = std::clamp(s.first_not_below(x[0]), lo, hi);
        amid_hi = std::clamp(s.first_not_below(x[n - 1]), lo, hi);
        compact_terms(kernel, s.at + lo, s.weight + lo, amid_lo - lo, t, inverse, 1.0, c);
    }
    compact_terms(kernel, s.at + amid_hi, s.weight + amid_hi, hi - amid_hi, t, inverse, -1.0, c);
    const double least = 1e-4 * plain_sum(s.weight + lo, hi - lo);  // below this, rounding may show
    for (Index i = 0; i < n; ++i) {
        in.move(s, h, x[i]);
        const double u = (x[i] - t) * inverse, r = removed ? removed[i] : 0.0;
        double total = kernel == Kernel::cosine ? c[0] * std::cos(half_pi * u) + c[1] * std::sin(half_pi * u)
                                                : (((c[4] * u + c[3]) * u + c[2]) * u + c[1]) * u + c[0];
        const Index from = std::min(lo, in.hi), to = std::max(hi, in.lo);
        for (auto [a, b] : {Window{in.lo, from}, Window{amid_lo, amid_hi}, Window{to, in.hi}})
            if (a < b) total += compact_sum(kernel, s.at + a, s.weight + a, b - a, x[i], inverse);
        const double others = total - r;
        sum[i] = total >= least && others >= (r > 0 ? 0.2 : 0.0) * total && (r == 0 || others > 0)
                     ? others
                     : compact_at(kernel, s, h, in, x[i], r);
    }
}

// value[i] = log max(Σ w K_h, 1e-12 Σ w G), G being the Gaussian kernel of the same standard deviation.
struct Scratch {
    std::vector<double> sum, value, x, removed, far;
    std::vector<Index> place;
};

void compact_logs(Kernel kernel, const Sources& s, double h, const double* x, const double* removed, Index n,
                  Scratch& scratch, double* value) {
    const auto [constant, deviation] = scale_of(kernel);
    double* sum = scratch.sum.data();
    Window in = Window::around(s, h, x[0]);
    for (Index i = 0, j; i < n; i = j) {
        in.move(s, h, x[i]);
        // A box costs its window once, and each query the sources at the window's moving ends.
        for (j = i + 1; j < n && double(j - i) * (x[j] - x[i]) <= h && x[j] - x[i] <= 0.5 * h;) ++j;
        if (j - i >= 3) {
            compact_box(kernel, s, h, in, x + i, removed ? removed + i : nullptr, j - i, sum + i);
        } else {
            for (Index k = i; k < j; ++k) {
                in.move(s, h, x[k]);
                sum[k] = compact_at(kernel, s, h, in, x[k], removed ? removed[k] : 0.0);
            }
        }
    }
    // Where K is too small to be sure that it is the larger, compute the Gaussian kernel too.
    const double floor = 1e-12, peak = 1.0 / (deviation * std::sqrt(2.0 * std::numbers::pi));
    scratch.x.clear(), scratch.removed.clear(), scratch.place.clear();
    for (Index i = 0; i < n; ++i) {
        value[i] = std::log(constant * sum[i]);
        if (!(constant * sum[i] > floor * peak * s.total)) {
            scratch.x.push_back(x[i]), scratch.place.push_back(i);
            if (removed) scratch.removed.push_back(removed[i]);
        }
    }
    const Index m = Index(scratch.x.size());
    if (!m) return;
    scratch.far.resize(m);
    gaussian_logs(s, h * deviation, scratch.x.data(), removed ? scratch.removed.data() : nullptr, m, sum,
                  scratch.far.data());
    for (Index k = 0; k < m; ++k) {
        double& v = value[scratch.place[k]];
        v = std::max(v, std::log(floor * peak) + scratch.far[k]);
    }
}

// log f without 1 / (total h)
void logs(Kernel kernel, const Sources& s, double h, const double* x, const double* removed, Index n, Scratch& scratch,
          double* value) {
    scratch.sum.resize(n);
    if (kernel != Kernel::gaussian) return compact_logs(kernel, s, h, x, removed, n, scratch, value);
    gaussian_logs(s, h, x, removed, n, scratch.sum.data(), value);
    for (Index i = 0; i < n; ++i) value[i] -= 0.5 * log_2pi;
}

}  // namespace

bool places_within(const Index* order, Index n, Index rows) {
    return std::all_of(order, order + n, [&](Index i) { return i >= 0 && i < rows; });
}

void kernel_log_density(Kernel kernel, const double* x, const Index* order, Index n, const double* removed,
                        Points points, const double* bandwidth, double* out) {
    if (n == 0) return;
    // The blocks depend on the number of queries only, so that boxes and bits are the same for any number of threads.
    const Index size = std::max<Index>(512, (n + 31) / 32), blocks = (n + size - 1) / size,
                jobs = blocks * points.classes;
    const int threads = threads_for((n + points.start[points.classes]) * 16, jobs);
    std::vector<Scratch> scratch(threads);
    for_blocks(jobs, threads, [&](Index job, int slot) {
        const Index c = job / blocks, lo = job % blocks * size, m = std::min(size, n - lo), a = points.start[c];
        const Sources s{points.at + a, points.weight + a, points.start[c + 1] - a, points.total[c]};
        scratch[slot].value.resize(m);
        double* value = scratch[slot].value.data();
        logs(kernel, s, bandwidth[c], x + lo, removed ? removed + lo : nullptr, m, scratch[slot], value);
        const double log_h = std::log(bandwidth[c]), norm = std::log(s.total) + log_h;
        for (Index i = 0; i < m; ++i) {
            const double r = removed ? removed[lo + i] : 0.0;
            out[order[lo + i] * points.classes + c] += value[i] - (r > 0 ? std::log(s.total - r) + log_h : norm);
        }
    });
}

namespace {

// Bandwidths of rows that are left out hardly differ. Between two bandwidths of which one is at most 4 % above the other,
// the logarithm of a sum of Gaussian kernels is a polynomial of the logarithm of the bandwidth: through five of them, it
// is as exact as boxes are, and through fewer if they differ less. So a few passes over boxes answer for all these rows.
constexpr int nodes = 5;
constexpr double most_apart = 0.04;
constexpr Index worth_boxes = 64;

void near_bandwidths(const Sources& s, const double* x, const double* removed, const double* bandwidth,
                     const std::vector<Index>& rows, Scratch& scratch, double* out) {
    const Index n = Index(rows.size());
    double low = infinity, high = 0;
    std::vector<double> at(n), less(n), value(n * nodes);
    for (Index k = 0; k < n; ++k) {
        at[k] = x[rows[k]];
        less[k] = removed[rows[k]];
        low = std::min(low, bandwidth[rows[k]]);
        high = std::max(high, bandwidth[rows[k]]);
    }
    const double middle = 0.5 * (std::log(low) + std::log(high)), half = 0.5 * (std::log(high) - std::log(low));
    const int used = half > 2e-3 ? nodes : half > 1e-4 ? 4 : half > 1e-14 ? 3 : 1;
    double place[nodes], share[nodes];
    for (int j = 0; j < used; ++j) {
        place[j] = used == 1 ? 0.0 : std::cos(std::numbers::pi * (j + 0.5) / used);  // Chebyshev's points
        logs(Kernel::gaussian, s, std::exp(middle + half * place[j]), at.data(), less.data(), n, scratch,
             value.data() + j * n);
    }
    for (int j = 0; j < used; ++j) {
        share[j] = 1.0;
        for (int k = 0; k < used; ++k)
            if (k != j) share[j] /= place[j] - place[k];
    }
    for (Index k = 0; k < n; ++k) {
        const double log_h = std::log(bandwidth[rows[k]]), u = used == 1 ? 0.0 : (log_h - middle) / half;
        double sum = 0;
        for (int j = 0; j < used; ++j) {
            double product = share[j];
            for (int m = 0; m < used; ++m)
                if (m != j) product *= u - place[m];
            sum += product * value[j * n + k];
        }
        out[rows[k]] = sum - (std::log(s.total - less[k]) + log_h);
    }
}

}  // namespace

void kernel_leave_one_out(Kernel kernel, const double* x, Index n, const double* removed, Points points,
                          const double* bandwidth, double* out) {
    const Sources s{points.at, points.weight, points.start[1], points.total[0]};
    std::vector<Index> near, rest;
    if (kernel == Kernel::gaussian && n >= worth_boxes && s.n >= worth_boxes) {
        std::vector<double> widths(bandwidth, bandwidth + n);
        std::nth_element(widths.begin(), widths.begin() + n / 2, widths.end());
        const double usual = widths[n / 2], factor = std::exp(0.5 * most_apart);
        for (Index i = 0; i < n; ++i)
            (bandwidth[i] < usual * factor && bandwidth[i] * factor > usual ? near : rest).push_back(i);
        if (Index(near.size()) < worth_boxes) {
            near.clear();
            rest.clear();
        }
    }
    if (near.empty()) {
        rest.resize(n);
        for (Index i = 0; i < n; ++i) rest[i] = i;
    } else {
        std::stable_sort(near.begin(), near.end(), [&](Index a, Index b) { return x[a] < x[b]; });
    }
    // Parts of the sorted rows do not depend on the number of threads.
    const Index part = std::max<Index>(512, (Index(near.size()) + 31) / 32),
                parts = (Index(near.size()) + part - 1) / part;
    constexpr Index size = 64;
    const Index blocks = (Index(rest.size()) + size - 1) / size;
    const int threads = threads_for((Index(near.size()) + s.n) * 64 + Index(rest.size()) * s.n / 4, parts + blocks);
    std::vector<Scratch> scratch(threads);
    for_blocks(parts + blocks, threads, [&](Index b, int slot) {
        if (b < parts) {
            const auto first = near.begin() + b * part;
            const std::vector<Index> rows(first, first + std::min<Index>(part, near.end() - first));
            near_bandwidths(s, x, removed, bandwidth, rows, scratch[slot], out);
            return;
        }
        for (Index k = (b - parts) * size; k < std::min(Index(rest.size()), (b - parts + 1) * size); ++k) {
            const Index i = rest[k];
            logs(kernel, s, bandwidth[i], x + i, removed + i, 1, scratch[slot], out + i);
            out[i] -= std::log(s.total - removed[i]) + std::log(bandwidth[i]);
        }
    });
}

}  // namespace suffice
