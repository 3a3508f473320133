// The two matrix products of a recurrent network.
//
// A matrix is stored column by column, each column padded to `stride` elements (a multiple of the vector
// width), so that its rows are lanes. `multiply_add` is the product with one vector inside the recursion,
// where latency decides; `product` is the product with many vectors before and after the
// recursion, where throughput decides.
#pragma once

#include "simd/lane.hpp"

namespace elman {

// The product of a matrix of `Columns` columns and `Rows` vectors of rows with a vector held in registers,
// small enough to be unrolled whole: acc += M s. The elements of s are broadcast by shuffles, because storing
// s and loading single elements back costs more than the arithmetic. Columns go to a few independent chains
// of fused multiply-adds.
template <class T, int Columns, int Rows>
class SmallProduct {
  static constexpr int kChains = Rows <= 2 ? 4 : Rows <= 4 ? 2 : 1;
  static constexpr int kQuad = 16 / sizeof(T);
  static constexpr int kQuartersPerVec = kLanes<T> / kQuad;
  static constexpr int kQuarters = (Columns + kQuad - 1) / kQuad;

  template <int Column>
  ELMAN_INLINE static void add_column(const T* M, Vec<T> element, Vec<T> (&acc)[kChains][Rows]) {
    constexpr int chain = Column % kChains;
    for (int v = 0; v < Rows; ++v) {
      const Vec<T> m = load<T>(M + (Column * Rows + v) * kLanes<T>);
      if constexpr (Column > 0 && Column < kChains)
        acc[chain][v] = m * element;
      else
        acc[chain][v] = fma<T>(m, element, acc[chain][v]);
    }
  }

  template <int Quarter, int... Lane>
  ELMAN_INLINE static void add_quarter(const T* M, Vec<T> q, Vec<T> (&acc)[kChains][Rows],
                                       std::integer_sequence<int, Lane...>) {
    (
        [&]() __attribute__((always_inline)) {
          constexpr int column = Quarter * kQuad + Lane;
          if constexpr (column < Columns) add_column<column>(M, spread_lane<T, Lane>(q), acc);
        }(),
        ...);
  }

  template <int... Quarter>
  ELMAN_INLINE static void add_quarters(const T* M, const Vec<T>* s, Vec<T> (&acc)[kChains][Rows],
                                        std::integer_sequence<int, Quarter...>) {
    (add_quarter<Quarter>(M, spread_quarter<T, Quarter % kQuartersPerVec>(s[Quarter / kQuartersPerVec]), acc,
                          std::make_integer_sequence<int, kQuad>{}),
     ...);
  }

