// Student's t without each row in turn. Without row x of weight v, a class of weight n, mean μ and squares S has
//
//     weight n − v,   mean μ − v (x − μ) / (n − v),   squares S − n v (x − μ)² / (n − v).
//
// The prior changes with it: its mean is that of all classes, its variance that within classes.
#include "student.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "dispatch.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double share_left = 1e-3;  // of weight and squares, for the digits of differences

// Σ_k B_2k / (2k (2k − 1) z^(2k − 1)) of Stirling's series, for z ≥ 10.
double stirling(double z) {
    constexpr double coefficient[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                      1.0 / 1188, -691.0 / 360360, 1.0 / 156.0};
    const double inverse = 1 / z, square = inverse * inverse;
    double sum = 0;
    for (int k = 6; k >= 0; --k) sum = sum * square + coefficient[k];
    return sum * inverse;
}

// log Γ(a + ½) − log Γ(a) of a > 0, without the difference of two large numbers.
double log_half_step(double a) {
    double below = 1;
    if (a < 10) {
        for (int k = 0; k < 10; ++k) below *= (a + k) / (a + k + 0.5);
        a += 10;
    }
    const double whole = a + 0.5;
    return (a - 0.5) * std::log1p(0.5 / a) + 0.5 * (std::log(whole) - 1) + (stirling(whole) - stirling(a)) +
           std::log(below);
}

SUFFICE_INLINE double larger(double a, double b) { return a > b ? a : b; }

SUFFICE_INLINE double log_density(const StudentPrior& prior, double x, double weight, double mean, double squares,
                                  double norm, double pooled, double scale, double floor) {
    const double inverse = 1 / (prior.strength + weight), pull = weight * inverse, rest = prior.strength * inverse;
    const double step = mean - pooled, grown = scale + 0.5 * (squares + prior.strength * pull * step * step);
    const double centre = pull > rest ? mean - rest * step : pooled + pull * step;
    const double shape = prior.shape + 0.5 * weight;
    const double width = 2 * shape * larger(grown / shape * (1 + inverse), floor);
    const double off = x - centre, z = off * off / width, sum = 1 + z;
    const double log1p = vector_log(sum) + (z - (sum - 1)) / sum;  // with the digits of z that the sum has lost
    return norm - 0.5 * vector_log(std::numbers::pi * width) - (shape + 0.5) * log1p;
}

void take_out(const StudentColumn& column, Index c, StudentRows& rows) {
    const ClassMoments own = column.of[c];
#pragma omp simd
    for (Index i = 0; i < rows.n; ++i) {
        const double w = rows.taken[i], left = own.weight - w, off = rows.x[i] - column.origin - own.mean;
        const bool any = left > residue * own.weight;
        const double share = w / (any ? left : 1.0), gone = off * off * share * own.weight;
        const double squares = own.squares - gone;
        rows.weight[i] = any ? left : 0.0;
        rows.mean[i] = any ? own.mean - off * share : 0.0;
        rows.squares[i] = any && squares > 0 ? squares : 0.0;
        rows.lossy[i] =
            any && own.squares > 0 && !(left > share_left * own.weight && squares > share_left * own.squares);
    }
}

