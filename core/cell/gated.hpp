// What cells with gates have in common. Every gate sees the same h and x, so one product serves them all.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "cell/along.hpp"
#include "cell/cell.hpp"
#include "simd/buffer.hpp"
#include "simd/product.hpp"

namespace elman {

// The weights are the columns of U and then those of W. A column holds the gates one below the other, each
// padded to `stride` rows; the rows beyond n_hidden are padding and stay zero. Arrays over the gates of a
// sample are laid out like a column.
//
// The recursion reads W from a copy in panels: a few vectors of units with all their gates, which are
// therefore complete together, still in registers, when the panel is done. Backwards the same panels are read
// as a transposed matrix.
template <class T, int Gates>
class Gated : public Cell<T> {
 public:
  T* hidden(int i) override { return states_.data() + std::size_t(i) * stride_; }

  void refresh(T* weights) override {
    const T* column = weights + std::size_t(n_inputs_) * column_;
    for (int j = 0; j < n_hidden_; ++j, column += column_)
      for (int p = 0; p < n_panels(units_); ++p) {
        const Panel panel = panel_of(units_, p);
        T* packed = packed_.data() + panel.offset(units_) + std::size_t(j) * panel.count * Gates * kLanes<T>;
        for (int u = panel.begin; u < panel.begin + panel.count; ++u)
          for (int g = 0; g < Gates; ++g, packed += kLanes<T>)
            store<T>(packed, load<T>(column + g * stride_ + u * kLanes<T>));
      }
  }

  std::size_t along_scratch() const override { return 2 * std::size_t(this->sizes_.capacity) * column_; }

  void drop_first() override { std::copy_n(hidden(1), std::size_t(stride_), hidden(0)); }

  void exchange_state(Archive& archive) override {
    archive.vector("state", hidden(0), this->sizes_.hidden(), this->kSquashed);
  }

 protected:
  // The names of the gates' matrices: U and W of the first gate, then of the second.
  Gated(CellSizes sizes, const std::array<const char*, 2 * Gates>& names)
      : Cell<T>(sizes, layout(sizes, names),
                std::size_t(sizes.n_inputs + sizes.n_hidden) * Gates * padded<T>(sizes.n_hidden)),
        n_inputs_(sizes.n_inputs),
        n_hidden_(sizes.n_hidden),
        stride_(padded<T>(sizes.n_hidden)),
        column_(Gates * stride_),
        gates_(std::size_t(sizes.capacity) * column_),
        delta_(std::size_t(sizes.capacity) * column_),
        units_(stride_ / kLanes<T>),
        states_((std::size_t(sizes.capacity) + 1) * stride_),
        packed_(std::size_t(stride_) * column_),
        scratch_(2 * std::size_t(column_)) {}

  // U x of samples [first, last), into their rows of gates_.
  void drive(const T* U, const T* X, int first, int last) {
    product<T>(U, column_, n_inputs_, {X + std::size_t(first) * n_inputs_, n_inputs_, 1}, last - first,
               gates(first));
  }

  // Runs the recursion over n samples from slot `first`. The equations are those of vector u of the units at
  // the i-th of these samples: `begin(i, u, a)` gives what W h is added to, gate by gate; `open(i, u, a)`
  // turns the sums into the values of those gates that need nothing else; `finish(i, u, a)` makes of them the
  // new hidden units and returns them. Both store what the way back needs. All gates are open before the
  // first unit is finished: with enough that can be done in any order, no unit waits for the long chain of
  // operations in another.
  template <class Equations>
  void recur(const Equations& equations, int first, int n) {
    if (n_hidden_ > kUnrolled) return recur_any(equations, hidden(first), n);
    with_constant<kUnrolled / kGranule>((n_hidden_ + kGranule - 1) / kGranule, [&](auto granules) {
      recur_unrolled<granules * kGranule>(packed_.data(), hidden(first), equations, n);
    });
  }

  // Runs it backwards. `differentiate(i, u, force, d)` takes the part of dL/dh that comes through W h of the
  // sample after the i-th, and gives dL/d(W h) of the i-th, gate by gate.
  template <class Equations>
  void recur_back(const Equations& equations, int n) {
    if (n == 0) return;
    if (n_hidden_ > kUnrolled) return recur_back_any(equations, n);
    with_constant<kUnrolled / kGranule>((n_hidden_ + kGranule - 1) / kGranule, [&](auto granules) {
      recur_back_unrolled<granules * kGranule>(packed_.data(), equations, n);
    });
  }

