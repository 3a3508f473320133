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

// Only blocks on and below the diagonal are stored: of each panel of kRows rows the columns up to the end of
// its kRows × kRows block on the diagonal, as tiles of kRows × kLanes entries in the order in which a pass
// reads them, the last one half as wide where vectors are twice as long as a panel is high. An update P - u
// u^T computes the same product for an entry and its mirror image, so the blocks on the diagonal, which are
// stored whole, stay symmetric to the bit. `Kept` is what an entry is kept
// as: T, or Half to save memory, rounded at every step. Halves are kept times a power of two that makes the
// most of their range.
template <class T, class Kept = T>
class Covariance {
 public:
  Covariance() = default;
  // `variance` times the identity. No variance is ever raised above `largest` or falls below `smallest`.
  Covariance(int size, T variance, T smallest, T largest)
      : stride_((size + kBlock - 1) / kBlock * kBlock),
        rows_((size + kRows - 1) / kRows * kRows),
        unit_(std::is_same_v<Kept, T> ? T(1) : std::exp2(std::floor(std::log2(T(Half::kLargest) / largest)))),
        smallest_(smallest * unit_),
        largest_(largest * unit_),
        tiles_(std::size_t(rows_) * (rows_ + kRows) / 2) {
    for (int i = 0; i < size; ++i) keep_entry(i, i, Kept(variance * unit_));
  }

  // Of the variances, as they are kept.
  T smallest() const { return std::is_same_v<Kept, T> ? smallest_ : T(0); }  // a Half may round it to 0
  T largest() const { return largest_; }
  T largest_variance() const { return largest_ / unit_; }

  // Elements of the vectors that are handed to `step`; those beyond the matrix must be zero.
  int stride() const { return stride_; }

  // An entry as it is kept.
  Kept kept(int i, int j) const { return tiles_[i < j ? place(j, i) : place(i, j)]; }
  void keep_entry(int i, int j, Kept value) {
    if (i < j) std::swap(i, j);
    tiles_[place(i, j)] = value;
    if (i / kRows == j / kRows) tiles_[place(j, i)] = value;
  }

  // An entry by its value. One on the diagonal stays within the limits of a variance.
  double entry(int i, int j) const { return double(T(kept(i, j))) / double(unit_); }
  void set_entry(int i, int j, double value) {
    value *= double(unit_);
    if (i == j) value = std::clamp(value, double(smallest_), double(largest_));
    keep_entry(i, j, Kept(T(value)));
  }

  // P <- P - Σ_k u_k u_k^T + noise I over the first n_u rows of U, then v_k = P s_k for the first n_s rows of
  // S, all [..][stride]. Block by block, so that P goes through the cache once. `spare` has room for two
  // vectors more, which stand for those that are not given.
  void step(const T* U, int n_u, T noise, const T* S, int n_s, T* V, T* spare) {
    // Of the sweeps over a block the one that makes the last update also makes the first product.
    const int shared = std::max(n_u, 1) - 1;
    const T* zero = spare;
    T* unused = spare + stride_;
    std::fill(spare, unused + stride_, T(0));
    Kept* tile = tiles_.data();
    for (int row = 0; row < stride_; row += kBlock) {
      Kept* next = tile;
      for (int sweep = 0; sweep < shared + std::max(n_s, 1); ++sweep) {
        const bool multiplies = sweep >= shared && n_s > 0;
        const std::size_t u = std::size_t(sweep) * stride_, s = std::size_t(sweep - shared) * stride_;
        next = sweep_block(tile, row,
                           {sweep < n_u ? U + u : zero, sweep == 0 ? noise : T(0), multiplies ? S + s : zero,
                            multiplies ? V + s : unused, Vec<T>{}});
      }
      tile = next;
    }
  }

 private:
  static constexpr int kRows = 8;  // measured against 2 and 4
  static constexpr int kBlock = std::max(kRows, kLanes<T>);
  static constexpr bool kWide = kLanes<T> == 2 * kRows;

  // Which entries of a block on the diagonal are on it.
  static constexpr std::array<T, kBlock * kBlock> kDiagonal = [] {
    std::array<T, kBlock * kBlock> marks{};
    for (int i = 0; i < kBlock; ++i) marks[i * kBlock + i] = 1;
    return marks;
  }();

  // Which lanes are rows of the first of two panels.
  static constexpr std::array<T, kLanes<T>> kFirstPanel = [] {
    std::array<T, kLanes<T>> marks{};
    for (int i = 0; i < std::min(kRows, kLanes<T>); ++i) marks[i] = 1;
    return marks;
  }();

