// The sizes for which a cell has a pass whose products are unrolled whole. Only every other one, for the
// compiler's sake: an odd size takes the pass of the next even one, and the column that is too many meets
// padding, which is zero.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "simd/lane.hpp"

namespace elman {

template <class T>
struct Unrolled {
  static constexpr int kLargest = std::min(32, 4 * kLanes<T>);
  static constexpr int kSpare = 1;  // columns that may be read behind the last one

  // make(std::integral_constant<int, size>{}) for every size: a table of passes, to be looked up by `index`.
  template <class Make>
  static constexpr auto table(Make make) {
    return [make]<int... I>(std::integer_sequence<int, I...>) {
      return std::array{make(std::integral_constant<int, 2 * I + 2>{})...};
    }(std::make_integer_sequence<int, kLargest / 2>{});
  }
  static constexpr int index(int n) { return (n - 1) / 2; }
};

}  // namespace elman
