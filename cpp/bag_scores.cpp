// Rows of features times weights that exist for some classes only.
#include "dispatch.hpp"
#include "text.hpp"

namespace suffice {
namespace {

void score_rows(const Bags& x, const Entries& entries, const double* coef, const double* base, Index classes, Index lo,
                Index hi, double* out, double* lengths) {
    constexpr Index ahead = 12;
    const Index last = x.start[x.rows];
    for (Index i = lo; i < hi; ++i) {
        double* score = out + i * classes;
        double length = 0;
        for (Index c = 0; c < classes; ++c) score[c] = 0;
        for (Index e = x.start[i]; e < x.start[i + 1]; ++e) {
            if (e + 2 * ahead < last) prefetch(entries.start + x.feature[e + 2 * ahead]);
            if (e + ahead < last) {
                const Index next = entries.start[x.feature[e + ahead]];
                prefetch(coef + next);
                prefetch(entries.code + next);
            }
            const double value = x.value[e];
            const Index from = entries.start[x.feature[e]], n = entries.start[x.feature[e] + 1] - from;
            length += value;
            if (n == classes) {  // a word that all classes have
                for (Index c = 0; c < classes; ++c) score[c] += value * coef[from + c];
            } else {
                for (Index k = from; k < from + n; ++k) score[entries.code[k]] += value * coef[k];
            }
        }
        for (Index c = 0; c < classes; ++c) score[c] += base[c] * length;
        lengths[i] = length;
    }
}

}  // namespace

SUFFICE_DISPATCH(bag_scores_block, score_rows)

#ifndef SUFFICE_ONLY_LOOPS_FOR

void bag_scores(Bags x, Entries entries, const double* coef, const double* base, Index classes, double* out,
                double* lengths) {
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 4 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        fast::bag_scores_block(x, entries, coef, base, classes, b * size, std::min(x.rows, (b + 1) * size), out,
                               lengths);
    });
}

#endif

}  // namespace suffice
