// A model in other sizes: what a model knows is carried over, array by array and label by label, into a new
// one that has more inputs or outputs. What has no counterpart stays as the new model has it.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "archive.hpp"

namespace elman {

// A copy of a state: every array with its axes.
class Snapshot final : public Archive {
 public:
  struct Copy {
    ArrayView view;  // contiguous
    std::vector<unsigned char> bytes;
  };

  void walk(const std::string& name, const ArrayView& array) override {
    Copy copy{array, {}};
    array.visit([&](auto* data) {
      array.each_run(data, [&](const auto* run, std::size_t n) {
        const auto* begin = reinterpret_cast<const unsigned char*>(run);
        copy.bytes.insert(copy.bytes.end(), begin, begin + n * sizeof(*run));
      });
    });
    copy.view.stride = array.inner.size();
    arrays_.insert_or_assign(name, std::move(copy));
  }

  bool has_part(const std::string&, bool mine) override { return mine; }

  const Copy* find(const std::string& name) const {
    const auto found = arrays_.find(name);
    return found == arrays_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, Copy> arrays_;
};

// Fills the arrays of a model from a snapshot of another: wherever all labels of an entry are known there.
class Graft final : public Archive {
 public:
  explicit Graft(const Snapshot& from) : from_(from) {}

  bool has_part(const std::string& name, bool) override { return from_.find(name) != nullptr; }

  void walk(const std::string& name, const ArrayView& to) override {
    const Snapshot::Copy* copy = from_.find(name);
    if (copy == nullptr || copy->view.type != to.type || copy->view.triangle != to.triangle) return;
    const std::vector<Match> inner = matches(copy->view.inner, to.inner);
    const std::vector<Match> outer = to.triangle ? inner : matches(copy->view.outer, to.outer);
    to.visit([&](auto* data) {
      for (const Match& row : outer)
        for (const Match& column : inner)
          if (!to.triangle || column.to <= row.to)
            std::memcpy(data + place(to, row.to, column.to),
                        copy->bytes.data() + place(copy->view, row.from, column.from) * sizeof(*data),
                        sizeof(*data));
    });
  }

 private:
  struct Match {
    std::size_t from, to;
  };

  static std::vector<Match> matches(const Axis& from, const Axis& to) {
    std::map<Label, std::size_t> places;
    for (std::size_t i = 0; i < from.size(); ++i) places[from.label(i)] = i;
    std::vector<Match> found;
    for (std::size_t i = 0; i < to.size(); ++i)
      if (const auto known = places.find(to.label(i)); known != places.end())
        found.push_back({known->second, i});
    return found;
  }

  static std::size_t place(const ArrayView& view, std::size_t row, std::size_t column) {
    if (!view.triangle) return row * view.stride + column;
    if (row < column) std::swap(row, column);
    return row * (row + 1) / 2 + column;
  }

  const Snapshot& from_;
};

}  // namespace elman
