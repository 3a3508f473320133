// What never changes and is the same in all models of a kind: one copy of it for all.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace elman {

// The value, or one that is equal and was shared a short while ago in this thread.
template <class T>
std::shared_ptr<const T> shared(T value) {
  constexpr std::size_t most = 64;
  static thread_local std::vector<std::shared_ptr<const T>> known;
  static thread_local std::size_t next = 0;
  for (const auto& each : known)
    if (*each == value) return each;
  auto fresh = std::make_shared<const T>(std::move(value));
  if (known.size() < most)
    known.push_back(fresh);
  else
    known[next++ % most] = fresh;
  return fresh;
}

// A vector of that kind.
template <class T>
class SharedVector {
 public:
  SharedVector() : SharedVector(std::vector<T>()) {}
  SharedVector(std::vector<T> values) : values_(shared(std::move(values))) {}

  std::size_t size() const { return values_->size(); }
  bool empty() const { return values_->empty(); }
  const T& operator[](std::size_t i) const { return (*values_)[i]; }
  auto begin() const { return values_->begin(); }
  auto end() const { return values_->end(); }
  operator const std::vector<T>&() const { return *values_; }
  bool operator==(const SharedVector& other) const {
    return values_ == other.values_ || *values_ == *other.values_;
  }

 private:
  std::shared_ptr<const std::vector<T>> values_;
};

}  // namespace elman
