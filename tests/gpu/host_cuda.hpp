// CUDA on the host, for tests of kernels.cu: every thread of a block is a fiber, and one runs at a time.
#pragma once
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#define SUFFICE_HOST
#define __global__
#define __device__ static
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define SHARED_MEMORY(name) unsigned char* const name = host::shared
#define INFINITE_NUMBER std::numeric_limits<double>::infinity()
#define MISSING_NUMBER std::numeric_limits<double>::quiet_NaN()

struct Dim {
    unsigned x, y, z;
};
static Dim threadIdx, blockIdx, blockDim, gridDim;
struct alignas(16) double2 {
    double x, y;
};

namespace host {

alignas(16) static unsigned char shared[228 * 1024];

struct Barrier {
    unsigned arrived = 0, generation = 0;
};
struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    bool done = false;
};

static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static unsigned running;
static Barrier whole;
static std::vector<Barrier> warps;
static std::vector<uint64_t> slots;  // a value of each thread
static void (*kernel)(void**);
static void** arguments;

static void yield() {
    const unsigned me = running;
    swapcontext(&fibers[me].context, &scheduler);
    running = me;
    threadIdx = {me, 0, 0};
}

static void wait(Barrier& barrier, unsigned threads) {
    const unsigned generation = barrier.generation;
    if (++barrier.arrived == threads) {
        barrier.arrived = 0;
        ++barrier.generation;
        return;
    }
    while (barrier.generation == generation) yield();
}

static void wait_for_warp() { wait(warps[running / 32], 32); }

// Give a value to the other lanes, and read those of `read`.
template <class T, class Read>
static auto exchange(T value, Read read) {
    static_assert(sizeof(T) <= 8);
    std::memcpy(&slots[running], &value, sizeof(T));
    wait_for_warp();
    auto found = read([](unsigned lane) {
        T other;
        std::memcpy(&other, &slots[running / 32 * 32 + lane % 32], sizeof(T));
        return other;
    });
    wait_for_warp();
    return found;
}

static void body() {
    kernel(arguments);
    fibers[running].done = true;
    swapcontext(&fibers[running].context, &scheduler);
}

static void run_block(unsigned threads) {
    fibers.resize(threads);
    warps.assign((threads + 31) / 32, Barrier());
    slots.assign(threads, 0);
    whole = Barrier();
    std::memset(shared, 0xee, sizeof(shared));  // nothing may rely on what shared memory holds at first
    for (auto& fiber : fibers) {
        fiber.stack.resize(64 * 1024);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &scheduler;
        fiber.done = false;
        makecontext(&fiber.context, body, 0);
    }
    for (unsigned left = threads; left;) {
        left = 0;
        for (unsigned t = 0; t < threads; ++t) {
            if (fibers[t].done) continue;
            running = t;
            threadIdx = {t, 0, 0};
            swapcontext(&scheduler, &fibers[t].context);
            left += !fibers[t].done;
        }
    }
}

static void launch(void (*called)(void**), unsigned x, unsigned y, unsigned threads, void** args) {
    kernel = called, arguments = args;
    gridDim = {x, y, 1}, blockDim = {threads, 1, 1};
    for (unsigned j = 0; j < y; ++j)
        for (unsigned i = 0; i < x; ++i) {
            blockIdx = {i, j, 0};
            run_block(threads);
        }
}

template <class... A, size_t... I>
static void unpack(void (*called)(A...), void** args, std::index_sequence<I...>) {
    called(*static_cast<A*>(args[I])...);
}
template <class... A>
static void call(void (*called)(A...), void** args) {
    unpack(called, args, std::index_sequence_for<A...>());
}

}  // namespace host

#define HOST_LAUNCH(name)                                                                       \
    extern "C" void launch_##name(unsigned x, unsigned y, unsigned threads, void** args) {      \
        host::launch([](void** given) { host::call(name, given); }, x, y, threads, args);       \
    }

