// The NARX recurrent network: h_t = tanh(U x_t + Σ_{d=1..k} W_d h_{t-d}), an Elman network that sees its last
// k hidden vectors instead of one.
#pragma once

#include <algorithm>
#include <vector>

#include "cell/along.hpp"
#include "cell/cell.hpp"
#include "options.hpp"
#include "simd/buffer.hpp"
#include "simd/product.hpp"
#include "simd/transpose.hpp"
#include "simd/unrolled.hpp"

namespace elman {

// The weights are the columns of U and then those of W = [W_1 ... W_k], each of `stride` elements; rows
// beyond n_hidden are padding and stay zero, and so do the columns of padding behind W. The state is the last
// k hidden vectors, oldest first: they lie in front of slot 0 as the slots of a trajectory do.
template <class T>
class NARX final : public Cell<T> {
 public:
  NARX(CellSizes sizes, const Options& options) : NARX(sizes, options.integer("delays")) {}

  NARX(CellSizes sizes, int delays)
      : Cell<T>(sizes, layout(sizes, delays),
                std::size_t(sizes.n_inputs + delays * sizes.n_hidden + Unrolled<T>::kSpare) *
                    padded<T>(sizes.n_hidden)),
        n_inputs_(sizes.n_inputs),
        n_hidden_(sizes.n_hidden),
        stride_(padded<T>(sizes.n_hidden)),
        delays_(delays),
        states_((std::size_t(sizes.capacity) + delays) * stride_),
        drive_(std::size_t(sizes.capacity) * stride_),
        delta_((std::size_t(sizes.capacity) + delays) * stride_),
        transposed_((std::size_t(delays) * n_hidden_ + Unrolled<T>::kSpare) * stride_) {}

  T* hidden(int i) override { return states_.data() + std::size_t(i + delays_ - 1) * stride_; }

  void refresh(T* weights) override {
    const std::size_t size = std::size_t(n_hidden_) * stride_;
    for (int d = 0; d < delays_; ++d)
      transpose<T>(recurrent(weights) + d * size, stride_, n_hidden_, n_hidden_,
                   transposed_.data() + d * size, stride_);
  }

  void forward(const T* weights, const T* X, int first, int last, std::int64_t) override {
    const T* x = X + std::size_t(first) * n_inputs_;
    const bool fused = is_unrolled() && n_inputs_ <= kFusedInputs;
    if (!fused) product<T>(weights, stride_, n_inputs_, {x, n_inputs_, 1}, last - first, drive_.data());
    const Pass pass{recurrent(weights),
                    drive_.data(),
                    hidden(first),
                    stride_,
                    n_hidden_,
                    delays_,
                    last - first,
                    weights,
                    x,
                    fused ? n_inputs_ : 0};
    is_unrolled() ? kForward[Unrolled<T>::index(n_hidden_)](pass) : forward_any(pass);
  }

  // delta_i = dL/d(U x + Σ_d W_d h) at sample i; those behind the last sample are zero.
  void backward(const T*, const T* dLdh, int first, int last, std::int64_t) override {
    const int n = last - first;
    std::fill_n(delta_.data() + std::size_t(n) * stride_, std::size_t(delays_) * stride_, T(0));
    std::copy_n(dLdh, std::size_t(n) * stride_, delta_.data());
    const Pass pass{transposed_.data(), delta_.data(), hidden(first), stride_, n_hidden_, delays_, n};
    is_unrolled() ? kBackward[Unrolled<T>::index(n_hidden_)](pass) : backward_any(pass);
  }

  // dL/dU = Σ_i delta_i x_i^T and dL/dW_d = Σ_i delta_i h_{i-d}^T
  void gradient(const T* X, int first, int last, T* out) override {
    const int n = last - first;
    product<T>(delta_.data(), stride_, n, {X + std::size_t(first) * n_inputs_, 1, n_inputs_}, n_inputs_, out);
    for (int d = 1; d <= delays_; ++d)
      product<T>(delta_.data(), stride_, n, {hidden(first - d + 1), 1, stride_}, n_hidden_,
                 out + std::size_t(n_inputs_ + (d - 1) * n_hidden_) * stride_);
  }

