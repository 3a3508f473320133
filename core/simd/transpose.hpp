// The transpose of a matrix in the padded layout of the core: backward passes read by rows what forward
// passes read by columns, and this is done after every update.
#pragma once

#include "simd/lane.hpp"

namespace elman {

namespace detail {
// Exchanges the off-diagonal Width × Width blocks of every 2 Width × 2 Width block of the square v.
template <class T, int Width, int... I>
ELMAN_INLINE void transpose_blocks(Vec<T> (&v)[kLanes<T>], std::integer_sequence<int, I...> lanes) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<T>; ++i) {
    if ((i & Width) != 0) continue;
    const Vec<T> a = v[i], b = v[i + Width];
    v[i] = __builtin_shufflevector(a, b, ((I & Width) != 0 ? kLanes<T> + I - Width : I)...);
    v[i + Width] = __builtin_shufflevector(a, b, ((I & Width) != 0 ? kLanes<T> + I : I + Width)...);
  }
  if constexpr (2 * Width < kLanes<T>) transpose_blocks<T, 2 * Width>(v, lanes);
}
}  // namespace detail

// out[i * out_stride + j] = in[j * in_stride + i] for i < rows and j < columns. Both strides are padded to
// the vector width; padding of `out` becomes zero for j, and stays as it is for i.
template <class T>
void transpose(const T* in, int in_stride, int rows, int columns, T* out, int out_stride) {
  for (int j = 0; j < columns; j += kLanes<T>)
    for (int i = 0; i < rows; i += kLanes<T>) {
      Vec<T> v[kLanes<T>];
#pragma GCC unroll 16
      for (int k = 0; k < kLanes<T>; ++k)
        v[k] = j + k < columns ? load<T>(in + std::size_t(j + k) * in_stride + i) : Vec<T>{};
      detail::transpose_blocks<T, 1>(v, std::make_integer_sequence<int, kLanes<T>>{});
#pragma GCC unroll 16
      for (int k = 0; k < kLanes<T>; ++k)
        if (i + k < rows) store<T>(out + std::size_t(i + k) * out_stride + j, v[k]);
    }
}

}  // namespace elman
