// Inner loops of kernel density estimates.
#include "kernel_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dispatch.hpp"
#include "vector_math.hpp"
#include "vectors.hpp"

namespace suffice {
namespace {

constexpr Index tile = 32;

double gaussian_sum_loop(const double* at, const double* weight, Index n, double s0, double inverse, double v0) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) {
        const double d = (at[i] - s0) * inverse;
        sum += weight[i] * vector_exp(-0.5 * d * (d + 2.0 * v0));
    }
    return sum;
}

void gaussian_moments_loop(const double* at, const double* weight, Index n, double s0, double inverse, double v0,
                           double* moment) {
    constexpr Index parts = tile / 8;
    Lanes sums[kernel_powers] = {};
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
        std::memcpy(B, b, sizeof b);
        std::memcpy(D, d, sizeof d);
        for (Index l = 0; l < parts; ++l) Q[l] = D[l] * D[l];
        SUFFICE_UNROLL(14)
        for (int k = 0; k < kernel_powers; k += 2) {
            sums[k] += (B[0] + B[1]) + (B[2] + B[3]);
            sums[k + 1] += (B[0] * D[0] + B[1] * D[1]) + (B[2] * D[2] + B[3] * D[3]);
            SUFFICE_UNROLL(4)
            for (Index l = 0; l < parts; ++l) B[l] *= Q[l];
        }
    }
    for (int k = 0; k < kernel_powers; ++k) {
        double sum = 0;
        for (int l = 0; l < 8; ++l) sum += sums[k][l];
        moment[k] = sum;
    }
}

void gaussian_values_loop(const double* x, Index n, double t, double s0, double inverse, const double* coefficient,
                          double* sum, double* value) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double u = (x[i] - t) * inverse;
        double p = coefficient[kernel_powers - 1];
        SUFFICE_UNROLL(28)
        for (int k = kernel_powers - 2; k >= 0; --k) p = p * u + coefficient[k];
        sum[i] = p;
    }
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double z = clamped((x[i] - s0) * inverse);
        value[i] = vector_log(sum[i]) - 0.5 * z * z;
    }
}

double plain_sum_loop(const double* values, Index n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += values[i];
    return sum;
}

void take_away_loop(const double* removed, Index n, double* sum, double* value) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double whole = vector_exp(value[i]), others = whole - removed[i];
        const bool right = others > 0.2 * whole && whole >= std::numeric_limits<double>::min();
        const double rest = vector_log(right ? others : 1.0);
        value[i] = removed[i] > 0 ? rest : value[i];
        sum[i] = right || !(removed[i] > 0) ? sum[i] : -1.0;
    }
}

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

double compact_sum_loop(Kernel kernel, const double* at, const double* weight, Index n, double x, double inverse) {
    return with_kernel(
        kernel, [&](auto k) SUFFICE_INLINE_LAMBDA { return shape_sum<decltype(k)::value>(at, weight, n, x, inverse); });
}

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

void compact_terms_loop(Kernel kernel, const double* at, const double* weight, Index n, double t, double inverse,
                        double side, double* c) {
    with_kernel(kernel, [&](auto k) SUFFICE_INLINE_LAMBDA {
        add_shape_terms<decltype(k)::value>(at, weight, n, t, inverse, side, c);
    });
}

}  // namespace

SUFFICE_DISPATCH(gaussian_sum, gaussian_sum_loop)
SUFFICE_DISPATCH(gaussian_moments, gaussian_moments_loop)
SUFFICE_DISPATCH(gaussian_values, gaussian_values_loop)
SUFFICE_DISPATCH(plain_sum, plain_sum_loop)
SUFFICE_DISPATCH(take_away, take_away_loop)
SUFFICE_DISPATCH(compact_sum, compact_sum_loop)
SUFFICE_DISPATCH(compact_terms, compact_terms_loop)

#ifndef SUFFICE_ONLY_LOOPS_FOR

double gaussian_sum(const double* at, const double* weight, Index n, double s0, double inverse, double v0) {
    return fast::gaussian_sum(at, weight, n, s0, inverse, v0);
}

void gaussian_moments(const double* at, const double* weight, Index n, double s0, double inverse, double v0,
                      double* moment) {
    return fast::gaussian_moments(at, weight, n, s0, inverse, v0, moment);
}

void gaussian_values(const double* x, Index n, double t, double s0, double inverse, const double* coefficient,
                     double* sum, double* value) {
    return fast::gaussian_values(x, n, t, s0, inverse, coefficient, sum, value);
}

double plain_sum(const double* values, Index n) { return fast::plain_sum(values, n); }

void take_away(const double* removed, Index n, double* sum, double* value) {
    return fast::take_away(removed, n, sum, value);
}

double compact_sum(Kernel kernel, const double* at, const double* weight, Index n, double x, double inverse) {
    return fast::compact_sum(kernel, at, weight, n, x, inverse);
}

void compact_terms(Kernel kernel, const double* at, const double* weight, Index n, double t, double inverse,
                   double side, double* c) {
    return fast::compact_terms(kernel, at, weight, n, t, inverse, side, c);
}

#endif

}  // namespace suffice
