// A state as Python sees it: a table that says of every array what it is, and the bytes of all of them, one
// after the other.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "archive.hpp"
#include "arrays.hpp"

inline const char* type_code(elman::ArrayView::Type type) {
  using Type = elman::ArrayView::Type;
  return type == Type::float16 ? "f2" : type == Type::float32 ? "f4" : type == Type::float64 ? "f8" : "i8";
}

// [name, type, shape, kinds of the axes]. An axis of one index is left out; a triangle is a list of numbers.
inline nb::tuple table_row(const std::string& name, const elman::ArrayView& array) {
  nb::list shape, axes;
  if (array.triangle) shape.append(array.size());
  for (const elman::Axis* axis : {&array.outer, &array.inner}) {
    if (std::strcmp(axis->kind(), "one") == 0) continue;
    axes.append(axis->kind());
    if (!array.triangle) shape.append(axis->size());
  }
  return nb::make_tuple(name, type_code(array.type), shape, axes);
}

// Writes a state.
class Save final : public elman::Archive {
 public:
  nb::list table;
  std::string bytes;
  bool has_part(const std::string&, bool mine) override { return mine; }
  void walk(const std::string& name, const elman::ArrayView& array) override {
    table.append(table_row(name, array));
    array.visit([&](auto* data) {
      array.each_run(data, [&](const auto* run, std::size_t n) {
        bytes.append(reinterpret_cast<const char*>(run), n * sizeof(*run));
      });
    });
  }
};

// Reads what Save has written, and nothing else.
class Load final : public elman::Archive {
 public:
  Load(nb::list table, const nb::bytes& bytes) : table_(std::move(table)), bytes_(bytes) {}

  void walk(const std::string& name, const elman::ArrayView& array) override {
    if (row_ >= table_.size() || !nb::object(table_[row_]).equal(table_row(name, array)))
      throw nb::value_error(("array '" + name + "' is missing or has another type, shape or axes").c_str());
    ++row_;
    array.visit([&](auto* data) {
      array.each_run(data, [&](auto* run, std::size_t n) {
        read(run, n * sizeof(*run));
        for (std::size_t i = 0; i < n; ++i)
          if (const double value = double(run[i]); !array.limits.allow(value))
            throw nb::value_error(
                (name + (std::isfinite(value) ? " is out of range" : " holds values that are not finite"))
                    .c_str());
      });
    });
  }

  bool has_part(const std::string& name, bool) override {
    return row_ < table_.size() && nb::object(table_[row_][0]).equal(nb::str(name.c_str()));
  }

  void require_room(std::size_t n, std::size_t bytes) override {
    ::require(n <= (bytes_.size() - at_) / bytes, "there is more of something than its bytes can hold");
  }

  void require(bool holds, const char* what) override { ::require(holds, what); }

  void finish() const {
    ::require(row_ == table_.size() && at_ == bytes_.size(), "there are more arrays than the model has");
  }

 private:
  void read(void* to, std::size_t n) {
    ::require(n <= bytes_.size() - at_, "the arrays are longer than their bytes");
    if (n > 0) std::memcpy(to, bytes_.c_str() + at_, n);
    at_ += n;
  }

  nb::list table_;
  const nb::bytes& bytes_;
  std::size_t row_ = 0, at_ = 0;
};

// Weights or their gradient by name, as the paper writes them: a row for each hidden unit or output. The core
// keeps the matrices of a cell column by column.
class Collect final : public elman::Archive {
 public:
  nb::dict matrices;
  bool has_part(const std::string&, bool mine) override { return mine; }
  void walk(const std::string& name, const elman::ArrayView& array) override {
    const bool by_column = std::strcmp(array.outer.kind(), "output") != 0;
    const std::size_t outer = array.outer.size(), inner = array.inner.size();
    array.visit([&](auto* data) {
      using Number = std::remove_pointer_t<decltype(data)>;
      std::vector<std::conditional_t<std::is_same_v<Number, elman::Half>, float, Number>> matrix(outer *
                                                                                                 inner);
      for (std::size_t i = 0; i < outer; ++i)
        for (std::size_t j = 0; j < inner; ++j)
          matrix[by_column ? j * outer + i : i * inner + j] = data[i * array.stride + j];
      matrices[name.c_str()] =
          by_column ? new_array(matrix.data(), inner, outer) : new_array(matrix.data(), outer, inner);
    });
  }
};