  // dL/dU = Σ_i delta_i x_i^T and dL/dW = Σ_i delta_i h_{i-1}^T, where delta is dL/d(U x) and dL/d(W h).
  void sum_gradient(const T* input_delta, const T* recurrent_delta, const T* X, int first, int last, T* out) {
    const int n = last - first;
    product<T>(input_delta, column_, n, {X + std::size_t(first) * n_inputs_, 1, n_inputs_}, n_inputs_, out);
    product<T>(recurrent_delta, column_, n, {hidden(first), 1, stride_}, n_hidden_,
               out + std::size_t(n_inputs_) * column_);
  }

  // Runs the derivatives along a direction through n samples from slot `first`: `differentiate(i, u,
  // inputs, recurrent, before)` takes the derivatives of U x and of W h of the i-th sample and, unless it is
  // the first, that of the hidden vector before, and gives that of its hidden vector, from element u on.
  template <class Equations>
  void recur_along(const Equations& equations, const T* direction, const T* weights, const T* X, int first,
                   int n, T* out, T* scratch) {
    T *input_along = scratch, *recurrent_along = scratch + std::size_t(n) * column_;
    const Along<T> along{direction, column_, n_inputs_, n_hidden_};
    along.inputs(X + std::size_t(first) * n_inputs_, n, input_along);
    along.states(hidden(first), stride_, n, recurrent_along);
    const T* W = weights + std::size_t(n_inputs_) * column_;
    for (int i = 0; i < n; ++i, out += stride_) {
      T* recurrent = recurrent_along + std::size_t(i) * column_;
      if (i > 0) multiply_add<T>(W, column_, n_hidden_, out - stride_, recurrent, i % 2 == 1);
      const T* inputs = input_along + std::size_t(i) * column_;
      for (int u = 0; u < stride_; u += kLanes<T>)
        store<T>(out + u, equations.differentiate(i, u, inputs + u, recurrent + u,
                                                  i > 0 ? out - stride_ + u : nullptr));
    }
  }

  T* gates(int i) { return gates_.data() + std::size_t(i) * column_; }

  const int n_inputs_, n_hidden_, stride_, column_;
  Buffer<T> gates_;  // [capacity][column]: U x before the recursion, the gates' values after it
  Buffer<T> delta_;  // [capacity][column]

 private:
  static constexpr int kPanelUnits = 2;
  // Hidden sizes up to kUnrolled, rounded up to kGranule, have passes of their own that hold the state in
  // registers.
  static constexpr int kGranule = std::min(4, kLanes<T>);
  static constexpr int kUnrolled = std::min(24, 16 / Gates * kLanes<T>);

  // Vectors [begin, begin + count) of the units.
  struct Panel {
    int begin, count;
    constexpr std::size_t offset(int units) const {
      return std::size_t(begin) * Gates * kLanes<T> * units * kLanes<T>;
    }
  };
  static constexpr int n_panels(int units) { return (units + kPanelUnits - 1) / kPanelUnits; }
  // All panels have two vectors of units, except the first of an odd number.
  static constexpr Panel panel_of(int units, int p) {
    const int odd = units % kPanelUnits;
    return p == 0 && odd ? Panel{0, 1} : Panel{p * kPanelUnits - odd, kPanelUnits};
  }

  static std::vector<Block> layout(CellSizes s, const std::array<const char*, 2 * Gates>& names) {
    const int stride = padded<T>(s.n_hidden), column = Gates * stride;
    std::vector<Block> blocks;
    for (int g = 0; g < Gates; ++g) {
      const std::size_t row = std::size_t(g) * stride;
      blocks.push_back({names[2 * g], row, column, s.inputs, s.hidden()});
      blocks.push_back(
          {names[2 * g + 1], std::size_t(s.n_inputs) * column + row, column, s.hidden(), s.hidden()});
    }
    return blocks;
  }

  template <int Units, int P = 0, class F>
  ELMAN_INLINE static void each_panel(F&& f) {
    constexpr Panel panel = panel_of(Units, P);
    f(std::integral_constant<int, panel.begin>{}, std::integral_constant<int, panel.count>{});
    if constexpr (P + 1 < n_panels(Units)) each_panel<Units, P + 1>(f);
  }

  template <int Columns, class Equations>
  __attribute__((noinline)) static void recur_unrolled(const T* W, const T* state, Equations equations,
                                                       int n) {
    constexpr int kUnits = padded<T>(Columns) / kLanes<T>;
    Vec<T> h[kUnits];
    for (int u = 0; u < kUnits; ++u) h[u] = load<T>(state + u * kLanes<T>);
    for (int i = 0; i < n; ++i) {
      Vec<T> values[kUnits * Gates];
      each_panel<kUnits>([&](auto begin, auto count) {
        Vec<T>* a = values + begin * Gates;
        for (int u = 0; u < count; ++u) equations.begin(i, begin + u, a + u * Gates);
        constexpr std::size_t offset = Panel{begin, count}.offset(kUnits);
        SmallProduct<T, Columns, count * Gates>::multiply_add(W + offset, h, a);
        for (int u = 0; u < count; ++u) equations.open(i, begin + u, a + u * Gates);
      });
      for (int u = 0; u < kUnits; ++u) h[u] = equations.finish(i, u, values + u * Gates);
    }
  }

