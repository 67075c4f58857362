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
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "buffer.hpp"
#include "kernel_sums.hpp"
#include "threads.hpp"

namespace suffice {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tolerance = 1e-11;  // of the terms that a box leaves out, relative to the sum
constexpr double reach = 1.0;        // half the width of a box, in bandwidths

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

// ------------------------------------------------------------------------------------------ Gaussian

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
    const double s0 = s.at[k], v0 = clamped((s0 - x) * inverse), w0 = k == own ? left : s.weight[k];
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

// The same for a box of queries, removed[i] (null: 0) from the source at x[i].
void gaussian_box(const Sources& s, double h, const double* x, const double* removed, Index n, double* sum,
                  double* value) {
    const double inverse = 1.0 / h, t = x[0] + 0.5 * (x[n - 1] - x[0]);
    const double half = std::max(x[n - 1] - t, t - x[0]) * inverse;
    const Index k = s.nearest(t);
    const double s0 = s.at[k], v0 = clamped((s0 - t) * inverse);
    const Index near_lo = s.first_not_below(t - h), near_hi = std::max(near_lo, s.first_not_below(t + h));
    // Sources within a bandwidth of t are within two of every query, and exp(-2²/2) > 0.13.
    const double least = std::max(s.weight[k], 0.13 * plain_sum(s.weight + near_lo, near_hi - near_lo));
    const double T = std::min(700.0, std::log(s.total / least) - std::log(tolerance));
    const Index lo = std::min(k, s.first_not_below(s0 - extent(T, -(v0 + half)) * h));
    const Index hi = std::max<Index>(k + 1, s.first_not_below(s0 + extent(T, v0 - half) * h));
    const double farther = std::max(s.at[hi - 1] - s0, s0 - s.at[lo]) * inverse, y = half * farther;
    double threshold = infinity;
    if (y <= 0.5 * kernel_powers) {
        alignas(64) double c[kernel_powers];
        gaussian_moments(s.at + lo, s.weight + lo, hi - lo, s0, inverse, v0, c);
        double magnitude = 0, term = 0, power = 1;  // power = half^k
        for (int j = 0; j < kernel_powers; ++j) {
            if (j > 0) {
                double factorial = 1;
                for (int f = 2; f <= j; ++f) factorial *= f;
                c[j] /= factorial;
                power *= half;
            }
            if (j % 2 == 0) magnitude += term = c[j] * power;
        }
        // What the series leaves out: from here on each even term is at most a quarter of the one before.
        const double rest = 2.7 * term * y * y / (kernel_powers * (kernel_powers - 1.0));
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
    double c[shape_terms] = {};
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
