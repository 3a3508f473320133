// A zero-filled array aligned for SIMD; its size is fixed when it is made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace elman {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : size_(size), data_(allocate(size)) { std::fill_n(data_.get(), size, T(0)); }
  Buffer(const Buffer& other) : Buffer(other.size_) { std::copy_n(other.data(), size_, data()); }
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(const Buffer& other) {
    Buffer copy(other);
    return *this = std::move(copy);
  }
  Buffer& operator=(Buffer&&) noexcept = default;

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, kAlignment); }
  };
  static T* allocate(std::size_t size) {
    return static_cast<T*>(::operator new[](std::max<std::size_t>(size, 1) * sizeof(T), kAlignment));
  }

  std::size_t size_ = 0;
  std::unique_ptr<T[], Free> data_;
};

}  // namespace elman
