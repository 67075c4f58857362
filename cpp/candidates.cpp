// The score of a family is the mean log p(y | x) of rows, each left out of the statistic of its column.
#include "candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dispatch.hpp"
#include "vector_math.hpp"

namespace suffice {

// ------------------------------------------------------------------------------------------- from p(x | y) to p(y | x)

// The weights of the classes of the rows that are scored, for p(y) = (n_y + 1) / Σ (n + 1) without each row.
struct ClassShares {
    std::vector<double> weight, log_weight;
    double total = 0;  // Σ (n + 1)

    void finish() {
        log_weight.resize(weight.size());
        total = 0;
        for (std::size_t k = 0; k < weight.size(); ++k) {
            log_weight[k] = std::log(weight[k] + 1);
            total += weight[k] + 1;
        }
    }
};

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Turn log p(x | y) of n rows of class c, (classes, student_rows), into log p(c | x) and log p(c); `taken` is the
// weight that was left out. `density` is overwritten.
void log_posteriors(const ClassShares& shares, Index c, Index n, const double* taken, double* density,
                    double* posterior, double* prior) {
    double top[student_rows], sum[student_rows], own[student_rows];
    const double whole = shares.weight[c], others = shares.total - (whole + 1);
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double left = (whole - taken[i] > 0 ? whole - taken[i] : 0.0) + 1;
        own[i] = vector_log(left);
        prior[i] = own[i] - vector_log(others + left);
        top[i] = -infinity, sum[i] = 0;
    }
    const Index classes = Index(shares.weight.size());
    for (Index k = 0; k < classes; ++k) {
        double* row = density + k * student_rows;
        const double fixed = shares.log_weight[k];
#pragma omp simd
        for (Index i = 0; i < n; ++i) {
            row[i] = (row[i] > -1e300 ? row[i] : -1e300) + (k == c ? own[i] : fixed);
            top[i] = row[i] > top[i] ? row[i] : top[i];
        }
    }
    for (Index k = 0; k < classes; ++k) {
        const double* row = density + k * student_rows;
#pragma omp simd
        for (Index i = 0; i < n; ++i) sum[i] += vector_exp(row[i] - top[i]);
    }
    const double* row = density + c * student_rows;
#pragma omp simd
    for (Index i = 0; i < n; ++i) posterior[i] = row[i] - (top[i] + vector_log(sum[i]));
}

Score score_of(const double* posterior, const double* prior, const double* weight, Index n) {
    double total = 0, gained = 0, after = 0, before = 0, spread = 0;
    auto gain = [&](Index i) SUFFICE_INLINE_LAMBDA {
        const double found = posterior[i] - prior[i];
        return found > -1e100 ? found : -1e100;  // its square does not overflow
    };
#pragma omp simd reduction(+ : total, gained, after, before)
    for (Index i = 0; i < n; ++i) {
        total += weight[i];
        gained += weight[i] * gain(i);
        after += weight[i] * posterior[i];
        before += weight[i] * prior[i];
    }
    const double mean = gained / total;
#pragma omp simd reduction(+ : spread)
    for (Index i = 0; i < n; ++i) spread += weight[i] * (gain(i) - mean) * (gain(i) - mean);
    const double largest = std::numeric_limits<double>::max();
    return {std::max(after / total, -largest), before / total, std::sqrt(spread / total / total)};
}

}  // namespace

SUFFICE_DISPATCH(log_posteriors, log_posteriors)
SUFFICE_DISPATCH(score_of, score_of)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

// ------------------------------------------------------------------------------------------------- cells of all classes

// Distinct cells of all classes, ascending, and which of them each point is.
struct Pooled {
    std::vector<std::int32_t> place;
    std::vector<double> value, end, weight;

    explicit Pooled(const ColumnPoints& column) {
        const Index n = column.points();
        std::vector<std::int32_t> order(n), other(n);
        std::iota(order.begin(), order.end(), 0);
        std::vector<Index> bounds(column.start, column.start + column.classes + 1);
        const double* edge = column.edge;
        while (bounds.size() > 2) {  // merge neighbours, two by two
            std::vector<Index> next{0};
            for (std::size_t b = 0; b + 1 < bounds.size(); b += 2) {
                const Index lo = bounds[b], middle = bounds[b + 1], hi = b + 2 < bounds.size() ? bounds[b + 2] : middle;
                std::merge(order.begin() + lo, order.begin() + middle, order.begin() + middle, order.begin() + hi,
                           other.begin() + lo, [&](std::int32_t p, std::int32_t q) { return edge[p] < edge[q]; });
                next.push_back(hi);
            }
            order.swap(other);
            bounds.swap(next);
        }
        place.resize(n);
        for (const std::int32_t i : order) {
            if (value.empty() || edge[i] != value.back()) {
                value.push_back(edge[i]);
                end.push_back(column.last[i]);
                weight.push_back(0);
            }
            weight.back() += column.weight[i];
            place[i] = std::int32_t(value.size()) - 1;
        }
    }
};