 public:
  ELMAN_INLINE static void multiply_add(const T* M, const Vec<T>* s, Vec<T>* out) {
    Vec<T> acc[kChains][Rows];
    for (int v = 0; v < Rows; ++v) acc[0][v] = out[v];
    add_quarters(M, s, acc, std::make_integer_sequence<int, kQuarters>{});
    constexpr int used = Columns < kChains ? Columns : kChains;
    for (int step = kChains / 2; step > 0; step /= 2)
      for (int c = 0; c < step && c + step < used; ++c)
        for (int v = 0; v < Rows; ++v) acc[c][v] += acc[c + step][v];
    for (int v = 0; v < Rows; ++v) out[v] = acc[0][v];
  }
};

// Up to this many inputs U x is cheapest inside the recursion.
inline constexpr int kFusedInputs = 40;

// out = U x of one sample, inside the recursion: its two interleaved sums hide in the recursion's latency.
template <class T, int Rows>
ELMAN_INLINE void multiply_inputs(const T* U, int n_inputs, const T* x, Vec<T> (&out)[Rows]) {
  Vec<T> odd[Rows] = {};
  for (int v = 0; v < Rows; ++v) out[v] = Vec<T>{};
  const auto add_column = [&](int k, Vec<T>(&sum)[Rows]) __attribute__((always_inline)) {
    const Vec<T> element = splat(x[k]);
    for (int v = 0; v < Rows; ++v) sum[v] = fma<T>(load<T>(U + (k * Rows + v) * kLanes<T>), element, sum[v]);
  };
  int k = 0;
  for (; k + 1 < n_inputs; k += 2) {
    add_column(k, out);
    add_column(k + 1, odd);
  }
  if (k < n_inputs) add_column(k, out);
  for (int v = 0; v < Rows; ++v) out[v] += odd[v];
}

// Calls f(std::integral_constant<int, n>{}) for an n in [1, Max] that is known only at run time.
template <int Max, class F>
ELMAN_INLINE void with_constant(int n, F&& f) {
  if constexpr (Max > 1)
    if (n < Max) return with_constant<Max - 1>(n, f);
  f(std::integral_constant<int, Max>{});
}

// out += M s for any size, panel of rows by panel of rows. `backwards` takes the panels in the other order
// (the result is the same to the bit): alternating it from call to call uses again first what is still in
// cache.
template <class T>
inline void multiply_add(const T* M, int stride, int columns, const T* s, T* out, bool backwards) {
  constexpr int kPanel = 8;
  const int vectors = stride / kLanes<T>;
  const int panels = (vectors + kPanel - 1) / kPanel;
  for (int i = 0; i < panels; ++i) {
    const int panel = backwards ? panels - 1 - i : i;
    const int begin = vectors * panel / panels, end = vectors * (panel + 1) / panels;
    with_constant<kPanel>(end - begin, [&](auto rows) {
      const T* m = M + begin * kLanes<T>;
      T* o = out + begin * kLanes<T>;
      constexpr int chains = rows <= 2 ? 4 : rows <= 4 ? 2 : 1;
      Vec<T> acc[chains][rows] = {};
      for (int v = 0; v < rows; ++v) acc[0][v] = load<T>(o + v * kLanes<T>);
      const auto add_column = [&](int j, int chain) __attribute__((always_inline)) {
        const Vec<T> element = splat(s[j]);
        for (int v = 0; v < rows; ++v)
          acc[chain][v] = fma<T>(load<T>(m + v * kLanes<T>), element, acc[chain][v]);
        m += stride;
      };
      int j = 0;
      for (; j + chains <= columns; j += chains)
#pragma GCC unroll 4
        for (int c = 0; c < chains; ++c) add_column(j + c, c);
      for (; j < columns; ++j) add_column(j, 0);
      for (int v = 0; v < rows; ++v) {
#pragma GCC unroll 4
        for (int c = 1; c < chains; ++c) acc[0][v] += acc[c][v];
        store<T>(o + v * kLanes<T>, acc[0][v]);
      }
    });
  }
}

// The scalars of a matrix product: element (column, k) is data[column * column_step + k * depth_step].
template <class T>
struct Scalars {
  const T* data;
  std::ptrdiff_t column_step, depth_step;
};

namespace detail {
template <class T, int Rows, int Columns>
inline void product_tile(const T* P, int stride, int depth, Scalars<T> q, T* out) {
  Vec<T> acc[Columns][Rows] = {};
  for (int k = 0; k < depth; ++k, P += stride, q.data += q.depth_step) {
    Vec<T> p[Rows];
    for (int v = 0; v < Rows; ++v) p[v] = load<T>(P + v * kLanes<T>);
    for (int c = 0; c < Columns; ++c) {
      const Vec<T> element = splat(q.data[c * q.column_step]);
      for (int v = 0; v < Rows; ++v) acc[c][v] = fma<T>(p[v], element, acc[c][v]);
    }
  }
  for (int c = 0; c < Columns; ++c)
    for (int v = 0; v < Rows; ++v) store<T>(out + c * stride + v * kLanes<T>, acc[c][v]);
}
}  // namespace detail

// out[:, c] = Σ_k P[:, k] q(c, k) for every column c, in tiles whose sums stay in registers. Each sum runs
// over k in order, so a column's bits do not depend on the tile it falls into.
template <class T>
inline void product(const T* P, int stride, int depth, Scalars<T> q, int columns, T* out) {
  constexpr int kRows = 3;
  const int vectors = stride / kLanes<T>;
  const int panels = (vectors + kRows - 1) / kRows;
  for (int panel = 0; panel < panels; ++panel) {
    const int begin = vectors * panel / panels, end = vectors * (panel + 1) / panels;
    with_constant<kRows>(end - begin, [&](auto rows) {
      constexpr int kColumns = rows == 1 ? 8 : rows == 2 ? 6 : 4;
      const int tiles = (columns + kColumns - 1) / kColumns;
      for (int tile = 0; tile < tiles; ++tile) {
        const int c = columns * tile / tiles;
        with_constant<kColumns>(columns * (tile + 1) / tiles - c, [&](auto tile_columns) {
          const Scalars<T> scalars{q.data + c * q.column_step, q.column_step, q.depth_step};
          detail::product_tile<T, rows, tile_columns>(P + begin * kLanes<T>, stride, depth, scalars,
                                                      out + c * stride + begin * kLanes<T>);
        });
      }
    });
  }
}

// A panel is a matrix with so few rows that they fit in registers: `Rows` vectors of them, the columns one
// behind the other without a gap, which is also how SmallProduct reads its matrix.

// acc += M s for a panel of any number of columns.
template <class T, int Rows>
ELMAN_INLINE void multiply_add_panel(const T* M, int columns, const T* s, Vec<T>* acc) {
  constexpr int kChains = Rows <= 3 ? 4 : Rows <= 6 ? 2 : 1;
  Vec<T> sums[kChains][Rows] = {};
#pragma GCC unroll 16
  for (int v = 0; v < Rows; ++v) sums[0][v] = acc[v];
  const auto add_column = [&](const T* m, Vec<T> element, Vec<T>* sum) {
#pragma GCC unroll 16
    for (int v = 0; v < Rows; ++v) sum[v] = fma<T>(load<T>(m + v * kLanes<T>), element, sum[v]);
  };
  int j = 0;
  for (; j + kChains <= columns; j += kChains, M += kChains * Rows * kLanes<T>)
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) add_column(M + c * Rows * kLanes<T>, splat(s[j + c]), sums[c]);
  for (; j < columns; ++j, M += Rows * kLanes<T>) add_column(M, splat(s[j]), sums[0]);
#pragma GCC unroll 16
  for (int v = 0; v < Rows; ++v) {
    acc[v] = sums[0][v];
#pragma GCC unroll 4
    for (int c = 1; c < kChains; ++c) acc[v] += sums[c][v];
  }
}

