// Rows of features times weights that exist for some classes only.
#include <cmath>
#include <limits>

#include "text.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

SUFFICE_CLONES void score_rows(const Bags& x, const Entries& entries, const double* coef, const double* base,
                               Index classes, Index lo, Index hi, double* out, double* lengths) {
    constexpr Index ahead = 12;
    const Index last = x.start[x.rows];
    for (Index i = lo; i < hi; ++i) {
        double* score = out + i * classes;
        double length = 0;
        for (Index c = 0; c < classes; ++c) score[c] = 0;
        for (Index e = x.start[i]; e < x.start[i + 1]; ++e) {
            if (e + 2 * ahead < last) __builtin_prefetch(entries.start + x.feature[e + 2 * ahead]);
            if (e + ahead < last) {
                const Index next = entries.start[x.feature[e + ahead]];
                __builtin_prefetch(coef + next);
                __builtin_prefetch(entries.code + next);
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

// Sums of logarithms, taken many at a time.
class LogSum {
public:
    SUFFICE_INLINE void add(double weight, double x) {
        weight_[n_] = weight, x_[n_] = x;
        if (++n_ == most) flush();
    }
    SUFFICE_INLINE double take() {
        flush();
        const double out = sum_;
        sum_ = 0;
        return out;
    }

private:
    static constexpr int most = 64;

    SUFFICE_INLINE void flush() {
        double logs[most];
        for (int k = 0; k < n_; ++k) logs[k] = vector_log(x_[k]);
        for (int k = 0; k < n_; ++k) {
            if (x_[k] < std::numeric_limits<double>::min()) logs[k] = std::log(x_[k]);
            sum_ += weight_[k] * logs[k];
        }
        n_ = 0;
    }

    double weight_[most], x_[most], sum_ = 0;
    int n_ = 0;
};

SUFFICE_CLONES void score_rows_without(const Bags& x, const Rows& rows, const Entries& entries, const double* coef,
                                       const double* base, const double* total, double added, Index lo, Index hi,
                                       double* out, double* lengths, double* sums) {
    constexpr Index ahead = 12;
    const Index last = x.start[x.rows], classes = rows.classes;
    LogSum log_sum;
    for (Index i = lo; i < hi; ++i) {
        double *score = out + i * classes, length = 0;
        const double w = rows.weight ? rows.weight[i] : 1.0;
        const std::int32_t own = rows.code[i];
        for (Index c = 0; c < classes; ++c) score[c] = 0;
        for (Index e = x.start[i]; e < x.start[i + 1]; ++e) {
            if (e + 2 * ahead < last) __builtin_prefetch(entries.start + x.feature[e + 2 * ahead]);
            if (e + ahead < last) {
                const Index next = entries.start[x.feature[e + ahead]];
                __builtin_prefetch(coef + next);
                __builtin_prefetch(entries.code + next);
                __builtin_prefetch(total + next);
            }
            const double value = x.value[e];
            const Index from = entries.start[x.feature[e]], n = entries.start[x.feature[e] + 1] - from;
            double whole = 0;
            length += value;
            if (n == classes) {  // a word that all classes have
                for (Index c = 0; c < classes; ++c) score[c] += value * coef[from + c];
                whole = total[from + own];
            } else {
                for (Index k = from; k < from + n; ++k) {
                    score[entries.code[k]] += value * coef[k];
                    if (entries.code[k] == own) whole = total[k];
                }
            }
            const double left = whole - w * value;
            log_sum.add(value, (left > residue * whole ? left : 0.0) + added);
        }
        for (Index c = 0; c < classes; ++c) score[c] += base[c] * length;
        lengths[i] = length;
        sums[i] = log_sum.take();
    }
}

}  // namespace

void bag_scores_without(Bags x, Rows rows, Entries entries, const double* coef, const double* base, const double* total,
                        double added, double* out, double* lengths, double* sums) {
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 16 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        const Index hi = std::min(x.rows, (b + 1) * size);
        score_rows_without(x, rows, entries, coef, base, total, added, b * size, hi, out, lengths, sums);
    });
}

void bag_scores(Bags x, Entries entries, const double* coef, const double* base, Index classes, double* out,
                double* lengths) {
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 4 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        score_rows(x, entries, coef, base, classes, b * size, std::min(x.rows, (b + 1) * size), out, lengths);
    });
}

}  // namespace suffice
