// Arithmetic on whole arrays. Lengths are multiples of the vector width; what is behind the data is zero.
#pragma once

#include <cmath>
#include <cstddef>

#include "simd/lane.hpp"

namespace elman {

// In one sum, or for long arrays in two that are interleaved, so that an addition need not wait for the one
// before.
template <class T, int Sums = 1>
ELMAN_INLINE T dot(const T* a, const T* b, std::size_t n) {
  Vec<T> total[2] = {};
  for (std::size_t i = 0; i < n; i += kLanes<T>)
    total[i / kLanes<T> % Sums] = fma<T>(load<T>(a + i), load<T>(b + i), total[i / kLanes<T> % Sums]);
  return sum<T>(Sums == 1 ? total[0] : total[0] + total[1]);
}

// out <- out + factor a.
template <class T>
ELMAN_INLINE void add(T* out, T factor, const T* a, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes<T>)
    store<T>(out + i, fma<T>(splat(factor), load<T>(a + i), load<T>(out + i)));
}

// Shrinks v onto the Euclidean ball of radius `limit`.
template <class T>
void clip_norm(T* v, std::size_t n, double limit) {
  const double squared = dot(v, v, n);
  if (squared <= limit * limit) return;
  const T factor = T(limit / std::sqrt(squared));
  for (std::size_t i = 0; i < n; i += kLanes<T>) store<T>(v + i, load<T>(v + i) * factor);
}

}  // namespace elman