  static std::size_t place(int i, int j) {
    const std::size_t panel = i / kRows, tile = j / kLanes<T>;
    const bool is_half = kRows * (panel + 1) < (tile + 1) * kLanes<T>;
    return kRows * kRows * (panel * (panel + 1) / 2) + tile * kRows * kLanes<T> +
           std::size_t(i % kRows) * (is_half ? kRows : kLanes<T>)+j % kLanes<T>;
  }

  // A pass over some rows of P: what it updates them by and multiplies them with, and the product.
  struct Sweep {
    const T* u;
    T noise;
    const T* s;
    T* out;
    Vec<T> beside;  // what the second of two panels contributes to the rows of the first
  };

  // Updates rows [row, row + kBlock) and adds what they and their mirror images contribute to out = P s.
  // Returns where the next block begins.
  Kept* sweep_block(Kept* tile, int row, Sweep sweep) const {
    Vec<T> totals[kBlock];
    tile = sweep_panel<0>(tile, row, sweep, totals);
    if constexpr (kWide) {
      if (row + kRows < rows_)
        tile = sweep_panel<kRows>(tile, row, sweep, totals);
      else
        std::fill(totals + kRows, totals + kBlock, Vec<T>{});
    }
    for (int at = 0; at < kBlock; at += kLanes<T>) {
      Vec<T>(&group)[kLanes<T>] = reinterpret_cast<Vec<T>(&)[kLanes<T>]>(totals[at]);
      store<T>(sweep.out + row + at, sums<T>(group));
    }
    if constexpr (kWide)
      store<T>(sweep.out + row, load<T>(sweep.out + row) + load<T>(kFirstPanel.data()) * sweep.beside);
    return tile;
  }

  // The same for the panel of its rows that begins with row `Panel`, whose products go into `totals`.
  template <int Panel>
  Kept* sweep_panel(Kept* tile, int row, Sweep& sweep, Vec<T>* totals) const {
    constexpr bool is_half = kWide && Panel == 0;
    constexpr int width = is_half ? kRows : kLanes<T>;
    const T one = 1 / unit_;
    Vec<T> u_row[kRows], s_row[kRows], total[kRows] = {};
    for (int r = 0; r < kRows; ++r) {
      u_row[r] = splat(-sweep.u[row + Panel + r] * unit_);
      s_row[r] = splat(sweep.s[row + Panel + r] * one);
    }
    for (int j = 0; j < row; j += kLanes<T>, tile += kRows * kLanes<T>) {
      const Vec<T> u_j = load<T>(sweep.u + j), s_j = load<T>(sweep.s + j) * splat(one);
      Vec<T> mirrored = load<T>(sweep.out + j);
      for (int r = 0; r < kRows; ++r) {
        const Vec<T> p =
            keep<T>(tile + r * kLanes<T>, fma<T>(u_row[r], u_j, load_kept<T>(tile + r * kLanes<T>)));
        total[r] = fma<T>(p, s_j, total[r]);
        mirrored = fma<T>(p, s_row[r], mirrored);
      }
      store<T>(sweep.out + j, mirrored);
    }
    for (int j = 0; j < kBlock; j += kLanes<T>, tile += kRows * width) {
      const Vec<T> u_j = load<T>(sweep.u + row + j), s_j = load<T>(sweep.s + row + j) * splat(one);
      for (int r = 0; r < kRows; ++r) {
        const Vec<T> mark = load<T>(&kDiagonal[(Panel + r) * kBlock + j]);
        Kept* const entries = tile + r * width;
        Vec<T> p = fma<T>(u_row[r], u_j, load_entries<is_half>(entries));
        p = fma<T>(splat(sweep.noise * unit_), mark, p);
        p = mark != T(0) ? min<T>(max<T>(p, splat(smallest_)), splat(largest_)) : p;
        p = keep_entries<is_half>(entries, p);
        total[r] = fma<T>(p, s_j, total[r]);
        if constexpr (Panel > 0) sweep.beside = fma<T>(p, s_row[r], sweep.beside);
      }
    }
    std::copy_n(total, kRows, totals + Panel);
    return tile;
  }

  template <bool IsHalf>
  ELMAN_INLINE static Vec<T> load_entries(const Kept* entries) {
    if constexpr (IsHalf)
      return load_low(entries);
    else
      return load_kept<T>(entries);
  }
  template <bool IsHalf>
  ELMAN_INLINE static Vec<T> keep_entries(Kept* entries, Vec<T> p) {
    if constexpr (IsHalf)
      return keep_low(entries, p);
    else
      return keep<T>(entries, p);
  }

  int stride_ = 0, rows_ = 0;  // of a vector, and of the matrix, padded
  T unit_ = 1;                 // times which entries are kept
  T smallest_, largest_;       // variances, as they are kept
  Buffer<Kept> tiles_;
};

}  // namespace elman
