// Whether what a state holds can have come out of a model.
#pragma once

#include <cmath>
#include <cstddef>

namespace elman {

// Whether a lower triangle, row by row, can be that of a covariance whose variances lie within limits: no
// entry is larger than its variances allow, but for rounding. A forged one that passes may still be
// indefinite; who uses it must stay finite then.
template <class T>
bool is_covariance(const T* triangle, std::size_t n, double smallest, double largest) {
  const auto variance = [&](std::size_t i) { return double(triangle[i * (i + 3) / 2]); };
  for (std::size_t i = 0; i < n; ++i)
    if (!(variance(i) >= smallest && variance(i) <= largest)) return false;
  const double rounding = 1e-3 * largest;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double entry = std::abs(double(triangle[i * (i + 1) / 2 + j])) - rounding;
      if (entry > 0 && entry * entry > 2 * variance(i) * variance(j)) return false;
    }
  return true;
}

}  // namespace elman
