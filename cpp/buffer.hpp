// Scratch memory that starts on a cache line.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "kernels.hpp"

namespace suffice {

// Entries per row of a table whose rows each start on a cache line.
constexpr Index padded(Index cols) { return (cols + 7) / 8 * 8; }

class Buffer {
public:
    explicit Buffer(Index size = 0) : size_(size), data_(allocate(size)) { fill(0.0); }
    void fill(double value) { std::fill_n(data_.get(), size_, value); }
    double* data() { return data_.get(); }
    const double* data() const { return data_.get(); }
    Index size() const { return size_; }
    double* operator+(Index at) { return data_.get() + at; }
    const double* operator+(Index at) const { return data_.get() + at; }
    double& operator[](Index at) { return data_.get()[at]; }
    const double& operator[](Index at) const { return data_.get()[at]; }

private:
    static double* allocate(Index size) {
        void* p = std::aligned_alloc(64, std::size_t(padded(std::max<Index>(size, 1))) * sizeof(double));
        if (!p) throw std::bad_alloc();
        return static_cast<double*>(p);
    }
    struct Free {
        void operator()(double* p) const { std::free(p); }
    };
    Index size_;
    std::unique_ptr<double, Free> data_;
};

}  // namespace suffice
