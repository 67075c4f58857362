// The number of edges below each of many numbers.
#include "search.hpp"

#include <limits>

#include "vectors.hpp"

namespace suffice {
namespace {

constexpr Index few = 64;  // up to which a comparison with each edge is faster than a search
constexpr int together = 4, lanes = 8;

// Compare some numbers with each edge; the counts stay in registers.
SUFFICE_INLINE void compare(const double* x, const double* edges, Index count, std::int32_t* out) {
    Eight value[together], below[together];
    for (int t = 0; t < together; ++t) value[t] = load<Eight>(x + t * lanes), below[t] = Eight{};
    for (Index k = 0; k < count; ++k) {
        const double edge = edges[k];
        SUFFICE_UNROLL(4)
        for (int t = 0; t < together; ++t) below[t] = select(value[t] > edge, Eight(below[t] + 1.0), below[t]);
    }
    for (int t = 0; t < together; ++t)
        for (int v = 0; v < lanes; ++v) out[t * lanes + v] = std::int32_t(below[t][v]);
}

void count(const double* x, Index rows, const double* edges, Index count, std::int32_t* out) {
    Index i = 0;
    for (; count <= few && i + together * lanes <= rows; i += together * lanes) compare(x + i, edges, count, out + i);
    const Index done = i;
    for (; i < rows; ++i) out[i] = 0;
    for (Index left = count; left > 0 && done < rows;) {
        const std::int32_t half = std::int32_t((left + 1) / 2);
#pragma omp simd
        for (Index i = done; i < rows; ++i) out[i] += edges[out[i] + half - 1] < x[i] ? half : 0;
        left -= half;
    }
}

SUFFICE_INLINE std::int32_t step_of(double x, const StepTable& steps) {
    double at = (x - steps.from) * steps.per_step;
    at = at > 0 ? at : 0;  // NaN too
    return std::int32_t(at < steps.last ? at : steps.last);
}

template <int most>
SUFFICE_INLINE void count_in_step(const double* x, Index rows, const StepTable& steps, std::int32_t* out) {
    const std::int32_t* __restrict before = steps.before;
    const double* __restrict edges = steps.edges;
#pragma omp simd
    for (Index i = 0; i < rows; ++i) {
        std::int32_t k = before[step_of(x[i], steps)];
        SUFFICE_UNROLL(4)
        for (int j = 0; j < most; ++j) k += edges[k] < x[i] ? 1 : 0;
        out[i] = k;
    }
}

void count_steps(const double* x, Index rows, const StepTable& steps, std::int32_t* out) {
    switch (steps.most) {
        case 1: return count_in_step<1>(x, rows, steps, out);
        case 2: return count_in_step<2>(x, rows, steps, out);
        case 3: return count_in_step<3>(x, rows, steps, out);
        default: return count_in_step<4>(x, rows, steps, out);
    }
}

}  // namespace

SUFFICE_DISPATCH(count_below, count)
SUFFICE_DISPATCH(count_by_steps, count_steps)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr int most_in_a_step = 4;
constexpr Index few_edges = 30;  // with which numbers are compared sooner
constexpr Index steps_for_an_edge = 16, fewest_steps = 256, most_steps = 4096;  // whose table stays in the first cache

}  // namespace

Search::Search(const double* edges, Index count, Index n) : edges_(edges), count_(count) {
    const Index size = std::clamp(steps_for_an_edge * count, fewest_steps, most_steps);
    if (count <= few_edges || n < 4 * size) return;
    closed_.assign(edges, edges + count);
    closed_.push_back(std::numeric_limits<double>::infinity());
    before_.assign(std::size_t(size), 0);
    StepTable steps{edges[0], double(size) / (edges[count - 1] - edges[0]), double(size - 1), nullptr, nullptr, 0};
    for (Index k = 0; k < count; ++k) ++before_[step_of(edges[k], steps)];
    steps.most = *std::max_element(before_.begin(), before_.end());
    if (steps.most > most_in_a_step) return;
    std::int32_t sum = 0;
    for (std::int32_t& step : before_) sum += std::exchange(step, sum);
    steps.before = before_.data();
    steps.edges = closed_.data();
    steps_ = steps;
}

void Search::count_below(const double* x, Index rows, std::int32_t* out) const {
    if (steps_.most) return fast::count_by_steps(x, rows, steps_, out);
    fast::count_below(x, rows, edges_, count_, out);
}

void count_below(const double* x, Index rows, const double* edges, Index count, std::int32_t* out) {
    fast::count_below(x, rows, edges, count, out);
}

#endif

}  // namespace suffice
