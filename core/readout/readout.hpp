// The output layer: z = C h, equation (2) of the paper, and with a skip z = C h + D x.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "archive.hpp"
#include "parameters.hpp"
#include "readout/loss.hpp"
#include "simd/buffer.hpp"
#include "simd/product.hpp"
#include "simd/scratch.hpp"
#include "simd/vector.hpp"

namespace elman {

struct ReadoutSizes {
  int n_outputs, n_hidden;
  Axis inputs;   // with the constant; what D has columns for, if there is a skip
  int capacity;  // largest number of samples that a pass covers
  bool skip;
  int n_inputs = int(inputs.size());
};

// The weights are [n_outputs][stride], a row of C and behind it one of D each, both padded to whole vectors.
// Rows of inputs are not padded: a vector that begins in one may reach into what follows, where the weights
// are zero, so what follows must be finite (see Window).
template <class T>
class Readout {
 public:
  Readout(ReadoutSizes sizes, Loss loss, ScratchPlan& scratch)
      : sizes_(sizes),
        hidden_stride_(padded<T>(sizes.n_hidden)),
        stride_(hidden_stride_ + (sizes.skip ? padded<T>(sizes.n_inputs) : 0)),
        loss_(loss),
        parameters_(Parameters<T>::Role::readout, layout(sizes, stride_),
                    std::size_t(sizes.n_outputs) * stride_, scratch),
        dLdh_(scratch.place<T>(std::size_t(sizes.capacity) * hidden_stride_)) {}

  Loss loss() const { return loss_; }
  int n_outputs() const { return sizes_.n_outputs; }
  int n_hidden() const { return sizes_.n_hidden; }
  int n_skipped() const { return sizes_.skip ? sizes_.n_inputs : 0; }  // columns of D
  int skip_offset() const { return hidden_stride_; }                   // of a row of D behind its row of C
  int stride() const { return stride_; }
  Parameters<T>& parameters() { return parameters_; }
  Buffer<T>& weights() { return parameters_.weights; }
  T* dLdh() { return dLdh_.data(); }

  // The model's answer in state h to input x.
  void answer(const T* h, const T* x, T* out) const {
    for (int k = 0; k < n_outputs(); ++k) out[k] = output<T>(loss_, splat(product_of(k, h, x)))[0];
  }

  // dL/dh and dL/dweights of the summed loss of n samples. h is [n][hidden stride] and x [n][n_inputs]; the
  // targets of output k begin at targets + k * target_step; the first row of dL/dh to be written is `row`.
  void differentiate(const T* h, const T* x, const T* targets, std::size_t target_step, int n, int row = 0) {
    T* gradient = cleared_gradient();
    for (int k = 0; k < n_outputs(); ++k) {
      const std::size_t at = std::size_t(k) * stride_;
      const OutputPass pass{parameters_.weights.data() + at, gradient + at,
                            dLdh_.data() + std::size_t(row) * hidden_stride_, k == 0};
      const T* y = targets + k * target_step;
      int i = 0;
      for (; i + kLanes<T> <= n; i += kLanes<T>) differentiate(pass, h, x, y, i, kLanes<T>);
      if (i < n) differentiate(pass, h, x, y, i, n - i);
      std::fill(pass.gradient + hidden_stride_ + n_skipped(), pass.gradient + stride_, T(0));
    }
  }

  // The summed loss of n samples, laid out as for `differentiate`.
  double loss_of(const T* h, const T* x, const T* targets, std::size_t target_step, int n) const {
    double total = 0;
    for (int k = 0; k < n_outputs(); ++k)
      for (int i = 0; i < n; ++i) {
        const double y = targets[k * target_step + i];
        if (std::isnan(y)) continue;
        const double z =
            product_of(k, h + std::size_t(i) * hidden_stride_, x + std::size_t(i) * sizes_.n_inputs);
        if (loss_ == Loss::squared)
          total += 0.5 * (z - y) * (z - y);
        else
          total += std::log1p(std::exp(-std::abs(z))) + std::max(z, 0.0) - y * z;
      }
    return total;
  }

