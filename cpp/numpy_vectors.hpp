// What all bindings share: vectors that come from NumPy, checks, and NumPy arrays that own a vector, without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <stdexcept>
#include <utility>

namespace suffice {

template <class T>
using Vector = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

inline void require(bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
}

template <class T>
using Numpy = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

template <class Values>
Numpy<typename Values::value_type> array(Values&& values) {
    auto kept = std::make_unique<Values>(std::move(values));
    nanobind::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<Values*>(p); });
    Values* held = kept.release();
    return {held->data(), {held->size()}, owner};
}

}  // namespace suffice
