// What Python passes as lists, tuples, dicts and numbers, copied into what C++ has for them. nanobind's own
// conversions must not throw: where memory ends they end the process, and these say so.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"

inline void copy_plain(nb::handle from, std::string& to) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(from.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  to.assign(text, std::size_t(size));
}

inline void copy_plain(nb::handle from, double& to) {
  to = PyFloat_AsDouble(from.ptr());
  if (to == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
}

inline void copy_plain(nb::handle from, std::uint64_t& to) {
  to = PyLong_AsUnsignedLongLong(from.ptr());
  if (to == std::uint64_t(-1) && PyErr_Occurred() != nullptr) throw nb::python_error();
}

inline void copy_plain(nb::handle from, int& to) {
  const long long value = PyLong_AsLongLong(from.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  require(value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(),
          "a whole number is out of range");
  to = int(value);
}

inline void copy_plain(nb::handle from, bool& to) {
  require(PyBool_Check(from.ptr()), "a bool is none");
  to = from.ptr() == Py_True;
}

template <class T>
void copy_plain(nb::handle from, std::vector<T>& to);
template <class Key, class Value>
void copy_plain(nb::handle from, std::map<Key, Value>& to);
template <class First, class Second>
void copy_plain(nb::handle from, std::pair<First, Second>& to);
template <class... Each>
void copy_plain(nb::handle from, std::tuple<Each...>& to);

template <class T>
T plain(nb::handle from) {
  T to;
  copy_plain(from, to);
  return to;
}

template <class T>
void copy_plain(nb::handle from, std::vector<T>& to) {
  for (nb::handle each : nb::iter(from)) to.push_back(plain<T>(each));
}

template <class Key, class Value>
void copy_plain(nb::handle from, std::map<Key, Value>& to) {
  require(PyDict_Check(from.ptr()), "a dict is none");
  for (const auto& [key, value] : nb::borrow<nb::dict>(from)) to[plain<Key>(key)] = plain<Value>(value);
}

template <class Tuple, std::size_t... Places>
void copy_places(nb::handle from, Tuple& to, std::index_sequence<Places...>) {
  require(PyTuple_Check(from.ptr()) && PyTuple_Size(from.ptr()) == Py_ssize_t(sizeof...(Places)),
          "a tuple has another size");
  (copy_plain(PyTuple_GetItem(from.ptr(), Py_ssize_t(Places)), std::get<Places>(to)), ...);
}

template <class First, class Second>
void copy_plain(nb::handle from, std::pair<First, Second>& to) {
  copy_places(from, to, std::make_index_sequence<2>());
}

template <class... Each>
void copy_plain(nb::handle from, std::tuple<Each...>& to) {
  copy_places(from, to, std::index_sequence_for<Each...>());
}
