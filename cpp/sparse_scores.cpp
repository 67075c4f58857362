// A sparse matrix times the packed weights of every class.
//
// The weights of one column are side by side for all classes, padded to cache lines, and prefetched: this kernel is
// bound by the latency of memory, not by arithmetic.
#include <cmath>
#include <cstring>

#include "threads.hpp"
#include "vectors.hpp"

namespace suffice {
namespace {

template <class T, class I, int vectors, bool binarize>
SUFFICE_INLINE Index add_rows(const Sparse<T, I>& x, double threshold, const double* coef, const double* absent,
                              Index stride, const double* intercept, Index c0, Index classes, Index lo, Index hi,
                              double* out) {
    constexpr Index ahead = 12;
    const Index last = x.indptr[x.rows];
    const Index width = std::min<Index>(8 * vectors, classes - c0);
    Index infinite = -1;
    for (Index i = lo; i < hi; ++i) {
        Lanes sum[vectors] = {};
        [[maybe_unused]] Index before = -1;
        for (Index e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
            if (e + ahead < last) {
                const double* next = coef + Index(x.indices[e + ahead]) * stride + c0;  // a hint: never read
                SUFFICE_UNROLL(4)
                for (int v = 0; v < vectors; ++v) prefetch(next + 8 * v);
            }
            const Index j = x.indices[e];
            double value = x.data[e];
            if (std::uint64_t(j) >= std::uint64_t(x.cols)) [[unlikely]]
                return malformed;
            if constexpr (binarize) {  // only the sum of an entry stored in parts can be compared with the threshold
                if (j <= before) [[unlikely]]
                    return unordered;
                before = j;
            }
            if (value != value) [[unlikely]] {
                if (absent) SUFFICE_UNROLL(4)
                for (int v = 0; v < vectors; ++v)
                    sum[v] -= *reinterpret_cast<const Lanes*>(absent + j * stride + c0 + 8 * v);
                continue;
            }
            if (std::isinf(value)) [[unlikely]]
                infinite = infinite < 0 ? i * x.cols + j : infinite;
            if constexpr (binarize) value = value > threshold ? 1.0 : 0.0;
            const Lanes* weights = reinterpret_cast<const Lanes*>(coef + j * stride + c0);
            SUFFICE_UNROLL(4)
            for (int v = 0; v < vectors; ++v) sum[v] += value * weights[v];
        }
        double flat[8 * vectors];
        std::memcpy(flat, sum, sizeof flat);
        for (Index c = 0; c < width; ++c) out[i * classes + c0 + c] = intercept[c0 + c] + flat[c];
    }
    return infinite;
}

template <class T, class I, bool binarize>
SUFFICE_INLINE Index any_width(const Sparse<T, I>& x, double threshold, const double* coef, const double* absent,
                               Index stride, const double* intercept, Index classes, Index lo, Index hi, double* out) {
    Index infinite = -1;
    for (Index c0 = 0; c0 < stride; c0 += 32) {
        Index found = -1;
#define SUFFICE_WIDTH(v) \
    found = add_rows<T, I, v, binarize>(x, threshold, coef, absent, stride, intercept, c0, classes, lo, hi, out)
        switch (std::min<Index>(4, (stride - c0) / 8)) {
            case 1: SUFFICE_WIDTH(1); break;
            case 2: SUFFICE_WIDTH(2); break;
            case 3: SUFFICE_WIDTH(3); break;
            default: SUFFICE_WIDTH(4);
        }
#undef SUFFICE_WIDTH
        if (found < -1) return found;
        infinite = infinite < 0 ? found : infinite;
    }
    return infinite;
}

template <class T, class I>
Index any_reading(const Sparse<T, I>& x, CountRule rule, const double* coef, const double* absent, Index stride,
                  const double* intercept, Index classes, Index lo, Index hi, double* out) {
    return rule.binarize
               ? any_width<T, I, true>(x, rule.threshold, coef, absent, stride, intercept, classes, lo, hi, out)
               : any_width<T, I, false>(x, rule.threshold, coef, absent, stride, intercept, classes, lo, hi, out);
}

}  // namespace

SUFFICE_DISPATCH(sparse_scores_block, any_reading<double, std::int32_t>, any_reading<double, std::int64_t>,
                 any_reading<float, std::int32_t>, any_reading<float, std::int64_t>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T, class I>
Index sparse_scores(Sparse<T, I> x, CountRule rule, const double* coef, const double* absent, Index stride,
                    const double* intercept, Index classes, double* out) {
    const Index size = 256, blocks = (x.rows + size - 1) / size;
    const Index stored = x.rows ? Index(x.indptr[x.rows]) : 0;
    FirstPosition infinite;
    std::atomic<Index> broken{-1};
    for_blocks(blocks, threads_for(stored * (stride / 8), blocks), [&](Index b, int) {
        const Index lo = b * size, hi = std::min(x.rows, lo + size);
        const Index found = fast::sparse_scores_block(x, rule, coef, absent, stride, intercept, classes, lo, hi, out);
        if (found < -1) broken = found;
        infinite.report(found);
    });
    return broken < -1 ? broken.load() : infinite.get();
}

#define SUFFICE_INSTANTIATE(T, I)                                                                                    \
    template Index sparse_scores(Sparse<T, I>, CountRule, const double*, const double*, Index, const double*, Index, \
                                 double*);
SUFFICE_INSTANTIATE(double, std::int32_t)
SUFFICE_INSTANTIATE(double, std::int64_t)
SUFFICE_INSTANTIATE(float, std::int32_t)
SUFFICE_INSTANTIATE(float, std::int64_t)

#endif

}  // namespace suffice
