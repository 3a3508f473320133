// Hessian-free optimisation (Martens 2010; Martens and Sutskever 2011) of the window's mean loss: a few
// iterations of conjugate gradients on its damped Gauss-Newton matrix, which is never built.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "options.hpp"
#include "simd/vector.hpp"
#include "training/training.hpp"

namespace elman {

// With L the mean loss of the window, g its gradient, G its Gauss-Newton matrix and S that of half the
// squared change of the hidden vectors (structural damping), a step d minimises, roughly,
//   q(d) = g d + d A d / 2,  A = G + lambda I + lambda mu S,
// from `persistence` times the last d on. The weights move by rate d if that lowers L. Levenberg and
// Marquardt: lambda falls where q foresees what L does and rises where it does not.
template <class T>
class HessianFree final : public Training<T> {
 public:
  HessianFree(const Options& options, Network<T>& network)
      : rate_(options.number("rate")),
        iterations_(options.integer("iterations")),
        every_(options.integer("every")),
        structural_(options.number("structural")),
        persistence_(options.number("persistence")),
        least_(options.number("least_damping")),
        damping_(std::max(options.number("damping"), least_)),
        work_(network),
        direction_(network),
        step_(network),
        gradient_(network),
        residual_(network),
        search_(network),
        product_(network),
        former_(network),
        before_(std::size_t(iterations_), Memory<T>(network)) {}

  void update(Network<T>& network, int first, std::int64_t t) override {
    if ((t - 1) % every_ != 0) return;
    const int samples = network.window.labelled(first);
    network.differentiate_window(first);
    take_gradient(network, samples, gradient_);
    const double before = network.loss_of_window(first) / samples;
    minimise(network, first, samples);
    // q(rate d), where A d = -g - residual.
    const double slope = inner(step_, gradient_), bend = -slope - inner(step_, residual_);
    const double predicted = rate_ * (slope + 0.5 * rate_ * bend);
    if (!move(network)) return;
    network.refresh();
    network.forward(first);
    const double after = network.loss_of_window(first) / samples;
    const bool lower = predicted < 0 && after < before;
    if (!lower) restore(network);
    network.cell->refresh(former_[0].data());
    network.forward(former_[0], first);
    network.refresh();
    std::swap(direction_, step_);
    if (!lower) direction_.clear();
    const double ratio = lower ? (after - before) / predicted : 0;
    if (ratio > 0.75) damping_ *= 2.0 / 3;
    if (ratio < 0.25) damping_ *= 1.5;
    damping_ = std::clamp(damping_, least_, kLargestDamping);
  }

  void rescale(const UnitChanges& changes, Network<T>& network) override {
    direction_.rescale(Content::direction, changes, network);
  }

  // The damping and the last direction.
  void exchange(Archive& archive, Network<T>& network) override {
    archive.value("damping", damping_);
    if (!(damping_ >= least_ && damping_ <= std::max(kLargestDamping, least_)))
      throw std::invalid_argument("damping is out of range");
    direction_.exchange(archive, "direction.", network);
  }

 private:
  static constexpr double kLargestDamping = 1e6;

  // A few iterations of conjugate gradients for A d = -g: d is left in step_, -g - A d in residual_. Each
  // residual is made orthogonal to all before it, as it would be but for rounding: where one sample bends the
  // loss far more than the others, rounding is amplified at every iteration otherwise.
  void minimise(Network<T>& network, int first, int samples) {
    each([&](std::size_t g, std::size_t i) {
      store<T>(&step_[g][i], splat(T(persistence_)) * load<T>(&direction_[g][i]));
    });
    multiply(network, step_, first, samples);
    each([&](std::size_t g, std::size_t i) {
      const Vec<T> r = -load<T>(&gradient_[g][i]) - load<T>(&product_[g][i]);
      store<T>(&residual_[g][i], r);
      store<T>(&search_[g][i], r);
    });
    double left = inner(residual_, residual_);
    for (int k = 0; k < iterations_ && left > 0; ++k) {
      remember(before_[std::size_t(k)], left);
      multiply(network, search_, first, samples);
      const double length = left / inner(search_, product_);
      each([&](std::size_t g, std::size_t i) {
        store<T>(&step_[g][i], fma<T>(splat(T(length)), load<T>(&search_[g][i]), load<T>(&step_[g][i])));
        store<T>(&residual_[g][i],
                 fma<T>(splat(T(-length)), load<T>(&product_[g][i]), load<T>(&residual_[g][i])));
      });
      for (int j = 0; j <= k; ++j) take_out(before_[std::size_t(j)]);
      const double now = inner(residual_, residual_), kept = now / left;
      left = now;
      each([&](std::size_t g, std::size_t i) {
        store<T>(&search_[g][i], fma<T>(splat(T(kept)), load<T>(&search_[g][i]), load<T>(&residual_[g][i])));
      });
    }
  }

