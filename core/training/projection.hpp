// The projection onto the spectral ball that the theory needs.
#pragma once

#include <algorithm>
#include <cmath>

#include "simd/buffer.hpp"

namespace elman {

namespace detail {

// Rotates columns p and q of A (and of V alike) so that they become orthogonal. True if they already were.
inline bool orthogonalise(double* p, double* q, double* vp, double* vq, int rows, int columns) {
  double pp = 0, qq = 0, pq = 0;
  for (int i = 0; i < rows; ++i) {
    pp += p[i] * p[i];
    qq += q[i] * q[i];
    pq += p[i] * q[i];
  }
  if (std::abs(pq) <= 1e-15 * std::sqrt(pp * qq)) return true;
  const double zeta = (qq - pp) / (2 * pq);
  const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
  const double c = 1 / std::hypot(1.0, t), s = c * t;
  const auto rotate = [c, s](double* a, double* b, int n) {
    for (int i = 0; i < n; ++i) {
      const double x = a[i], y = b[i];
      a[i] = c * x - s * y;
      b[i] = s * x + c * y;
    }
  };
  rotate(p, q, rows);
  rotate(vp, vq, columns);
  return false;
}

}  // namespace detail

// Clips the singular values of A (column-major, rows × columns) at `limit`: the nearest matrix of that
// spectral norm, by the one-sided Jacobi method. With B = A V of orthogonal columns b_k, the singular values
// are ||b_k|| and the clipped matrix is A - Σ_k (1 - limit/||b_k||) b_k v_k^T over those above the limit.
// True if A changed. B has room for as much as A, V for columns × columns.
inline bool clip_singular_values(double* A, int rows, int columns, double limit, double* B, double* V) {
  constexpr int kMaxSweeps = 60;
  const std::size_t n = columns;
  std::copy_n(A, n * rows, B);
  std::fill_n(V, n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) V[j * n + j] = 1;
  bool converged = false;
  for (int sweep = 0; sweep < kMaxSweeps && !converged; ++sweep) {
    converged = true;
    for (std::size_t p = 0; p + 1 < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q)
        converged &= detail::orthogonalise(&B[p * rows], &B[q * rows], &V[p * n], &V[q * n], rows, columns);
  }
  bool changed = false;
  for (std::size_t k = 0; k < n; ++k) {
    double squared = 0;
    for (int i = 0; i < rows; ++i) squared += B[k * rows + i] * B[k * rows + i];
    const double excess = 1 - limit / std::sqrt(squared);
    if (!(excess > 0)) continue;
    changed = true;
    for (std::size_t j = 0; j < n; ++j)
      for (int i = 0; i < rows; ++i) A[j * rows + i] -= excess * B[k * rows + i] * V[k * n + j];
  }
  return changed;
}

// The same for matrices in the padded layout of the core, in double precision. The method works on the
// shorter side. The memory that it needs is taken once.
class SpectrumClipper {
 public:
  // For matrices of up to so many rows and columns.
  void prepare(int rows, int columns) {
    const std::size_t size = std::size_t(rows) * columns, side = std::min(rows, columns);
    if (dense_.size() < size) dense_ = B_ = Buffer<double>(size);
    if (V_.size() < side * side) V_ = Buffer<double>(side * side);
  }

  template <class T>
  bool clip(T* A, int stride, int rows, int columns, double limit) {
    const bool flip = columns > rows;
    const int r = flip ? columns : rows, c = flip ? rows : columns;
    const auto at = [&](int i, int j) -> double& {
      return dense_[flip ? std::size_t(i) * r + j : std::size_t(j) * r + i];
    };
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) at(i, j) = A[std::size_t(j) * stride + i];
    if (!clip_singular_values(dense_.data(), r, c, limit, B_.data(), V_.data())) return false;
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) A[std::size_t(j) * stride + i] = T(at(i, j));
    return true;
  }

 private:
  Buffer<double> dense_, B_, V_;
};

}  // namespace elman
