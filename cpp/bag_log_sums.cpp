// Sums of logarithms of the totals of a class without one of its rows.
#include <cmath>

#include "text.hpp"

namespace suffice {

void bag_log_sums(Bags x, Rows rows, Entries entries, const double* table, double added, double of_nothing,
                  double* sums) {
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 16 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        for (Index i = b * size; i < std::min(x.rows, (b + 1) * size); ++i) {
            const double w = rows.weight ? rows.weight[i] : 1.0;
            double sum = 0;
            for (Index e = x.start[i]; e < x.start[i + 1]; ++e) {
                const std::int32_t* from = entries.code + entries.start[x.feature[e]];
                const std::int32_t* end = entries.code + entries.start[x.feature[e] + 1];
                const std::int32_t* own = std::lower_bound(from, end, rows.code[i]);
                const double whole = own != end && *own == rows.code[i] ? table[own - entries.code] : 0.0;
                double left = whole - w * x.value[e];
                left = (left > residue * whole ? left : 0.0) + added;
                sum += x.value[e] * (left > 0 ? std::log(left) : of_nothing);
            }
            sums[i] = sum;
        }
    });
}

}  // namespace suffice
