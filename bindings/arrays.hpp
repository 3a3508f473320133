// Arrays that cross the border between Python and the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstring>

namespace nb = nanobind;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A wrong pointer must never reach the core; the messages for people are written in Python.
inline void require(bool condition, const char* message) {
  if (!condition) throw nb::value_error(message);
}

// A new NumPy array of [outer][inner] elements.
template <class T>
nb::object new_array(const T* data, std::size_t outer, std::size_t inner) {
  T* copy = new T[std::max<std::size_t>(outer * inner, 1)];
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  std::copy_n(data, outer * inner, copy);
  return nb::cast(nb::ndarray<nb::numpy, T>(copy, {outer, inner}, owner));
}
