// Scores of rows by the totals of classes and of their complements, each row taken out of its class.
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "text.hpp"
#include "vector_math.hpp"

namespace suffice {

// Words that several classes have are in most rows, and a row is a small part of their totals. Of such words, the tables
// have a number for each total: of a multinomial model, `log` is log(1 + n_jc / a). Of a complement one, it is log A_jc,
// and `inverse` is 1 / A_jc, A_jc = all_j - n_jc + a with all rows; steepest[j] is the largest 1 / A_jc of word j.
struct LeftOutTables {
    Large<double> log, inverse, steepest;
};

namespace {

constexpr Index several = 6, most = 32;

// Up to this, -log(1 - t) = t + t²/2 + … + t⁸/8 to 16 digits.
constexpr double small = 0.02;
SUFFICE_INLINE double fall(double t) {
    double p = t * 0.125 + 1.0 / 7.0;
    p = p * t + 1.0 / 6.0;
    p = p * t + 0.2;
    p = p * t + 0.25;
    p = p * t + 1.0 / 3.0;
    p = p * t + 0.5;
    return t * (p * t + 1.0);
}

// What is left of a total without a part of it; rounding leaves nothing.
SUFFICE_INLINE double without(double whole, double part, double of) {
    const double left = whole - part;
    return left > residue * of ? left : 0.0;
}

template <bool complement>
void fill_tables(const LeftOut& model, Index lo, Index hi, LeftOutTables& out) {
    double *log = out.log.data(), *inverse = out.inverse.data();
    for (Index j = lo; j < hi; ++j) {
        const Index begin = model.entries.start[j], end = model.entries.start[j + 1];
        if (end - begin < several) continue;
        const double added = model.added[model.slot[j]], *total = model.total;
        if constexpr (!complement) {
            const double factor = 1.0 / added;
            for (Index k = begin; k < end; ++k) log[k] = vector_log(1.0 + total[k] * factor);
        } else {
            const double whole = model.all[j];
            for (Index k = begin; k < end; ++k) {
                const double a = without(whole, total[k], whole) + added;
                log[k] = vector_log(a);
                inverse[k] = 1.0 / a;
            }
            out.steepest[j] = *std::max_element(inverse + begin, inverse + end);
        }
    }
}

// Weighted logarithms, taken many at a time, each added to a place.
class Logs {
public:
    explicit Logs(double* out) : out_(out) {}
    SUFFICE_INLINE void add(Index place, double weight, double x) {
        place_[n_] = place, weight_[n_] = weight, x_[n_] = x;
        if (++n_ == most) flush();
    }
    SUFFICE_INLINE void flush() {
        double logs[most];
        for (int k = 0; k < n_; ++k) logs[k] = vector_log(x_[k]);
        for (int k = 0; k < n_; ++k) {
            if (!(x_[k] >= std::numeric_limits<double>::min() && x_[k] <= std::numeric_limits<double>::max()))
                logs[k] = std::log(x_[k]);
            out_[place_[k]] += weight_[k] * logs[k];
        }
        n_ = 0;
    }

private:
    static constexpr int most = 64;
    double* out_;
    Index place_[most];
    double weight_[most], x_[most];
    int n_ = 0;
};

template <bool complement>
void score_rows(const Bags& x, const Rows& rows, const LeftOut& model, const LeftOutTables& tables, Index lo, Index hi,
                double* out) {
    constexpr Index ahead = 8;
    const Entries& entries = model.entries;
    const std::int32_t* code = entries.code;
    const double *total = model.total, *log = tables.log.data(), *inverse = tables.inverse.data();
    const Index last = x.start[x.rows], classes = rows.classes, width = model.slots * classes;
    const bool known = !tables.log.empty();
    std::fill(out + lo * width, out + hi * width, 0.0);
    for (Index i = lo; i < hi; ++i) {
        Logs logs(out + i * width);
        const double w = rows.weight ? rows.weight[i] : 1.0;
        const std::int32_t own = rows.code[i];
        for (Index e = x.start[i]; e < x.start[i + 1]; ++e) {
            if (e + 2 * ahead < last) {
                prefetch(entries.start + x.feature[e + 2 * ahead]);
                prefetch(model.slot + x.feature[e + 2 * ahead]);
                if constexpr (complement) prefetch(model.all + x.feature[e + 2 * ahead]);
                if (complement && known) prefetch(tables.steepest.data() + x.feature[e + 2 * ahead]);
            }
            if (e + ahead < last) {
                const Index next = entries.start[x.feature[e + ahead]];
                prefetch(total + next);
                prefetch(code + next);
                if (known) prefetch(log + next);
                if (complement && known) prefetch(inverse + next);
            }
            const std::int32_t f = x.feature[e];
            const double value = x.value[e], removed = w * value, added = model.added[model.slot[f]];
            const Index begin = entries.start[f], end = entries.start[f + 1], at = model.slot[f] * classes;
            const bool table = known && end - begin >= several;
            double* score = out + i * width + at;
            Index mine = -1;  // the total of the class of the row
            if (table && end - begin == classes)
                mine = begin + own;
            else if (table)
                for (Index k = begin; k < end; ++k) mine = code[k] == own ? k : mine;
            if constexpr (!complement) {  // log(1 + n_jc / a)
                const double factor = 1.0 / added;
                if (table) {
                    if (end - begin == classes)
                        for (Index c = 0; c < classes; ++c) score[c] += value * log[begin + c];
                    else
                        for (Index k = begin; k < end; ++k) score[code[k]] += value * log[k];
                    if (mine >= 0) {
                        score[own] -= value * log[mine];
                        logs.add(at + own, value, 1.0 + without(total[mine], removed, total[mine]) * factor);
                    }
                } else {
                    for (Index k = begin; k < end; ++k) {
                        const double left = code[k] == own ? without(total[k], removed, total[k]) : total[k];
                        logs.add(at + code[k], value, 1.0 + left * factor);
                    }
                }
            } else {  // log((all_j + a) / (all_j - n_jc + a))
                const double whole = model.all[f], left = without(whole, removed, whole) + added;
                if (table) {
                    double part[most];
                    const bool slight = removed * tables.steepest[f] <= small;
                    const double log_left = vector_log(left);
                    for (Index from = begin; from < end; from += most) {
                        const Index m = std::min(most, end - from);
                        if (slight)
                            for (Index k = 0; k < m; ++k)
                                part[k] = log_left - log[from + k] + fall(removed * inverse[from + k]);
                        else
                            for (Index k = 0; k < m; ++k)
                                part[k] = vector_log(left / (without(whole, total[from + k] + removed, whole) + added));
                        if (mine >= from && mine < from + m) part[mine - from] = log_left - log[mine];  // others stay
                        for (Index k = 0; k < m; ++k) score[code[from + k]] += value * part[k];
                    }
                } else {
                    for (Index k = begin; k < end; ++k) {
                        const double gone = total[k] + (code[k] == own ? 0.0 : removed);
                        logs.add(at + code[k], value, left / (without(whole, gone, whole) + added));
                    }
                }
            }
        }
        logs.flush();
    }
}

}  // namespace

SUFFICE_DISPATCH(left_out_tables, fill_tables<false>)
SUFFICE_DISPATCH(complement_left_out_tables, fill_tables<true>)
SUFFICE_DISPATCH(left_out_rows, score_rows<false>)
SUFFICE_DISPATCH(complement_left_out_rows, score_rows<true>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

template <bool complement>
LeftOutTables tables_of(const LeftOut& model) {
    const Entries& entries = model.entries;
    const Index n = entries.features, size = 1 << 12, blocks = (n + size - 1) / size;
    LeftOutTables out;
    out.log.resize(n ? entries.start[n] : 0);
    out.inverse.resize(complement && n ? entries.start[n] : 0);
    out.steepest.resize(complement ? n : 0);
    for_blocks(blocks, threads_for(n ? 8 * entries.start[n] : 0, blocks), [&](Index b, int) {
        (complement ? fast::complement_left_out_tables : fast::left_out_tables)(model, b * size,
                                                                                std::min(n, (b + 1) * size), out);
    });
    return out;
}

template <bool complement>
void score(const Bags& x, const Rows& rows, const LeftOut& model, double* out) {
    LeftOutTables tables;
    if (x.rows && 8 * x.start[x.rows] > model.entries.features)  // otherwise they take longer than they save
        tables = tables_of<complement>(model);
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 64 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        (complement ? fast::complement_left_out_rows : fast::left_out_rows)(x, rows, model, tables, b * size,
                                                                            std::min(x.rows, (b + 1) * size), out);
    });
}

}  // namespace

void bag_left_out(Bags x, Rows rows, const LeftOut& model, double* out) {
    model.all ? score<true>(x, rows, model, out) : score<false>(x, rows, model, out);
}

#endif

}  // namespace suffice
