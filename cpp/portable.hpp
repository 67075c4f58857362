// What compilers spell differently: here, and nowhere else.
#pragma once

#if defined(__GNUC__)  // GCC and clang
#define SUFFICE_INLINE [[gnu::always_inline]] inline
#define SUFFICE_INLINE_LAMBDA __attribute__((always_inline))
#elif defined(_MSC_VER)
#define SUFFICE_INLINE __forceinline
#define SUFFICE_INLINE_LAMBDA
#else
#define SUFFICE_INLINE inline
#define SUFFICE_INLINE_LAMBDA
#endif

// Before a loop whose number of rounds is known: write it out.
#define SUFFICE_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define SUFFICE_UNROLL(n) SUFFICE_PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define SUFFICE_UNROLL(n) SUFFICE_PRAGMA(GCC unroll n)
#else
#define SUFFICE_UNROLL(n)
#endif

#if !defined(__GNUC__) && (defined(_M_X64) || defined(_M_IX86))
#include <xmmintrin.h>
#endif

namespace suffice {

// Ask for the cache line of an address that is read soon. The address need not be valid.
SUFFICE_INLINE void prefetch([[maybe_unused]] const void* p) {
#if defined(__GNUC__)
    __builtin_prefetch(p);
#elif defined(_M_X64) || defined(_M_IX86)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#endif
}
// The same into the second cache, for what is read later.
SUFFICE_INLINE void prefetch_later([[maybe_unused]] const void* p) {
#if defined(__GNUC__)
    __builtin_prefetch(p, 0, 2);
#elif defined(_M_X64) || defined(_M_IX86)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
#endif
}

// The same pointer, of which the compiler then knows that it begins a cache line.
template <class T>
SUFFICE_INLINE T* on_cache_line(T* p) {
#if defined(__GNUC__)
    return static_cast<T*>(__builtin_assume_aligned(p, 64));
#else
    return p;
#endif
}

}  // namespace suffice
