// Weight, mean and centred squares of two sets of rows together, and of one without the other.
//
// With δ the difference of the means, squares grow by δ² w_a w_b / (w_a + w_b) (Chan, Golub and LeVeque, 1979). Beside
// each number goes a bound on what rounding has taken from it, its doubt: by first-order error analysis, an operation
// on pairs adds pair_error of its result, and what was wrong before grows as the formula says. What is left after
// taking rows away counts as 0 if it is within its doubt, so that what a refit would find equal stays equal.
#pragma once

#include "double_double.hpp"

namespace suffice {

// The moments of one class and column, or of eight columns.
template <class V>
struct CellOf {
    SumOf<V> weight, mean, squares;
};
using Cell = CellOf<double>;

template <class V>
SUFFICE_INLINE SumOf<V> either(const auto& first, const SumOf<V>& a, const SumOf<V>& b) {
    return {{select(first, a.value.high, b.value.high), select(first, a.value.low, b.value.low)},
            select(first, a.doubt, b.doubt)};
}

// The mean and squares of `a` after those of `b` are added (sign 1) or taken away (-1), where `weight` is left.
template <class V>
SUFFICE_INLINE CellOf<V> together(const CellOf<V>& a, const CellOf<V>& b, const SumOf<V>& weight, double sign) {
    const V one = V{} + 1.0;
    const PairOf<V> whole = {select(weight.value.high > 0, weight.value.high, one), weight.value.low};
    const PairOf<V> ratio = b.weight.value / whole, step = b.mean.value - a.mean.value;
    const PairOf<V> lever = a.weight.value * ratio, move = step * ratio, gain = step * step * lever;
    const PairOf<V> both = b.squares.value + gain;
    const PairOf<V> mean = sign > 0 ? a.mean.value + move : a.mean.value - move;
    const PairOf<V> squares = sign > 0 ? a.squares.value + both : a.squares.value - both;
    const V means = a.mean.doubt + b.mean.doubt, unsure = weight.doubt / whole.high;
    const V pulled = sign > 0 ? b.mean.doubt - a.mean.doubt : means;
    const V mean_doubt = a.mean.doubt + ratio.high * pulled + size_of(move.high) * unsure +
                         pair_error * (size_of(a.mean.value.high) + 4 * size_of(move.high));
    const V squares_doubt = a.squares.doubt + b.squares.doubt + 2 * size_of(step.high) * lever.high * means +
                            gain.high * unsure + pair_error * (a.squares.value.high + 8 * both.high);
    return {weight, {mean, mean_doubt}, {squares, squares_doubt}};
}

template <class V>
SUFFICE_INLINE CellOf<V> merged(const CellOf<V>& a, const CellOf<V>& b) {
    CellOf<V> out = together(a, b, a.weight + b.weight, 1.0);
    // Equal values, of which some were left by forgetting, may have means that differ by rounding.
    const auto vary = !(out.squares.value.high <= 2 * out.squares.doubt);  // a NaN stays
    out.squares = either(vary, out.squares, SumOf<V>{{}, out.squares.doubt});
    const auto no_a = a.weight.value.high <= 0, no_b = b.weight.value.high <= 0;
    return {either(no_b, a.weight, either(no_a, b.weight, out.weight)),
            either(no_b, a.mean, either(no_a, b.mean, out.mean)),
            either(no_b, a.squares, either(no_a, b.squares, out.squares))};
}

// What cannot be: more weight than there is, or squares that are negative by more than rounding explains.
enum class Refused { none, weight, squares, overflow };

SUFFICE_INLINE Cell without(const Cell& a, const Cell& b, Refused& refused) {
    if (!(b.weight.value.high > 0)) return a;
    if (exceeds(b.weight, a.weight)) refused = Refused::weight;
    const Sum weight = a.weight - b.weight;
    if (!(weight.value.high > 0)) return {};
    Cell left = together(a, b, weight, -1.0);
    // Rows that were computed again may differ from those learned in their last digit.
    const double taken = a.squares.value.high - left.squares.value.high;
    const double digit = 0x1p-48 * (std::fabs(a.mean.value.high) + std::fabs(b.mean.value.high));
    const double slack = 1e-9 * (a.squares.value.high + taken) + a.weight.value.high * digit * digit;
    if (left.squares.value.high < -(2 * left.squares.doubt + slack)) refused = Refused::squares;
    if (!(left.squares.value.high > 2 * left.squares.doubt)) left.squares.value = {};
    if (!(std::fabs(left.mean.value.high) > 2 * left.mean.doubt)) left.mean.value = {};
    return left;
}

}  // namespace suffice
