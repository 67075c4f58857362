// Large arrays that are not zeroed first, in huge pages if the system has them.
#pragma once

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
    static constexpr std::size_t page = std::size_t(1) << 21, worth_it = 2 * page;

    Pages() = default;
    template <class U>
    Pages(const Pages<U>&) noexcept {}

    T* allocate(std::size_t n) {
        std::size_t bytes = n * sizeof(T);
        const bool large = bytes >= worth_it;
        if (large) bytes = (bytes + page - 1) / page * page;
        void* p = large ? std::aligned_alloc(page, bytes) : std::malloc(bytes ? bytes : 1);
        if (!p) throw std::bad_alloc();
#if defined(__linux__)
        if (large) madvise(p, bytes, MADV_HUGEPAGE);  // a hint: a first touch for every 2 MiB instead of every 4 KiB
#endif
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t) noexcept { std::free(p); }

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

// An array of zeros, whose memory is used only when it is touched.
template <class T>
class Zeros {
public:
    explicit Zeros(std::size_t n) : size_(n), data_(static_cast<T*>(std::calloc(n, sizeof(T)))) {
        if (!data_) throw std::bad_alloc();
#if defined(__linux__)
        const std::size_t page = Pages<T>::page, bytes = n * sizeof(T);
        const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(data_.get()) + page - 1) / page * page;
        const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(data_.get()) + bytes) / page * page;
        if (from < end) madvise(reinterpret_cast<void*>(from), end - from, MADV_HUGEPAGE);
#endif
    }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_.get()[i]; }
    const T& operator[](std::size_t i) const { return data_.get()[i]; }
    T* begin() { return data_.get(); }
    T* end() { return data_.get() + size_; }

private:
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::size_t size_;
    std::unique_ptr<T, Free> data_;
};

}  // namespace suffice
