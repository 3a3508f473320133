// How a model's state leaves it and comes back: one list of named arrays, walked in both directions. Every
// array says what its axes are, so that saving, checking and growing need to know nothing else of it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "shared.hpp"
#include "simd/half.hpp"

namespace elman {

// What one index of an axis stands for. It stays the same when a model grows, while the index may not.
using Label = std::array<std::uint64_t, 3>;

// One axis of an array: what it runs over ("input", "hidden", "output", ...), and the label of each index.
// The labels of most axes are just their indices.
class Axis {
 public:
  Axis(const char* kind, std::size_t size) : kind_(kind), size_(size) {}
  Axis(const char* kind, std::vector<Label> labels)
      : kind_(kind), size_(labels.size()), labels_(shared(std::move(labels))) {}

  const char* kind() const { return kind_; }
  std::size_t size() const { return size_; }
  bool operator==(const Axis&) const = default;  // equal labels are shared
  Label label(std::size_t i) const { return labels_ == nullptr ? Label{i} : (*labels_)[i]; }

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
  std::shared_ptr<const std::vector<Label>> labels_;  // none: the indices themselves; copies share them
};

// Which numbers an array of a model's state can hold, so that a state in which it holds others is none. What
// is written beside an array here, the code that fills the array keeps to.
struct Limits {
  double lowest = -std::numeric_limits<double>::max(), highest = std::numeric_limits<double>::max();
  bool may_be_unknown = false;  // NaN is a value like others; elsewhere only finite numbers are

  static Limits up_to(double highest) { return {0, highest}; }
  static Limits within(double size) { return {-size, size}; }
  Limits or_unknown() const { return {lowest, highest, true}; }

  bool allow(double value) const {
    return std::isnan(value) ? may_be_unknown : lowest <= value && value <= highest;
  }

  static constexpr double kLargestCount = 4503599627370496.0;  // 2^52: still told apart as doubles
};

// A matrix of Half, float, double or std::int64_t, [outer][inner]: the inner index is contiguous, successive
// outer indices are `stride` elements apart. Padding does not leave the core, so a state does not depend on
// the vector width it was made with. A triangle is the lower half of a symmetric matrix, row by row and
// contiguous, whose two axes are the same.
struct ArrayView {
  enum class Type { float16, float32, float64, int64 };

  void* data;
  Type type;
  Axis outer, inner;
  std::size_t stride;
  Limits limits;
  bool triangle = false;

  std::size_t size() const {
    return triangle ? inner.size() * (inner.size() + 1) / 2 : outer.size() * inner.size();
  }

  // Calls f with the data as what they are.
  template <class F>
  void visit(F f) const {
    if (type == Type::float16) return f(static_cast<Half*>(data));
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
  // Whether a part of the state that begins with the array `name` is walked: what is written has it if `mine`
  // says so, what is read if it was written.
  virtual bool has_part(const std::string& name, bool mine) = 0;
  // Called before memory is taken for n things that need so many bytes each: what is read must have them.
  virtual void require_room(std::size_t n, std::size_t bytes) { (void)n, (void)bytes; }
  // Says of what was just walked whether its values fit each other; only who reads a state from outside needs
  // to ask.
  virtual void require(bool, const char*) {}

  template <class T>
  void array(const std::string& name, T* data, Axis outer, Axis inner, std::size_t stride,
             Limits limits = usual<T>()) {
    walk(name, {data, type_of<T>(), std::move(outer), std::move(inner), stride, limits});
  }

  // An array of targets, or of what else may be unknown: NaN then.
  template <class T>
  void targets(const std::string& name, T* data, Axis outer, Axis inner, std::size_t stride) {
    array(name, data, std::move(outer), std::move(inner), stride, Limits{}.or_unknown());
  }

  template <class T>
  void vector(const std::string& name, T* data, const Axis& axis, Limits limits = usual<T>()) {
    array(name, data, {"one", 1}, axis, axis.size(), limits);
  }

  template <class T>
  void value(const std::string& name, T& data, Limits limits = usual<T>()) {
    vector(name, &data, {"one", 1}, limits);
  }

  template <class T>
  void triangle(const std::string& name, T* data, const Axis& axis, Limits limits = usual<T>()) {
    walk(name, {data, type_of<T>(), axis, axis, 0, limits, true});
  }

 private:
  // Whole numbers are counts.
  template <class T>
  static Limits usual() {
    return std::is_same_v<T, std::int64_t> ? Limits::up_to(Limits::kLargestCount) : Limits{};
  }
  template <class T>
  static constexpr ArrayView::Type type_of() {
    using Type = ArrayView::Type;
    if constexpr (std::is_same_v<T, Half>) return Type::float16;
    static_assert(std::is_same_v<T, Half> || std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, std::int64_t>);
    return std::is_same_v<T, float> ? Type::float32 : std::is_same_v<T, double> ? Type::float64 : Type::int64;
  }
};

// Another archive under names that begin with a prefix: the state of a part inside the state of the whole.
class PrefixedArchive final : public Archive {
 public:
  PrefixedArchive(Archive& whole, std::string prefix) : whole_(whole), prefix_(std::move(prefix)) {}
  void walk(const std::string& name, const ArrayView& array) override { whole_.walk(prefix_ + name, array); }
  bool has_part(const std::string& name, bool mine) override { return whole_.has_part(prefix_ + name, mine); }
  void require_room(std::size_t n, std::size_t bytes) override { whole_.require_room(n, bytes); }
  void require(bool holds, const char* what) override { whole_.require(holds, what); }

 private:
  Archive& whole_;
  std::string prefix_;
};

}  // namespace elman
