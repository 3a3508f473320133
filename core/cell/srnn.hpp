// The simple recurrent (Elman) cell: h_t = tanh(W h_{t-1} + U x_t), equation (1) of the paper.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "cell/along.hpp"
#include "cell/cell.hpp"
#include "simd/buffer.hpp"
#include "simd/product.hpp"
#include "simd/transpose.hpp"

#ifndef ELMAN_UNROLLED
#define ELMAN_UNROLLED 24
#endif

namespace elman {

// The weights are the columns of U and then those of W, each of `stride` elements; rows beyond n_hidden are
// padding and stay zero.
template <class T>
class SRNN final : public Cell<T> {
 public:
  explicit SRNN(CellSizes sizes)
      : Cell<T>(sizes, layout(sizes),
                std::size_t(sizes.n_inputs + sizes.n_hidden) * padded<T>(sizes.n_hidden)),
        n_inputs_(sizes.n_inputs),
        n_hidden_(sizes.n_hidden),
        stride_(padded<T>(sizes.n_hidden)),
        states_((std::size_t(sizes.capacity) + 1) * stride_),
        drive_(this->scratch_.template place<T>(fused() ? 0 : std::size_t(sizes.capacity) * stride_)),
        delta_(this->scratch_.template place<T>(std::size_t(sizes.capacity) * stride_)),
        transposed_(this->scratch_.template place<T>(std::size_t(n_hidden_) * stride_)) {}

  T* hidden(int i) override { return states_.data() + std::size_t(i) * stride_; }

  void refresh(T*) override {}

  void forward(const T* weights, const T* X, int first, int last, std::int64_t) override {
    const Pass pass{recurrent(weights), weights, X + std::size_t(first) * n_inputs_,
                    n_inputs_,          stride_, n_hidden_,
                    drive_.data(),      nullptr, hidden(first),
                    last - first};
    if (const auto unrolled = kForward[columns_key()]) return unrolled(pass);
    forward_any(pass);
  }

  // delta_i = dL/d(W h + U x) at sample i. It reads W by rows.
  void backward(const T* weights, const T* dLdh, int first, int last, std::int64_t) override {
    transpose<T>(recurrent(weights), stride_, n_hidden_, n_hidden_, transposed_.data(), stride_);
    const Pass pass{transposed_.data(), nullptr,       nullptr, n_inputs_,     stride_,
                    n_hidden_,          delta_.data(), dLdh,    hidden(first), last - first};
    if (const auto unrolled = kBackward[columns_key()]) return unrolled(pass);
    backward_any(pass);
  }

  // dL/dU = Σ_i delta_i x_i^T and dL/dW = Σ_i delta_i h_{i-1}^T
  void gradient(const T* X, int first, int last, T* out) override {
    const int n = last - first;
    product<T>(delta_.data(), stride_, n, {X + std::size_t(first) * n_inputs_, 1, n_inputs_}, n_inputs_, out);
    product<T>(delta_.data(), stride_, n, {hidden(first), 1, stride_}, n_hidden_,
               out + std::size_t(n_inputs_) * stride_);
  }

  std::size_t along_scratch() const override { return std::size_t(this->sizes_.capacity) * stride_; }

  // dh_i = (1 - h_i²) (W dh_{i-1} + dW h_{i-1} + dU x_i)
  void differentiate_along(const T* direction, const T* weights, const T* X, int first, int last,
                           std::int64_t, T* out, T* scratch) override {
    const int n = last - first;
    const T* x = X + std::size_t(first) * n_inputs_;
    Along<T>{direction, stride_, n_inputs_, n_hidden_}.drive(x, hidden(first), stride_, n, out, scratch);
    const Pass pass{recurrent(weights), nullptr, nullptr, n_inputs_,     stride_,
                    n_hidden_,          out,     nullptr, hidden(first), n};
    if (const auto unrolled = kAlong[columns_key()]) return unrolled(pass);
    along_any(pass);
  }

  void drop_first() override { std::copy(hidden(1), hidden(2), hidden(0)); }

  void exchange_state(Archive& archive) override {
    archive.vector("state", hidden(0), this->sizes_.hidden(), this->kSquashed);
  }

 private:
  struct Pass {
    const T* matrix;  // W, or its transpose
    const T* U;
    const T* X;
    int n_inputs, stride, n_hidden;
    T* work;  // U x (forward) or delta (backward)
    const T* dLdh;
    T* states;  // states[0] is the state before the first sample of the pass
    int n;
  };
  using PassFunction = void (*)(const Pass&);
  static constexpr int kUnrolled = ELMAN_UNROLLED;  // hidden sizes up to this have a pass of their own

  static std::vector<Block> layout(CellSizes s) {
    const int stride = padded<T>(s.n_hidden);
    return {{"U", 0, stride, s.inputs, s.hidden()},
            {"W", std::size_t(s.n_inputs) * stride, stride, s.hidden(), s.hidden()}};
  }
  // Whether U x is made inside the recursion, and needs no room of its own.
  bool fused() const { return n_hidden_ <= kUnrolled && n_inputs_ <= kFusedInputs; }
  const T* recurrent(const T* weights) const { return weights + std::size_t(n_inputs_) * stride_; }
  int columns_key() const { return n_hidden_ <= kUnrolled ? n_hidden_ : 0; }

