// Windowed Online Gradient Descent: Algorithm 1 of the paper, and the variant of its experiments (equation
// 20).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "options.hpp"
#include "simd/vector.hpp"
#include "training/pace.hpp"
#include "training/projection.hpp"
#include "training/training.hpp"

namespace elman {

// Sum of the squares of value(i) over the places i of a matrix. Sums run over whole vectors: padding is zero.
template <class T, class Value>
double sum_of_squares(const Block& block, Value value) {
  Vec<T> total = {};
  for (std::size_t i = 0; i < block.outer.size(); ++i)
    for (std::size_t j = 0; j < block.inner.size(); j += kLanes<T>) {
      const Vec<T> x = value(block.place(i, j));
      total = fma<T>(x, x, total);
    }
  return sum<T>(total);
}
template <class T>
double squared_norm(const Block& block, const T* a) {
  return sum_of_squares<T>(block, [&](std::size_t i) { return load<T>(a + i); });
}
template <class T>
double squared_distance(const Block& block, const T* a, const T* b) {
  return sum_of_squares<T>(block, [&](std::size_t i) { return load<T>(a + i) - load<T>(b + i); });
}

template <class T>
class WOGD final : public Training<T> {
 public:
  WOGD(const Options& options, const Network<T>& network)
      : rate_(options.number("rate")),
        spectral_limit_(options.number("spectral_limit")),
        projection_threshold_(options.number("projection_threshold")),
        readout_rate_(options.number("readout_rate")),
        readout_limit_(options.number("readout_limit")),
        next_(network),
        pace_(options, network.recurrence),
        paced_(pace_.is_plain() ? 0 : network.recurrence.weights.size()) {
    for (const Block& block : network.recurrence.blocks)
      clipper_.prepare(int(block.inner.size()), int(block.outer.size()));
  }

  void prepare(Network<T>& network) override {
    for (Parameters<T>* group : network.trained) {
      if (group->role == Role::readout)
        clip_readout(*group, group->weights);
      else
        for (const Block& block : group->blocks) project(block, group->weights);
    }
  }

  void update(Network<T>& network, int first, std::int64_t t) override {
    network.differentiate_window(first);
    const int samples = network.window.labelled(first);
    Vec<T> check = {};  // stays 0 unless a weight is infinite or NaN
    for (std::size_t g = 0; g < next_.size(); ++g) {
      const Parameters<T>& group = *network.trained[g];
      const double rate = group.role == Role::recurrence ? rate_ : readout_rate_ / std::sqrt(double(t));
      check += move(group, rate / samples, next_[g]);
    }
    if (!pace_.is_plain()) check += pace_.move(network.recurrence, samples, rate_, t, paced_);
    if (sum<T>(check) != 0) return;
    for (std::size_t g = 0; g < next_.size(); ++g) {
      Parameters<T>& group = *network.trained[g];
      if (group.role == Role::recurrence)
        step_recurrence(network, next_[g], samples);
      else
        clip_readout(group, next_[g]);
      std::swap(group.weights, next_[g]);
    }
    network.refresh();
  }

  void rescale(const UnitChanges& changes, Network<T>& network) override {
    pace_.rescale(changes, network.recurrence);
  }

  void exchange(Archive& archive, Network<T>& network) override {
    archive.value("local_regret", local_regret_, Limits::up_to(std::numeric_limits<double>::max()));
    pace_.exchange(archive, network.recurrence);
  }

  double local_regret() const override { return local_regret_; }

 private:
  using Role = typename Parameters<T>::Role;

  // next = weights - rate gradient; returns a sum that is 0 unless one of these is infinite or NaN.
  static Vec<T> move(const Parameters<T>& group, double rate, Buffer<T>& next) {
    Vec<T> check = {};
    const T* gradient = group.gradient.data();
    for (std::size_t i = 0; i < next.size(); i += kLanes<T>) {
      const Vec<T> moved = fma<T>(splat(T(-rate)), load<T>(gradient + i), load<T>(&group.weights[i]));
      check = checked<T>(moved, check);
      store<T>(&next[i], moved);
    }
    return check;
  }

  // theta <- Pi(theta - rate gradient/samples), equations (14) and (15), where `next` is what is projected.
  // With momentum or rates of each weight's own that step is only measured, and another one taken.
  void step_recurrence(Network<T>& network, Buffer<T>& next, int samples) {
    const Parameters<T>& group = network.recurrence;
    for (const Block& block : group.blocks) {
      const bool projected = project(block, next);
      // A projection fills entries that the cell does not have; they are no part of the step.
      if (projected) network.cell->refresh(next.data());
      local_regret_ += projected
                           ? squared_distance(block, next.data(), group.weights.data()) / (rate_ * rate_)
                           : squared_norm(block, group.gradient.data()) / (double(samples) * samples);
    }
    if (pace_.is_plain()) return;
    pace_.accept();
    for (const Block& block : group.blocks)
      if (project(block, paced_)) network.cell->refresh(paced_.data());
    std::swap(next, paced_);
  }

  // c <- Pi(c - readout_rate/sqrt(t) gradient/samples) for each output, equation (13).
  void clip_readout(const Parameters<T>& group, Buffer<T>& next) const {
    const std::size_t stride = std::size_t(group.blocks[0].stride);
    for (std::size_t at = 0; at < next.size(); at += stride) clip_norm(&next[at], stride, readout_limit_);
  }

  // Clips the spectrum of a matrix if its norm calls for it. Clipping can leave a Frobenius norm of up to
  // lambda sqrt(min(rows, columns)), so the threshold never lies below that root: otherwise a large network
  // would be decomposed at every step for nothing.
  bool project(const Block& block, Buffer<T>& weights) {
    const int outer = int(block.outer.size()), inner = int(block.inner.size());
    const double norm = squared_norm(block, weights.data());
    if (norm <= spectral_limit_ * spectral_limit_) return false;
    const double reachable = std::min(inner, outer);
    if (projection_threshold_ > 0 &&
        norm <= std::max(projection_threshold_ * projection_threshold_, reachable))
      return false;
    return clipper_.clip(&weights[block.offset], block.stride, inner, outer, spectral_limit_);
  }

  double rate_;
  double spectral_limit_;        // lambda
  double projection_threshold_;  // alpha: a matrix is projected when its Frobenius norm exceeds it; 0: always
  double readout_rate_;          // the readout's step at time t is this over sqrt(t)
  double readout_limit_;         // largest norm of a row of the readout
  double local_regret_ = 0;
  Memory<T> next_;
  Pace<T> pace_;
  Buffer<T> paced_;  // the weights after a step that is not the plain one
  SpectrumClipper clipper_;
};

}  // namespace elman
