// Sums that keep what rounding takes: a number as high + low, together about 106 bits.
//
// two_sum is Knuth's (The Art of Computer Programming, vol. 2, 4.2.2), the idea of such pairs Dekker's (1971); the operations on pairs are those of Joldes, Muller and Popescu (2017), with relative errors below 2⁻¹⁰¹.
// V is double, or Lanes: eight of them. They need every operation rounded by itself: files that include this are compiled without contraction to fma.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "transpose.hpp"

namespace suffice {

// A bound on the relative error of the operations on pairs.
constexpr double pair_error = 0x1p-101;

// What sums of a block may have lost, relative to their size: of float64, and of pairs over so many rows.
constexpr double plain_error = 0x1p-46, most_exact_error = 0x1p-88;
constexpr double exact_error(std::ptrdiff_t rows) { return std::min(most_exact_error, double(rows) * 0x1p-99); }
// Of their weights.
constexpr double weight_error(double rounding) { return rounding < most_exact_error ? rounding : pair_error * 0x1p16; }

template <class V>
struct PairOf {
    V high{}, low{};
};
using Pair = PairOf<double>;

template <class V>
SUFFICE_INLINE V size_of(V v) {
    return select(v < 0, V(-v), v);
}
SUFFICE_INLINE double root_of(double v) { return std::sqrt(v); }
SUFFICE_INLINE Lanes root_of(const Lanes& v) {
    Lanes out;
    for (int l = 0; l < 8; ++l) out[l] = std::sqrt(v[l]);
    return out;
}

// a + b = high + low without error.
template <class V>
SUFFICE_INLINE PairOf<V> two_sum(V a, V b) {
    const V sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

// The same where |a| ≥ |b|, or a = 0.
template <class V>
SUFFICE_INLINE PairOf<V> quick_two_sum(V a, V b) {
    const V sum = a + b;
    return {sum, b - (sum - a)};
}

// a * b - product, the part that rounding took, where product is a * b rounded.
SUFFICE_INLINE double product_error(double a, double b, double product) { return std::fma(a, b, -product); }
SUFFICE_INLINE Lanes product_error(const Lanes& a, const Lanes& b, const Lanes& product) {
    Lanes out;
    for (int l = 0; l < 8; ++l) out[l] = product_error(a[l], b[l], product[l]);
    return out;
}

template <class V>
SUFFICE_INLINE PairOf<V> two_product(V a, V b) {
    const V product = a * b;
    return {product, product_error(a, b, product)};
}

template <class V>
SUFFICE_INLINE PairOf<V> operator-(const PairOf<V>& a) {
    return {-a.high, -a.low};
}
template <class V>
SUFFICE_INLINE PairOf<V> operator+(const PairOf<V>& a, const PairOf<V>& b) {
    const PairOf<V> s = two_sum(a.high, b.high), t = two_sum(a.low, b.low);
    const PairOf<V> v = quick_two_sum<V>(s.high, s.low + t.high);
    return quick_two_sum<V>(v.high, t.low + v.low);
}
template <class V>
SUFFICE_INLINE PairOf<V> operator-(const PairOf<V>& a, const PairOf<V>& b) {
    return a + -b;
}
template <class V>
SUFFICE_INLINE PairOf<V> operator*(const PairOf<V>& a, const PairOf<V>& b) {
    const PairOf<V> p = two_product(a.high, b.high);
    return quick_two_sum<V>(p.high, p.low + (a.high * b.low + a.low * b.high));
}
template <class V>
SUFFICE_INLINE PairOf<V> scaled(const PairOf<V>& a, V b) {
    const PairOf<V> p = two_product(a.high, b);
    return quick_two_sum<V>(p.high, p.low + a.low * b);
}
template <class V>
SUFFICE_INLINE PairOf<V> operator/(const PairOf<V>& a, const PairOf<V>& b) {
    const V first = a.high / b.high;
    const PairOf<V> left = scaled(b, first);
    return quick_two_sum<V>(first, ((a.high - left.high) + (a.low - left.low)) / b.high);
}

// high, low += value; the low part is only added up.
SUFFICE_INLINE void add_to(double& high, double& low, double value) {
    const Pair sum = two_sum(high, value);
    high = sum.high, low += sum.low;
}

// A weighted sum: its value and a bound on what rounding has taken from it since its rows were read. The bound is 0
// as long as 106 bits hold every digit.
template <class V>
struct SumOf {
    PairOf<V> value;
    V doubt{};
};
using Sum = SumOf<double>;

// Whether a float64 is an integer, and then exact if it came about by adding integers.
SUFFICE_INLINE bool is_whole(double v) {
    constexpr double most = 0x1p52;  // from here on all are integers, and adding it rounds to one
    const double size = std::fabs(v);
    return size >= most ? size < 2 * most : (size + most) - most == size;
}

// What rounding to float64 may have taken from a number summed elsewhere, for each unit of its size.
constexpr double outside_error = 0x1p-46;
SUFFICE_INLINE double outside_doubt(double v) { return is_whole(v) ? 0.0 : outside_error * std::fabs(v); }

template <class V>
SUFFICE_INLINE SumOf<V> operator+(const SumOf<V>& a, const SumOf<V>& b) {
    const PairOf<V> s = two_sum(a.value.high, b.value.high), t = two_sum(a.value.low, b.value.low);
    const PairOf<V> c = two_sum(s.low, t.high), v = two_sum(s.high, c.high);
    const PairOf<V> u = two_sum(c.low, t.low), w = two_sum(v.low, u.high);
    return {quick_two_sum(v.high, w.high), a.doubt + b.doubt + 2 * (size_of(u.low) + size_of(w.low))};
}

// a - b; what is below the doubt is nothing.
SUFFICE_INLINE Sum operator-(const Sum& a, const Sum& b) {
    const Sum left = a + Sum{-b.value, b.doubt};
    return left.value.high > 2 * left.doubt ? left : Sum{};
}

// Whether b is more than all of a, by more than rounding explains: the doubt, or a last digit of the weights given.
SUFFICE_INLINE bool exceeds(const Sum& b, const Sum& a) {
    const Sum left = a + Sum{-b.value, b.doubt};
    return left.value.high < -(2 * left.doubt + 0x1p-48 * std::fabs(a.value.high));
}

}  // namespace suffice