// Inner products of a vector with as many columns as there are lanes, panel after panel: the product with a
// transposed matrix, without transposing it. The lanes of a column's sum are added up once, at the end.
template <class T>
class InnerProducts {
 public:
  // Adds the part of the first `Columns` columns that one panel holds; d is the vector's part in its rows.
  template <int Rows, int Columns = kLanes<T>>
  ELMAN_INLINE void add(const T* M, const Vec<T>* d) {
#pragma GCC unroll 16
    for (int v = 0; v < Rows; ++v)
#pragma GCC unroll 16
      for (int c = 0; c < Columns; ++c)
        sums_[v % kChains][c] = fma<T>(load<T>(M + (c * Rows + v) * kLanes<T>), d[v], sums_[v % kChains][c]);
  }

  // Lane c is the inner product with column c.
  ELMAN_INLINE Vec<T> result() {
#pragma GCC unroll 4
    for (int k = 1; k < kChains; ++k)
#pragma GCC unroll 16
      for (int c = 0; c < kLanes<T>; ++c) sums_[0][c] += sums_[k][c];
    return sums<T>(sums_[0]);
  }

 private:
  static constexpr int kChains = kLanes<T> < 8 ? 8 / kLanes<T> : 1;
  Vec<T> sums_[kChains][kLanes<T>] = {};
};

}  // namespace elman
