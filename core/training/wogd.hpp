// Windowed Online Gradient Descent: Algorithm 1 of the paper, and the variant of its experiments (equation
// 20).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "../options.hpp"
#include "../projection.hpp"
#include "training.hpp"

namespace elman {

template <class T>
class WOGD final : public Training<T> {
 public:
  explicit WOGD(const Options& options)
      : rate_(options.number("rate")),
        spectral_limit_(options.number("spectral_limit")),
        projection_threshold_(options.number("projection_threshold")),
        readout_rate_(options.number("readout_rate")),
        readout_limit_(options.number("readout_limit")) {}

  void prepare(Network<T>& network) override {
    for (const Block& block : network.cell->blocks()) project(network.weights.data(), block);
    if (network.readout_is_trained) clip_readout(network);
  }

  void update(Network<T>& network, int first, std::int64_t t, double* smoothness) override {
    network.differentiate_window(first);
    const int samples = network.window.labelled(first);
    if (smoothness != nullptr) previous_gradient_ = network.gradient;
    if (!step(network, samples)) return;
    if (smoothness != nullptr) *smoothness = measure_smoothness(network, first, samples);
    if (network.readout_is_trained) step_readout(network, samples, t);
  }

 private:
  // theta <- Pi(theta - rate gradient/samples), equations (14) and (15). False, and nothing changed, if not
  // finite.
  bool step(Network<T>& network, int samples) {
    const Buffer<T>& gradient = network.gradient;
    if (next_.size() != network.weights.size()) next_ = Buffer<T>(network.weights.size());
    const Vec<T> rate = splat(T(-rate_ / samples));
    Vec<T> check = {};  // stays 0 unless a weight is infinite or NaN
    for (std::size_t i = 0; i < next_.size(); i += kLanes<T>) {
      const Vec<T> moved = fma<T>(rate, load<T>(&gradient[i]), load<T>(&network.weights[i]));
      check = fma<T>(moved, Vec<T>{}, check);
      store<T>(&next_[i], moved);
    }
    if (sum<T>(check) != 0) return false;
    const std::vector<Block>& blocks = network.cell->blocks();
    projected_.assign(blocks.size(), false);
    for (std::size_t i = 0; i < blocks.size(); ++i) projected_[i] = project(next_.data(), blocks[i]);
    // A projection fills entries that the cell does not have; they are no part of the step.
    network.cell->refresh(next_.data());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& block = blocks[i];
      if (projected_[i])
        this->local_regret += squared_distance(block, next_, network.weights) / (rate_ * rate_);
      else
        this->local_regret += squared_norm(block, gradient.data()) / (double(samples) * samples);
    }
    std::swap(network.weights, next_);
    return true;
  }

  // c <- Pi(c - readout_rate/sqrt(t) gradient/samples) for each output, equation (13).
  void step_readout(Network<T>& network, int samples, std::int64_t t) const {
    Buffer<T>& weights = network.readout.weights();
    const Vec<T> rate = splat(T(-readout_rate_ / std::sqrt(double(t)) / samples));
    for (std::size_t i = 0; i < weights.size(); i += kLanes<T>)
      store<T>(&weights[i], fma<T>(rate, load<T>(&network.readout_gradient[i]), load<T>(&weights[i])));
    clip_readout(network);
  }

  void clip_readout(Network<T>& network) const {
    const int stride = network.readout.stride();
    for (int k = 0; k < network.readout.n_outputs(); ++k)
      clip_norm(network.readout.weights().data() + std::size_t(k) * stride, stride, readout_limit_);
  }

  // Clips the spectrum of a matrix if its norm calls for it. Clipping can leave a Frobenius norm of up to
  // lambda sqrt(min(rows, columns)), so the threshold never lies below that root: otherwise a large network
  // would be decomposed at every step for nothing.
  bool project(T* weights, const Block& block) const {
    const double norm = squared_norm(block, weights);
    if (norm <= spectral_limit_ * spectral_limit_) return false;
    const double reachable = std::min(block.rows, block.columns);
    if (projection_threshold_ > 0 &&
        norm <= std::max(projection_threshold_ * projection_threshold_, reachable))
      return false;
    return clip_spectrum(weights + block.offset, block.stride, block.rows, block.columns, spectral_limit_);
  }

  // max over the matrices of ||grad L(theta_{t+1}) - grad L(theta_t)|| / ||theta_{t+1} - theta_t||, where
  // theta_t is in next_ after the swap. Window, state before it and readout are the same for both.
  double measure_smoothness(Network<T>& network, int first, int samples) {
    const Buffer<T> readout_gradient = network.readout_gradient;
    network.forward(first);
    network.differentiate_window(first);
    network.readout_gradient = readout_gradient;
    double largest = 0;
    for (const Block& block : network.cell->blocks()) {
      const double moved = squared_distance(block, network.weights, next_);
      const double changed = squared_distance(block, network.gradient, previous_gradient_);
      if (moved > 0) largest = std::max(largest, std::sqrt(changed / moved) / samples);
    }
    return largest;
  }

  // Sums run over whole vectors of rows: padding is zero.
  template <class Value>
  static double sum_of_squares(const Block& block, Value value) {
    Vec<T> total = {};
    for (int j = 0; j < block.columns; ++j)
      for (int i = 0; i < block.rows; i += kLanes<T>) {
        const Vec<T> x = value(block.offset + std::size_t(j) * block.stride + i);
        total = fma<T>(x, x, total);
      }
    return sum<T>(total);
  }
  static double squared_norm(const Block& block, const T* a) {
    return sum_of_squares(block, [a](std::size_t i) { return load<T>(a + i); });
  }
  static double squared_distance(const Block& block, const Buffer<T>& a, const Buffer<T>& b) {
    return sum_of_squares(block, [&](std::size_t i) { return load<T>(&a[i]) - load<T>(&b[i]); });
  }

  double rate_;
  double spectral_limit_;  // lambda
  double
      projection_threshold_;  // alpha: a matrix is projected when its Frobenius norm exceeds this; 0: always
  double readout_rate_;       // the readout's step at time t is this over sqrt(t)
  double readout_limit_;      // largest norm of a row of the readout
  Buffer<T> next_, previous_gradient_;
  std::vector<bool> projected_;  // by block
};

}  // namespace elman
