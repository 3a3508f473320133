// What descent rules that treat every weight alike and on its own have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "training/training.hpp"

namespace elman {

// Descends the loss of the newest sample, back-propagated through the window. A subclass, the `Rule`, has
//   void begin(std::int64_t t)                             before the step of the t-th labelled sample
//   Vec<T> change(Vec<T> gradient, Vec<T>* moments) const  what to take off some weights; moves their moments
// and as many moments a weight, 0 at first, as it needs. A change must be 0 where gradient and moments are.
template <class T, class Rule, int Moments>
class Descent : public Training<T> {
 public:
  explicit Descent(const Network<T>& network)
      : moments_(Moments, Memory<T>(network)), next_moments_(moments_), next_(network) {}

  void update(Network<T>& network, int first, std::int64_t t) override {
    network.differentiate_last(first);
    static_cast<Rule&>(*this).begin(t);
    Vec<T> check = {};  // stays 0 unless a weight or a moment is infinite or NaN
    for (std::size_t g = 0; g < network.trained.size(); ++g) check += step(*network.trained[g], g);
    if (sum<T>(check) != 0) return;
    for (std::size_t g = 0; g < network.trained.size(); ++g) std::swap(network.trained[g]->weights, next_[g]);
    std::swap(moments_, next_moments_);
    network.refresh();
  }

  void exchange(Archive& archive, Network<T>& network) override {
    for (int m = 0; m < Moments; ++m)
      moments_[m].exchange(archive, "moment" + std::to_string(m + 1) + ".", network);
  }

 private:
  // The next weights and moments of a group; returns a sum that is 0 unless something is infinite or NaN.
  Vec<T> step(const Parameters<T>& group, std::size_t g) {
    Vec<T> check = {};
    Buffer<T>& next = next_[g];
    for (std::size_t i = 0; i < next.size(); i += kLanes<T>) {
      Vec<T> moment[Moments > 0 ? Moments : 1];
      for (int m = 0; m < Moments; ++m) moment[m] = load<T>(&moments_[m][g][i]);
      const Vec<T> moved =
          load<T>(&group.weights[i]) - static_cast<Rule&>(*this).change(load<T>(&group.gradient[i]), moment);
      check = fma<T>(moved, Vec<T>{}, check);
      store<T>(&next[i], moved);
      for (int m = 0; m < Moments; ++m) {
        check = fma<T>(moment[m], Vec<T>{}, check);
        store<T>(&next_moments_[m][g][i], moment[m]);
      }
    }
    return check;
  }

  std::vector<Memory<T>> moments_, next_moments_;
  Memory<T> next_;  // where the next weights are made until they prove finite
};

}  // namespace elman
