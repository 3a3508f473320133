// The paper's readout: z = C h, equation (2), learned by projected gradient descent.
#pragma once

#include <algorithm>
#include <limits>

#include "../buffer.hpp"
#include "../loss.hpp"
#include "../product.hpp"

namespace elman {

template <class T>
class GradientReadout {
 public:
  GradientReadout(int n_outputs, int n_hidden, int capacity, Loss loss)
      : n_outputs_(n_outputs),
        n_hidden_(n_hidden),
        stride_(padded<T>(n_hidden)),
        loss_(loss),
        weights_(std::size_t(n_outputs) * stride_),
        dLdh_(std::size_t(capacity) * stride_) {}

  Loss loss() const { return loss_; }
  int n_outputs() const { return n_outputs_; }
  int stride() const { return stride_; }
  Buffer<T>& weights() { return weights_; }  // [n_outputs][stride], a row of C each
  T* dLdh() { return dLdh_.data(); }

  // The model's answer in state h.
  void answer(const T* h, T* out) const {
    for (int k = 0; k < n_outputs_; ++k) out[k] = output<T>(loss_, splat(dot(k, h)))[0];
  }

  // dL/dh and dL/dC of the summed loss of n samples. h is [n][stride]; the targets of output k begin at
  // targets + k * target_step; the first row of dL/dh to be written is `row`.
  void differentiate(const T* h, const T* targets, std::size_t target_step, int n, T* dLdC, int row = 0) {
    std::fill_n(dLdC, weights_.size(), T(0));
    for (int k = 0; k < n_outputs_; ++k) {
      const std::size_t at = std::size_t(k) * stride_;
      const OutputPass pass{weights_.data() + at, dLdC + at, dLdh_.data() + std::size_t(row) * stride_,
                            k == 0};
      const T* y = targets + k * target_step;
      int i = 0;
      for (; i + kLanes<T> <= n; i += kLanes<T>) differentiate(pass, h, y, i, kLanes<T>);
      if (i < n) differentiate(pass, h, y, i, n - i);
    }
  }

  // dz_k/dh and dz_k/dC of one sample in state h, into row `row` of dL/dh.
  void differentiate_output(const T* h, int k, T* dzdC, int row) {
    std::fill_n(dzdC, weights_.size(), T(0));
    std::copy_n(h, std::size_t(n_hidden_), dzdC + std::size_t(k) * stride_);
    std::copy_n(weights_.data() + std::size_t(k) * stride_, std::size_t(stride_),
                dLdh_.data() + std::size_t(row) * stride_);
  }

  // Rows [0, n) of dL/dh become zero: those samples have no loss.
  void silence(int n) { std::fill_n(dLdh_.data(), std::size_t(n) * stride_, T(0)); }

 private:
  struct OutputPass {
    const T* c;
    T* dLdc;
    T* dLdh;
    bool first;  // dL/dh is overwritten by the first output and added to by the others
  };

  // `count` samples from sample `at`, as many as there are lanes or, at the end, fewer.
  ELMAN_INLINE void differentiate(const OutputPass& pass, const T* h, const T* targets, int at, int count) {
    h += std::size_t(at) * stride_;
    T* force = pass.dLdh + std::size_t(at) * stride_;
    T e[kLanes<T>];
    store<T>(e, errors(pass.c, h, targets + at, count));
    for (int v = 0; v < stride_; v += kLanes<T>) {
      const Vec<T> c = load<T>(pass.c + v);
      Vec<T> slope[2] = {load<T>(pass.dLdc + v), Vec<T>{}};
#pragma GCC unroll 16
      for (int s = 0; s < kLanes<T>; ++s) {
        if (s >= count) break;
        const Vec<T> error = splat(e[s]);
        const std::size_t row = std::size_t(s) * stride_ + v;
        store<T>(force + row, pass.first ? c * error : fma<T>(c, error, load<T>(force + row)));
        slope[s % 2] = fma<T>(error, load<T>(h + row), slope[s % 2]);
      }
      store<T>(pass.dLdc + v, slope[0] + slope[1]);
    }
  }

  // d loss/d z of `count` samples, one a lane; an unknown target (NaN) exerts no force.
  ELMAN_INLINE Vec<T> errors(const T* c, const T* h, const T* targets, int count) const {
    Vec<T> z[kLanes<T>] = {};
    for (int v = 0; v < stride_; v += kLanes<T>) {
      const Vec<T> weights = load<T>(c + v);
#pragma GCC unroll 16
      for (int s = 0; s < kLanes<T>; ++s)
        if (s < count) z[s] = fma<T>(weights, load<T>(h + std::size_t(s) * stride_ + v), z[s]);
    }
    const Vec<T> y = count == kLanes<T> ? load<T>(targets) : first_lanes(targets, count);
    const Vec<T> answer = output<T>(loss_, sums<T>(z));
    return y == y ? answer - y : Vec<T>{};
  }

  // Lanes beyond the first `count` are unknown targets.
  static Vec<T> first_lanes(const T* targets, int count) {
    T lanes[kLanes<T>];
    std::fill(std::copy_n(targets, std::size_t(count), lanes), lanes + kLanes<T>,
              std::numeric_limits<T>::quiet_NaN());
    return load<T>(lanes);
  }

  T dot(int k, const T* h) const {
    const T* c = weights_.data() + std::size_t(k) * stride_;
    Vec<T> acc = load<T>(c) * load<T>(h);
    for (int v = kLanes<T>; v < stride_; v += kLanes<T>) acc = fma<T>(load<T>(c + v), load<T>(h + v), acc);
    return sum<T>(acc);
  }

  int n_outputs_, n_hidden_, stride_;
  Loss loss_;
  Buffer<T> weights_, dLdh_;
};

}  // namespace elman