  // What the curvature of the loss makes of a change of the readout: with dz = C dh + dC h + dD x the change
  // of z along a direction, dL/dh and dL/dweights as if dL/dz were (d²L/dz²) dz. `direction` is laid out like
  // the weights, null where these stand still; `forces` has room for n rows.
  void curve(const T* direction, const T* dh, const T* h, const T* x, const T* targets,
             std::size_t target_step, int n, T* forces) {
    T* gradient = cleared_gradient();
    for (int k = 0; k < n_outputs(); ++k) {
      const T* y = targets + k * target_step;
      for (int i = 0; i < n; ++i) {
        const T* h_i = h + std::size_t(i) * hidden_stride_;
        const T* x_i = x + std::size_t(i) * sizes_.n_inputs;
        T dz = dot(row(weights_data(), k), dh + std::size_t(i) * hidden_stride_, std::size_t(hidden_stride_));
        if (direction != nullptr) dz += product_with(row(direction, k), h_i, x_i);
        if (loss_ == Loss::logistic) {
          const T p = output<T>(loss_, splat(product_of(k, h_i, x_i)))[0];
          dz *= p * (1 - p);
        }
        forces[i] = std::isnan(y[i]) ? T(0) : dz;
      }
      const OutputPass pass{row(weights_data(), k), gradient + std::size_t(k) * stride_, dLdh_.data(),
                            k == 0};
      for (int i = 0; i < n; i += kLanes<T>) spread(pass, h, x, i, std::min(n - i, kLanes<T>), forces + i);
      std::fill(pass.gradient + hidden_stride_ + n_skipped(), pass.gradient + stride_, T(0));
    }
  }

  // dz_k/dh and dz_k/dweights of one sample, into row `row` of dL/dh.
  void differentiate_output(const T* h, const T* x, int k, int row) {
    T* gradient = cleared_gradient() + std::size_t(k) * stride_;
    std::copy_n(h, std::size_t(n_hidden()), gradient);
    std::copy_n(x, std::size_t(n_skipped()), gradient + hidden_stride_);
    std::copy_n(parameters_.weights.data() + std::size_t(k) * stride_, std::size_t(hidden_stride_),
                dLdh_.data() + std::size_t(row) * hidden_stride_);
  }

  // What the answers are made of: the hidden units and, if there is a skip, the inputs.
  Axis regressors() const {
    const Axis hidden{"hidden", std::size_t(n_hidden())};
    return hidden.then(sizes_.skip ? sizes_.inputs : Axis{"input", 0}, "regressor");
  }

  // Rows [0, n) of dL/dh become zero: those samples have no loss.
  void silence(int n) { std::fill_n(dLdh_.data(), std::size_t(n) * hidden_stride_, T(0)); }

 private:
  T* cleared_gradient() {
    std::fill(parameters_.gradient.begin(), parameters_.gradient.end(), T(0));
    return parameters_.gradient.data();
  }

  struct OutputPass {
    const T* weights;
    T* gradient;
    T* dLdh;
    bool first;  // dL/dh is overwritten by the first output and added to by the others
  };

  // `count` samples from sample `at`, as many as there are lanes or, at the end, fewer.
  ELMAN_INLINE void differentiate(const OutputPass& pass, const T* h, const T* x, const T* targets, int at,
                                  int count) {
    T e[kLanes<T>];
    store<T>(e, errors(pass.weights, h + std::size_t(at) * hidden_stride_,
                       x + std::size_t(at) * sizes_.n_inputs, targets + at, count));
    spread(pass, h, x, at, count, e);
  }