  template <int Columns, bool Fused>
  static void forward_small(const Pass& p) {
    constexpr int rows = padded<T>(Columns) / kLanes<T>, stride = rows * kLanes<T>;
    Vec<T> h[rows];
    for (int v = 0; v < rows; ++v) h[v] = load<T>(p.states + v * kLanes<T>);
    T* out = p.states + stride;
    for (int i = 0; i < p.n; ++i, out += stride) {
      Vec<T> a[rows];
      if constexpr (Fused)
        multiply_inputs<T, rows>(p.U, p.n_inputs, p.X + std::size_t(i) * p.n_inputs, a);
      else
        for (int v = 0; v < rows; ++v) a[v] = load<T>(p.work + i * stride + v * kLanes<T>);
      SmallProduct<T, Columns, rows>::multiply_add(p.matrix, h, a);
      for (int v = 0; v < rows; ++v) {
        h[v] = tanh(a[v]);
        store<T>(out + v * kLanes<T>, h[v]);
      }
    }
  }

  template <int Columns>
  static void forward_unrolled(const Pass& p) {
    if (p.n_inputs <= kFusedInputs) return forward_small<Columns, true>(p);
    product<T>(p.U, p.stride, p.n_inputs, {p.X, p.n_inputs, 1}, p.n, p.work);
    forward_small<Columns, false>(p);
  }

  // delta_i = (1 - h_i²) (dL/dh_i + W^T delta_{i+1})
  template <int Columns>
  static void backward_unrolled(const Pass& p) {
    constexpr int rows = padded<T>(Columns) / kLanes<T>, stride = rows * kLanes<T>;
    Vec<T> delta[rows] = {};
    for (int i = p.n - 1; i >= 0; --i) {
      Vec<T> a[rows];
      for (int v = 0; v < rows; ++v) a[v] = load<T>(p.dLdh + i * stride + v * kLanes<T>);
      SmallProduct<T, Columns, rows>::multiply_add(p.matrix, delta, a);
      for (int v = 0; v < rows; ++v) {
        const Vec<T> h = load<T>(p.states + (i + 1) * stride + v * kLanes<T>);
        delta[v] = a[v] * (T(1) - h * h);
        store<T>(p.work + i * stride + v * kLanes<T>, delta[v]);
      }
    }
  }

  template <int Columns>
  static void along_unrolled(const Pass& p) {
    constexpr int rows = padded<T>(Columns) / kLanes<T>, stride = rows * kLanes<T>;
    Vec<T> dh[rows] = {};
    for (int i = 0; i < p.n; ++i) {
      T* out = p.work + i * stride;
      Vec<T> a[rows];
      for (int v = 0; v < rows; ++v) a[v] = load<T>(out + v * kLanes<T>);
      SmallProduct<T, Columns, rows>::multiply_add(p.matrix, dh, a);
      for (int v = 0; v < rows; ++v) {
        const Vec<T> h = load<T>(p.states + (i + 1) * stride + v * kLanes<T>);
        dh[v] = a[v] * (T(1) - h * h);
        store<T>(out + v * kLanes<T>, dh[v]);
      }
    }
  }

  static void along_any(const Pass& p) {
    for (int i = 0; i < p.n; ++i) {
      T* out = p.work + std::size_t(i) * p.stride;
      if (i > 0) multiply_add<T>(p.matrix, p.stride, p.n_hidden, out - p.stride, out, i % 2 == 1);
      through_tanh<T>(p.states + std::size_t(i + 1) * p.stride, p.stride, out);
    }
  }

  static void forward_any(const Pass& p) {
    product<T>(p.U, p.stride, p.n_inputs, {p.X, p.n_inputs, 1}, p.n, p.work);
    for (int i = 0; i < p.n; ++i) {
      const T* previous = p.states + std::size_t(i) * p.stride;
      T* a = p.work + std::size_t(i) * p.stride;
      T* h = p.states + std::size_t(i + 1) * p.stride;
      multiply_add<T>(p.matrix, p.stride, p.n_hidden, previous, a, i % 2 == 1);
      for (int v = 0; v < p.stride; v += kLanes<T>) store<T>(h + v, tanh(load<T>(a + v)));
    }
  }

  static void backward_any(const Pass& p) {
    for (int i = p.n - 1; i >= 0; --i) {
      const std::size_t row = std::size_t(i) * p.stride;
      T* delta = p.work + row;
      const T* h = p.states + row + p.stride;
      for (int v = 0; v < p.stride; v += kLanes<T>) store<T>(delta + v, load<T>(p.dLdh + row + v));
      if (i + 1 < p.n) multiply_add<T>(p.matrix, p.stride, p.n_hidden, delta + p.stride, delta, i % 2 == 1);
      for (int v = 0; v < p.stride; v += kLanes<T>) {
        const Vec<T> value = load<T>(h + v);
        store<T>(delta + v, load<T>(delta + v) * (T(1) - value * value));
      }
    }
  }

  template <int... Columns>
  static constexpr std::array<PassFunction, kUnrolled + 1> forward_table(
      std::integer_sequence<int, Columns...>) {
    return {nullptr, &forward_unrolled<Columns + 1>...};
  }
  template <int... Columns>
  static constexpr std::array<PassFunction, kUnrolled + 1> backward_table(
      std::integer_sequence<int, Columns...>) {
    return {nullptr, &backward_unrolled<Columns + 1>...};
  }
  template <int... Columns>
  static constexpr std::array<PassFunction, kUnrolled + 1> along_table(
      std::integer_sequence<int, Columns...>) {
    return {nullptr, &along_unrolled<Columns + 1>...};
  }
  static constexpr auto kAlong = along_table(std::make_integer_sequence<int, kUnrolled>{});
  static constexpr auto kForward = forward_table(std::make_integer_sequence<int, kUnrolled>{});
  static constexpr auto kBackward = backward_table(std::make_integer_sequence<int, kUnrolled>{});

  int n_inputs_, n_hidden_, stride_;
  Buffer<T> states_;       // [capacity + 1][stride]
  Scratch<T> drive_;       // [capacity][stride], U x before the recursion
  Scratch<T> delta_;       // [capacity][stride]
  Scratch<T> transposed_;  // W by rows
};

}  // namespace elman
