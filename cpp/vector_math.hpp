// exp and log as plain arithmetic, which compilers vectorize. Both are accurate to about one unit in the last place
// in the given range.
#pragma once

#include <bit>
#include <cstdint>

#include "portable.hpp"

namespace suffice {

// e^x for x ≤ 709; 0 below -708.
SUFFICE_INLINE double vector_exp(double x) {
    constexpr double shift = 0x1.8p52;  // adding it rounds to an integer, left in the low bits
    double inside = x < -708.0 ? -708.0 : x;
    double shifted = inside * 0x1.71547652b82fep0 + shift, n = shifted - shift;
    double r = (inside - n * 0x1.62e42fefa3800p-1) - n * 0x1.ef35793c76730p-45;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    std::uint64_t bits = std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52);
    return x < -708.0 ? 0.0 : std::bit_cast<double>(bits);
}

// log x for normal, finite, positive x.
SUFFICE_INLINE double vector_log(double x) {
    // x = 2^n m with m in [√½, √2): 2 artanh(s) with s = (m - 1) / (m + 1), |s| < 0.172.
    constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd;
    std::uint64_t bits = std::bit_cast<std::uint64_t>(x), above = bits - root_half;
    // The exponent n, above -1024, as the last bits of a large double: few processors convert 64-bit integers in vectors.
    constexpr std::uint64_t positive = std::uint64_t(1024) << 52, large = std::bit_cast<std::uint64_t>(0x1p52);
    double n = std::bit_cast<double>((above + positive) >> 52 | large) - (0x1p52 + 1024);
    double m = std::bit_cast<double>((above & 0x000fffffffffffff) + root_half);
    double f = m - 1.0, s = f / (m + 1.0), z = s * s;
    double p = 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    return n * 0x1.62e42fefa39efp-1 + (2.0 * s + s * z * p);
}

}  // namespace suffice
