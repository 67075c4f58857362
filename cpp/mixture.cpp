// Gaussian mixtures in one dimension, by expectation-maximization (EM).
//
// Points are first standardized to mean 0 and variance 1, so that neither an offset nor a unit costs digits; for the
// same reason sums are taken around the current mean of each component. One thread fits one task from start to end, so
// that the result does not depend on the number of threads.
#include <cmath>
#include <limits>

#include "buffer.hpp"
#include "threads.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

constexpr Index block = 256;  // points whose responsibilities fit into the cache

// Add the sums of up to `block` points to those of k components; returns Σ w log p(z). `e` holds k rows of `block`.
double expectation(const double* __restrict z, const double* __restrict w, Index n, Index k, const double* mean,
                   const double* half_precision, const double* log_norm, double* __restrict e, double* sums) {
    alignas(64) double top[block], total[block];
    for (Index i = 0; i < n; ++i) top[i] = -std::numeric_limits<double>::infinity();
    for (Index c = 0; c < k; ++c) {
        const double m = mean[c], h = half_precision[c], norm = log_norm[c];
        double* to = e + c * block;
#pragma omp simd
        for (Index i = 0; i < n; ++i) {
            double d = z[i] - m, l = norm - d * d * h;
            to[i] = l;
            top[i] = l > top[i] ? l : top[i];
        }
    }
    for (Index i = 0; i < n; ++i) total[i] = 0;
    for (Index c = 0; c < k; ++c) {
        double* to = e + c * block;
#pragma omp simd
        for (Index i = 0; i < n; ++i) {
            double p = vector_exp(to[i] - top[i]);
            to[i] = p;
            total[i] += p;
        }
    }
    double score = 0;
#pragma omp simd reduction(+ : score)
    for (Index i = 0; i < n; ++i) {
        score += w[i] * (top[i] + vector_log(total[i]));
        total[i] = w[i] / total[i];
    }
    for (Index c = 0; c < k; ++c) {
        const double m = mean[c];
        const double* from = e + c * block;
        double weight = 0, first = 0, second = 0;
#pragma omp simd reduction(+ : weight, first, second)
        for (Index i = 0; i < n; ++i) {
            double r = from[i] * total[i], d = z[i] - m;
            weight += r;
            first += r * d;
            second += r * d * d;
        }
        sums[3 * c] += weight;
        sums[3 * c + 1] += first;
        sums[3 * c + 2] += second;
    }
    return score;
}

}  // namespace

SUFFICE_DISPATCH(mixture_expectation, expectation)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr double no_share = 1e-100;  // a component of a smaller share than this is dropped

struct Components {
    std::vector<double> share, mean, variance;
    Index size() const { return Index(share.size()); }
    void clear() { share.clear(), mean.clear(), variance.clear(); }
    void add(double s, double m, double v) { share.push_back(s), mean.push_back(m), variance.push_back(v); }
};

// Σ r, Σ r d and Σ r d² of a component, d = z - mean and r its responsibility times the point's weight.
struct Sums {
    double weight, first, second;
};

// One class and column: standardized points in ascending order, and the fits to them.
class Task {
public:
    Task(const double* value, const double* weight, Index n, double point, double least_share)
        : w_(weight), n_(n), weight_(0) {
        // The resolution of numbers of this size.
        const double size =
            std::max(std::abs(value[0]), std::abs(value[n - 1])) * std::numeric_limits<double>::epsilon();
        resolution = std::max(size * size, 1e-300);
        const double pivot = value[n / 2];
        double first = 0, second = 0, rest = 0;
        for (Index i = 0; i < n; ++i) weight_ += w_[i], first += w_[i] * (value[i] - pivot);
        mean = pivot + first / weight_;
        for (Index i = 0; i < n; ++i) {
            const double d = value[i] - mean;
            rest += w_[i] * d, second += w_[i] * d * d;
        }
        rest /= weight_;
        variance = second / weight_ - rest * rest;
        constant = n < 2 || !(variance > resolution);
        if (constant) {
            variance = point;
            return;
        }
        floor_ = std::max(least_share, resolution / variance);
        scale = std::sqrt(variance);
        z_ = Buffer(n);
        for (Index i = 0; i < n; ++i) z_[i] = (value[i] - mean) / scale;
        sum_w_.resize(n + 1), sum_wz_.resize(n + 1);
        for (Index i = 0; i < n; ++i) sum_w_[i + 1] = sum_w_[i] + w_[i], sum_wz_[i + 1] = sum_wz_[i] + w_[i] * z_[i];
    }