  template <int Columns, class Equations>
  __attribute__((noinline)) static void recur_back_unrolled(const T* W, Equations equations, int n) {
    constexpr int kUnits = padded<T>(Columns) / kLanes<T>;
    Vec<T> d[kUnits * Gates];
    for (int u = 0; u < kUnits; ++u) equations.differentiate(n - 1, u, Vec<T>{}, d + u * Gates);
    for (int i = n - 2; i >= 0; --i) {
      InnerProducts<T> products[kUnits];
      each_panel<kUnits>([&](auto begin, auto count) {
        constexpr int kRows = count * Gates, kGroup = kLanes<T> * kRows * kLanes<T>;
        const T* M = W + Panel{begin, count}.offset(kUnits);
        for (int u = 0; u < kUnits - 1; ++u)
          products[u].template add<kRows>(M + u * kGroup, d + begin * Gates);
        products[kUnits - 1].template add<kRows, Columns - (kUnits - 1) * kLanes<T>>(
            M + (kUnits - 1) * kGroup, d + begin * Gates);
      });
      for (int u = 0; u < kUnits; ++u) equations.differentiate(i, u, products[u].result(), d + u * Gates);
    }
  }

  template <class Equations>
  __attribute__((noinline)) void recur_any(Equations equations, const T* state, int n) {
    const int panels = n_panels(units_);
    for (int i = 0; i < n; ++i, state += stride_) {
      for (int k = 0; k < panels; ++k) {
        // Every other sample takes the panels in the other order, to use again first what is still in cache.
        const Panel panel = panel_of(units_, i % 2 == 1 ? panels - 1 - k : k);
        with_constant<kPanelUnits>(panel.count, [&](auto count) {
          Vec<T> a[count * Gates];
          for (int u = 0; u < count; ++u) equations.begin(i, panel.begin + u, a + u * Gates);
          multiply_add_panel<T, count * Gates>(packed_.data() + panel.offset(units_), n_hidden_, state, a);
          for (int u = 0; u < count; ++u) equations.open(i, panel.begin + u, a + u * Gates);
          for (int v = 0; v < count * Gates; ++v) store<T>(scratch(panel.begin) + v * kLanes<T>, a[v]);
        });
      }
      for (int u = 0; u < units_; ++u) {
        Vec<T> a[Gates];
        for (int g = 0; g < Gates; ++g) a[g] = load<T>(scratch(u) + g * kLanes<T>);
        equations.finish(i, u, a);
      }
    }
  }

  template <class Equations>
  __attribute__((noinline)) void recur_back_any(Equations equations, int n) {
    for (int i = n - 1; i >= 0; --i) {
      T* now = scratch(i % 2 * units_);
      const T* after = scratch((i + 1) % 2 * units_);
      for (int k = 0; k < units_; ++k) {
        const int u = i % 2 == 1 ? units_ - 1 - k : k;
        Vec<T> d[Gates];
        equations.differentiate(i, u, i + 1 < n ? transposed_product(u, after) : Vec<T>{}, d);
        for (int g = 0; g < Gates; ++g) store<T>(now + (u * Gates + g) * kLanes<T>, d[g]);
      }
    }
  }

  // Vector u of W^T d, with d in the order of `scratch`.
  ELMAN_INLINE Vec<T> transposed_product(int u, const T* d) const {
    InnerProducts<T> products;
    for (int p = 0; p < n_panels(units_); ++p) {
      const Panel panel = panel_of(units_, p);
      with_constant<kPanelUnits>(panel.count, [&](auto count) {
        constexpr int kRows = count * Gates;
        Vec<T> part[kRows];
        for (int v = 0; v < kRows; ++v) part[v] = load<T>(d + (panel.begin * Gates + v) * kLanes<T>);
        products.template add<kRows>(
            packed_.data() + panel.offset(units_) + u * kLanes<T> * kRows * kLanes<T>, part);
      });
    }
    return products.result();
  }

  // The gates of vector u of the units.
  T* scratch(int u) { return scratch_.data() + u * Gates * kLanes<T>; }

  int units_;          // vectors of units
  Buffer<T> states_;   // [capacity + 1][stride]
  Buffer<T> packed_;   // W in panels, with columns of zeros up to the stride
  Buffer<T> scratch_;  // [2][units][Gates][lanes]
};

}  // namespace elman
