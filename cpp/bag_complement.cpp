// Scores by the complements of the classes, each row taken out of its class.
#include "pages.hpp"
#include "text.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

// Up to this, log(1 - t) = -t - t²/2 - t³/3 to 13 digits.
constexpr double small = 1e-3;
constexpr Index most = 32;
SUFFICE_INLINE double fall(double t) { return t * (1.0 + t * (0.5 + t * (1.0 / 3.0))); }

// Words that all classes have are in most rows, and a row is a small part of their totals. Of each such word, row[j] is
// its row in tables (words, classes) of log A_jc and 1 / A_jc, A_jc = all_j - n_jc + added with all rows. `steepest` is
// the largest 1 / A_jc of the word. Other words have row -1.
struct Common {
    Large<std::int32_t> row;
    Large<double> log, inverse, steepest;
};

SUFFICE_CLONES Common common_words(const Entries& entries, const double* total, const double* all, double added,
                                   Index classes) {
    Common out;
    out.row.resize(entries.features, -1);
    std::vector<Index> words;
    for (Index j = 0; j < entries.features; ++j)
        if (entries.start[j + 1] - entries.start[j] == classes && all[j] > 0) {
            out.row[j] = std::int32_t(words.size());
            words.push_back(j);
        }
    out.log.resize(words.size() * classes);
    out.inverse.resize(words.size() * classes);
    out.steepest.resize(words.size());
    for (std::size_t r = 0; r < words.size(); ++r) {
        const double *mine = total + entries.start[words[r]], whole = all[words[r]];
        double *log = out.log.data() + r * classes, *inverse = out.inverse.data() + r * classes;
        for (Index c = 0; c < classes; ++c) {
            const double others = whole - mine[c], a = (others > residue * whole ? others : 0.0) + added;
            log[c] = vector_log(a);
            inverse[c] = 1.0 / a;
        }
        out.steepest[r] = *std::max_element(inverse, inverse + classes);
    }
    return out;
}

SUFFICE_CLONES void score_rows(const Bags& x, const Rows& rows, const Entries& entries, const double* total,
                               const double* all, double added, const Common& common, Index lo, Index hi, double* out) {
    constexpr Index ahead = 8;
    const Index last = x.start[x.rows];
    const bool some = !common.row.empty();
    for (Index i = lo; i < hi; ++i) {
        double* score = out + i * rows.classes;
        const double w = rows.weight ? rows.weight[i] : 1.0;
        const std::int32_t own = rows.code[i];
        for (Index c = 0; c < rows.classes; ++c) score[c] = 0;
        for (Index e = x.start[i]; e < x.start[i + 1]; ++e) {
            if (e + 2 * ahead < last) {
                __builtin_prefetch(entries.start + x.feature[e + 2 * ahead]);
                __builtin_prefetch(all + x.feature[e + 2 * ahead]);
            }
            if (e + ahead < last) {
                const Index next = entries.start[x.feature[e + ahead]];
                __builtin_prefetch(total + next);
                __builtin_prefetch(entries.code + next);
            }
            const std::int32_t f = x.feature[e];
            const double value = x.value[e], removed = w * value;
            const double whole = all[f], rest = whole - removed;
            const double left = (rest > residue * whole ? rest : 0.0) + added, log_left = vector_log(left);
            const Index begin = entries.start[f], end = entries.start[f + 1];
            if (some && end - begin == rows.classes) {
                const Index row = common.row[f];
                if (row >= 0 && removed * common.steepest[row] <= small) {
                    const double* log = common.log.data() + row * rows.classes;
                    const double* inverse = common.inverse.data() + row * rows.classes;
                    for (Index c = 0; c < rows.classes; ++c)
                        score[c] += value * (log_left - log[c] + fall(removed * inverse[c]));
                    score[own] -= value * fall(removed * inverse[own]);  // whose others stay
                    continue;
                }
            }
            for (Index from = begin; from < end; from += most) {
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
    Common common;
    if (x.rows && 8 * x.start[x.rows] > entries.features)  // otherwise tables take longer than they save
        common = common_words(entries, total, all, added, rows.classes);
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 64 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        score_rows(x, rows, entries, total, all, added, common, b * size, std::min(x.rows, (b + 1) * size), out);
    });
}

}  // namespace suffice
