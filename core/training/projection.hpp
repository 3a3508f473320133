// The projection onto the spectral ball that the theory needs.
#pragma once

#include <cmath>
#include <vector>

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
// True if A changed.
inline bool clip_singular_values(double* A, int rows, int columns, double limit) {
  constexpr int kMaxSweeps = 60;
  const std::size_t n = columns;
  std::vector<double> B(A, A + n * rows), V(n * n, 0.0);
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

// The same for a matrix in the padded layout of the core, in double precision. The method works on the
// shorter side.
template <class T>
bool clip_spectrum(T* A, int stride, int rows, int columns, double limit) {
  const bool flip = columns > rows;
  const int r = flip ? columns : rows, c = flip ? rows : columns;
  std::vector<double> dense(std::size_t(r) * c);
  const auto at = [&](int i, int j) -> double& {
    return dense[flip ? std::size_t(i) * r + j : std::size_t(j) * r + i];
  };
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) at(i, j) = A[std::size_t(j) * stride + i];
  if (!clip_singular_values(dense.data(), r, c, limit)) return false;
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) A[std::size_t(j) * stride + i] = T(at(i, j));
  return true;
}

}  // namespace elman
