// Sums of logarithms of the totals of a class without one of its rows.
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "text.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

void sum_rows(const Bags& x, const Rows& rows, const Entries& entries, const double* table, double added,
              double of_nothing, Index lo, Index hi, double* sums) {
    constexpr Index most = 64, ahead = 12;
    const Index last = x.start[x.rows];
    constexpr double least = std::numeric_limits<double>::min();  // whose logarithm `vector_log` computes
    double left[most], logs[most];
    for (Index i = lo; i < hi; ++i) {
        const double w = rows.weight ? rows.weight[i] : 1.0;
        const std::int32_t code = rows.code[i];
        double sum = 0;
        for (Index first = x.start[i]; first < x.start[i + 1]; first += most) {
            const Index m = std::min(most, x.start[i + 1] - first);
            for (Index k = 0; k < m; ++k) {
                const Index e = first + k;
                if (e + 2 * ahead < last) prefetch(entries.start + x.feature[e + 2 * ahead]);
                if (e + ahead < last) {
                    const Index next = entries.start[x.feature[e + ahead]];
                    prefetch(table + next);
                    prefetch(entries.code + next);
                }
                const std::int32_t f = x.feature[e];
                const std::int32_t *from = entries.code + entries.start[f], *end = entries.code + entries.start[f + 1];
                if (end - from == rows.classes)  // a word that all classes have
                    from += code;
                else
                    while (from != end && *from < code) ++from;
                const double whole = from != end && *from == code ? table[from - entries.code] : 0.0;
                const double rest = whole - w * x.value[first + k];
                left[k] = (rest > residue * whole ? rest : 0.0) + added;
            }
            for (Index k = 0; k < m; ++k) logs[k] = vector_log(left[k]);
            for (Index k = 0; k < m; ++k) {
                if (left[k] < least) logs[k] = left[k] > 0 ? std::log(left[k]) : of_nothing;
                sum += x.value[first + k] * logs[k];
            }
        }
        sums[i] = sum;
    }
}

}  // namespace

SUFFICE_DISPATCH(bag_log_sums_block, sum_rows)

#ifndef SUFFICE_ONLY_LOOPS_FOR

void bag_log_sums(Bags x, Rows rows, Entries entries, const double* table, double added, double of_nothing,
                  double* sums) {
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 16 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        fast::bag_log_sums_block(x, rows, entries, table, added, of_nothing, b * size, std::min(x.rows, (b + 1) * size),
                                 sums);
    });
}

#endif

}  // namespace suffice
