// How a model's state leaves it and comes back: one list of named arrays, walked in both directions. Every
// array says what its axes are, so that saving, checking and growing need to know nothing else of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace elman {

// What one index of an axis stands for. It stays the same when a model grows, while the index may not.
using Label = std::array<std::uint64_t, 3>;

// One axis of an array: what it runs over ("input", "hidden", "output", ...), and the label of each index.
// The labels of most axes are just their indices.
class Axis {
 public:
  Axis(const char* kind, std::size_t size) : kind_(kind), size_(size) {}
  Axis(const char* kind, std::vector<Label> labels)
      : kind_(kind), size_(labels.size()), labels_(std::move(labels)) {}

  const char* kind() const { return kind_; }
  std::size_t size() const { return size_; }
  Label label(std::size_t i) const { return labels_.empty() ? Label{i} : labels_[i]; }

  // This axis and behind it another.
  Axis then(const Axis& other, const char* kind) const {
    std::vector<Label> labels;
    for (std::size_t i = 0; i < size_; ++i) labels.push_back({0, label(i)[0], label(i)[1]});
    for (std::size_t i = 0; i < other.size_; ++i) labels.push_back({1, other.label(i)[0], other.label(i)[1]});
    return {kind, std::move(labels)};
  }

 private:
  const char* kind_;
  std::size_t size_;
  std::vector<Label> labels_;  // empty: the indices themselves
};

// A matrix of float, double or std::int64_t, [outer][inner]: the inner index is contiguous, successive outer
// indices are `stride` elements apart. Padding does not leave the core, so a state does not depend on the
// vector width it was made with. A triangle is the lower half of a symmetric matrix, row by row and
// contiguous, whose two axes are the same.
struct ArrayView {
  enum class Type { float32, float64, int64 };

  void* data;
  Type type;
  Axis outer, inner;
  std::size_t stride;
  bool triangle = false;
  bool may_be_unknown = false;  // NaN is a value like others; elsewhere only finite numbers are

  std::size_t size() const {
    return triangle ? inner.size() * (inner.size() + 1) / 2 : outer.size() * inner.size();
  }

  // Calls f with the data as what they are.
  template <class F>
  void visit(F f) const {
    if (type == Type::float32) return f(static_cast<float*>(data));
    if (type == Type::float64) return f(static_cast<double*>(data));
    f(static_cast<std::int64_t*>(data));
  }

  // Calls f(begin, length) for every run of elements that is contiguous.
  template <class T, class F>
  void each_run(T* first, F f) const {
    if (triangle) return f(first, size());
    for (std::size_t i = 0; i < outer.size(); ++i) f(first + i * stride, inner.size());
  }
};

// An implementation either copies each array out or fills it in.
class Archive {
 public:
  virtual ~Archive() = default;
  virtual void walk(const std::string& name, const ArrayView& array) = 0;

  template <class T>
  void array(const std::string& name, T* data, Axis outer, Axis inner, std::size_t stride) {
    walk(name, {data, type_of<T>(), std::move(outer), std::move(inner), stride});
  }

  // An array of targets, NaN where unknown.
  template <class T>
  void targets(const std::string& name, T* data, Axis outer, Axis inner, std::size_t stride) {
    walk(name, {data, type_of<T>(), std::move(outer), std::move(inner), stride, false, true});
  }

  template <class T>
  void vector(const std::string& name, T* data, const Axis& axis) {
    array(name, data, {"one", 1}, axis, axis.size());
  }

  template <class T>
  void value(const std::string& name, T& data) {
    vector(name, &data, {"one", 1});
  }

  template <class T>
  void triangle(const std::string& name, T* data, const Axis& axis) {
    walk(name, {data, type_of<T>(), axis, axis, 0, true});
  }

 private:
  template <class T>
  static constexpr ArrayView::Type type_of() {
    using Type = ArrayView::Type;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>);
    return std::is_same_v<T, float> ? Type::float32 : std::is_same_v<T, double> ? Type::float64 : Type::int64;
  }
};

// Another archive under names that begin with a prefix: the state of a part inside the state of the whole.
class PrefixedArchive final : public Archive {
 public:
  PrefixedArchive(Archive& whole, std::string prefix) : whole_(whole), prefix_(std::move(prefix)) {}
  void walk(const std::string& name, const ArrayView& array) override { whole_.walk(prefix_ + name, array); }

 private:
  Archive& whole_;
  std::string prefix_;
};

}  // namespace elman
