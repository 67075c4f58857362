// The log-loss of evidence with exponents, its gradient and its second derivatives.
#include <algorithm>
#include <cmath>
#include <vector>

#include "threads.hpp"
#include "vector_math.hpp"
#include "vectors.hpp"

namespace suffice {
namespace {

constexpr Index few_rows = 64;  // whose slopes are summed in the precision of the evidence, which stays in the cache
constexpr Index few_parts = 20, most_turned = 512;  // parts of a class, and of all, that are turned

// Whether there are so few parts that loops over rows are longer than those over parts.
template <class T>
bool turns(const Evidence<T>& of) {
    return of.parts < few_parts && of.others * of.parts <= most_turned;
}

// Write the evidence of n rows of a class (rows, parts) as (parts, few_rows).
template <class T>
SUFFICE_INLINE void turn(const T* __restrict row, Index n, Index m, T* __restrict out) {
    for (Index j = 0; j < m; ++j)
        for (Index i = 0; i < n; ++i) out[j * few_rows + i] = row[i * m + j];
}

// A few rows lo .. hi-1: return Σ v loss, write p of all classes but the first, and add the gradient to `slope`. `scratch`
// holds (classes + 2) × rows numbers, `part` as many as there are parts, and `turned` what is turned, if that is.
template <class T>
double loss_of_rows(const Evidence<T>& of, Index lo, Index hi, const T* w, double* scratch, T* part, T* turned,
                    double* p, double* slope) {
    const Index n = hi - lo, m = of.parts;
    double *score = scratch, *top = score + of.others * n, *norm = top + n;
    std::fill_n(top, n, 0.0);
    for (Index k = 0; k < of.others; ++k) {
        const T* row = of.values + (k * of.rows + lo) * m;
        const double* __restrict offset = of.offset + k * of.rows + lo;
        double* __restrict own = score + k * n;
        if (turns(of)) {
            T* __restrict columns = turned + k * m * few_rows;
            T sum[few_rows] = {};
            turn(row, n, m, columns);
            for (Index j = 0; j < m; ++j)
                for (Index i = 0; i < n; ++i) sum[i] += w[j] * columns[j * few_rows + i];
            for (Index i = 0; i < n; ++i) own[i] = offset[i] + double(sum[i]);
        } else
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
        double* __restrict to = p + k * of.rows + lo;
        double* __restrict error = score + k * n;
        for (Index i = 0; i < n; ++i) to[i] /= norm[i];
        for (Index i = 0; i < n; ++i) error[i] = of.weight[lo + i] * (to[i] - (of.code[lo + i] == k + 1 ? 1.0 : 0.0));
        if (turns(of)) {
            T wrong[few_rows];
            for (Index i = 0; i < n; ++i) wrong[i] = T(error[i]);
            for (Index j = 0; j < m; ++j) {
                const T* __restrict column = turned + (k * m + j) * few_rows;
                T sum = 0;
#pragma omp simd reduction(+ : sum)
                for (Index i = 0; i < n; ++i) sum += wrong[i] * column[i];
                slope[j] += double(sum);
            }
            continue;
        }
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

template <class T>
struct Wide {
    using Vector = Eight;
};
template <>
struct Wide<float> {
    using Vector = Sixteen;
};
template <class T>
constexpr Index lanes = 64 / sizeof(T);

// Add the first rows of zᵀ z to `sum`, as far as its lower triangle; z is (n, width) and sum (width, width), where width
// is a multiple of two vectors.
template <class T>
SUFFICE_INLINE void add_products(const T* z, Index n, Index rows, Index width, T* sum) {
    using Vector = typename Wide<T>::Vector;
    constexpr int high = 4;
    for (Index a = 0; a < rows; a += high)
        for (Index b = 0; b < a + high; b += 2 * lanes<T>) {
            Vector left[high], right[high];
            for (int t = 0; t < high; ++t) {
                left[t] = load<Vector>(sum + (a + t) * width + b);
                right[t] = load<Vector>(sum + (a + t) * width + b + lanes<T>);
            }
            for (const T* row = z; row < z + n * width; row += width) {
                const Vector x = load<Vector>(row + b), y = load<Vector>(row + b + lanes<T>);
                SUFFICE_UNROLL(4)
                for (int t = 0; t < high; ++t) {
                    left[t] += row[a + t] * x;
                    right[t] += row[a + t] * y;
                }
            }
            for (int t = 0; t < high; ++t) {
                store(left[t], sum + (a + t) * width + b);
                store(right[t], sum + (a + t) * width + b + lanes<T>);
            }
        }
}

// Rows lo .. hi-1: add Σ v (Σ_k p_k F_k F_kᵀ − f fᵀ), f = Σ_k p_k F_k, to `sum`, as  Σ v Σ_k p_k (F_k − f)(F_k − f)ᵀ,
// where F of the first class is 0. z holds `most` rows of zeros, and `mean` one.
template <class T>
void hessian_of_rows(const Evidence<T>& of, const double* p, Index lo, Index hi, Index width, Index most, T* z, T* mean,
                     T* sum) {
    const Index m = of.parts;
    Index n = 0;
    for (Index i = lo; i < hi; ++i) {
        if (n + of.others + 1 > most) {
            add_products(z, n, m, width, sum);
            n = 0;
        }
        const double v = of.weight[i];
        if (of.others == 1) {
            const T scale = T(std::sqrt(v * p[i] * (1.0 - p[i])));
            const T* row = of.values + i * m;
            T* to = z + n++ * width;
            for (Index j = 0; j < m; ++j) to[j] = scale * row[j];
            continue;
        }
        double first = 1;
        std::fill_n(mean, m, T(0));
        for (Index k = 0; k < of.others; ++k) {
            const T* row = of.values + (k * of.rows + i) * m;
            const T q = T(p[k * of.rows + i]);
            first -= p[k * of.rows + i];
            for (Index j = 0; j < m; ++j) mean[j] += q * row[j];
        }
        const T scale = T(std::sqrt(v * std::max(first, 0.0)));
        T* to = z + n++ * width;
        for (Index j = 0; j < m; ++j) to[j] = scale * mean[j];
        for (Index k = 0; k < of.others; ++k) {
            const T* row = of.values + (k * of.rows + i) * m;
            const T own = T(std::sqrt(v * p[k * of.rows + i]));
            to = z + n++ * width;
            for (Index j = 0; j < m; ++j) to[j] = own * (row[j] - mean[j]);
        }
    }
    add_products(z, n, m, width, sum);
}

}  // namespace

SUFFICE_DISPATCH(log_linear_rows, loss_of_rows<double>, loss_of_rows<float>)
SUFFICE_DISPATCH(log_linear_hessian, hessian_of_rows<double>, hessian_of_rows<float>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
void log_linear_loss(const Evidence<T>& of, const T* w, const Index* bounds, Index blocks, double* loss, double* slope,
                     double* p) {
    const int threads = threads_for(of.rows * of.others * (of.parts + 8), blocks);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>((of.others + 2) * few_rows));
    std::vector<std::vector<T>> part(threads, std::vector<T>(of.parts));
    std::vector<std::vector<T>> turned(threads, std::vector<T>(turns(of) ? of.others * of.parts * few_rows : 0));
    for_blocks(blocks, threads, [&](Index b, int slot) {
        std::fill_n(slope + b * of.parts, of.parts, 0.0);
        loss[b] = 0;
        for (Index lo = bounds[b]; lo < bounds[b + 1]; lo += few_rows)
            loss[b] += fast::log_linear_rows(of, lo, std::min(lo + few_rows, bounds[b + 1]), w, scratch[slot].data(),
                                             part[slot].data(), turned[slot].data(), p, slope + b * of.parts);
    });
}

template <class T>
void log_linear_hessians(const Evidence<T>& of, const double* p, const Index* bounds, const Index* fold, Index blocks,
                         double* out) {
    const Index m = of.parts, step = 2 * lanes<T>, width = (m + step - 1) / step * step;
    const Index most = std::max<Index>(128, of.others + 1);
    const Index rows = blocks ? bounds[blocks] - bounds[0] : 0;
    const int threads = threads_for(rows * of.others * m * (m + 8) / lanes<T>, blocks);
    std::vector<std::vector<T>> z(threads, std::vector<T>(most * width)), mean(threads, std::vector<T>(m));
    std::vector<std::vector<T>> sum(threads, std::vector<T>(width * width));
    for_blocks(
        blocks, threads,
        [&](Index b, int slot) {
            std::fill(sum[slot].begin(), sum[slot].end(), T(0));
            fast::log_linear_hessian(of, p, bounds[b], bounds[b + 1], width, most, z[slot].data(), mean[slot].data(),
                                     sum[slot].data());
        },
        [&](Index b, int slot) {
            double* to = out + fold[b] * m * m;
            for (Index a = 0; a < m; ++a)
                for (Index c = 0; c <= a; ++c) to[a * m + c] += double(sum[slot][a * width + c]);
        });
    const Index folds = blocks ? fold[blocks - 1] + 1 : 0;
    for (double* to = out; to < out + folds * m * m; to += m * m)
        for (Index a = 0; a < m; ++a)
            for (Index c = 0; c < a; ++c) to[c * m + a] = to[a * m + c];
}

template void log_linear_hessians(const Evidence<double>&, const double*, const Index*, const Index*, Index, double*);
template void log_linear_hessians(const Evidence<float>&, const double*, const Index*, const Index*, Index, double*);
template void log_linear_loss(const Evidence<double>&, const double*, const Index*, Index, double*, double*, double*);
template void log_linear_loss(const Evidence<float>&, const float*, const Index*, Index, double*, double*, double*);

#endif

}  // namespace suffice