// --------------------------------------------------------------------------------------------------- rows and their scores

// The points that are scored: which they are, and what is left out of each.
struct ScoredPoints {
    std::vector<Index> at, start;  // class by class
    std::vector<double> weight, taken;
    ClassShares shares;

    ScoredPoints(const ColumnPoints& column, const Index* some, Index scored) {
        const Index n = some ? scored : column.points();
        at.resize(n), weight.resize(n), taken.resize(n);
        start.assign(1, 0);
        shares.weight.assign(column.classes, 0.0);
        for (Index i = 0, c = 0; i < n; ++i) {
            at[i] = some ? some[i] : i;
            while (at[i] >= column.start[c + 1]) start.push_back(i), ++c;
            weight[i] = column.weight[at[i]];
            taken[i] = std::min(weight[i], 1.0);
            shares.weight[c] += weight[i];
        }
        start.resize(column.classes + 1, n);
        shares.finish();
    }
    Index rows() const { return Index(at.size()); }
};

// A row is taken out of a count: 0 if only rounding is left. Integers are exact, and stay.
double without(double whole, double taken) {
    const double left = whole - taken;
    if (left >= residue * std::fabs(whole)) return left;
    const bool exact = left > 0 && left == std::rint(left) && whole == std::rint(whole) && std::fabs(whole) < 0x1p53;
    return exact ? left : 0.0;
}

double log_or_none(double p) { return p > 0 ? std::log(p) : -infinity; }

class ColumnScores {
public:
    ColumnScores(const ColumnPoints& column, const Index* some, Index scored, StudentPrior prior)
        : column_(column),
          pooled_(column),
          rows_(column, some, scored),
          prior_(prior),
          posterior_(rows_.rows()),
          log_prior_(rows_.rows()),
          density_(column.classes * student_rows) {}

    // False if squares overflow.
    bool student(Score& out) {
        std::vector<ClassMoments> classes(column_.classes);
        const double origin = middle();
        double squares = 0;
        for (Index c = 0; c < column_.classes; ++c) {
            classes[c] = moments(column_.start[c], column_.start[c + 1], -1, 0, origin);
            squares += classes[c].squares + classes[c].weight * classes[c].mean * classes[c].mean;
        }
        if (!std::isfinite(squares)) {
            out = {-std::numeric_limits<double>::max(), -std::numeric_limits<double>::max(), 0};
            return false;
        }
        const StudentColumn whole(prior_, origin, std::move(classes));
        StudentRows block;
        for (Index c = 0; c < column_.classes; ++c)
            for (Index lo = rows_.start[c]; lo < rows_.start[c + 1]; lo += student_rows) {
                block.n = std::min(student_rows, rows_.start[c + 1] - lo);
                for (Index i = 0; i < block.n; ++i) {
                    block.x[i] = column_.place[rows_.at[lo + i]];
                    block.taken[i] = rows_.taken[lo + i];
                }
                leave_out(whole, c, block);
                for (Index i = 0; i < block.n; ++i)
                    if (block.lossy[i]) {
                        const ClassMoments left =
                            moments(column_.start[c], column_.start[c + 1], rows_.at[lo + i], block.taken[i], origin);
                        block.weight[i] = left.weight, block.mean[i] = left.mean, block.squares[i] = left.squares;
                    }
                log_densities(whole, c, block, density_.data());
                fast::log_posteriors(rows_.shares, c, block.n, block.taken, density_.data(), posterior_.data() + lo,
                                     log_prior_.data() + lo);
            }
        out = score();
        return true;
    }

    Score bins(double amount, Index bins) {
        const Index distinct = Index(pooled_.value.size());
        cut_with_ties(pooled_.weight.data(), distinct, bins, cut_);
        group_.assign(distinct, 0);
        for (Index v = 1; v < distinct; ++v) group_[v] = group_[v - 1] + cut_[v - 1];
        const Index size = distinct ? group_[distinct - 1] + 1 : 0;
        count(size);
        // A prior of `amount` rows that are spread as the values of all classes.
        alpha_.assign(size, 0.5);
        double every = 0;
        for (Index v = 0; v < distinct; ++v) alpha_[group_[v]] += pooled_.weight[v];
        for (const double a : alpha_) every += a;
        for (double& a : alpha_) a *= amount / every;
        return table(size, size == 1);
    }

