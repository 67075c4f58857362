#include "threads.hpp"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#ifdef __linux__
#include <sched.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
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

// One call of on_kept_threads.
struct Task {
    void (*call)(void* context, int slot);
    void* context;
    std::atomic<int> running{0};
    std::mutex lock{};
    std::condition_variable ended{};

    void end_one() {
        std::lock_guard hold(lock);  // also while notifying: the task is gone when the last one has ended
        if (--running == 0) ended.notify_one();
    }
    void wait() {
        for (int i = 0; i < turns_given && running > 0; ++i) std::this_thread::yield();
        std::unique_lock hold(lock);
        ended.wait(hold, [&] { return running == 0; });
    }
};

// A thread that waits for tasks. Starting 16 threads takes 0.35 ms, waking them a tenth of it.
class Helper {
public:
    Helper() : thread_([this] { serve(); }) {}
    ~Helper() {
        give(nullptr, 0);
        thread_.join();
    }
    // Do a part of a task; without a task, end.
    void give(Task* task, int slot) {
        std::lock_guard hold(lock_);
        task_ = task, slot_ = slot, given_ = true;
        wake_.notify_one();
    }

private:
    void serve();

    std::mutex lock_;
    std::condition_variable wake_;
    Task* task_ = nullptr;
    int slot_ = 0;
    bool given_ = false;
    std::thread thread_;  // the last member: it starts when the others are there
};

// The helpers that wait. They end before a fork, which would not copy them.
class Waiting {
public:
    Waiting() {
#ifndef _WIN32
        pthread_atfork([] { kept().before_fork(); }, [] { kept().lock_.unlock(); }, [] { kept().lock_.unlock(); });
#endif
    }
    // Never destroyed: threads may still wait when the process ends.
    static Waiting& kept() {
        static Waiting& all = *new Waiting;
        return all;
    }
    std::unique_ptr<Helper> take() {
        {
            std::lock_guard hold(lock_);
            if (!idle_.empty()) {
                auto last = std::move(idle_.back());
                idle_.pop_back();
                return last;
            }
        }
        return std::make_unique<Helper>();
    }
    void put(std::unique_ptr<Helper> helper) {
        std::lock_guard hold(lock_);
        idle_.push_back(std::move(helper));
    }

private:
    void before_fork() {
        lock_.lock();
        idle_.clear();
    }

    std::mutex lock_;
    std::vector<std::unique_ptr<Helper>> idle_;
};

void Helper::serve() {
#ifndef _WIN32
    sigset_t all;  // signals are for the threads of the program
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
#endif
    for (;;) {
        std::unique_lock hold(lock_);
        wake_.wait(hold, [&] { return given_; });
        given_ = false;
        Task* const task = task_;
        const int slot = slot_;
        hold.unlock();
        if (!task) return;
        task->call(task->context, slot);
        task->end_one();
    }
}

}  // namespace

void on_kept_threads(int threads, void (*call)(void* context, int slot), void* context) {
    Task task{call, context};
    std::vector<std::unique_ptr<Helper>> helpers;
    helpers.reserve(threads);
    try {
        for (int slot = 1; slot < threads; ++slot) {
            helpers.push_back(Waiting::kept().take());
            ++task.running;
            helpers.back()->give(&task, slot);
        }
    } catch (const std::exception&) {  // no thread, or no memory for one
    }
    call(context, 0);
    task.wait();
    for (auto& helper : helpers) Waiting::kept().put(std::move(helper));
}

int max_threads() { return most_of_this > 0 ? std::min(most_of_this, all_threads()) : all_threads(); }

int limit_threads(int most) { return std::exchange(most_of_this, most); }

}  // namespace suffice
