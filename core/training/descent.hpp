// What descent rules that treat every weight alike and on its own have in common.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "training/training.hpp"

namespace elman {

// Descends the loss of the newest sample, back-propagated through the window. A subclass, the `Rule`, has
//   void begin(std::int64_t t)                             before the step of the t-th labelled sample
//   Vec<T> change(Vec<T> gradient, Vec<T>* moments) const  what to take off some weights; moves their moments
// Its steps are on a leash: one that goes more than twice as far, to first order, as would bring the newest
// error to 0 makes that error larger, and is cut to what brings it to 0. A rule whose steps have a size of
// their own needs none and says so (kLeashed). It has as many moments a weight, 0 at first, as it needs. A
// change must be 0 where gradient and moments are. If not every number can be a moment, it also has
//   static Limits limits(int m)                            of the m-th moment
template <class T, class Rule, int Moments>
class Descent : public Training<T> {
 public:
  explicit Descent(const Network<T>& network)
      : moments_(Moments, Memory<T>(network)),
        next_moments_(moments_),
        next_(network),
        answer_(std::size_t(network.readout.n_outputs())) {}

  void update(Network<T>& network, int first, std::int64_t t) override {
    network.differentiate_last(first);
    static_cast<Rule&>(*this).begin(t);
    const T unit = Rule::kLeashed ? T(1 / reach(network)) : T(0);
    Pass pass = step_all<false>(network, unit);
    // Longer than twice the way to no error: the newest error would grow. It is cut to the way itself.
    if (const T ways = sum<T>(pass.ways); Rule::kLeashed && ways > 2)
      pass = step_all<true>(network, T(1) / ways);
    if (sum<T>(pass.check) != 0) return;
    for (std::size_t g = 0; g < network.trained.size(); ++g) std::swap(network.trained[g]->weights, next_[g]);
    std::swap(moments_, next_moments_);
    network.refresh();
  }

  // Whether steps are leashed: those of rules whose steps grow with the error, without a bound.
  static constexpr bool kLeashed = true;
  static Limits limits(int) { return {}; }

  // What the m-th moment is one of.
  static constexpr Content content(int) { return Content::gradient; }
  void rescale(const UnitChanges& changes, Network<T>& network) override {
    for (int m = 0; m < Moments; ++m) moments_[m].rescale(Rule::content(m), changes, network);
  }

  void exchange(Archive& archive, Network<T>& network) override {
    for (int m = 0; m < Moments; ++m)
      moments_[m].exchange(archive, "moment" + std::to_string(m + 1) + ".", network, Rule::limits(m));
  }

 private:
  struct Pass {
    Vec<T> check = {};  // stays 0 unless a weight or a moment is infinite, NaN or too large
    Vec<T> ways = {};   // how far the step goes, in ways to no error of the newest sample, to first order
  };

  // How far the readout of the newest sample may move: with e = dL/dz and the curvature c of the loss in z,
  // |e| / sqrt(c), so that a step which moves the readout by e / c counts as 1.
  double reach(Network<T>& network) {
    const int last = network.window.size() - 1;
    const T* y = network.window.targets() + last;
    network.answer(answer_.data());
    double squares = 0;
    for (std::size_t k = 0; k < answer_.size(); ++k, y += network.window.target_step())
      if (!std::isnan(*y)) squares += (double(answer_[k]) - *y) * (double(answer_[k]) - *y);
    return std::sqrt(network.readout.loss() == Loss::logistic ? 4 * squares : squares);
  }

  // The next weights and moments; `factor` shortens the step, or is 1 / reach.
  template <bool Shortened>
  Pass step_all(Network<T>& network, T factor) {
    Pass pass;
    for (std::size_t g = 0; g < network.trained.size(); ++g)
      step<Shortened>(*network.trained[g], g, splat(factor), pass);
    return pass;
  }

  template <bool Shortened>
  void step(const Parameters<T>& group, std::size_t g, Vec<T> factor, Pass& pass) {
    Buffer<T>& next = next_[g];
    const T* slope = group.gradient.data();
    for (std::size_t i = 0; i < next.size(); i += kLanes<T>) {
      Vec<T> moment[Moments > 0 ? Moments : 1];
      for (int m = 0; m < Moments; ++m) moment[m] = load<T>(&moments_[m][g][i]);
      const Vec<T> gradient = load<T>(slope + i);
      Vec<T> change = static_cast<Rule&>(*this).change(gradient, moment);
      if constexpr (Shortened)
        change = factor * change;
      else if constexpr (Rule::kLeashed)
        pass.ways = fma<T>(factor * gradient, factor * change, pass.ways);
      const Vec<T> moved = load<T>(&group.weights[i]) - change;
      pass.check = checked<T>(moved, pass.check);
      store<T>(&next[i], moved);
      for (int m = 0; m < Moments; ++m) {
        pass.check = fma<T>(moment[m], Vec<T>{}, pass.check);
        store<T>(&next_moments_[m][g][i], moment[m]);
      }
    }
  }

  std::vector<Memory<T>> moments_, next_moments_;
  Memory<T> next_;  // where the next weights are made until they prove finite
  Buffer<T> answer_;
};

}  // namespace elman
