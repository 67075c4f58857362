// Multivariate Gaussians of incomplete rows: the density of the observed entries, and the conditional mean and
// covariance of the missing ones.
#include <cmath>

#include "buffer.hpp"
#include "threads.hpp"

namespace suffice {
namespace {

// The observed entries of a row, and the Cholesky factor of their covariance under each class.
class Pattern {
public:
    Pattern(Index d, Index classes, const double* mean, const double* covariance)
        : d_(d), classes_(classes), mean_(mean), covariance_(covariance), factor_(classes * d * d), seen_(d, 2) {}

    // Factor again if the row misses other entries than the row before.
    void follow(const double* row) {
        bool same = true;
        for (Index j = 0; j < d_ && same; ++j) same = seen_[j] == char(row[j] == row[j]);
        if (same) return;
        observed.clear();
        missing.clear();
        for (Index j = 0; j < d_; ++j) {
            seen_[j] = char(row[j] == row[j]);
            (seen_[j] ? observed : missing).push_back(j);
        }
        log_determinant.assign(classes_, 0.0);
        for (Index c = 0; c < classes_; ++c) log_determinant[c] = factorize(c);
    }

    const double* covariance(Index c) const { return covariance_ + c * d_ * d_; }
    const double* mean(Index c) const { return mean_ + c * d_; }
    const double* factor(Index c) const { return factor_.data() + c * d_ * d_; }

    std::vector<Index> observed, missing;
    std::vector<double> log_determinant;

private:
    double factorize(Index c) {
        const Index m = Index(observed.size());
        const double* sigma = covariance(c);
        double *l = factor_.data() + c * d_ * d_, log_det = 0;
        for (Index i = 0; i < m; ++i)
            for (Index j = 0; j <= i; ++j) {
                double sum = sigma[observed[i] * d_ + observed[j]];
                for (Index k = 0; k < j; ++k) sum -= l[i * d_ + k] * l[j * d_ + k];
                if (i > j) {
                    l[i * d_ + j] = sum / l[j * d_ + j];
                } else {  // rounding may leave no variance where the other entries determine this one
                    const double least = 1e-16 * sigma[observed[i] * d_ + observed[i]];
                    l[i * d_ + i] = std::sqrt(std::max({sum, least, 1e-300}));
                    log_det += 2 * std::log(l[i * d_ + i]);
                }
            }
        return log_det;
    }

    Index d_, classes_;
    const double *mean_, *covariance_;
    Buffer factor_;
    std::vector<char> seen_;
};

void solve_lower(const double* l, Index stride, Index m, double* z) {
    for (Index i = 0; i < m; ++i) {
        double sum = z[i];
        for (Index k = 0; k < i; ++k) sum -= l[i * stride + k] * z[k];
        z[i] = sum / l[i * stride + i];
    }
}

void solve_upper(const double* l, Index stride, Index m, double* z) {  // Lᵀ z = z
    for (Index i = m - 1; i >= 0; --i) {
        z[i] /= l[i * stride + i];
        for (Index k = 0; k < i; ++k) z[k] -= l[i * stride + k] * z[i];
    }
}

// covariance[i, j] += w Cov(x_i, x_j | observed) over the missing entries.
void add_conditional_covariance(const Pattern& p, Index c, Index d, double w, std::vector<double>& column, double* to) {
    const double *sigma = p.covariance(c), *l = p.factor(c);
    const Index m = Index(p.observed.size()), missing = Index(p.missing.size());
    // Rows of L⁻¹ Σ_om, one for each missing entry.
    column.resize(missing * m);
    for (Index a = 0; a < missing; ++a) {
        for (Index k = 0; k < m; ++k) column[a * m + k] = sigma[p.missing[a] * d + p.observed[k]];
        solve_lower(l, d, m, column.data() + a * m);
    }
    for (Index a = 0; a < missing; ++a)
        for (Index b = 0; b < missing; ++b) {
            double sum = sigma[p.missing[a] * d + p.missing[b]];
            for (Index k = 0; k < m; ++k) sum -= column[a * m + k] * column[b * m + k];
            to[p.missing[a] * d + p.missing[b]] += w * sum;
        }
}

}  // namespace

void gaussian_incomplete(const double* x, Index rows, Index d, const double* mean, const double* covariance,
                         Index classes, const double* weight, double* log_density, double* peak, double* filled,
                         double* spread) {
    constexpr Index block_rows = 64;
    const Index blocks = (rows + block_rows - 1) / block_rows;
    const int threads = threads_for(rows * d * d * classes / 2, blocks);
    std::vector<Buffer> partial;
    for (int t = 0; t < threads; ++t) partial.emplace_back(spread ? classes * d * d : 0);
    auto work = [&](Index b, int slot) {
        Pattern pattern(d, classes, mean, covariance);
        std::vector<double> z(d), column;
        partial[slot].fill(0.0);
        for (Index i = b * block_rows; i < std::min(rows, (b + 1) * block_rows); ++i) {
            const double* row = x + i * d;
            pattern.follow(row);
            const Index m = Index(pattern.observed.size());
            for (Index c = 0; c < classes; ++c) {
                const double* centre = pattern.mean(c);
                for (Index k = 0; k < m; ++k) z[k] = row[pattern.observed[k]] - centre[pattern.observed[k]];
                solve_lower(pattern.factor(c), d, m, z.data());
                if (log_density) {
                    double distance = 0;
                    for (Index k = 0; k < m; ++k) distance += z[k] * z[k];
                    const double highest = -0.5 * (pattern.log_determinant[c] + double(m) * log_2pi);
                    log_density[i * classes + c] = highest - 0.5 * distance;
                    if (peak) peak[i * classes + c] = highest;
                }
                if (filled) {
                    solve_upper(pattern.factor(c), d, m, z.data());
                    double* to = filled + (i * classes + c) * d;
                    std::copy_n(row, d, to);
                    for (Index j : pattern.missing) {
                        double sum = centre[j];
                        for (Index k = 0; k < m; ++k) sum += pattern.covariance(c)[j * d + pattern.observed[k]] * z[k];
                        to[j] = sum;
                    }
                }
                if (spread)
                    add_conditional_covariance(pattern, c, d, weight ? weight[i] : 1.0, column,
                                               partial[slot] + c * d * d);
            }
        }
    };
    auto merge = [&](Index, int slot) {
        for (Index k = 0; k < partial[slot].size(); ++k) spread[k] += partial[slot][k];
    };
    for_blocks(blocks, threads, work, merge);
}

}  // namespace suffice
