// Inner loops that are compiled for several instruction sets, and chosen when the library is loaded.
//
// CMake compiles each file with a SUFFICE_DISPATCH once as it is, and for each further instruction set once more with
// SUFFICE_ONLY_LOOPS_FOR=<its name>. Such a file has three parts:
//
//     namespace { … }                      // functions of inner loops, in an anonymous namespace
//     SUFFICE_DISPATCH(tile, add_tile)     // makes fast::tile, which calls the best add_tile
//     #ifndef SUFFICE_ONLY_LOOPS_FOR
//     …                                    // everything else, which is compiled once
//     #endif
//
// SUFFICE_DISPATCH(tile, add_tile<float>, add_tile<double>) makes a function that is overloaded.
//
// A function of a header that is used by loops must be SUFFICE_INLINE. Any other has one body in the library, for all
// instruction sets: tests/test_instruction_sets.py looks for such bodies.
#pragma once

#include "portable.hpp"

namespace suffice {

// dispatch.cpp: which of the instruction sets 0 .. n-1 is used. The processor has it, and SUFFICE_INSTRUCTION_SET does
// not name a lesser one.
int instruction_set();
const char* instruction_set_name();

template <class F>
struct Loop;
template <class R, class... Arguments>
struct Loop<R(Arguments...)> {
    R (*run)(Arguments...);
    SUFFICE_INLINE R operator()(Arguments... arguments) const { return run(arguments...); }
};

template <class... F>
struct Overloads : Loop<F>... {
    using Loop<F>::operator()...;
};

template <class... F>
constexpr Overloads<F...> overloads(F*... run) {
    return {{run}...};
}

}  // namespace suffice

#if defined(SUFFICE_ONLY_LOOPS_FOR)
#define SUFFICE_DISPATCH(name, ...)                      \
    constexpr auto name##_here = overloads(__VA_ARGS__); \
    namespace SUFFICE_ONLY_LOOPS_FOR {                   \
    extern const decltype(name##_here) name;             \
    const decltype(name##_here) name = name##_here;      \
    }
#elif defined(SUFFICE_X86_LEVELS)
#define SUFFICE_DISPATCH(name, ...)                                     \
    constexpr auto name##_here = overloads(__VA_ARGS__);                \
    namespace x86_64_v3 {                                               \
    extern const decltype(name##_here) name;                            \
    }                                                                   \
    namespace x86_64_v4 {                                               \
    extern const decltype(name##_here) name;                            \
    }                                                                   \
    namespace fast {                                                    \
    static const auto name = instruction_set() == 2   ? x86_64_v4::name \
                             : instruction_set() == 1 ? x86_64_v3::name \
                                                      : name##_here;    \
    }
#else
#define SUFFICE_DISPATCH(name, ...)                      \
    constexpr auto name##_here = overloads(__VA_ARGS__); \
    namespace fast {                                     \
    constexpr auto name = name##_here;                   \
    }
#endif
