// Room for what does not outlast a call, such as a gradient: one block for all models that a thread works
// with, so that a model among many keeps no more than it remembers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

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
inline constexpr std::size_t kScratchAlignment = 64;
}  // namespace detail

// An array in the block. What it holds is lost when another model is called, and is anything at first.
template <class T>
class Scratch {
 public:
  Scratch() = default;
  // `offset` is a multiple of the alignment.
  Scratch(std::size_t offset, std::size_t size)
      : offset_(narrow(offset / detail::kScratchAlignment)), size_(narrow(size)) {}

  T* data() const {
    return reinterpret_cast<T*>(detail::scratch_block.data +
                                std::size_t(offset_) * detail::kScratchAlignment);
  }
  std::size_t size() const { return size_; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }
  T& operator[](std::size_t i) const { return data()[i]; }

 private:
  // A model has dozens of these.
  static std::uint32_t narrow(std::size_t n) {
    if (n > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
    return std::uint32_t(n);
  }

  std::uint32_t offset_ = 0;  // in units of the alignment
  std::uint32_t size_ = 0;
};

// Which arrays a model has there, one behind the other.
class ScratchPlan {
 public:
  template <class T>
  Scratch<T> place(std::size_t size) {
    const Scratch<T> placed(bytes_, size);
    bytes_ += (size * sizeof(T) + detail::kScratchAlignment - 1) / detail::kScratchAlignment *
              detail::kScratchAlignment;
    return placed;
  }

  // Must come before the arrays are used in a thread. Only the first model of its size needs memory for it.
  void reserve() const { reserve(bytes_); }
  static void reserve(std::size_t bytes) {
    if (detail::scratch_block.bytes < bytes) grow(bytes);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static void grow(std::size_t bytes) {
    static thread_local Buffer<std::byte> owner;
    owner = Buffer<std::byte>(bytes);
    detail::scratch_block = {owner.data(), bytes};
  }

  std::size_t bytes_ = 0;
};

}  // namespace elman
