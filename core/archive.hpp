// How a model's state leaves it and comes back: one list of named arrays, walked in both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace elman {

// A matrix of float, double or std::int64_t, [outer][inner]: the inner index is contiguous, successive outer
// indices are `stride` elements apart. Padding does not leave the core, so a state does not depend on the
// vector width it was made with.
struct ArrayView {
  enum class Type { float32, float64, int64 };

  void* data;
  Type type;
  std::size_t outer, inner, stride;

  // Calls f with the data as what they are.
  template <class F>
  void visit(F f) const {
    if (type == Type::float32) return f(static_cast<float*>(data));
    if (type == Type::float64) return f(static_cast<double*>(data));
    f(static_cast<std::int64_t*>(data));
  }
};

// An implementation either copies each array out or fills it in.
class Archive {
 public:
  virtual ~Archive() = default;
  virtual void walk(const std::string& name, const ArrayView& array) = 0;

  template <class T>
  void array(const std::string& name, T* data, std::size_t outer, std::size_t inner, std::size_t stride) {
    using Type = ArrayView::Type;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>);
    constexpr Type type = std::is_same_v<T, float>    ? Type::float32
                          : std::is_same_v<T, double> ? Type::float64
                                                      : Type::int64;
    walk(name, {data, type, outer, inner, stride});
  }

  template <class T>
  void value(const std::string& name, T& data) {
    array(name, &data, 1, 1, 1);
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
