// The paper's readout: z = C h, equation (2), learned by projected gradient descent.
#pragma once

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
        errors_(std::size_t(capacity) * n_outputs),
        dLdh_(std::size_t(capacity) * stride_) {}

  Loss loss() const { return loss_; }
  int n_outputs() const { return n_outputs_; }
  int stride() const { return stride_; }
  Buffer<T>& weights() { return weights_; }  // [n_outputs][stride], a row of C each
  T* dLdh() { return dLdh_.data(); }

  // The model's answer in state h.
  void answer(const T* h, T* out) const {
    for (int k = 0; k < n_outputs_; ++k) out[k] = output(loss_, dot(k, h));
  }

  // Errors of n samples, and from them dL/dh; h is [n][stride], targets [n][n_outputs].
  void errors(const T* h, const T* targets, int n) {
    for (int i = 0; i < n; ++i) {
      T* force = dLdh_.data() + std::size_t(i) * stride_;
      for (int k = 0; k < n_outputs_; ++k) {
        const std::size_t at = std::size_t(i) * n_outputs_ + k;
        const T* c = weights_.data() + std::size_t(k) * stride_;
        errors_[at] = output_error(loss_, dot(k, h + std::size_t(i) * stride_), targets[at]);
        const Vec<T> e = splat(errors_[at]);
        for (int v = 0; v < stride_; v += kLanes<T>)
          store<T>(force + v, k == 0 ? load<T>(c + v) * e : fma<T>(load<T>(c + v), e, load<T>(force + v)));
      }
    }
  }

  // dL/dC from the last call of `errors`, in the layout of the weights.
  void gradient(const T* h, int n, T* out) const {
    product<T>(h, stride_, n, {errors_.data(), 1, n_outputs_}, n_outputs_, out);
  }

 private:
  T dot(int k, const T* h) const {
    const T* c = weights_.data() + std::size_t(k) * stride_;
    Vec<T> acc = load<T>(c) * load<T>(h);
    for (int v = kLanes<T>; v < stride_; v += kLanes<T>) acc = fma<T>(load<T>(c + v), load<T>(h + v), acc);
    return sum<T>(acc);
  }

  int n_outputs_, n_hidden_, stride_;
  Loss loss_;
  Buffer<T> weights_, errors_, dLdh_;
};

}  // namespace elman