    // The distinct values are categories; there may be others, which no row has.
    Score values(double amount, Index categories) {
        const Index distinct = Index(pooled_.value.size()), size = std::max(categories, distinct);
        group_.resize(distinct);
        std::iota(group_.begin(), group_.end(), 0);
        count(size);
        alpha_.assign(size, amount);
        return table(size, false);
    }

private:
    // A number near the values.
    double middle() const {
        const auto& value = pooled_.value;
        if (value.empty()) return 0;
        const double first = value.front();
        double sum = 0, total = 0;
        for (std::size_t v = 0; v < value.size(); ++v) {
            sum += (value[v] - first) * pooled_.weight[v];
            total += pooled_.weight[v];
        }
        const double found = first + sum / total;
        return std::isfinite(found) ? found : 0.0;
    }

    // Moments of the points lo .. hi-1, of which point `less` has the weight `taken` less.
    ClassMoments moments(Index lo, Index hi, Index less, double taken, double origin) const {
        auto weight = [&](Index i) {
            if (i != less) return column_.weight[i];
            const double left = column_.weight[i] - taken;
            return left > residue * column_.weight[i] ? left : 0.0;
        };
        double total = 0, sum = 0, least = infinity, most = -infinity;
        for (Index i = lo; i < hi; ++i) {
            const double w = weight(i), x = column_.place[i] - origin;
            if (!(w > 0)) continue;
            total += w, sum += w * x;
            least = std::min(least, x), most = std::max(most, x);
        }
        if (!(total > 0)) return {};
        if (least == most) return {total, least, 0};  // without rounding
        const double near = sum / total;
        double off = 0, squares = 0;
        for (Index i = lo; i < hi; ++i) {
            const double w = weight(i), step = column_.place[i] - origin - near;
            off += w * step, squares += w * step * step;
        }
        return {total, near + off / total, squares - off * off / total};
    }

    // The weight of each class in every group of distinct values.
    void count(Index size) {
        counts_.assign(column_.classes * size, 0.0);
        for (Index c = 0; c < column_.classes; ++c)
            for (Index i = column_.start[c]; i < column_.start[c + 1]; ++i)
                counts_[c * size + group_[pooled_.place[i]]] += column_.weight[i];
    }

    // Score a table of counts, smoothed by alpha: p(x | y) = (n_yx + α_x) / Σ (n_y + α). Points of one class follow one
    // another by their group, and those of one group and weight have the same score.
    Score table(Index size, bool certain) {
        const Index classes = column_.classes;
        totals_.assign(classes, 0.0);
        logs_.resize(classes * size);
        for (Index k = 0; k < classes; ++k) {
            double* own = counts_.data() + k * size;
            for (Index g = 0; g < size; ++g) totals_[k] += (own[g] += alpha_[g]);
            for (Index g = 0; g < size; ++g)
                logs_[k * size + g] = certain ? 0.0 : log_or_none(totals_[k] > 0 ? own[g] / totals_[k] : 0.0);
        }
        double taken[student_rows], posterior[student_rows], prior[student_rows];
        Index group[student_rows], begin[student_rows + 1];
        for (Index c = 0; c < classes; ++c) {
            for (Index i = rows_.start[c]; i < rows_.start[c + 1];) {
                Index n = 0;  // runs of equal rows
                for (; i < rows_.start[c + 1]; ++i) {
                    const Index g = group_[pooled_.place[rows_.at[i]]];
                    if (n && group[n - 1] == g && taken[n - 1] == rows_.taken[i]) continue;
                    if (n == student_rows) break;
                    begin[n] = i, group[n] = g, taken[n] = rows_.taken[i];
                    ++n;
                }
                begin[n] = i;
                for (Index k = 0; k < classes; ++k)
                    for (Index r = 0; r < n; ++r) density_[k * student_rows + r] = logs_[k * size + group[r]];
                for (Index r = 0; !certain && r < n; ++r) {
                    const double norm = without(totals_[c], taken[r]),
                                 left = without(counts_[c * size + group[r]], taken[r]);
                    density_[c * student_rows + r] = log_or_none(norm > 0 ? left / norm : 0.0);
                }
                fast::log_posteriors(rows_.shares, c, n, taken, density_.data(), posterior, prior);
                for (Index r = 0; r < n; ++r) {
                    std::fill(posterior_.begin() + begin[r], posterior_.begin() + begin[r + 1], posterior[r]);
                    std::fill(log_prior_.begin() + begin[r], log_prior_.begin() + begin[r + 1], prior[r]);
                }
            }
        }
        return score();
    }