    // The result of one run of EM: the mean log-likelihood before each step and at the end.
    struct Run {
        Components found;
        std::vector<double> trace;
        bool converged = false;
        double score() const { return trace.back(); }
    };

    // Run EM from the groups that begin at `at` (k + 1 positions).
    Run run(const std::vector<Index>& at, double tol, Index most) {
        Run out;
        for (std::size_t g = 0; g + 1 < at.size(); ++g) {
            const double n = sum_w_[at[g + 1]] - sum_w_[at[g]], m = (sum_wz_[at[g + 1]] - sum_wz_[at[g]]) / n;
            double squares = 0;
            for (Index i = at[g]; i < at[g + 1]; ++i) squares += w_[i] * (z_[i] - m) * (z_[i] - m);
            out.found.add(n / weight_, m, std::max(squares / n, floor_));
        }
        for (Index step = 0; step < most && !out.converged; ++step) {
            const double before = out.trace.empty() ? -std::numeric_limits<double>::infinity() : out.trace.back();
            out.trace.push_back(expect(out.found));
            out.converged = std::abs(out.trace.back() - before) < tol;
            maximize(out.found);
        }
        out.trace.push_back(expect(out.found));
        return out;
    }

    // Groups of equal weight, moved by Lloyd's algorithm to the nearest means.
    std::vector<Index> quantile_groups(Index k) {
        std::vector<Index> at(k + 1);
        for (Index g = 1; g < k; ++g)
            at[g] = std::lower_bound(sum_w_.begin(), sum_w_.end(), weight_ * double(g) / double(k)) - sum_w_.begin();
        return settled(at, k);
    }

    // The same from k centres drawn as in k-means++: far from those already drawn.
    std::vector<Index> drawn_groups(Index k, const double* uniform) {
        std::vector<double> centre, nearest(n_, std::numeric_limits<double>::infinity()), mass(n_);
        for (Index g = 0; g < k; ++g) {
            double total = 0;
            for (Index i = 0; i < n_; ++i) mass[i] = total += g ? w_[i] * nearest[i] : w_[i];
            const Index at = std::upper_bound(mass.begin(), mass.end() - 1, uniform[g] * total) - mass.begin();
            centre.push_back(z_[at]);
            for (Index i = 0; i < n_; ++i) nearest[i] = std::min(nearest[i], (z_[i] - z_[at]) * (z_[i] - z_[at]));
        }
        std::sort(centre.begin(), centre.end());
        return settled(borders(centre), k);
    }

    Index size() const { return n_; }
    double weight() const { return weight_; }

    double mean, variance, resolution, scale = 1;
    bool constant;

private:
    double expect(const Components& c) {
        const Index k = c.size();
        sums_.assign(3 * k, 0.0), half_precision_.resize(k), log_norm_.resize(k);
        if (scratch_.size() < k * block) scratch_ = Buffer(k * block);
        for (Index g = 0; g < k; ++g) {
            half_precision_[g] = 0.5 / c.variance[g];
            log_norm_[g] = std::log(c.share[g]) - 0.5 * (log_2pi + std::log(c.variance[g]));
        }
        double score = 0;
        for (Index i = 0; i < n_; i += block)
            score += fast::mixture_expectation(z_ + i, w_ + i, std::min(block, n_ - i), k, c.mean.data(),
                                               half_precision_.data(), log_norm_.data(), scratch_.data(), sums_.data());
        return score / weight_;
    }

    // Raising variances to the floor maximizes the likelihood among all above it, so that EM still never decreases it.
    void maximize(Components& c) {
        Components next;
        for (Index g = 0; g < c.size(); ++g) {
            const double n = sums_[3 * g];
            if (!(n > no_share * weight_)) continue;
            const double shift = sums_[3 * g + 1] / n, variance = sums_[3 * g + 2] / n - shift * shift;
            next.add(n / weight_, c.mean[g] + shift, std::max(variance, floor_));
        }
        c = std::move(next);
    }

    std::vector<Index> borders(const std::vector<double>& centre) const {
        const Index k = Index(centre.size());
        std::vector<Index> at(k + 1);
        const double *begin = z_.data(), *end = begin + n_;
        for (Index g = 1; g < k; ++g) at[g] = std::upper_bound(begin, end, 0.5 * (centre[g - 1] + centre[g])) - begin;
        return at;
    }