static void __syncthreads() { host::wait(host::whole, blockDim.x); }
static void __syncwarp() { host::wait_for_warp(); }
static int __syncthreads_or(int value) {
    host::slots[host::running] = value != 0;
    __syncthreads();
    int any = 0;
    for (unsigned t = 0; t < blockDim.x; ++t) any |= int(host::slots[t]);
    __syncthreads();
    return any;
}
static unsigned __ballot_sync(unsigned, int predicate) {
    return host::exchange(predicate != 0, [](auto of) {
        unsigned bits = 0;
        for (unsigned lane = 0; lane < 32; ++lane) bits |= unsigned(of(lane)) << lane;
        return bits;
    });
}
template <class T>
static unsigned __match_any_sync(unsigned, T value) {
    return host::exchange(value, [value](auto of) {
        unsigned bits = 0;
        for (unsigned lane = 0; lane < 32; ++lane) bits |= unsigned(of(lane) == value) << lane;
        return bits;
    });
}
template <class T>
static T __shfl_sync(unsigned, T value, int lane) {
    return host::exchange(value, [lane](auto of) { return of(unsigned(lane)); });
}
template <class T>
static T __shfl_xor_sync(unsigned, T value, int far) {
    return host::exchange(value, [far](auto of) { return of(host::running % 32 ^ unsigned(far)); });
}
template <class T>
static T __shfl_up_sync(unsigned, T value, unsigned step) {
    const unsigned lane = host::running % 32;
    return host::exchange(value, [=](auto of) { return of(lane >= step ? lane - step : lane); });
}
static int __float2int_rd(float x) {
    const float low = std::floor(x), most = 2147483648.0f;
    return low >= most ? 2147483647 : low < -most ? -2147483647 - 1 : low == low ? int(low) : 0;
}
static int __ffs(unsigned bits) { return __builtin_ffs(int(bits)); }
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
template <class T>
static T atomicAdd(T* at, T value) {
    const T before = *at;
    *at = before + value;
    return before;
}
template <class T>
static T atomicMin(T* at, T value) {
    const T before = *at;
    if (value < before) *at = value;
    return before;
}

// What a card has instructions for: a product of matrices that a warp holds, and copies to shared memory.
static void multiply_add(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
    static double lefts[32][32][8], rights[32][32][4];  // of each warp: others run while one waits
    const unsigned lane = host::running % 32, warp = host::running / 32;
    auto& left = lefts[warp];
    auto& right = rights[warp];
    host::wait_for_warp();
    std::memcpy(left[lane], a, sizeof(a));
    std::memcpy(right[lane], b, sizeof(b));
    host::wait_for_warp();
    for (unsigned i = 0; i < 4; ++i)
        for (unsigned k = 0; k < 16; ++k)
            c[i] += left[lane / 4 * 4 + k % 4][k / 4 * 2 + i / 2] * right[(lane % 4 * 2 + i % 2) * 4 + k % 4][k / 4];
}
static unsigned __float_as_uint(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, 4);
    return bits;
}
static float __uint_as_float(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}
static void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    static unsigned lefts[32][32][4], rights[32][32][2];  // of each warp
    const unsigned lane = host::running % 32, warp = host::running / 32;
    auto& left = lefts[warp];
    auto& right = rights[warp];
    host::wait_for_warp();
    std::memcpy(left[lane], a, sizeof(a));
    right[lane][0] = b0, right[lane][1] = b1;
    host::wait_for_warp();
    const auto half = [](unsigned bits, unsigned k) { return __uint_as_float(k % 2 ? bits & 0xffff0000u : bits << 16); };
    for (unsigned i = 0; i < 4; ++i)
        for (unsigned k = 0; k < 16; ++k)
            c[i] += half(left[lane / 4 * 4 + k % 8 / 2][i / 2 + k / 8 * 2], k) *
                    half(right[(lane % 4 * 2 + i % 2) * 4 + k % 8 / 2][k / 8], k);
}
static void load_turned(unsigned (&out)[4], const unsigned short* at) {
    const unsigned lane = host::running % 32;
    for (unsigned q = 0; q < 4; ++q)
        out[q] = host::exchange(at, [lane, q](auto of) {
            const unsigned first = 8 * q + lane % 4 * 2;
            return unsigned(of(first)[lane / 4]) | unsigned(of(first + 1)[lane / 4]) << 16;
        });
}
static void copy_ahead(void* to, const void* from) { std::memcpy(to, from, 16); }
static void end_copies() {}
template <int LEFT>
static void wait_for_copies() {}