void densities(const StudentColumn& column, Index c, StudentRows& rows, double* out) {
    const double others = column.weight[c], moment = column.moment[c], within = column.within[c],
                 largest = column.largest[c], origin = column.origin;
    const StudentPrior prior = column.prior;
    double least_excess = 1;  // of a variance over what rounding explains
#pragma omp simd reduction(min : least_excess)
    for (Index i = 0; i < rows.n; ++i) {
        const double total = others + rows.weight[i], inverse = 1 / (total > 0 ? total : 1.0);
        const double pooled = (moment + rows.weight[i] * rows.mean[i]) * inverse;
        const double variance = (within + rows.squares[i]) * inverse, point = epsilon * (pooled + origin);
        rows.centre[i] = rows.weight[i] > 0 ? rows.mean[i] + origin : 0.0;
        const double size = epsilon * larger(largest, std::fabs(rows.centre[i]));
        rows.pooled[i] = pooled + origin;
        rows.scale[i] = 0.5 * variance;
        rows.floor[i] = total > 0 ? larger(size * size, 1e-300) : 1.0;
        const double excess = variance > point * point ? 1.0 : 0.0;
        least_excess = excess < least_excess ? excess : least_excess;
    }
    const Index classes = Index(column.of.size());
    // A column that varies in no class has the variance of all classes together, and one that does not vary at all 1.
    for (Index i = 0; least_excess < 1 && i < rows.n; ++i) {
        const double total = others + rows.weight[i], point = epsilon * rows.pooled[i];
        if (2 * rows.scale[i] > point * point) continue;
        // Around the mean of one class: where all are equal, no rounding makes them differ.
        auto weight = [&](Index k) { return k == c ? rows.weight[i] : column.of[k].weight; };
        auto mean = [&](Index k) { return k == c ? rows.mean[i] : column.of[k].mean; };
        Index first = 0;
        while (first + 1 < classes && !(weight(first) > 0)) ++first;
        double sum = 0, squares = within + rows.squares[i];
        for (Index k = 0; k < classes; ++k) sum += weight(k) > 0 ? weight(k) * (mean(k) - mean(first)) : 0.0;
        const double middle = total > 0 ? sum / total : 0.0;
        for (Index k = 0; k < classes; ++k) {
            const double off = mean(k) - mean(first) - middle;
            squares += weight(k) > 0 ? weight(k) * off * off : 0.0;
        }
        const double variance = total > 0 ? squares / total : 0.0;
        rows.scale[i] = 0.5 * (variance > point * point ? variance : 1.0);
    }
    for (Index i = 0; i < rows.n; ++i)
        rows.norm[i] =
            rows.taken[i] == 1 ? column.norm_without_one[c] : log_half_step(prior.shape + 0.5 * rows.weight[i]);
    for (Index k = 0; k < classes; ++k) {
        double* to = out + k * student_rows;
        if (k == c) {
#pragma omp simd
            for (Index i = 0; i < rows.n; ++i)
                to[i] = log_density(prior, rows.x[i], rows.weight[i], rows.centre[i], rows.squares[i], rows.norm[i],
                                    rows.pooled[i], rows.scale[i], rows.floor[i]);
            continue;
        }
        const ClassMoments other = column.of[k];
        const double norm = column.norm[k], mean = other.weight > 0 ? other.mean + origin : 0.0;
#pragma omp simd
        for (Index i = 0; i < rows.n; ++i)
            to[i] = log_density(prior, rows.x[i], other.weight, mean, other.squares, norm, rows.pooled[i],
                                rows.scale[i], rows.floor[i]);
    }
}

}  // namespace

SUFFICE_DISPATCH(student_left_out, take_out)
SUFFICE_DISPATCH(student_densities, densities)

#ifndef SUFFICE_ONLY_LOOPS_FOR

StudentColumn::StudentColumn(StudentPrior prior, double origin, std::vector<ClassMoments> classes)
    : prior(prior), origin(origin), of(std::move(classes)) {
    const std::size_t k = of.size();
    for (auto* each : {&norm, &norm_without_one, &weight, &moment, &within, &largest}) each->assign(k, 0.0);
    for (std::size_t c = 0; c < k; ++c) {
        norm[c] = log_half_step(prior.shape + 0.5 * of[c].weight);
        norm_without_one[c] = log_half_step(prior.shape + 0.5 * larger(of[c].weight - 1, 0));
    }
    // Sums over the classes before each, then over those after it: no difference loses digits.
    for (const bool forward : {true, false}) {
        double n = 0, first = 0, inside = 0, size = 0;
        for (std::size_t i = 0; i < k; ++i) {
            const std::size_t c = forward ? i : k - 1 - i;
            weight[c] += n, moment[c] += first, within[c] += inside, largest[c] = larger(largest[c], size);
            n += of[c].weight, first += of[c].weight * of[c].mean, inside += of[c].squares;
            if (of[c].weight > 0) size = larger(size, std::fabs(of[c].mean + origin));
        }
    }
}

void leave_out(const StudentColumn& column, Index c, StudentRows& rows) { fast::student_left_out(column, c, rows); }

void log_densities(const StudentColumn& column, Index c, StudentRows& rows, double* out) {
    fast::student_densities(column, c, rows, out);
}

#endif

}  // namespace suffice
