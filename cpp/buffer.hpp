// Scratch memory that starts on a cache line.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "kernels.hpp"
#include "portable.hpp"

namespace suffice {

// Entries per row of a table whose rows each start on a cache line.
constexpr Index padded(Index cols) { return (cols + 7) / 8 * 8; }

class Buffer {
public:
    explicit Buffer(Index size = 0) : size_(size), data_(allocate(size)) { fill(0.0); }
    void fill(double value) { std::fill_n(data_.get(), size_, value); }
    SUFFICE_INLINE double* data() { return data_.get(); }
    SUFFICE_INLINE const double* data() const { return data_.get(); }
    SUFFICE_INLINE Index size() const { return size_; }
    SUFFICE_INLINE double* operator+(Index at) { return data_.get() + at; }
    SUFFICE_INLINE const double* operator+(Index at) const { return data_.get() + at; }
    SUFFICE_INLINE double& operator[](Index at) { return data_.get()[at]; }
    SUFFICE_INLINE const double& operator[](Index at) const { return data_.get()[at]; }

private:
    static constexpr std::align_val_t line{64};
    static double* allocate(Index size) {  // one line at least: GCC 12 warns of a buffer that it knows to be empty
        return static_cast<double*>(
            ::operator new(std::size_t(padded(std::max<Index>(size, 1))) * sizeof(double), line));
    }
    struct Free {
        void operator()(double* p) const { ::operator delete(p, line); }
    };
    Index size_;
    std::unique_ptr<double, Free> data_;
};

}  // namespace suffice
