// Σ_j x_ij log(table_cj - removed·x_ij) and Σ_j x_ij over the stored entries of each row, from which a row of
// counts can be left out of its class.
#include <cmath>
#include <limits>

#include "threads.hpp"

namespace suffice {

template <class T, class I>
Index sparse_log_sums(Sparse<T, I> x, const std::int32_t* cls, const double* removed, const double* table, double* sums,
                      double* lengths) {
    const Index size = 256, blocks = (x.rows + size - 1) / size;
    std::atomic<bool> broken{false};
    for_blocks(blocks, threads_for(x.rows ? 4 * Index(x.indptr[x.rows]) : 0, blocks), [&](Index b, int) {
        for (Index i = b * size; i < std::min(x.rows, (b + 1) * size); ++i) {
            const double* counts = table + cls[i] * x.cols;
            double sum = 0, length = 0;
            for (Index e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
                const double value = x.data[e];
                const Index j = x.indices[e];
                if (std::uint64_t(j) >= std::uint64_t(x.cols)) [[unlikely]] {
                    broken = true;
                    return;
                }
                if (!(value > 0)) continue;  // zero or missing
                length += value;
                const double left = counts[j] - removed[i] * value;
                sum += left > residue * counts[j] ? value * std::log(left) : -std::numeric_limits<double>::infinity();
            }
            sums[i] = sum, lengths[i] = length;
        }
    });
    return broken ? malformed : -1;
}

#define SUFFICE_INSTANTIATE(T, I) \
    template Index sparse_log_sums(Sparse<T, I>, const std::int32_t*, const double*, const double*, double*, double*);
SUFFICE_INSTANTIATE(double, std::int32_t)
SUFFICE_INSTANTIATE(double, std::int64_t)
SUFFICE_INSTANTIATE(float, std::int32_t)
SUFFICE_INSTANTIATE(float, std::int64_t)

}  // namespace suffice
