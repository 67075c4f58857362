// Large arrays that are not zeroed first, in huge pages if the system has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace suffice {

template <class T>
struct Pages {
    using value_type = T;
    static constexpr std::size_t page = std::size_t(1) << 21, worth_it = 2 * page, line = 64;

    Pages() = default;
    template <class U>
    Pages(const Pages<U>&) noexcept {}

    T* allocate(std::size_t n) {
        if (n > SIZE_MAX / 4 / sizeof(T)) throw std::bad_alloc();
        std::size_t bytes = n * sizeof(T);
        const bool large = bytes >= worth_it;
        const std::size_t unit = large ? page : line;
        bytes = std::max(bytes + unit - 1, unit) / unit * unit;
        void* p = ::operator new(bytes, std::align_val_t(unit));
#if defined(__linux__)
        if (large) madvise(p, bytes, MADV_HUGEPAGE);  // a hint: a first touch for every 2 MiB instead of every 4 KiB
#endif
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t n) noexcept {
        ::operator delete(p, std::align_val_t(n * sizeof(T) >= worth_it ? page : line));
    }

    // resize(n) leaves new elements uninitialized; resize(n, value) sets them.
    template <class U>
    void construct(U* p) noexcept {
        ::new (static_cast<void*>(p)) U;
    }
    template <class U, class... Args>
    void construct(U* p, Args&&... args) {
        ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
    }
    bool operator==(const Pages&) const { return true; }
};

template <class T>
using Large = std::vector<T, Pages<T>>;

// An array of zeros that begins on a cache line, whose memory is used only when it is touched.
template <class T>
class Zeros {
public:
    explicit Zeros(std::size_t n)
        : size_(n), memory_(std::calloc(n * sizeof(T) + line, 1)), data_(aligned<T*>(memory_.get(), line)) {
        if (!memory_) throw std::bad_alloc();
#if defined(__linux__)
        const std::size_t page = Pages<T>::page;
        char *from = aligned<char*>(data_, page), *end = reinterpret_cast<char*>(data_ + n);
        if (from + page <= end) madvise(from, std::size_t(end - from) / page * page, MADV_HUGEPAGE);
#endif
    }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }

private:
    static constexpr std::size_t line = 64;

    // The first address from `from` on that is a multiple of `of`.
    template <class P>
    static P aligned(void* from, std::size_t of) {
        return reinterpret_cast<P>((reinterpret_cast<std::uintptr_t>(from) + of - 1) / of * of);
    }
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::size_t size_;
    std::unique_ptr<void, Free> memory_;
    T* data_;
};

}  // namespace suffice
