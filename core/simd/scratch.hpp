// Room for what does not outlast a call, such as a gradient: one block for all models that a thread works
// with, so that a model among many keeps no more than it remembers.
#pragma once

#include <cstddef>

#include "simd/buffer.hpp"

namespace elman {

namespace detail {
// The block of this thread. Plain numbers, which are read without asking whether they exist yet; who frees
// the block is known to `ScratchPlan::grow`.
struct ScratchBlock {
  std::byte* data;
  std::size_t bytes;
};
inline constinit thread_local ScratchBlock scratch_block{nullptr, 0};
}  // namespace detail

// An array in the block. What it holds is lost when another model is called, and is anything at first.
template <class T>
class Scratch {
 public:
  Scratch() = default;
  Scratch(std::size_t offset, std::size_t size) : offset_(offset), size_(size) {}

  T* data() const { return reinterpret_cast<T*>(detail::scratch_block.data + offset_); }
  std::size_t size() const { return size_; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }
  T& operator[](std::size_t i) const { return data()[i]; }

 private:
  std::size_t offset_ = 0, size_ = 0;
};

// Which arrays a model has there, one behind the other.
class ScratchPlan {
 public:
  template <class T>
  Scratch<T> place(std::size_t size) {
    const Scratch<T> placed(bytes_, size);
    bytes_ += (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return placed;
  }

  // Must come before the arrays are used in a thread. Only the first model of its size needs memory for it.
  void reserve() const { reserve(bytes_); }
  static void reserve(std::size_t bytes) {
    if (detail::scratch_block.bytes < bytes) grow(bytes);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 64;

  static void grow(std::size_t bytes) {
    static thread_local Buffer<std::byte> owner;
    owner = Buffer<std::byte>(bytes);
    detail::scratch_block = {owner.data(), bytes};
  }

  std::size_t bytes_ = 0;
};

}  // namespace elman
