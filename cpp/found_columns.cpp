// How much columns, and combinations of two, tell about the class: leave-one-out of their bins.
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "candidates.hpp"
#include "threads.hpp"

namespace suffice {
namespace {

template <Combination how>
SUFFICE_INLINE void combine_rows(const double* a, Index a_stride, const double* b, Index b_stride, const double* scales,
                                 Index n, double* out) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const double first = scales[0], second = scales[1];
    for (Index i = 0; i < n; ++i) {
        const double x = a[i * a_stride], y = b[i * b_stride];
        double value = x;
        if constexpr (how == Combination::ratio) value = x > 0 && y > 0 ? x / y : none;
        if constexpr (how == Combination::difference) value = x / first - y / second;
        if constexpr (how == Combination::sum) value = x / first + y / second;
        out[i] = value - value == 0 ? value + 0.0 : none;  // -0 is 0, and infinite is missing
    }
}

void combine_any(Combination how, const double* a, Index a_stride, const double* b, Index b_stride,
                 const double* scales, Index n, double* out) {
    switch (how) {
        case Combination::alone: return combine_rows<Combination::alone>(a, a_stride, b, b_stride, scales, n, out);
        case Combination::ratio: return combine_rows<Combination::ratio>(a, a_stride, b, b_stride, scales, n, out);
        case Combination::difference:
            return combine_rows<Combination::difference>(a, a_stride, b, b_stride, scales, n, out);
        case Combination::sum: return combine_rows<Combination::sum>(a, a_stride, b, b_stride, scales, n, out);
    }
}

}  // namespace

SUFFICE_DISPATCH(combine_block, combine_any)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

// A column of a combination, sorted: distinct values as ranges of rows, and the weight of each.
struct SortedColumn {
    std::vector<double> value;
    std::vector<Index> order, begin;
    std::vector<double> weight;
    Index present = 0;

    void sort(const double* weights) {
        const Index n = Index(value.size()), start[] = {0, n};
        order.resize(n);
        sort_segments(value.data(), start, 1, order.data());  // NaN last
        for (present = n; present > 0 && value[present - 1] != value[present - 1];) --present;
        begin.clear();
        weight.clear();
        for (Index i = 0; i < present; ++i) {
            if (i == 0 || value[i] != value[i - 1]) {
                begin.push_back(i);
                weight.push_back(0);
            }
            weight.back() += weights[order[i]];
        }
        begin.push_back(present);
    }
};

// After which of the distinct values there is a cut.
std::vector<char> cuts_with_ties(const std::vector<double>& weight, Index bins) {
    std::vector<char> cut;
    cut_with_ties(weight.data(), Index(weight.size()), bins, cut);
    if (!cut.empty()) cut.back() = false;  // there is nothing after the last
    return cut;
}

// Σ w log p(y | bin) of all rows that have a value, each left out. The weight of the bins is smoothed by one row that is
// spread as the bins of all classes, as in `cell_scores`.
double told(const SortedColumn& x, const std::vector<char>& cut, Index bins, const Rows& rows) {
    const Index K = rows.classes;
    std::vector<double> count(std::size_t(bins * K));
    Index bin = 0;
    for (std::size_t v = 0; v + 1 < x.begin.size(); ++v) {
        for (Index i = x.begin[v]; i < x.begin[v + 1]; ++i)
            count[bin * K + rows.code[x.order[i]]] += rows.weight[x.order[i]];
        bin += cut[v];
    }
    double whole = std::accumulate(count.begin(), count.end(), 0.0), sum = 0;
    whole = std::max(whole - 1.0 + 0.5 * double(bins), 1.0);
    for (bin = 0; bin < bins; ++bin) {
        const double* of = count.data() + bin * K;
        const double every = std::accumulate(of, of + K, 0.0), spread = std::max(every - 0.5, 0.25) / whole;
        for (Index c = 0; c < K; ++c)
            if (of[c] > 0) {
                const double own = std::max(of[c] - 1.0, 0.0) + spread;
                sum += of[c] * std::log(own / (every + double(K) * spread - of[c] - spread + own));
            }
    }
    return sum;
}

constexpr Index at_once = 1 << 14;  // rows

}  // namespace

void combine_columns(Combination how, const double* first, Index first_stride, const double* second,
                     Index second_stride, const double* scales, Index n, double* out) {
    const Index blocks = (n + at_once - 1) / at_once;
    for_blocks(blocks, threads_for(n, blocks), [&](Index b, int) {
        const Index lo = b * at_once;
        fast::combine_block(how, first + lo * first_stride, first_stride, second + lo * second_stride, second_stride,
                            scales, std::min(at_once, n - lo), out + lo);
    });
}

void combinations_tell(const double* columns, Combinations of, Rows rows, Index n, const Index* bins, Index choices,
                       double* out) {
    std::vector<double> share(std::size_t(rows.classes));
    double total = 0;
    for (Index i = 0; i < n; ++i) {
        share[rows.code[i]] += rows.weight[i];
        total += rows.weight[i];
    }
    auto judge = [&](Index q, int) {
        const double* a = columns + of.first[q] * n;
        const double* b = columns + of.second[q] * n;
        SortedColumn x;
        x.value.resize(std::size_t(n));
        fast::combine_block(Combination(of.how[q]), a, 1, b, 1, of.scales + 2 * q, n, x.value.data());
        x.sort(rows.weight);
        double missing = 0;  // rows without a value get the class prior
        for (Index i = x.present; i < n; ++i) {
            const double own = rows.weight[x.order[i]];
            if (own > 0) missing += own * std::log(share[rows.code[x.order[i]]] / total);
        }
        double best = -std::numeric_limits<double>::infinity();
        for (Index k = 0; k < choices; ++k) {
            const std::vector<char> cut = cuts_with_ties(x.weight, bins[k]);
            const Index edges = std::count(cut.begin(), cut.end(), true);
            best = std::max(best, (told(x, cut, edges + 1, rows) + missing) / total);
            if (edges < bins[k] - 1) break;
        }
        out[q] = best;
    };
    for_blocks(of.count, threads_for(of.count * n * 32, of.count), judge);
}

#endif

}  // namespace suffice
