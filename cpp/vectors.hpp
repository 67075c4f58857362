// Several numbers that one instruction works on.
//
// GCC and clang have them as an extension: arithmetic and comparisons go number by number, and the compiler splits
// them up if registers are shorter. For other compilers, and if SUFFICE_PLAIN_VECTORS is defined, they are structures.
#pragma once

#include <cstring>

#include "portable.hpp"

namespace suffice {

#if defined(__GNUC__) && !defined(SUFFICE_PLAIN_VECTORS)
#define SUFFICE_VECTOR_EXTENSION

#pragma GCC diagnostic ignored "-Wpsabi"  // how vectors are passed: functions on them are inlined
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wignored-attributes"  // members of templates may be aligned more strictly
#endif

typedef double Lanes __attribute__((vector_size(64), aligned(8)));  // eight, anywhere in an array
typedef double Eight __attribute__((vector_size(64)));
typedef double Four __attribute__((vector_size(32)));
typedef float Sixteen __attribute__((vector_size(64)));
typedef float HalfSixteen __attribute__((vector_size(32)));

// Number by number, `a` where `condition` holds and otherwise `b`.
template <class Condition, class V>
SUFFICE_INLINE V select(Condition condition, V a, V b) {
    return condition ? a : b;
}

SUFFICE_INLINE Eight to_double(const HalfSixteen& v) { return __builtin_convertvector(v, Eight); }

#else

template <class T, int n>
struct Numbers {
    T at[n];

    T& operator[](int i) { return at[i]; }
    const T& operator[](int i) const { return at[i]; }
    SUFFICE_INLINE static Numbers all(T value) {
        Numbers out;
        for (int i = 0; i < n; ++i) out.at[i] = value;
        return out;
    }
    SUFFICE_INLINE Numbers operator-() const {
        Numbers out;
        for (int i = 0; i < n; ++i) out.at[i] = -at[i];
        return out;
    }
// Between two vectors, and a vector and a number.
#define SUFFICE_OPERATOR(Result, op)                                                        \
    SUFFICE_INLINE friend Result operator op(const Numbers& a, const Numbers& b) {          \
        Result out;                                                                         \
        for (int i = 0; i < n; ++i) out.at[i] = a.at[i] op b.at[i];                         \
        return out;                                                                         \
    }                                                                                       \
    SUFFICE_INLINE friend Result operator op(const Numbers& a, T b) { return a op all(b); } \
    SUFFICE_INLINE friend Result operator op(T a, const Numbers& b) { return all(a) op b; }
#define SUFFICE_ARITHMETIC(op)                                                                \
    SUFFICE_OPERATOR(Numbers, op)                                                             \
    SUFFICE_INLINE Numbers& operator op## = (const Numbers& b) { return *this = *this op b; } \
    SUFFICE_INLINE Numbers& operator op## = (T b) { return *this = *this op b; }
    using Truths = Numbers<bool, n>;
    SUFFICE_ARITHMETIC(+)
    SUFFICE_ARITHMETIC(-)
    SUFFICE_ARITHMETIC(*)
    SUFFICE_ARITHMETIC(/)
    SUFFICE_OPERATOR(Truths, <)
    SUFFICE_OPERATOR(Truths, <=)
    SUFFICE_OPERATOR(Truths, >)
    SUFFICE_OPERATOR(Truths, ==)
    SUFFICE_OPERATOR(Truths, !=)
#undef SUFFICE_ARITHMETIC
#undef SUFFICE_OPERATOR
};
template <int n>
struct Numbers<bool, n> {
    bool at[n];

    SUFFICE_INLINE Numbers operator!() const {
        Numbers out;
        for (int i = 0; i < n; ++i) out.at[i] = !at[i];
        return out;
    }
};

using Lanes = Numbers<double, 8>;
using Eight = Lanes;
using Four = Numbers<double, 4>;
using Sixteen = Numbers<float, 16>;
using HalfSixteen = Numbers<float, 8>;

template <class T, int n>
SUFFICE_INLINE Numbers<T, n> select(const Numbers<bool, n>& condition, const Numbers<T, n>& a, const Numbers<T, n>& b) {
    Numbers<T, n> out;
    for (int i = 0; i < n; ++i) out.at[i] = condition.at[i] ? a.at[i] : b.at[i];
    return out;
}
template <class V>
SUFFICE_INLINE V select(bool condition, const V& a, const V& b) {
    return condition ? a : b;
}

SUFFICE_INLINE Eight to_double(const HalfSixteen& v) {
    Eight out;
    for (int i = 0; i < 8; ++i) out[i] = v[i];
    return out;
}

#endif

template <class Vector, class T>
SUFFICE_INLINE Vector load(const T* from) {
    Vector out;
    std::memcpy(&out, from, sizeof out);
    return out;
}

// Eight numbers of a row as doubles.
SUFFICE_INLINE Eight load_eight(const double* from) { return load<Eight>(from); }
SUFFICE_INLINE Eight load_eight(const float* from) { return to_double(load<HalfSixteen>(from)); }

}  // namespace suffice
