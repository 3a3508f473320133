// Recursive least squares for the readout: the weights over [h; x] that fit the past best, the past fading.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "archive.hpp"
#include "options.hpp"
#include "plausible.hpp"
#include "readout/readout.hpp"
#include "rescale.hpp"
#include "simd/vector.hpp"

namespace elman {

// The weights w over phi = [h; x] minimise the sum of f^age (y - w phi)^2 over all samples, plus |w|^2 / v0:
// a ridge regression whose past fades. With P the inverse of its matrix, a sample changes them by
//   S = f + phi^T P phi,  w <- w + P phi (y - w phi) / S,  P <- (P - P phi phi^T P / S) / f,
// in double whatever T is. The penalty would fade as well; each sample therefore also renews that of one
// weight, or of several where n weights would have to wait longer than the memory of 1 / (1 - f) samples, in
// turn, as a sample would that says 'w_i = 0'. So P stays below about v0 and nothing can grow beyond all
// bounds where samples say nothing of a direction for a long time. P is the same for all outputs: a sample
// with any known target sharpens it for all.
template <class T>
class LeastSquares {
 public:
  LeastSquares(const Options& options, const Readout<T>& readout, ScratchPlan& scratch)
      : forgetting_(options.number("forgetting")),
        initial_variance_(options.number("initial_variance")),
        regressors_(readout.regressors()),
        n_(int(regressors_.size())),
        renewals_(std::max(1, int(std::ceil(n_ * (1 - forgetting_))))),
        stride_(padded<double>(n_)),
        covariance_(begin_of(n_)),
        phi_(scratch.place<double>(std::size_t(stride_))),
        u_(scratch.place<double>(std::size_t(stride_))),
        v_(scratch.place<double>(std::size_t(stride_))) {
    restart();
  }

  // Learns the t-th sample, in state h with input x; the target of output k is targets[k * target_step], NaN
  // where unknown.
  void learn(Readout<T>& readout, const T* h, const T* x, const T* targets, std::size_t target_step,
             std::int64_t t) {
    double* phi = std::copy_n(h, std::size_t(readout.n_hidden()), phi_.data());
    phi = std::copy_n(x, std::size_t(readout.n_skipped()), phi);
    std::fill(phi, phi_.end(), 0.0);
    double S = measure();
    if (!is_positive(S)) {
      restart();
      S = measure();
    }
    for (int k = 0; k < readout.n_outputs(); ++k) {
      const T y = targets[k * target_step];
      if (!std::isnan(y)) correct(readout, k, double(y), S);
    }
    const double scale = 1 / std::sqrt(S);
    for (double& u : u_) u *= scale;
    double fade = 1 / forgetting_;
    for (int turn = 0; turn < renewals_; ++turn) {
      renew_penalty(readout, int((t % n_ * renewals_ + turn) % n_), fade);
      for (int i = 0; i < n_; ++i) change_row(i, fade);
      std::fill(u_.begin(), u_.end(), 0.0);
      fade = 1;
    }
  }

  // The units of inputs have changed, and the weights with them: P of T w is T P T^T. That of the targets
  // does not matter to P.
  void rescale(const UnitChanges& changes, const Readout<T>& readout) {
    if (readout.n_skipped() == 0) return;
    for (int j = 0; j + 1 < readout.n_skipped(); ++j)
      rescale(readout.n_hidden() + j, n_ - 1, changes.input(std::size_t(j)));
  }
  // The same for one regressor.
  void rescale(int regressor, int constant, const UnitChange& change) {
    if (change.shift != 0) add_row(*this, n_, constant, regressor, change.shift, initial_variance_);
    if (change.scale != 1) multiply_row(*this, n_, regressor, change.scale, initial_variance_);
  }

  double entry(int i, int j) const { return covariance_[begin_of(std::max(i, j)) + std::min(i, j)]; }
  void set_entry(int i, int j, double value) { row(std::max(i, j))[std::min(i, j)] = value; }

  // The lower triangle of P, row by row.
  void exchange(Archive& archive) {
    Buffer<double> triangle(std::size_t(n_) * (n_ + 1) / 2);
    double* entry = triangle.data();
    for (int i = 0; i < n_; ++i) entry = std::copy_n(row(i), i + 1, entry);
    archive.triangle("least_squares", triangle.data(), regressors_);
    // A variance grows by 1 / f at a sample until its weight is renewed, which takes no longer than 1 / (1 -
    // f).
    archive.require(is_covariance(triangle.data(), std::size_t(n_), std::numeric_limits<double>::min(),
                                  1e3 * initial_variance_ / (forgetting_ * forgetting_)),
                    "the covariance of the readout is none");
    entry = triangle.data();
    for (int i = 0; i < n_; entry += ++i) std::copy_n(entry, i + 1, row(i));
  }

