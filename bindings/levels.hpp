// Texts of Python as the codes of their levels.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "prepare/level.hpp"

namespace nb = nanobind;

// The level of a str.
inline double level_of(PyObject* text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes != nullptr) return elman::level_code({bytes, std::size_t(size)});
  PyErr_Clear();  // a lone surrogate, which UTF-8 cannot hold
  nb::bytes encoded(nb::handle(text).attr("encode")("utf-8", "surrogatepass"));
  return elman::level_code({static_cast<const char*>(encoded.data()), encoded.size()});
}