  // The same where dL/dz of the samples is e.
  ELMAN_INLINE void spread(const OutputPass& pass, const T* h, const T* x, int at, int count, const T* e) {
    h += std::size_t(at) * hidden_stride_;
    x += std::size_t(at) * sizes_.n_inputs;
    T* force = pass.dLdh + std::size_t(at) * hidden_stride_;
    for (int v = 0; v < hidden_stride_; v += kLanes<T>) {
      const Vec<T> c = load<T>(pass.weights + v);
      Vec<T> slope[2] = {load<T>(pass.gradient + v), Vec<T>{}};
#pragma GCC unroll 16
      for (int s = 0; s < kLanes<T>; ++s) {
        if (s >= count) break;
        const Vec<T> error = splat(e[s]);
        const std::size_t row = std::size_t(s) * hidden_stride_ + v;
        store<T>(force + row, pass.first ? c * error : fma<T>(c, error, load<T>(force + row)));
        slope[s % 2] = fma<T>(error, load<T>(h + row), slope[s % 2]);
      }
      store<T>(pass.gradient + v, slope[0] + slope[1]);
    }
    T* skip_gradient = pass.gradient + hidden_stride_;
    for (int v = 0; v < stride_ - hidden_stride_; v += kLanes<T>) {
      Vec<T> slope = load<T>(skip_gradient + v);
      for (int s = 0; s < count; ++s)
        slope = fma<T>(splat(e[s]), load<T>(x + std::size_t(s) * sizes_.n_inputs + v), slope);
      store<T>(skip_gradient + v, slope);
    }
  }

  // d loss/d z of `count` samples, one a lane; an unknown target (NaN) exerts no force.
  ELMAN_INLINE Vec<T> errors(const T* c, const T* h, const T* x, const T* targets, int count) const {
    Vec<T> z[kLanes<T>] = {};
    add_products(c, hidden_stride_, h, hidden_stride_, count, z);
    add_products(c + hidden_stride_, stride_ - hidden_stride_, x, sizes_.n_inputs, count, z);
    const Vec<T> y = count == kLanes<T> ? load<T>(targets) : first_lanes(targets, count);
    const Vec<T> answer = output<T>(loss_, sums<T>(z));
    return y == y ? answer - y : Vec<T>{};
  }

  // Adds what `n` weights contribute to the z of `count` samples, whose rows are `step` apart.
  ELMAN_INLINE static void add_products(const T* weights, int n, const T* rows, int step, int count,
                                        Vec<T> (&z)[kLanes<T>]) {
    for (int v = 0; v < n; v += kLanes<T>) {
      const Vec<T> w = load<T>(weights + v);
#pragma GCC unroll 16
      for (int s = 0; s < kLanes<T>; ++s)
        if (s < count) z[s] = fma<T>(w, load<T>(rows + std::size_t(s) * step + v), z[s]);
    }
  }

  // Lanes beyond the first `count` are unknown targets.
  static Vec<T> first_lanes(const T* targets, int count) {
    T lanes[kLanes<T>];
    std::fill(std::copy_n(targets, std::size_t(count), lanes), lanes + kLanes<T>,
              std::numeric_limits<T>::quiet_NaN());
    return load<T>(lanes);
  }

  const T* weights_data() const { return parameters_.weights.data(); }
  const T* row(const T* array, int k) const { return array + std::size_t(k) * stride_; }

  // z_k.
  T product_of(int k, const T* h, const T* x) const { return product_with(row(weights_data(), k), h, x); }

  // c h + d x, where d lies behind c.
  T product_with(const T* c, const T* h, const T* x) const {
    Vec<T> acc = {};
    for (int v = 0; v < hidden_stride_; v += kLanes<T>) acc = fma<T>(load<T>(c + v), load<T>(h + v), acc);
    c += hidden_stride_;
    for (int v = 0; v < stride_ - hidden_stride_; v += kLanes<T>)
      acc = fma<T>(load<T>(c + v), load<T>(x + v), acc);
    return sum<T>(acc);
  }

  static std::vector<Block> layout(const ReadoutSizes& s, int stride) {
    const Axis outputs{"output", std::size_t(s.n_outputs)}, hidden{"hidden", std::size_t(s.n_hidden)};
    std::vector<Block> blocks{{"C", 0, stride, outputs, hidden}};
    if (s.skip) blocks.push_back({"D", std::size_t(padded<T>(s.n_hidden)), stride, outputs, s.inputs});
    return blocks;
  }

  ReadoutSizes sizes_;
  int hidden_stride_, stride_;
  Loss loss_;
  Parameters<T> parameters_;
  Scratch<T> dLdh_;
};

}  // namespace elman
