// Which instruction set the processor has.
#include "dispatch.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace suffice {
namespace {

#if defined(SUFFICE_X86_LEVELS)
constexpr const char* names[] = {"x86-64", "x86-64-v3", "x86-64-v4"};

int of_the_processor() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? 2
               : 1;
}
#else
constexpr const char* names[] = {"baseline"};

int of_the_processor() { return 0; }
#endif

int chosen() {
    const int best = of_the_processor();
    const char* asked = std::getenv("SUFFICE_INSTRUCTION_SET");
    for (int i = 0; asked && i < int(std::size(names)); ++i)
        if (std::strcmp(asked, names[i]) == 0) return std::min(i, best);
    return best;
}

}  // namespace

int instruction_set() {
    static const int level = chosen();
    return level;
}

const char* instruction_set_name() { return names[instruction_set()]; }

}  // namespace suffice