  std::size_t along_scratch() const override { return std::size_t(this->sizes_.capacity) * stride_; }

  // dh_i = (1 - h_i²) (Σ_d (W_d dh_{i-d} + dW_d h_{i-d}) + dU x_i)
  void differentiate_along(const T* direction, const T* weights, const T* X, int first, int last,
                           std::int64_t, T* out, T* scratch) override {
    const int n = last - first;
    product<T>(direction, stride_, n_inputs_, {X + std::size_t(first) * n_inputs_, n_inputs_, 1}, n, out);
    for (int d = 1; d <= delays_; ++d) {
      const std::size_t matrix = std::size_t(n_inputs_ + (d - 1) * n_hidden_) * stride_;
      product<T>(direction + matrix, stride_, n_hidden_, {hidden(first - d + 1), stride_, 1}, n, scratch);
      for (std::size_t i = 0; i < std::size_t(n) * stride_; i += kLanes<T>)
        store<T>(out + i, load<T>(out + i) + load<T>(scratch + i));
    }
    for (int i = 0; i < n; ++i) {
      T* row = out + std::size_t(i) * stride_;
      for (int d = 1; d <= std::min(delays_, i); ++d)
        multiply_add<T>(weights + std::size_t(n_inputs_ + (d - 1) * n_hidden_) * stride_, stride_, n_hidden_,
                        row - std::size_t(d) * stride_, row, i % 2 == 1);
      through_tanh<T>(hidden(first + i + 1), stride_, row);
    }
  }

  void drop_first() override { std::copy(hidden(2 - delays_), hidden(2), hidden(1 - delays_)); }

  void exchange_state(Archive& archive) override {
    archive.array("state", hidden(1 - delays_), {"delay", std::size_t(delays_)}, this->sizes_.hidden(),
                  stride_, this->kSquashed);
  }

 private:
  struct Pass {
    const T* matrix;  // W_1, W_2, ..., or their transposes
    T* work;          // U x (forward), or dL/dh that becomes delta (backward)
    T* states;        // states[0] is the hidden vector before the first sample of the pass
    int stride, n_hidden, delays, n;
    const T *U = nullptr, *X = nullptr;  // where U x is made inside the recursion
    int n_inputs = 0;
  };
  using PassFunction = void (*)(const Pass&);

  // The hidden units one step ago, two steps ago, ...
  static Axis delayed(const CellSizes& s, int delays) {
    std::vector<Label> labels;
    for (std::uint64_t d = 0; d < std::uint64_t(delays); ++d)
      for (std::uint64_t i = 0; i < std::uint64_t(s.n_hidden); ++i) labels.push_back({d << 30 | i});
    return {"delayed hidden", std::move(labels)};
  }
  static std::vector<Block> layout(CellSizes s, int delays) {
    const int stride = padded<T>(s.n_hidden);
    return {{"U", 0, stride, s.inputs, s.hidden()},
            {"W", std::size_t(s.n_inputs) * stride, stride, delayed(s, delays), s.hidden()}};
  }
  const T* recurrent(const T* weights) const { return weights + std::size_t(n_inputs_) * stride_; }
  bool is_unrolled() const { return n_hidden_ <= Unrolled<T>::kLargest; }

  // Adds Σ_d M_d s_d, oldest first: only the newest waits for the step before, and it is in registers.
  // Successive s are `step` elements apart. A column beyond n_hidden meets a padding element of s, which is
  // zero.
  template <int Columns, int Rows>
  ELMAN_INLINE static void add_products(const Pass& p, const Vec<T> (&newest)[Rows], const T* s,
                                        std::ptrdiff_t step, Vec<T> (&a)[Rows]) {
    for (int d = p.delays; d > 0; --d) {
      Vec<T> element[Rows];
      for (int v = 0; v < Rows; ++v)
        element[v] = d == 1 ? newest[v] : load<T>(s + (d - 1) * step + v * kLanes<T>);
      const T* matrix = p.matrix + std::size_t(d - 1) * p.n_hidden * (Rows * kLanes<T>);
      SmallProduct<T, Columns, Rows>::multiply_add(matrix, element, a);
    }
  }

