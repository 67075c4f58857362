#include "threads.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#ifdef __linux__
#include <sched.h>
#endif

namespace suffice {
namespace {

int allowed_cpus() {
    int cpus = int(std::max(1u, std::thread::hardware_concurrency()));
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = std::max(1, CPU_COUNT(&set));
    // The share of CPU time of a container: "quota period" in microseconds, or "max".
    std::ifstream limit("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (limit >> quota >> period && quota != "max" && period > 0)
        cpus = std::min(cpus, std::max(1, int(std::stod(quota) / period + 0.5)));
#endif
    return cpus;
}

thread_local int most_of_this = 0;  // threads that this thread may use for a call; 0: all

int all_threads() {
    if (const char* set = std::getenv("SUFFICE_NUM_THREADS")) {
        int n = std::atoi(set);
        if (n > 0) return n;
    }
    static const int cpus = allowed_cpus();
    return cpus;
}

}  // namespace

int max_threads() { return most_of_this > 0 ? std::min(most_of_this, all_threads()) : all_threads(); }

int limit_threads(int most) { return std::exchange(most_of_this, most); }

}  // namespace suffice
