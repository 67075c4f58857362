#include "threads.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

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

}  // namespace

int max_threads() {
    if (const char* set = std::getenv("SUFFICE_NUM_THREADS")) {
        int n = std::atoi(set);
        if (n > 0) return n;
    }
    static const int cpus = allowed_cpus();
    return cpus;
}

}  // namespace suffice
