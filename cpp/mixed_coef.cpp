// Coefficients of words in a sum of multinomial and complement scores.
#include "dispatch.hpp"
#include "text.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

void write_coefs(const Index* place, const Index* owner, const double* total, const double* all,
                 const std::uint16_t* slot, const SlotScores* scores, Index lo, Index hi, double* out) {
    constexpr Index most = 256;
    double first[most], second[most], weight[most], other[most];
    for (Index from = lo; from < hi; from += most) {
        const Index m = std::min(most, hi - from);
        for (Index k = 0; k < m; ++k) {
            const Index j = owner[from + k];
            const double n = total[place[from + k]], left = all[j] - n;
            const SlotScores& own = scores[slot[j]];
            first[k] = 1.0 + n / own.added;
            second[k] =
                (all[j] + own.complement_added) / ((left > residue * all[j] ? left : 0.0) + own.complement_added);
            weight[k] = own.weight, other[k] = own.complement_weight;
        }
        for (Index k = 0; k < m; ++k)
            out[from + k] = weight[k] * vector_log(first[k]) + other[k] * vector_log(second[k]);
    }
}

}  // namespace

SUFFICE_DISPATCH(mixed_coef_block, write_coefs)

#ifndef SUFFICE_ONLY_LOOPS_FOR

void mixed_coef(const Index* place, const Index* owner, Index n, const double* total, const double* all,
                const std::uint16_t* slot, const SlotScores* scores, double* out) {
    const Index size = 1 << 14, blocks = (n + size - 1) / size;
    for_blocks(blocks, threads_for(32 * n, blocks), [&](Index b, int) {
        fast::mixed_coef_block(place, owner, total, all, slot, scores, b * size, std::min(n, (b + 1) * size), out);
    });
}

#endif

}  // namespace suffice
