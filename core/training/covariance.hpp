// The covariance of a Kalman filter: a symmetric matrix P that is updated and multiplied in one pass over
// memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "simd/buffer.hpp"
#include "simd/half.hpp"
#include "simd/lane.hpp"

namespace elman {

// Only blocks on and below the diagonal are stored, as tiles of kRows × kLanes entries in the order in which
// a pass reads them. An update P - u u^T computes the same product for an entry and its mirror image, so the
// blocks on the diagonal, which are stored whole, stay symmetric to the bit. `Kept` is what an entry is kept
// as: T, or Half to save memory, rounded at every step. Halves are kept times a power of two that makes the
// most of their range.
template <class T, class Kept = T>
class Covariance {
 public:
  Covariance() = default;
  // `variance` times the identity. No variance is ever raised above `largest` or falls below `smallest`.
  Covariance(int size, T variance, T smallest, T largest)
      : stride_((size + kBlock - 1) / kBlock * kBlock),
        unit_(std::is_same_v<Kept, T> ? T(1) : std::exp2(std::floor(std::log2(T(Half::kLargest) / largest)))),
        smallest_(smallest * unit_),
        largest_(largest * unit_),
        tiles_(std::size_t(stride_) * (stride_ + kBlock) / 2) {
    for (int i = 0; i < size; ++i) keep_entry(i, i, Kept(variance * unit_));
  }

  // Of the variances, as they are kept.
  T smallest() const { return std::is_same_v<Kept, T> ? smallest_ : T(0); }  // a Half may round it to 0
  T largest() const { return largest_; }

  // Elements of the vectors that are handed to `step`; those beyond the matrix must be zero.
  int stride() const { return stride_; }

  // An entry as it is kept.
  Kept kept(int i, int j) const { return tiles_[i < j ? place(j, i) : place(i, j)]; }
  void keep_entry(int i, int j, Kept value) {
    if (i < j) std::swap(i, j);
    tiles_[place(i, j)] = value;
    if (i / kBlock == j / kBlock) tiles_[place(j, i)] = value;
  }

  // Takes what `step` needs in this thread, which may fail.
  void take_scratch() const { nothing_of(stride_); }

  // P <- P - Σ_k u_k u_k^T + noise I over the first n_u rows of U, then v_k = P s_k for the first n_s rows of
  // S, all [..][stride]. Block by block, so that P goes through the cache once.
  void step(const T* U, int n_u, T noise, const T* S, int n_s, T* V) {
    // Of the sweeps over a block the one that makes the last update also makes the first product.
    const int shared = std::max(n_u, 1) - 1;
    const Nothing& nothing = nothing_of(stride_);
    Kept* tile = tiles_.data();
    for (int row = 0; row < stride_; row += kBlock) {
      for (int sweep = 0; sweep < shared + std::max(n_s, 1); ++sweep) {
        const bool multiplies = sweep >= shared && n_s > 0;
        const std::size_t u = std::size_t(sweep) * stride_, s = std::size_t(sweep - shared) * stride_;
        sweep_block(tile, row, sweep < n_u ? U + u : nothing.zero.data(), sweep == 0 ? noise : T(0),
                    multiplies ? S + s : nothing.zero.data(), multiplies ? V + s : nothing.unused);
      }
      tile += kBlock * (row + kBlock);
    }
  }

 private:
  static constexpr int kRows = 8;  // measured against 2 and 4
  static constexpr int kBlock = std::max(kRows, kLanes<T>);

  // Which entries of a block on the diagonal are on it.
  static constexpr std::array<T, kBlock * kBlock> kDiagonal = [] {
    std::array<T, kBlock * kBlock> marks{};
    for (int i = 0; i < kBlock; ++i) marks[i * kBlock + i] = 1;
    return marks;
  }();

  // What stands for a vector that is not given. One for all models that a thread works with.
  struct Nothing {
    Buffer<T> zero;
    T* unused;
  };
  static const Nothing& nothing_of(int stride) {
    static thread_local Nothing nothing;
    static thread_local Buffer<T> unused;
    if (nothing.zero.size() < std::size_t(stride)) {
      Buffer<T> zero{std::size_t(stride)}, other{std::size_t(stride)};  // both, or nothing changes
      nothing.zero = std::move(zero);
      unused = std::move(other);
      nothing.unused = unused.data();
    }
    return nothing;
  }

  static std::size_t place(int i, int j) {
    const std::size_t block = i / kBlock, panel = i % kBlock / kRows, columns = (block + 1) * kBlock;
    return kBlock * kBlock * (block * (block + 1) / 2) + panel * kRows * columns +
           (std::size_t(j / kLanes<T>) * kRows + i % kRows) * kLanes<T> + j % kLanes<T>;
  }

  // Updates rows [row, row + kBlock) and adds what they and their mirror images contribute to out = P s.
  void sweep_block(Kept* tile, int row, const T* u, T noise, const T* s, T* out) const {
    const T one = 1 / unit_;
    Vec<T> totals[kBlock / kLanes<T>][kLanes<T>];
    for (int panel = 0; panel < kBlock; panel += kRows) {
      Vec<T> u_row[kRows], s_row[kRows], total[kRows] = {};
      for (int r = 0; r < kRows; ++r) {
        u_row[r] = splat(-u[row + panel + r] * unit_);
        s_row[r] = splat(s[row + panel + r] * one);
      }
      for (int j = 0; j < row; j += kLanes<T>, tile += kRows * kLanes<T>) {
        const Vec<T> u_j = load<T>(u + j), s_j = load<T>(s + j) * splat(one);
        Vec<T> mirrored = load<T>(out + j);
        for (int r = 0; r < kRows; ++r) {
          const Vec<T> p =
              keep<T>(tile + r * kLanes<T>, fma<T>(u_row[r], u_j, load_kept<T>(tile + r * kLanes<T>)));
          total[r] = fma<T>(p, s_j, total[r]);
          mirrored = fma<T>(p, s_row[r], mirrored);
        }
        store<T>(out + j, mirrored);
      }
      for (int j = 0; j < kBlock; j += kLanes<T>, tile += kRows * kLanes<T>) {
        const Vec<T> u_j = load<T>(u + row + j), s_j = load<T>(s + row + j) * splat(one);
        for (int r = 0; r < kRows; ++r) {
          const int at = (panel + r) * kBlock + j;  // of these entries in a block on the diagonal
          const Vec<T> mark = load<T>(&kDiagonal[at]);
          Vec<T> p = fma<T>(u_row[r], u_j, load_kept<T>(tile + r * kLanes<T>));
          p = fma<T>(splat(noise * unit_), mark, p);
          p = mark != T(0) ? min<T>(max<T>(p, splat(smallest_)), splat(largest_)) : p;
          p = keep<T>(tile + r * kLanes<T>, p);
          total[r] = fma<T>(p, s_j, total[r]);
        }
      }
      for (int r = 0; r < kRows; ++r) totals[(panel + r) / kLanes<T>][(panel + r) % kLanes<T>] = total[r];
    }
    for (int group = 0; group < kBlock / kLanes<T>; ++group)
      store<T>(out + row + group * kLanes<T>, sums<T>(totals[group]));
  }

  int stride_ = 0;
  T unit_ = 1;            // times which entries are kept
  T smallest_, largest_;  // variances, as they are kept
  Buffer<Kept> tiles_;
};

}  // namespace elman
