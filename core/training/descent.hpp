// What descent rules that treat every weight alike and on its own have in common.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "training/training.hpp"

namespace elman {

// Descends the loss of the newest sample, back-propagated through the window. A subclass, the `Rule`, has
//   void begin(std::int64_t t)                             before the step of the t-th labelled sample
//   Vec<T> change(Vec<T> gradient, Vec<T>* moments) const  what to take off some weights; moves their moments
// and as many moments a weight, 0 at first, as it needs. A change must be 0 where gradient and moments are.
template <class T, class Rule, int Moments>
class Descent : public Training<T> {
 public:
  void update(Network<T>& network, int first, std::int64_t t, double*) override {
    begin(network);
    network.differentiate_last(first);
    static_cast<Rule&>(*this).begin(t);
    Vec<T> check = {};  // stays 0 unless a weight or a moment is infinite or NaN
    check += cell_.step(static_cast<Rule&>(*this), network.weights, network.gradient);
    if (network.readout_is_trained)
      check += readout_.step(static_cast<Rule&>(*this), network.readout.weights(), network.readout_gradient);
    if (sum<T>(check) != 0) return;
    cell_.accept(network.weights);
    if (network.readout_is_trained) readout_.accept(network.readout.weights());
    network.cell->refresh(network.weights.data());
  }

  void exchange(Archive& archive, Network<T>& network) override {
    begin(network);
    for (int m = 0; m < Moments; ++m) {
      const std::string prefix = "moment" + std::to_string(m + 1) + ".";
      for (const Block& block : network.cell->blocks())
        archive.array(prefix + block.name, cell_.moments[m].data() + block.offset, block.columns, block.rows,
                      block.stride);
      network.readout.exchange(archive, prefix, readout_.moments[m]);
    }
  }

 private:
  // The moments of an array of weights, and where the next weights and moments are made until they prove
  // finite.
  struct Group {
    std::array<Buffer<T>, Moments> moments, next_moments;
    Buffer<T> next;

    void resize(std::size_t n) {
      next = Buffer<T>(n);
      moments.fill(next);
      next_moments.fill(next);
    }

    // Returns a sum that is 0 unless something is infinite or NaN.
    Vec<T> step(const Rule& rule, const Buffer<T>& weights, const Buffer<T>& gradient) {
      Vec<T> check = {};
      for (std::size_t i = 0; i < weights.size(); i += kLanes<T>) {
        Vec<T> moment[Moments > 0 ? Moments : 1];
        for (int m = 0; m < Moments; ++m) moment[m] = load<T>(&moments[m][i]);
        const Vec<T> moved = load<T>(&weights[i]) - rule.change(load<T>(&gradient[i]), moment);
        check = fma<T>(moved, Vec<T>{}, check);
        store<T>(&next[i], moved);
        for (int m = 0; m < Moments; ++m) {
          check = fma<T>(moment[m], Vec<T>{}, check);
          store<T>(&next_moments[m][i], moment[m]);
        }
      }
      return check;
    }

    void accept(Buffer<T>& weights) {
      std::swap(weights, next);
      std::swap(moments, next_moments);
    }
  };

  void begin(Network<T>& network) {
    if (readout_.next.size() > 0) return;
    cell_.resize(network.weights.size());
    readout_.resize(network.readout.weights().size());
  }

  Group cell_, readout_;
};

}  // namespace elman
