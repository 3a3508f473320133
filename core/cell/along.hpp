// What the cells' derivatives along a direction of the weights have in common.
#pragma once

#include "simd/lane.hpp"
#include "simd/product.hpp"

namespace elman {

// The derivative of M s + N x by M and N alone, at n samples: out_i = dN x_i + dM s_i. Columns have `stride`
// elements; successive x are n_x apart and successive s `state_step`.
template <class T>
struct Along {
  const T* direction;  // dN and behind it dM
  int stride, n_x, n_s;

  // `scratch` has as many elements as `out`.
  void drive(const T* x, const T* s, int state_step, int n, T* out, T* scratch) const {
    inputs(x, n, out);
    states(s, state_step, n, scratch);
    for (std::size_t i = 0; i < std::size_t(n) * stride; i += kLanes<T>)
      store<T>(out + i, load<T>(out + i) + load<T>(scratch + i));
  }
  void inputs(const T* x, int n, T* out) const { product<T>(direction, stride, n_x, {x, n_x, 1}, n, out); }
  void states(const T* s, int state_step, int n, T* out) const {
    product<T>(direction + std::size_t(n_x) * stride, stride, n_s, {s, state_step, 1}, n, out);
  }
};

// out <- out (1 - h²), the derivative of h = tanh(a) where out is that of a.
template <class T>
ELMAN_INLINE void through_tanh(const T* h, int n, T* out) {
  for (int v = 0; v < n; v += kLanes<T>) {
    const Vec<T> value = load<T>(h + v);
    store<T>(out + v, load<T>(out + v) * (T(1) - value * value));
  }
}

}  // namespace elman
