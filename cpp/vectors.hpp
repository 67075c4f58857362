// Several numbers that one instruction works on.
//
// GCC and clang have them as an extension: arithmetic and comparisons go number by number. clang splits them up where
// registers are shorter. GCC would keep such vectors in memory, and compare them number by number, which takes up to 26
// times as long; there they are structures of vectors that fit. For other compilers, and if SUFFICE_PLAIN_VECTORS is
// defined, they are structures of numbers.
#pragma once

#include <cstring>
#include <type_traits>

#include "portable.hpp"

namespace suffice {

#if defined(__GNUC__) && !defined(SUFFICE_PLAIN_VECTORS)
#pragma GCC diagnostic ignored "-Wpsabi"  // how vectors are passed: functions on them are inlined
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wignored-attributes"  // members of templates may be aligned more strictly
#endif
#if defined(__clang__) || defined(__AVX512F__)
#define SUFFICE_VECTOR_EXTENSION
#endif
#endif

// The size of a register; with 64 bytes there are twice as many registers, too.
#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

#if defined(SUFFICE_VECTOR_EXTENSION)

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

#else

// A piece of a vector: as many numbers as a register holds, anywhere in an array.
template <class T, int bytes>
struct PieceOf {
    using Type = T;
};
#if defined(__GNUC__) && !defined(SUFFICE_PLAIN_VECTORS)
template <>
struct PieceOf<double, register_bytes> {
    typedef double Type __attribute__((vector_size(register_bytes), aligned(8), may_alias));
};
template <>
struct PieceOf<float, register_bytes> {
    typedef float Type __attribute__((vector_size(register_bytes), aligned(4), may_alias));
};
#endif

// What is true of each number, piece by piece.
template <class Piece, int pieces>
struct Truths {
    Piece piece[pieces];

    SUFFICE_INLINE Truths operator!() const {
        Truths out;
        for (int i = 0; i < pieces; ++i) out.piece[i] = !piece[i];
        return out;
    }
};

// n numbers, in pieces that are numbers, or vectors of the extension. The size of registers is part of the type, as code
// for several instruction sets is linked together.
template <class T, int n, int bytes>
struct Numbers {
    using Piece = typename PieceOf<T, bytes>::Type;
    static constexpr int pieces = n * int(sizeof(T)) / int(sizeof(Piece));
    Piece piece[pieces];

    SUFFICE_INLINE T& operator[](int i) { return reinterpret_cast<T*>(piece)[i]; }
    SUFFICE_INLINE const T& operator[](int i) const { return reinterpret_cast<const T*>(piece)[i]; }
    SUFFICE_INLINE Numbers operator-() const {
        Numbers out;
        for (int i = 0; i < pieces; ++i) out.piece[i] = -piece[i];
        return out;
    }
    using TruePiece = std::remove_cv_t<decltype(Piece{} < Piece{})>;
// Between two vectors, and a vector and a number.
#define SUFFICE_OPERATOR(Result, op)                                               \
    SUFFICE_INLINE friend Result operator op(const Numbers& a, const Numbers& b) { \
        Result out;                                                                \
        for (int i = 0; i < pieces; ++i) out.piece[i] = a.piece[i] op b.piece[i];  \
        return out;                                                                \
    }                                                                              \
    SUFFICE_INLINE friend Result operator op(const Numbers& a, T b) {              \
        Result out;                                                                \
        for (int i = 0; i < pieces; ++i) out.piece[i] = a.piece[i] op b;           \
        return out;                                                                \
    }                                                                              \
    SUFFICE_INLINE friend Result operator op(T a, const Numbers& b) {              \
        Result out;                                                                \
        for (int i = 0; i < pieces; ++i) out.piece[i] = a op b.piece[i];           \
        return out;                                                                \
    }
#define SUFFICE_ARITHMETIC(op)                                                                \
    SUFFICE_OPERATOR(Numbers, op)                                                             \
    SUFFICE_INLINE Numbers& operator op## = (const Numbers& b) { return *this = *this op b; } \
    SUFFICE_INLINE Numbers& operator op## = (T b) { return *this = *this op b; }
    using Compared = Truths<TruePiece, pieces>;
    SUFFICE_ARITHMETIC(+)
    SUFFICE_ARITHMETIC(-)
    SUFFICE_ARITHMETIC(*)
    SUFFICE_ARITHMETIC(/)
    SUFFICE_OPERATOR(Compared, <)
    SUFFICE_OPERATOR(Compared, <=)
    SUFFICE_OPERATOR(Compared, >)
    SUFFICE_OPERATOR(Compared, ==)
    SUFFICE_OPERATOR(Compared, !=)
#undef SUFFICE_ARITHMETIC
#undef SUFFICE_OPERATOR
};

using Lanes = Numbers<double, 8, register_bytes>;
using Eight = Lanes;
using Four = Numbers<double, 4, register_bytes>;
using Sixteen = Numbers<float, 16, register_bytes>;

template <class T, int n, int bytes>
SUFFICE_INLINE Numbers<T, n, bytes> select(const typename Numbers<T, n, bytes>::Compared& condition,
                                           const Numbers<T, n, bytes>& a, const Numbers<T, n, bytes>& b) {
    Numbers<T, n, bytes> out;
    for (int i = 0; i < out.pieces; ++i) out.piece[i] = condition.piece[i] ? a.piece[i] : b.piece[i];
    return out;
}
template <class V>
SUFFICE_INLINE V select(bool condition, const V& a, const V& b) {
    return condition ? a : b;
}

static_assert(alignof(Lanes) == alignof(double) && alignof(Sixteen) == alignof(float), "anywhere in an array");

#endif

// Numbers from anywhere in an array.
template <class Vector, class T>
SUFFICE_INLINE Vector load(const T* from) {
    Vector out;
#if defined(SUFFICE_VECTOR_EXTENSION)
    std::memcpy(&out, from, sizeof out);
#else
    for (int i = 0; i < out.pieces; ++i) out.piece[i] = reinterpret_cast<const typename Vector::Piece*>(from)[i];
#endif
    return out;
}
template <class Vector, class T>
SUFFICE_INLINE void store(const Vector& v, T* to) {
#if defined(SUFFICE_VECTOR_EXTENSION)
    std::memcpy(to, &v, sizeof v);
#else
    for (int i = 0; i < v.pieces; ++i) reinterpret_cast<typename Vector::Piece*>(to)[i] = v.piece[i];
#endif
}

// Eight numbers of a row as doubles.
SUFFICE_INLINE Eight load_eight(const double* from) { return load<Eight>(from); }
SUFFICE_INLINE Eight load_eight(const float* from) {
#if defined(SUFFICE_VECTOR_EXTENSION)
    return __builtin_convertvector(load<HalfSixteen>(from), Eight);
#elif defined(__GNUC__) && !defined(SUFFICE_PLAIN_VECTORS)
    typedef float Narrow __attribute__((vector_size(register_bytes / 2), aligned(4), may_alias));
    Eight out;
    for (int i = 0; i < out.pieces; ++i)
        out.piece[i] = __builtin_convertvector(reinterpret_cast<const Narrow*>(from)[i], Eight::Piece);
    return out;
#else
    Eight out;
    for (int i = 0; i < 8; ++i) out[i] = from[i];
    return out;
#endif
}

}  // namespace suffice
