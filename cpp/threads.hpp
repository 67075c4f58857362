// Work in fixed blocks, so that any number of threads gives the same bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#ifndef SUFFICE_ONLY_LOOPS_FOR
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#endif

#include "dispatch.hpp"
#include "kernels.hpp"

// Elementary steps that take longer than handing work to a thread, some 20 µs; a build may define another number.
#ifndef SUFFICE_WORTH_A_THREAD
#define SUFFICE_WORTH_A_THREAD (Index(1) << 18)
#endif

namespace suffice {

#ifndef SUFFICE_ONLY_LOOPS_FOR

// The number of threads for `work` elementary steps.
inline int threads_for(Index work, Index blocks) {
    return int(std::max<Index>(1, std::min<Index>({max_threads(), blocks, work / SUFFICE_WORTH_A_THREAD})));
}

constexpr int turns_given = 64;  // to other threads, before one that waits for them falls asleep

// threads.cpp: call(context, slot) for slots 1 .. threads-1 on other threads, and for slot 0 on this one; wait for all. If
// no more threads can be started, the others do without them. `call` throws nothing.
void on_kept_threads(int threads, void (*call)(void* context, int slot), void* context);

// Run body(slot) on up to `threads` threads, including this one. If no more threads can be started, the others do all
// the work. An exception of one of them is thrown here after all have ended.
template <class Body>
void on_threads(int threads, Body body) {
    if (threads < 2) return body(0);
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
    on_kept_threads(threads, [](void* of, int slot) { (*static_cast<decltype(guarded)*>(of))(slot); }, &guarded);
    if (failure) std::rethrow_exception(failure);
}

// Call work(block, slot) for every block, slot < threads naming the thread's scratch space; then
// merge(block, slot) strictly in the order of the blocks. Memory stays at one scratch per thread.
template <class Work, class Merge>
void for_blocks(Index blocks, int threads, Work work, Merge merge) {
    std::atomic<Index> next{0}, merged{0};
    std::atomic<int> asleep{0};
    std::atomic<bool> failed{false};
    std::mutex lock;
    std::condition_variable turn;
    auto wake = [&] {
        if (asleep == 0) return;  // whoever falls asleep from now on sees what was stored before
        std::lock_guard hold(lock);
        turn.notify_all();
    };
    on_threads(threads, [&](int slot) {
        try {
            for (Index b; (b = next.fetch_add(1)) < blocks;) {
                work(b, slot);
                auto ready = [&] { return merged == b || failed; };
                for (int i = 0; i < turns_given && !ready(); ++i)
                    std::this_thread::yield();  // blocks take equally long
                if (!ready()) {
                    std::unique_lock hold(lock);
                    ++asleep;
                    turn.wait(hold, ready);
                    --asleep;
                }
                if (failed) return;
                merge(b, slot);
                merged = b + 1;
                wake();
            }
        } catch (...) {
            failed = true;
            wake();
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
        start.assign(rows.classes + 1, 0);
        fill_.assign(rows.classes, 0);
        count(rows, lo, hi, fill_.data());
        for (Index c = 0; c < rows.classes; ++c) start[c + 1] = start[c] + fill_[c], fill_[c] = start[c];
        row.resize(start[rows.classes]);
        place(rows, lo, hi, lo, fill_.data());
    }

#ifndef SUFFICE_ONLY_LOOPS_FOR
    // The same for rows 0 .. n-1, by all threads.
    void sort_in_threads(const Rows& rows, Index n) {
        const Index size = std::max<Index>(1 << 16, 8 * rows.classes), blocks = (n + size - 1) / size;
        const int threads = threads_for(4 * n, blocks);
        if (threads < 2) return sort(rows, 0, n);
        fill_.assign(blocks * rows.classes, 0);  // of each block: how many rows of each class, then where they begin
        auto each = [&](auto work) {
            for_blocks(blocks, threads, [&](Index b, int) {
                work(b * size, std::min(n, (b + 1) * size), fill_.data() + b * rows.classes);
            });
        };
        each([&](Index lo, Index hi, Index* own) { count(rows, lo, hi, own); });
        start.assign(rows.classes + 1, 0);
        Index before = 0;
        for (Index c = 0; c < rows.classes; ++c) {
            for (Index b = 0; b < blocks; ++b) before += std::exchange(fill_[b * rows.classes + c], before);
            start[c + 1] = before;
        }
        row.resize(before);
        each([&](Index lo, Index hi, Index* own) { place(rows, lo, hi, 0, own); });
    }
#endif

private:
    static void count(const Rows& rows, Index lo, Index hi, Index* number) {
        for (Index i = lo; i < hi; ++i)
            if (!rows.weight || rows.weight[i] != 0) ++number[rows.code[i]];
    }
    // Write the numbers of the rows, counted from `first`, to where those of their class go on.
    void place(const Rows& rows, Index lo, Index hi, Index first, Index* next) {
        std::int32_t* to = row.data();
        for (Index i = lo; i < hi; ++i)
            if (!rows.weight || rows.weight[i] != 0) to[next[rows.code[i]]++] = std::int32_t(i - first);
    }

    std::vector<Index> fill_;
};

}  // namespace suffice
