// Windowed Online Gradient Descent: Algorithm 1 of the paper, and the variant of its experiments (equation
// 20).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "options.hpp"
#include "training/projection.hpp"
#include "training/training.hpp"

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
    Vec<T> check = move(network.weights, network.gradient, rate_ / samples, next_);
    if (network.readout_is_trained)
      check += move(network.readout.weights(), network.readout_gradient,
                    readout_rate_ / std::sqrt(double(t)) / samples, next_readout_);
    if (sum<T>(check) != 0) return;
    step(network, samples);
    if (smoothness != nullptr) *smoothness = measure_smoothness(network, first, samples);
    if (network.readout_is_trained) step_readout(network);
  }

 private:
  // next = weights - rate gradient; returns a sum that is 0 unless one of these is infinite or NaN.
  static Vec<T> move(const Buffer<T>& weights, const Buffer<T>& gradient, double rate, Buffer<T>& next) {
    if (next.size() != weights.size()) next = Buffer<T>(weights.size());
    Vec<T> check = {};
    for (std::size_t i = 0; i < next.size(); i += kLanes<T>) {
      const Vec<T> moved = fma<T>(splat(T(-rate)), load<T>(&gradient[i]), load<T>(&weights[i]));
      check = fma<T>(moved, Vec<T>{}, check);
      store<T>(&next[i], moved);
    }
    return check;
  }

  // theta <- Pi(theta - rate gradient/samples), equations (14) and (15).
  void step(Network<T>& network, int samples) {
    const Buffer<T>& gradient = network.gradient;
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
  }

  // c <- Pi(c - readout_rate/sqrt(t) gradient/samples) for each output, equation (13).
  void step_readout(Network<T>& network) {
    std::swap(network.readout.weights(), next_readout_);
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
  // theta_t is in next_ after the swap. Window, state before it and readout are the same for both, and the
  // trajectory is that of theta_t again when this returns.
  double measure_smoothness(Network<T>& network, int first, int samples) {
    network.forward(first);
    network.differentiate_window(first);
    network.cell->refresh(next_.data());
    network.cell->forward(next_.data(), network.window.inputs(), first, network.window.size(), network.clock);
    network.cell->refresh(network.weights.data());
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
  Buffer<T> next_, next_readout_, previous_gradient_;
  std::vector<bool> projected_;  // by block
};

}  // namespace elman
