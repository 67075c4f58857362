// Scores by the complements of the classes, each row taken out of its class.
#include "text.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

SUFFICE_CLONES void score_rows(const Bags& x, const Rows& rows, const Entries& entries, const double* total,
                               const double* all, double added, Index lo, Index hi, double* out) {
    constexpr Index most = 32;
    for (Index i = lo; i < hi; ++i) {
        double* score = out + i * rows.classes;
        const double w = rows.weight ? rows.weight[i] : 1.0;
        const std::int32_t own = rows.code[i];
        for (Index c = 0; c < rows.classes; ++c) score[c] = 0;
        for (Index e = x.start[i]; e < x.start[i + 1]; ++e) {
            const double value = x.value[e], removed = w * value;
            const double whole = all[x.feature[e]], rest = whole - removed;
            const double left = (rest > residue * whole ? rest : 0.0) + added, log_left = vector_log(left);
            const Index end = entries.start[x.feature[e] + 1];
            for (Index from = entries.start[x.feature[e]]; from < end; from += most) {
                const Index m = std::min(most, end - from);
                double logs[most];
                for (Index k = 0; k < m; ++k) {
                    const double mine = total[from + k] - (entries.code[from + k] == own ? removed : 0.0);
                    const double others = rest - mine;
                    logs[k] = vector_log((others > residue * whole ? others : 0.0) + added);
                }
                for (Index k = 0; k < m; ++k) score[entries.code[from + k]] += value * (log_left - logs[k]);
            }
        }
    }
}

}  // namespace

void bag_complement(Bags x, Rows rows, Entries entries, const double* total, const double* all, double added,
                    double* out) {
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 64 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        score_rows(x, rows, entries, total, all, added, b * size, std::min(x.rows, (b + 1) * size), out);
    });
}

}  // namespace suffice