  template <int Columns>
  static void forward_unrolled(const Pass& p) {
    constexpr int rows = padded<T>(Columns) / kLanes<T>, stride = rows * kLanes<T>;
    Vec<T> h[rows];
    for (int v = 0; v < rows; ++v) h[v] = load<T>(p.states + v * kLanes<T>);
    for (int i = 0; i < p.n; ++i) {
      T* state = p.states + std::ptrdiff_t(i) * stride;
      Vec<T> a[rows];
      if (p.n_inputs > 0)
        multiply_inputs<T, rows>(p.U, p.n_inputs, p.X + std::ptrdiff_t(i) * p.n_inputs, a);
      else
        for (int v = 0; v < rows; ++v) a[v] = load<T>(p.work + std::ptrdiff_t(i) * stride + v * kLanes<T>);
      add_products<Columns, rows>(p, h, state, -stride, a);
      for (int v = 0; v < rows; ++v) {
        h[v] = tanh(a[v]);
        store<T>(state + stride + v * kLanes<T>, h[v]);
      }
    }
  }

  // delta_i = (1 - h_i²) (dL/dh_i + Σ_d W_d^T delta_{i+d})
  template <int Columns>
  static void backward_unrolled(const Pass& p) {
    constexpr int rows = padded<T>(Columns) / kLanes<T>, stride = rows * kLanes<T>;
    Vec<T> delta[rows] = {};
    for (int i = p.n - 1; i >= 0; --i) {
      T* work = p.work + std::ptrdiff_t(i) * stride;
      Vec<T> a[rows];
      for (int v = 0; v < rows; ++v) a[v] = load<T>(work + v * kLanes<T>);
      add_products<Columns, rows>(p, delta, work + stride, stride, a);
      for (int v = 0; v < rows; ++v) {
        const Vec<T> h = load<T>(p.states + std::ptrdiff_t(i + 1) * stride + v * kLanes<T>);
        delta[v] = a[v] * (T(1) - h * h);
        store<T>(work + v * kLanes<T>, delta[v]);
      }
    }
  }

  // Adds Σ_d M_d s_d for any size.
  static void add_all(const Pass& p, const T* s, std::ptrdiff_t step, T* a, bool backwards) {
    for (int i = 0; i < p.delays; ++i)
      multiply_add<T>(p.matrix + std::size_t(i) * p.n_hidden * p.stride, p.stride, p.n_hidden, s + i * step,
                      a, backwards);
  }

  static void forward_any(const Pass& p) {
    for (int i = 0; i < p.n; ++i) {
      T* state = p.states + std::ptrdiff_t(i) * p.stride;
      T* a = p.work + std::ptrdiff_t(i) * p.stride;
      add_all(p, state, -p.stride, a, i % 2 == 1);
      for (int v = 0; v < p.stride; v += kLanes<T>) store<T>(state + p.stride + v, tanh(load<T>(a + v)));
    }
  }

  static void backward_any(const Pass& p) {
    for (int i = p.n - 1; i >= 0; --i) {
      T* delta = p.work + std::ptrdiff_t(i) * p.stride;
      const T* h = p.states + std::ptrdiff_t(i + 1) * p.stride;
      add_all(p, delta + p.stride, p.stride, delta, i % 2 == 1);
      for (int v = 0; v < p.stride; v += kLanes<T>) {
        const Vec<T> value = load<T>(h + v);
        store<T>(delta + v, load<T>(delta + v) * (T(1) - value * value));
      }
    }
  }

  static constexpr auto kForward =
      Unrolled<T>::table([](auto n) -> PassFunction { return &forward_unrolled<n>; });
  static constexpr auto kBackward =
      Unrolled<T>::table([](auto n) -> PassFunction { return &backward_unrolled<n>; });

  int n_inputs_, n_hidden_, stride_, delays_;
  Buffer<T> states_;      // [delays + capacity][stride]
  Buffer<T> drive_;       // [capacity][stride], U x before the recursion
  Buffer<T> delta_;       // [capacity + delays][stride]
  Buffer<T> transposed_;  // W_1, W_2, ... by rows
};

}  // namespace elman
