// An array of weights that is trained as a whole, its gradient, and the matrices that lie in it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive.hpp"
#include "shared.hpp"
#include "simd/buffer.hpp"
#include "simd/scratch.hpp"

namespace elman {

// One matrix inside an array of weights, [outer][inner]: successive outer indices are `stride` elements
// apart.
struct Block {
  const char*
      name;  // "U", "W", "C", "D" as in the paper; with the gate's name behind it where there are several
  std::size_t offset;  // of its first element
  int stride;
  Axis outer, inner;

  std::size_t place(std::size_t i, std::size_t j) const { return offset + i * stride + j; }
  bool operator==(const Block&) const = default;
};
using Blocks = SharedVector<Block>;

// No rule moves a weight further away from 0 than this: a step that would is not taken. So answers stay
// numbers in any precision.
constexpr double kLargestWeight = 1e12;

template <class T>
struct Parameters {
  // What the weights are of: rules may treat the two differently, as WOGD does.
  enum class Role { recurrence, readout };

  Parameters(Role of, Blocks matrices, std::size_t size, ScratchPlan& scratch)
      : role(of), blocks(std::move(matrices)), weights(size), gradient(scratch.place<T>(size)) {}

  Role role;
  Blocks blocks;
  Buffer<T> weights;
  Scratch<T> gradient;  // of what was differentiated last

  // Walks an array in the layout of the weights, matrix by matrix.
  template <class Array>
  void exchange(Archive& archive, const std::string& prefix, Array& array, Limits limits = {}) const {
    for (const Block& block : blocks)
      archive.array(prefix + block.name, array.data() + block.offset, block.outer, block.inner, block.stride,
                    limits);
  }
};

}  // namespace elman
