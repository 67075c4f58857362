// The log-loss of evidence with exponents, and its gradient.
#include <algorithm>
#include <vector>

#include "threads.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

constexpr Index few_rows = 64;  // whose slopes are summed in the precision of the evidence, which stays in the cache

// A few rows lo .. hi-1: return Σ v loss, write p of all classes but the first, and add the gradient to `slope`. `scratch`
// holds (classes + 2) × rows numbers, and `part` as many as there are parts.
template <class T>
double loss_of_rows(const Evidence<T>& of, Index lo, Index hi, const T* w, double* scratch, T* part, double* p,
                    double* slope) {
    const Index n = hi - lo, m = of.parts;
    double *score = scratch, *top = score + of.others * n, *norm = top + n;
    std::fill_n(top, n, 0.0);
    for (Index k = 0; k < of.others; ++k) {
        const T* row = of.values + (k * of.rows + lo) * m;
        const double* offset = of.offset + k * of.rows + lo;
        double* own = score + k * n;
        for (Index i = 0; i < n; ++i, row += m) {
            T sum = 0;
#pragma omp simd reduction(+ : sum)
            for (Index j = 0; j < m; ++j) sum += row[j] * w[j];
            own[i] = offset[i] + double(sum);
        }
        for (Index i = 0; i < n; ++i) top[i] = own[i] > top[i] ? own[i] : top[i];
    }
#pragma omp simd
    for (Index i = 0; i < n; ++i) norm[i] = vector_exp(-top[i]);
    for (Index k = 0; k < of.others; ++k) {
        const double* own = score + k * n;
        double* to = p + k * of.rows + lo;
#pragma omp simd
        for (Index i = 0; i < n; ++i) {
            to[i] = vector_exp(own[i] - top[i]);
            norm[i] += to[i];
        }
    }
    double total = 0;
    for (Index i = 0; i < n; ++i) {
        const std::int32_t c = of.code[lo + i];
        total += of.weight[lo + i] * (top[i] + vector_log(norm[i]) - (c > 0 ? score[(c - 1) * n + i] : 0.0));
    }
    for (Index k = 0; k < of.others; ++k) {
        double *to = p + k * of.rows + lo, *error = score + k * n;
        for (Index i = 0; i < n; ++i) to[i] /= norm[i];
        for (Index i = 0; i < n; ++i) error[i] = of.weight[lo + i] * (to[i] - (of.code[lo + i] == k + 1 ? 1.0 : 0.0));
        const T* row = of.values + (k * of.rows + lo) * m;
        std::fill_n(part, m, T(0));
        for (Index i = 0; i < n; ++i, row += m) {
            const T wrong = T(error[i]);
#pragma omp simd
            for (Index j = 0; j < m; ++j) part[j] += wrong * row[j];
        }
        for (Index j = 0; j < m; ++j) slope[j] += double(part[j]);
    }
    return total;
}

}  // namespace

SUFFICE_DISPATCH(log_linear_rows, loss_of_rows<double>, loss_of_rows<float>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
void log_linear_loss(const Evidence<T>& of, const T* w, const Index* bounds, Index blocks, double* loss, double* slope,
                     double* p) {
    const int threads = threads_for(of.rows * of.others * (of.parts + 8), blocks);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>((of.others + 2) * few_rows));
    std::vector<std::vector<T>> part(threads, std::vector<T>(of.parts));
    for_blocks(blocks, threads, [&](Index b, int slot) {
        std::fill_n(slope + b * of.parts, of.parts, 0.0);
        loss[b] = 0;
        for (Index lo = bounds[b]; lo < bounds[b + 1]; lo += few_rows)
            loss[b] += fast::log_linear_rows(of, lo, std::min(lo + few_rows, bounds[b + 1]), w, scratch[slot].data(),
                                             part[slot].data(), p, slope + b * of.parts);
    });
}

template void log_linear_loss(const Evidence<double>&, const double*, const Index*, Index, double*, double*, double*);
template void log_linear_loss(const Evidence<float>&, const float*, const Index*, Index, double*, double*, double*);

#endif

}  // namespace suffice
