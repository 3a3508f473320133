// The covariance of a Kalman filter: a symmetric matrix P that is updated and multiplied in one pass over
// memory.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "simd/buffer.hpp"
#include "simd/lane.hpp"

namespace elman {

// Only blocks on and below the diagonal are stored, as tiles of kRows × kLanes entries in the order in which
// a pass reads them. An update P - u u^T computes the same product for an entry and its mirror image, so the
// blocks on the diagonal, which are stored whole, stay symmetric to the bit.
template <class T>
class Covariance {
 public:
  Covariance() = default;
  // `variance` times the identity. No variance is ever raised above `largest` or falls below `smallest`.
  Covariance(int size, T variance, T smallest, T largest)
      : stride_((size + kBlock - 1) / kBlock * kBlock),
        tiles_(std::size_t(stride_) * (stride_ + kBlock) / 2),
        unit_(kBlock * kBlock),
        smallest_(kBlock * kBlock),
        largest_(kBlock * kBlock),
        zero_(stride_),
        unused_(stride_) {
    for (int i = 0; i < size; ++i) set(i, i, variance);
    for (int i = 0; i < kBlock; ++i)
      for (int j = 0; j < kBlock; ++j) {
        unit_[i * kBlock + j] = i == j;
        smallest_[i * kBlock + j] = i == j ? smallest : std::numeric_limits<T>::lowest();
        largest_[i * kBlock + j] = i == j ? largest : std::numeric_limits<T>::max();
      }
  }

  // Elements of the vectors that are handed to `step`; those beyond the matrix must be zero.
  int stride() const { return stride_; }

  T get(int i, int j) const { return tiles_[i < j ? place(j, i) : place(i, j)]; }
  void set(int i, int j, T value) {
    if (i < j) std::swap(i, j);
    tiles_[place(i, j)] = value;
    if (i / kBlock == j / kBlock) tiles_[place(j, i)] = value;
  }

  // P <- P - Σ_k u_k u_k^T + noise I over the first n_u rows of U, then v_k = P s_k for the first n_s rows of
  // S, all [..][stride]. Block by block, so that P goes through the cache once.
  void step(const T* U, int n_u, T noise, const T* S, int n_s, T* V) {
    // Of the sweeps over a block the one that makes the last update also makes the first product.
    const int shared = std::max(n_u, 1) - 1;
    T* tile = tiles_.data();
    for (int row = 0; row < stride_; row += kBlock) {
      for (int sweep = 0; sweep < shared + std::max(n_s, 1); ++sweep) {
        const bool multiplies = sweep >= shared && n_s > 0;
        const std::size_t u = std::size_t(sweep) * stride_, s = std::size_t(sweep - shared) * stride_;
        sweep_block(tile, row, sweep < n_u ? U + u : zero_.data(), sweep == 0 ? noise : T(0),
                    multiplies ? S + s : zero_.data(), multiplies ? V + s : unused_.data());
      }
      tile += kBlock * (row + kBlock);
    }
  }

 private:
  static constexpr int kRows = 8;  // measured against 2 and 4
  static constexpr int kBlock = std::max(kRows, kLanes<T>);

  static std::size_t place(int i, int j) {
    const std::size_t block = i / kBlock, panel = i % kBlock / kRows, columns = (block + 1) * kBlock;
    return kBlock * kBlock * (block * (block + 1) / 2) + panel * kRows * columns +
           (std::size_t(j / kLanes<T>) * kRows + i % kRows) * kLanes<T> + j % kLanes<T>;
  }

  // Updates rows [row, row + kBlock) and adds what they and their mirror images contribute to out = P s.
  void sweep_block(T* tile, int row, const T* u, T noise, const T* s, T* out) const {
    Vec<T> totals[kBlock / kLanes<T>][kLanes<T>];
    for (int panel = 0; panel < kBlock; panel += kRows) {
      Vec<T> u_row[kRows], s_row[kRows], total[kRows] = {};
      for (int r = 0; r < kRows; ++r) {
        u_row[r] = splat(-u[row + panel + r]);
        s_row[r] = splat(s[row + panel + r]);
      }
      for (int j = 0; j < row; j += kLanes<T>, tile += kRows * kLanes<T>) {
        const Vec<T> u_j = load<T>(u + j), s_j = load<T>(s + j);
        Vec<T> mirrored = load<T>(out + j);
        for (int r = 0; r < kRows; ++r) {
          const Vec<T> p = fma<T>(u_row[r], u_j, load<T>(tile + r * kLanes<T>));
          store<T>(tile + r * kLanes<T>, p);
          total[r] = fma<T>(p, s_j, total[r]);
          mirrored = fma<T>(p, s_row[r], mirrored);
        }
        store<T>(out + j, mirrored);
      }
      for (int j = 0; j < kBlock; j += kLanes<T>, tile += kRows * kLanes<T>) {
        const Vec<T> u_j = load<T>(u + row + j), s_j = load<T>(s + row + j);
        for (int r = 0; r < kRows; ++r) {
          const int at = (panel + r) * kBlock + j;  // of these entries in a block on the diagonal
          Vec<T> p = fma<T>(u_row[r], u_j, load<T>(tile + r * kLanes<T>));
          p = fma<T>(splat(noise), load<T>(&unit_[at]), p);
          p = min<T>(max<T>(p, load<T>(&smallest_[at])), load<T>(&largest_[at]));
          store<T>(tile + r * kLanes<T>, p);
          total[r] = fma<T>(p, s_j, total[r]);
        }
      }
      for (int r = 0; r < kRows; ++r) totals[(panel + r) / kLanes<T>][(panel + r) % kLanes<T>] = total[r];
    }
    for (int group = 0; group < kBlock / kLanes<T>; ++group)
      store<T>(out + row + group * kLanes<T>, sums<T>(totals[group]));
  }

  int stride_ = 0;
  Buffer<T> tiles_;
  Buffer<T> unit_, smallest_, largest_;  // [kBlock][kBlock]: identity and limits of a block on the diagonal
  Buffer<T> zero_, unused_;
};

}  // namespace elman
