// Rows of tables as numbers: texts by the codes of their levels.
#include <nanobind/nanobind.h>

#include <limits>

#include "arrays.hpp"
#include "levels.hpp"

namespace {

// None is a missing value. What else a cell may be is for the caller to see to.
double number_of(PyObject* cell) {
  if (cell == Py_None) return std::numeric_limits<double>::quiet_NaN();
  if (PyUnicode_Check(cell)) return level_of(cell);
  const double value = PyFloat_AsDouble(cell);
  if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  return value;
}

// Writes the first cells of a list of tuples, as many of each as `out` has columns.
void fill(const nb::list& rows, const MutableMatrix& out) {
  const std::size_t columns = out.shape(1);
  require(out.shape(0) == rows.size(), "fill: wrong shape");
  double* place = out.data();
  for (const nb::handle row : rows) {
    require(PyTuple_Check(row.ptr()) && std::size_t(PyTuple_Size(row.ptr())) >= columns, "fill: wrong row");
    for (std::size_t j = 0; j < columns; ++j) *place++ = number_of(PyTuple_GetItem(row.ptr(), Py_ssize_t(j)));
  }
}

// The same for a column: a list of cells.
void fill_column(const nb::list& cells, const MutableVector& out) {
  require(out.shape(0) == cells.size(), "fill_column: wrong shape");
  double* place = out.data();
  for (const nb::handle cell : cells) *place++ = number_of(cell.ptr());
}

}  // namespace

void bind_codes(nb::module_& m) {
  m.def("level", [](const nb::str& text) { return level_of(text.ptr()); });
  m.def("fill", &fill);
  m.def("fill_column", &fill_column);
}
