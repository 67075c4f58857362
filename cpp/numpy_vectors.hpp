// NumPy arrays that own a vector, without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>

namespace suffice {

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
