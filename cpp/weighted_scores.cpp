// The log-loss of scores added with weights, and its derivatives.
#include <cmath>

#include "dispatch.hpp"
#include "text.hpp"
#include "vector_math.hpp"

namespace suffice {

// The sums over some rows, and space for one row.
struct LossSums {
    Index parts, classes, width;  // of a row of the Hessian: parts and v, then room for whole vectors
    double loss = 0, mixed = 0;
    std::vector<double> gradient, hessian, border, factor, bent, z, moved, mean, step;

    LossSums(Index p, Index k)
        : parts(p),
          classes(k),
          width((p + 8) / 8 * 8),
          gradient(width),
          hessian(width * width),
          border(width + 1),
          factor(p),
          bent(p),
          z(k),
          moved(k * width),
          mean(width),
          step(width) {}

    void clear() {
        loss = mixed = 0;
        for (std::vector<double>* each : {&gradient, &hessian, &border}) std::fill(each->begin(), each->end(), 0.0);
    }
};

namespace {

// Less probable classes add nothing to the Hessian that a step by it would show.
constexpr double unlikely = 1e-9;

// The softmax of row i, in `z`; the factors e^(u + v ℓ) as well.
SUFFICE_INLINE void softmax(const WeightedScores& x, const double* phi, Index i, LossSums& own) {
    const double *score = x.score + i * x.parts * x.classes, *log = x.log + i * x.parts;
    for (Index p = 0; p < x.parts; ++p) own.factor[p] = phi[p] + phi[x.parts] * log[p];
    for (Index p = 0; p < x.parts; ++p)
        own.factor[p] = own.factor[p] <= 709.0 ? vector_exp(own.factor[p]) : std::exp(own.factor[p]);
    double *z = own.z.data(), most = -HUGE_VAL, sum = 0;
    std::copy_n(x.log_prior + i * x.classes, x.classes, z);
    for (Index p = 0; p < x.parts; ++p)
        for (Index c = 0; c < x.classes; ++c) z[c] += own.factor[p] * score[p * x.classes + c];
    for (Index c = 0; c < x.classes; ++c) most = std::max(most, z[c]);
    for (Index c = 0; c < x.classes; ++c) z[c] = vector_exp(z[c] - most);
    for (Index c = 0; c < x.classes; ++c) sum += z[c];
    for (Index c = 0; c < x.classes; ++c) z[c] /= sum;
}

// Add the derivatives of row i; r is the share of the softmax in p_y, and w the weight of the row.
SUFFICE_INLINE void add_derivatives(const WeightedScores& x, Index i, double w, double r, LossSums& own) {
    const Index p = x.parts, k = x.classes, width = own.width, y = x.code[i];
    const double *score = x.score + i * p * k, *log = x.log + i * p, *q = own.z.data(), share = w * r;
    double *moved = own.moved.data(), *mean = own.mean.data(), *step = own.step.data();
    std::fill_n(mean, width, 0.0);
    for (Index c = 0; c < k; ++c) {  // ∂z_c/∂u, then ∂z_c/∂v
        double* row = moved + c * width;
        double along = 0;
        for (Index a = 0; a < p; ++a) {
            row[a] = own.factor[a] * score[a * k + c];
            along += log[a] * row[a];
        }
        row[p] = along;
        for (Index a = 0; a <= p; ++a) mean[a] += q[c] * row[a];
    }
    for (Index a = 0; a <= p; ++a) step[a] = moved[y * width + a] - mean[a];  // ∂ log q_y
    for (Index a = 0; a <= p; ++a) own.gradient[a] -= share * step[a];
    auto add_square = [&](const double* row, double weight) SUFFICE_INLINE_LAMBDA {
        for (Index a = 0; a <= p; ++a) {
            const double scaled = weight * row[a];
            double* to = own.hessian.data() + a * width;
            for (Index b = 0; b < (a + 8) / 8 * 8; ++b) to[b] += scaled * row[b];
        }
    };
    for (Index c = 0; c < k; ++c) {
        if (q[c] < unlikely) continue;
        double* row = moved + c * width;
        for (Index a = 0; a <= p; ++a) row[a] -= mean[a];
        add_square(row, share * q[c]);
    }
    add_square(step, -share * (1.0 - r));
    for (Index a = 0; a < p; ++a) {  // of the curvature of e^(u + v ℓ)
        const double second = share * step[a], cross = second * log[a];
        own.hessian[a * width + a] -= second;
        own.hessian[p * width + a] -= cross;
        own.hessian[p * width + p] -= cross * log[a];
    }
    for (Index a = 0; a <= p; ++a) own.border[a] += share * (1.0 - r) * step[a];
    own.border[p + 1] -= share * (1.0 - r);
}

void add_rows(const WeightedScores& x, const double* phi, double mixed, Index lo, Index hi, bool derivatives,
              LossSums& own) {
    for (Index i = lo; i < hi; ++i) {
        const double w = x.weight[i];
        softmax(x, phi, i, own);
        const Index y = x.code[i];
        const double good = (1.0 - mixed) * own.z[y], all = good + mixed * std::exp(x.log_prior[i * x.classes + y]);
        own.loss -= w * std::log(all);
        if (!derivatives) continue;
        const double r = good / all;
        own.mixed -= w * ((1.0 - r) - mixed);
        add_derivatives(x, i, w, r, own);
    }
}

}  // namespace

SUFFICE_DISPATCH(add_loss, add_rows)

#ifndef SUFFICE_ONLY_LOOPS_FOR

double weighted_loss(const WeightedScores& x, const double* phi, double* gradient, double* hessian) {
    const Index size = 128, blocks = (x.rows + size - 1) / size, p = x.parts, n = p + 2;
    const double mixed = 1.0 / (1.0 + std::exp(-phi[p + 1]));
    const int threads = threads_for(x.rows * x.classes * p * (gradient ? p : 1), blocks);
    std::vector<LossSums> sums(threads, LossSums(p, x.classes));
    double loss = 0;
    if (gradient) std::fill_n(gradient, n, 0.0), std::fill_n(hessian, n * n, 0.0);
    for_blocks(
        blocks, threads,
        [&](Index b, int slot) {
            sums[slot].clear();
            fast::add_loss(x, phi, mixed, b * size, std::min(x.rows, (b + 1) * size), gradient != nullptr, sums[slot]);
        },
        [&](Index, int slot) {
            const LossSums& own = sums[slot];
            loss += own.loss;
            if (!gradient) return;
            for (Index a = 0; a <= p; ++a) {
                gradient[a] += own.gradient[a];
                hessian[(p + 1) * n + a] += own.border[a];
                for (Index b = 0; b <= a; ++b) hessian[a * n + b] += own.hessian[a * own.width + b];
            }
            gradient[p + 1] += own.mixed;
            hessian[n * n - 1] += own.border[p + 1];
        });
    for (Index a = 0; gradient && a < n; ++a)
        for (Index b = 0; b < a; ++b) hessian[b * n + a] = hessian[a * n + b];
    return loss;
}

#endif

}  // namespace suffice