    Score score() const {
        return fast::score_of(posterior_.data(), log_prior_.data(), rows_.weight.data(), rows_.rows());
    }

    const ColumnPoints& column_;
    Pooled pooled_;
    ScoredPoints rows_;
    StudentPrior prior_;
    std::vector<double> posterior_, log_prior_, density_, counts_, alpha_, totals_, logs_;
    std::vector<Index> group_;
    std::vector<char> cut_;
};

}  // namespace

double between(double a, double b) {
    const double middle = 0.5 * a + 0.5 * b;
    return middle >= a && middle < b ? middle : a;
}

void cut_with_ties(const double* weight, Index n, Index bins, std::vector<char>& cut) {
    cut.assign(n, n <= bins);
    if (n <= bins) return;
    double total = 0;
    for (Index v = 0; v < n; ++v) total += weight[v];
    auto common = [&](Index v) { return weight[v] * double(bins) > total; };
    std::vector<double> reached(n);
    double sum = 0;
    for (Index v = 0; v < n; ++v) reached[v] = sum += common(v) ? 0.0 : weight[v];
    if (sum > 0)
        for (Index b = 1; b < bins; ++b) {
            const double wanted = double(b) * (sum / double(bins)) * (1.0 - 1e-10);
            const Index at = std::lower_bound(reached.begin(), reached.end(), wanted) - reached.begin();
            if (at < n) cut[at] = true;
        }
    for (Index v = 0; v < n; ++v)
        if (common(v)) {
            cut[v] = true;
            if (v) cut[v - 1] = true;
        }
}

ColumnShape shape_of(const ColumnPoints& column) {
    const Pooled pooled(column);
    ColumnShape out{Index(pooled.value.size()), 0, 0};
    for (const double w : pooled.weight) out.total += w, out.largest = std::max(out.largest, w);
    return out;
}

ColumnTable table_of(const ColumnPoints& column, Index bins) {
    const Pooled pooled(column);
    const Index distinct = Index(pooled.value.size());
    ColumnTable out;
    std::vector<Index> group(distinct);
    if (bins) {
        std::vector<char> cut;
        cut_with_ties(pooled.weight.data(), distinct, bins, cut);
        for (Index v = 1; v < distinct; ++v) {
            group[v] = group[v - 1] + cut[v - 1];
            if (cut[v - 1]) out.edges.push_back(between(pooled.end[v - 1], pooled.value[v]));
        }
        out.size = Index(out.edges.size()) + 1;
    } else {
        std::iota(group.begin(), group.end(), 0);
        out.edges = pooled.value;
        out.size = distinct;
    }
    out.weight.assign(column.classes * out.size, 0.0);
    for (Index c = 0; c < column.classes; ++c)
        for (Index i = column.start[c]; i < column.start[c + 1]; ++i)
            out.weight[c * out.size + group[pooled.place[i]]] += column.weight[i];
    return out;
}

bool score_candidates(const ColumnPoints& column, const Index* some, Index scored, StudentPrior prior,
                      const std::vector<Candidate>& candidates, Score* out) {
    ColumnScores scores(column, some, scored, prior);
    bool finite = true;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const Candidate& each = candidates[i];
        if (each.kind == CandidateKind::student)
            finite &= scores.student(out[i]);
        else
            out[i] = each.kind == CandidateKind::bins ? scores.bins(each.amount, each.bins)
                                                      : scores.values(each.amount, each.bins);
    }
    return finite;
}

Score score_log_densities(const double* log_density, Rows rows, Index n) {
    ClassShares shares;
    shares.weight.assign(rows.classes, 0.0);
    for (Index i = 0; i < n; ++i) shares.weight[rows.code[i]] += rows.weight[i];
    shares.finish();
    std::vector<double> posterior(n), prior(n), density(rows.classes * student_rows);
    double taken[student_rows];
    for (Index lo = 0, hi = 0; lo < n; lo = hi) {
        const Index c = rows.code[lo];
        for (; hi < n && rows.code[hi] == c && hi - lo < student_rows; ++hi) {
            taken[hi - lo] = std::min(rows.weight[hi], 1.0);
            for (Index k = 0; k < rows.classes; ++k)
                density[k * student_rows + hi - lo] = log_density[hi * rows.classes + k];
        }
        fast::log_posteriors(shares, c, hi - lo, taken, density.data(), posterior.data() + lo, prior.data() + lo);
    }
    return fast::score_of(posterior.data(), prior.data(), rows.weight, n);
}

#endif

}  // namespace suffice