    // Lloyd's algorithm on sorted points: only the borders move. No group becomes empty.
    std::vector<Index> settled(std::vector<Index> at, Index k) const {
        constexpr int most = 100;
        std::vector<double> centre(k);
        for (int round = 0;; ++round) {
            at[0] = 0, at[k] = n_;
            for (Index g = 1; g < k; ++g) at[g] = std::clamp(at[g], at[g - 1] + 1, n_ - (k - g));
            if (round == most) return at;
            for (Index g = 0; g < k; ++g)
                centre[g] = (sum_wz_[at[g + 1]] - sum_wz_[at[g]]) / (sum_w_[at[g + 1]] - sum_w_[at[g]]);
            std::vector<Index> next = borders(centre);
            next[k] = n_;
            if (next == at) return at;
            at = std::move(next);
        }
    }

    const double* w_;
    Index n_;
    double weight_, floor_ = 0;
    Buffer z_, scratch_;
    std::vector<double> sum_w_, sum_wz_, sums_, half_precision_, log_norm_;
};

// The best of all starts, and of all numbers of components if these are to be selected.
Task::Run best_run(Task& task, const MixtureOptions& options) {
    const Index most = std::min(options.components, task.size());
    Task::Run best;
    double least_cost = std::numeric_limits<double>::infinity();
    for (Index k = options.select ? 1 : most; k <= most; ++k)
        for (Index s = 0; s <= options.draws; ++s) {
            auto groups =
                s ? task.drawn_groups(k, options.uniform + (s - 1) * options.components) : task.quantile_groups(k);
            Task::Run run = task.run(groups, options.tol, options.max_iter);
            // Schwarz's criterion (BIC); for the same number of components, the higher likelihood.
            const double parameters = options.select ? 3.0 * double(run.found.size()) - 1.0 : 0.0;
            const double cost = parameters * std::log(std::max(task.weight(), 1.0)) - 2 * task.weight() * run.score();
            if (cost < least_cost || best.trace.empty()) least_cost = cost, best = std::move(run);
        }
    return best;
}

}  // namespace

void mixture_fit(const double* value, const double* weight, const Index* start, Index tasks, const double* point,
                 MixtureOptions options, MixtureResult out) {
    const Index k = options.components;
    const Index points = start[tasks] - start[0];
    for_blocks(tasks, threads_for(points * k * 32, tasks), [&](Index t, int) {
        out.used[t] = 0, out.steps[t] = 0, out.converged[t] = true, out.score[t] = 0;
        for (Index c = 0; c < k; ++c) out.share[t * k + c] = 0, out.mean[t * k + c] = 0, out.variance[t * k + c] = 1;
        const Index n = start[t + 1] - start[t];
        if (!n) return;
        Task task(value + start[t], weight + start[t], n, point[t], options.floor);
        if (task.constant) {
            out.used[t] = 1, out.steps[t] = 1;
            out.share[t * k] = 1, out.mean[t * k] = task.mean, out.variance[t * k] = task.variance;
            out.score[t] = -0.5 * (log_2pi + std::log(task.variance));
            if (out.trace) out.trace[t * (options.max_iter + 1)] = out.score[t];
            return;
        }
        const Task::Run run = best_run(task, options);
        const Components& found = run.found;
        std::vector<Index> order(found.size());
        for (Index c = 0; c < found.size(); ++c) order[c] = c;
        std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return found.mean[a] < found.mean[b]; });
        for (Index c = 0; c < found.size(); ++c) {
            out.share[t * k + c] = found.share[order[c]];
            out.mean[t * k + c] = task.mean + task.scale * found.mean[order[c]];
            out.variance[t * k + c] = std::max(task.variance * found.variance[order[c]], task.resolution);
        }
        out.used[t] = found.size(), out.steps[t] = Index(run.trace.size()) - 1, out.converged[t] = run.converged;
        out.score[t] = run.score() - std::log(task.scale);
        if (out.trace)
            for (std::size_t i = 0; i < run.trace.size(); ++i)
                out.trace[t * (options.max_iter + 1) + Index(i)] = run.trace[i] - std::log(task.scale);
    });
}

#endif

}  // namespace suffice