  // The residual, whose squared length is given, with the length 1.
  void remember(Memory<T>& unit, double squared) {
    const Vec<T> scale = splat(T(1 / std::sqrt(squared)));
    each([&](std::size_t g, std::size_t i) { store<T>(&unit[g][i], scale * load<T>(&residual_[g][i])); });
  }

  // Makes the residual orthogonal to a vector of length 1.
  void take_out(Memory<T>& unit) {
    const Vec<T> along = splat(T(-inner(unit, residual_)));
    each([&](std::size_t g, std::size_t i) {
      store<T>(&residual_[g][i], fma<T>(along, load<T>(&unit[g][i]), load<T>(&residual_[g][i])));
    });
  }

  // product_ = A v.
  void multiply(Network<T>& network, Memory<T>& v, int first, int samples) {
    network.curve_window(v[0].data(), v.size() > 1 ? v[1].data() : nullptr, T(damping_ * structural_), first,
                         work_);
    take_gradient(network, samples, product_);
    each([&](std::size_t g, std::size_t i) {
      store<T>(&product_[g][i], fma<T>(splat(T(damping_)), load<T>(&v[g][i]), load<T>(&product_[g][i])));
    });
  }

  // Moves the weights by rate d; false, and they stay, if one would be NaN or larger than it may be.
  bool move(Network<T>& network) {
    Vec<T> check = {};
    each([&](std::size_t g, std::size_t i) {
      const Vec<T> w = load<T>(&network.trained[g]->weights[i]);
      const Vec<T> moved = fma<T>(splat(T(rate_)), load<T>(&step_[g][i]), w);
      check = checked<T>(moved, check);
      store<T>(&former_[g][i], w);
      store<T>(&network.trained[g]->weights[i], moved);
    });
    if (sum<T>(check) == 0) return true;
    restore(network);
    return false;
  }

  void restore(Network<T>& network) {
    each([&](std::size_t g, std::size_t i) {
      store<T>(&network.trained[g]->weights[i], load<T>(&former_[g][i]));
    });
  }

  void take_gradient(const Network<T>& network, int samples, Memory<T>& to) {
    const Vec<T> share = splat(T(1) / T(samples));
    each([&](std::size_t g, std::size_t i) {
      store<T>(&to[g][i], share * load<T>(&network.trained[g]->gradient[i]));
    });
  }

  // Calls f(group, place) for every vector of numbers.
  template <class F>
  ELMAN_INLINE void each(F f) {
    for (std::size_t g = 0; g < step_.size(); ++g)
      for (std::size_t i = 0; i < step_[g].size(); i += kLanes<T>) f(g, i);
  }

  double inner(Memory<T>& a, Memory<T>& b) {
    double total = 0;
    for (std::size_t g = 0; g < a.size(); ++g) total += dot(a[g].data(), b[g].data(), a[g].size());
    return total;
  }

  double rate_;
  int iterations_, every_;
  double structural_;   // mu
  double persistence_;  // share of the last d that the next search begins with
  double least_, damping_;
  typename Network<T>::Curving work_;
  Memory<T> direction_;  // the last d
  Memory<T> step_, gradient_, residual_, search_, product_, former_;
  std::vector<Memory<T>> before_;  // the residuals of an update, of length 1
};

}  // namespace elman
