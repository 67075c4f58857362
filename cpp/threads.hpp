// Work in fixed blocks, so that any number of threads gives the same bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#ifndef SUFFICE_ONLY_LOOPS_FOR
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#endif

#include "dispatch.hpp"
#include "kernels.hpp"

// Elementary steps that take about as long as starting a thread, some 20 µs; a build may define another number.
#ifndef SUFFICE_WORTH_A_THREAD
#define SUFFICE_WORTH_A_THREAD (Index(1) << 18)
#endif

namespace suffice {

#ifndef SUFFICE_ONLY_LOOPS_FOR

// The number of threads for `work` elementary steps.
inline int threads_for(Index work, Index blocks) {
    return int(std::max<Index>(1, std::min<Index>({max_threads(), blocks, work / SUFFICE_WORTH_A_THREAD})));
}

// Run body(slot) on up to `threads` threads, including this one. If no more threads can be started, the others do all
// the work. An exception of one of them is thrown here after all have ended.
template <class Body>
void on_threads(int threads, Body body) {
    std::mutex lock;
    std::exception_ptr failure;
    auto guarded = [&](int slot) {
        try {
            body(slot);
        } catch (...) {
            std::lock_guard hold(lock);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> pool;
    pool.reserve(threads);
    try {
        for (int t = 1; t < threads; ++t) pool.emplace_back(guarded, t);
    } catch (const std::exception&) {  // no thread, or no memory for one
    }
    guarded(0);  // throws nothing, so every thread is joined
    for (std::thread& other : pool) other.join();
    if (failure) std::rethrow_exception(failure);
}

// Call work(block, slot) for every block, slot < threads naming the thread's scratch space; then
// merge(block, slot) strictly in the order of the blocks. Memory stays at one scratch per thread.
template <class Work, class Merge>
void for_blocks(Index blocks, int threads, Work work, Merge merge) {
    std::atomic<Index> next{0};
    std::mutex lock;
    std::condition_variable turn;
    Index merged = 0;
    bool failed = false;
    on_threads(threads, [&](int slot) {
        try {
            for (Index b; (b = next.fetch_add(1)) < blocks;) {
                work(b, slot);
                std::unique_lock hold(lock);
                turn.wait(hold, [&] { return merged == b || failed; });
                if (failed) return;
                merge(b, slot);
                ++merged;
                hold.unlock();
                turn.notify_all();
            }
        } catch (...) {
            std::lock_guard hold(lock);
            failed = true;
            turn.notify_all();
            throw;
        }
    });
}

// The same for blocks that write to separate places, with nothing to merge.
template <class Work>
void for_blocks(Index blocks, int threads, Work work) {
    std::atomic<Index> next{0};
    on_threads(threads, [&](int slot) {
        for (Index b; (b = next.fetch_add(1)) < blocks;) work(b, slot);
    });
}

// Replace values[i] by values[0] + … + values[i].
template <class T>
void running_sums(T* values, Index n) {
    const Index size = 1 << 16, blocks = (n + size - 1) / size;
    const int threads = threads_for(2 * n, blocks);
    std::vector<T> before(blocks + 1, T(0));
    auto each = [&](auto work) {
        for_blocks(blocks, threads, [&](Index b, int) { work(b, values + b * size, std::min(size, n - b * size)); });
    };
    if (threads > 1) {
        each([&](Index b, const T* own, Index m) {
            T sum = 0;
            for (Index i = 0; i < m; ++i) sum += own[i];
            before[b + 1] = sum;
        });
        for (Index b = 0; b < blocks; ++b) before[b + 1] += before[b];
    }
    each([&](Index b, T* own, Index m) {
        T sum = before[b];
        for (Index i = 0; i < m; ++i) own[i] = sum += own[i];
        if (threads == 1) before[b + 1] = sum;
    });
}

#endif

// The smallest position any thread reported, or -1.
class FirstPosition {
public:
    void report(Index position) {
        if (position < 0) return;
        Index seen = position_.load();
        while ((seen < 0 || position < seen) && !position_.compare_exchange_weak(seen, position)) {
        }
    }
    Index get() const { return position_.load(); }

private:
    std::atomic<Index> position_{-1};
};

// The rows lo .. hi-1 of nonzero weight, sorted by class and otherwise in order; start[c] is where c begins.
struct ByClassOrder {
    std::vector<std::int32_t> row;
    std::vector<Index> start;

    void sort(const Rows& rows, Index lo, Index hi) {
        rows.weight ? sort_if<true>(rows, lo, hi) : sort_if<false>(rows, lo, hi);
    }

private:
    template <bool weighted>
    void sort_if(const Rows& rows, Index lo, Index hi) {
        const std::int32_t* code = rows.code;
        auto counts = [&](Index i) { return !weighted || rows.weight[i] != 0; };
        start.assign(rows.classes + 1, 0);
        for (Index i = lo; i < hi; ++i)
            if (counts(i)) ++start[code[i] + 1];
        for (Index c = 0; c < rows.classes; ++c) start[c + 1] += start[c];
        row.resize(start[rows.classes]);
        fill_.assign(start.begin(), start.end() - 1);
        std::int32_t* to = row.data();
        Index* fill = fill_.data();
        for (Index i = lo; i < hi; ++i)
            if (counts(i)) to[fill[code[i]]++] = std::int32_t(i - lo);
    }

    std::vector<Index> fill_;
};

}  // namespace suffice