 private:
  void restart() {
    std::fill(covariance_.begin(), covariance_.end(), 0.0);
    for (int i = 0; i < n_; ++i) variance(i) = initial_variance_;
  }

  // P is symmetric: of row i the entries up to the diagonal are kept, padded with zeros to whole vectors.
  static std::size_t begin_of(int i) {
    const std::size_t vectors = std::size_t(i) / kLanes<double>, rest = std::size_t(i) % kLanes<double>;
    return kLanes<double> * (kLanes<double> * vectors * (vectors + 1) / 2 + rest * (vectors + 1));
  }
  double* row(int i) { return covariance_.data() + begin_of(i); }

  // u = P phi; returns S.
  double measure() {
    double* u = u_.data();
    const double* phi = phi_.data();
    std::fill_n(u, stride_, 0.0);
    for (int i = 0; i < n_; ++i) {
      const std::size_t length = std::size_t(padded<double>(i + 1));
      add(u, phi[i], row(i), length);  // to the rows before it, as their mirror image
      u[i] = dot(row(i), phi, length);
    }
    return forgetting_ + dot(u, phi, std::size_t(stride_));
  }

  // Whether the sample leaves every variance positive, as it does unless rounding has made P indefinite. That
  // takes inputs whose squares times v0 come near the inverse of the rounding error.
  bool is_positive(double S) {
    bool positive = S >= forgetting_;
    for (int i = 0; i < n_; ++i) positive &= variance(i) * S > u_[i] * u_[i];
    return positive;
  }

  void correct(Readout<T>& readout, int k, double y, double S) {
    double error = y;
    for (int i = 0; i < n_; ++i) error -= double(*weight(readout, k, i)) * phi_[i];
    for (int i = 0; i < n_; ++i) move(*weight(readout, k, i), T(error / S * u_[i]));
  }

  // The sample 'w_i = 0' of variance v0 / (turn (1 - f)): its turn comes every `turn` samples, by when a
  // share of turn (1 - f) of the penalty has faded. Leaves in v_ what it takes off P.
  void renew_penalty(Readout<T>& readout, int i, double fade) {
    for (int j = 0; j < stride_; ++j) v_[j] = j < n_ ? (entry(i, j) - u_[i] * u_[j]) * fade : 0;
    const double turn = double(n_) / renewals_, information = turn * (1 - forgetting_) / initial_variance_;
    const double scale = std::sqrt(information / (1 + information * std::max(v_[i], 0.0)));
    for (double& v : v_) v *= scale;
    for (int k = 0; k < readout.n_outputs(); ++k) {
      const double w = *weight(readout, k, i);
      for (int j = 0; j < n_; ++j) move(*weight(readout, k, j), -T(w * scale * v_[j]));
    }
  }

  // Row i of P <- (P - u u^T) fade - v v^T.
  void change_row(int i, double fade) {
    const Vec<double> u = splat(-u_[i]), v = splat(-v_[i]);
    const int length = padded<double>(i + 1);
    double* row = this->row(i);
    for (int j = 0; j < length; j += kLanes<double>) {
      const Vec<double> faded = splat(fade) * fma<double>(u, load<double>(&u_[j]), load<double>(row + j));
      store<double>(row + j, fma<double>(v, load<double>(&v_[j]), faded));
    }
    std::fill(row + i + 1, row + length, 0.0);
  }

  static void move(T& weight, T change) {
    weight = std::clamp(weight + change, T(-kLargestWeight), T(kLargestWeight));
  }

  double& variance(int i) { return row(i)[i]; }

  // Weight i of output k: of the hidden units first, then of the inputs.
  static T* weight(Readout<T>& readout, int k, int i) {
    T* row = readout.weights().data() + std::size_t(k) * readout.stride();
    return i < readout.n_hidden() ? row + i : row + readout.skip_offset() + i - readout.n_hidden();
  }

  double forgetting_, initial_variance_;
  Axis regressors_;
  int n_, renewals_, stride_;  // renewals: of how many weights the penalty is renewed at a sample
  Buffer<double> covariance_;
  Scratch<double> phi_, u_, v_;
};

}  // namespace elman
