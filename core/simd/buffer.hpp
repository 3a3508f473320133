// A zero-filled array aligned for SIMD; its size is fixed when it is made. Memory that is never written is
// never taken from the system, so a long window costs nothing before it fills.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

namespace elman {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size)
      : size_(size), block_(allocate(size)), data_(aligned(block_.get(), size)) {}
  Buffer(const Buffer& other) : Buffer(other.size_) { std::copy_n(other.data(), size_, data()); }
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(const Buffer& other) {
    Buffer copy(other);
    return *this = std::move(copy);
  }
  Buffer& operator=(Buffer&&) noexcept = default;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  // Many models have many small arrays: these are aligned by the allocator, which wastes little; smaller ones
  // no more than it aligns anything. Memory of large ones comes from the system when it is written to, which
  // an allocator that aligns and fills with zeros would do at once.
  static constexpr std::size_t kAlignment = 64, kSmall = 2048, kLarge = 1 << 16;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static void* allocate(std::size_t size) {
    if (size > (std::numeric_limits<std::size_t>::max() - kAlignment) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = size * sizeof(T);
    if (bytes == 0) return nullptr;
    void* block = bytes < kSmall   ? std::calloc(bytes, 1)
                  : bytes < kLarge ? std::aligned_alloc(kAlignment, padded(bytes))
                                   : std::calloc(bytes + kAlignment, 1);
    if (block == nullptr) throw std::bad_alloc();
    if (bytes >= kSmall && bytes < kLarge) std::memset(block, 0, padded(bytes));
    return block;
  }
  static std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
  static T* aligned(void* block, std::size_t size) {
    if (size * sizeof(T) < kLarge) return static_cast<T*>(block);
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    return reinterpret_cast<T*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }

  std::size_t size_ = 0;
  std::unique_ptr<void, Free> block_;
  T* data_ = nullptr;
};

}  // namespace elman
