// Rows and targets as people pass them, read without going through NumPy where they are of an ordinary kind.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "levels.hpp"
#include "prepare/coding.hpp"

namespace nb = nanobind;

// What reads a row or a target here touches nothing if anything is out of the ordinary and says false; the
// caller then takes the long way in Python, which finds out what it is.
class RowReader {
 public:
  // `names`: a tuple of str if rows are dicts, else None.
  RowReader(const std::vector<elman::FeatureKind>& kinds, nb::object names)
      : n_features_(kinds.size()),
        kinds_(kinds),
        plain_(std::all_of(kinds.begin(), kinds.end(),
                           [](elman::FeatureKind kind) { return kind == elman::FeatureKind::number; })),
        names_(std::move(names)),
        numpy_array_(nb::module_::import_("numpy").attr("ndarray")),
        numpy_float32_(nb::module_::import_("numpy").attr("float32")) {}

  bool row(nb::handle x, double* out) const {
    if (PyDict_CheckExact(x.ptr())) return !names_.is_none() && named(x, out);
    if (!names_.is_none()) return false;
    if (x.type().is(numpy_array_)) return plain_ && array(x, out);
    if (PyList_CheckExact(x.ptr()) || PyTuple_CheckExact(x.ptr())) return sequence(x, out);
    return false;
  }

  // None is an unknown target.
  bool target(nb::handle y, double& out) const {
    if (!y.is_none()) return number(y, out) && !std::isinf(out);
    out = std::numeric_limits<double>::quiet_NaN();
    return true;
  }

 private:
  bool number(nb::handle value, double& out) const {
    PyObject* object = value.ptr();
    if (!PyFloat_Check(object) && !PyLong_CheckExact(object) && !value.type().is(numpy_float32_))
      return false;
    out = PyFloat_AsDouble(object);
    if (out != -1 || PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();  // an integer beyond the range of double
    return false;
  }

  // A feature: a finite number, or a text where the level of a category belongs.
  bool feature(std::size_t j, nb::handle value, double& out) const {
    if (kinds_[j] == elman::FeatureKind::number) return number(value, out) && !std::isinf(out);
    if (kinds_[j] != elman::FeatureKind::category || !PyUnicode_Check(value.ptr())) return false;
    out = level_of(value.ptr());
    return true;
  }

  // A feature that is absent is missing; a name that is new needs the long way.
  bool named(nb::handle x, double* out) const {
    Py_ssize_t found = 0;
    for (std::size_t j = 0; j < n_features_; ++j) {
      PyObject* value = PyDict_GetItemWithError(x.ptr(), PyTuple_GetItem(names_.ptr(), Py_ssize_t(j)));
      if (value == nullptr) {
        PyErr_Clear();
        out[j] = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      ++found;
      if (!feature(j, value, out[j])) return false;
    }
    return found == PyDict_Size(x.ptr());
  }

  bool sequence(nb::handle x, double* out) const {
    const bool list = PyList_CheckExact(x.ptr());
    if (std::size_t(list ? PyList_Size(x.ptr()) : PyTuple_Size(x.ptr())) != n_features_) return false;
    for (std::size_t j = 0; j < n_features_; ++j) {
      const Py_ssize_t at = Py_ssize_t(j);
      if (!feature(j, list ? PyList_GetItem(x.ptr(), at) : PyTuple_GetItem(x.ptr(), at), out[j]))
        return false;
    }
    return true;
  }

  bool array(nb::handle x, double* out) const {
    nb::ndarray<nb::ro, nb::device::cpu> a;
    if (!nb::try_cast(x, a, false) || a.ndim() != 1 || a.shape(0) != n_features_) return false;
    if (a.dtype() == nb::dtype<double>()) return copy<double>(a, out);
    if (a.dtype() == nb::dtype<float>()) return copy<float>(a, out);
    if (a.dtype() == nb::dtype<std::int64_t>()) return copy<std::int64_t>(a, out);
    return false;
  }

  template <class T>
  bool copy(const nb::ndarray<nb::ro, nb::device::cpu>& a, double* out) const {
    const T* data = static_cast<const T*>(a.data());
    bool infinite = false;
    for (std::size_t j = 0; j < n_features_; ++j) {
      out[j] = double(data[std::int64_t(j) * a.stride(0)]);
      infinite |= std::isinf(out[j]);
    }
    return !infinite;
  }

  std::size_t n_features_;
  std::vector<elman::FeatureKind> kinds_;
  bool plain_;  // all features are numbers
  nb::object names_, numpy_array_, numpy_float32_;
};
