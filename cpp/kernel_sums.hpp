// Sums over the sources of a kernel density estimate, for kernel_density.cpp. That file has the formulas.
#pragma once

#include <numbers>

#include "kernels.hpp"
#include "portable.hpp"

namespace suffice {

constexpr int kernel_powers = 28;  // terms of the expansion of the Gaussian kernel
constexpr int shape_terms = 5;     // and of the others
constexpr double half_pi = std::numbers::pi / 2;
constexpr double farthest = 1e150;  // distances in bandwidths are at most this, so that squares stay finite

SUFFICE_INLINE double clamped(double v) { return v < -farthest ? -farthest : v > farthest ? farthest : v; }

// Σ w exp(-d (d + 2 v0) / 2)
double gaussian_sum(const double* at, const double* weight, Index n, double s0, double inverse, double v0);
// moment[k] = Σ B d^k
void gaussian_moments(const double* at, const double* weight, Index n, double s0, double inverse, double v0,
                      double* moment);
// sum[i] = Σ_k coefficient[k] u^k, and value[i] = log sum[i] - ((x - s0) / h)² / 2
void gaussian_values(const double* x, Index n, double t, double s0, double inverse, const double* coefficient,
                     double* sum, double* value);
double plain_sum(const double* values, Index n);
// value[i] = log(exp value[i] - removed[i]); sum[i] is set to -1 where few digits of it are left.
void take_away(const double* removed, Index n, double* sum, double* value);
// Σ w K((x - s) / h) without K's constant, over sources that all are within h of x.
double compact_sum(Kernel kernel, const double* at, const double* weight, Index n, double x, double inverse);
// Coefficients of Σ w K(u - v) as a polynomial in u, for the cosine kernel of cos and sin πu/2: added to c.
void compact_terms(Kernel kernel, const double* at, const double* weight, Index n, double t, double inverse,
                   double side, double* c);

}  // namespace suffice
