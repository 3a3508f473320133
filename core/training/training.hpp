// What the rest of the core knows of a training rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "archive.hpp"
#include "network.hpp"
#include "rescale.hpp"

namespace elman {

template <class T>
class Training {
 public:
  virtual ~Training() = default;

  // Brings initial weights into the sets that the steps keep them in.
  virtual void prepare(Network<T>&) {}
  // One update of `network.trained` from rows [first, size) of the window, whose newest sample is labelled; t
  // counts labelled samples from 1. The trajectory is that of the current weights; the network is refreshed
  // here and the trajectory by the caller. A step that would make a weight NaN, or larger than it may be, is
  // not taken.
  virtual void update(Network<T>& network, int first, std::int64_t t) = 0;
  // The units of inputs and outputs have changed, and the weights with them: so does what is remembered of
  // them.
  virtual void rescale(const UnitChanges&, Network<T>&) {}
  // Walks the memory of the rule, such as moments of the gradient.
  virtual void exchange(Archive&, Network<T>&) {}
  // Sum over all steps of the squared norm of the projected gradient, equation (7) of the paper; NaN where it
  // has no meaning.
  virtual double local_regret() const { return std::numeric_limits<double>::quiet_NaN(); }
};

// Adds to a sum that stays 0 as long as every weight is finite and at most kLargestWeight in size.
template <class T>
ELMAN_INLINE Vec<T> checked(Vec<T> weights, Vec<T> check) {
  constexpr T kOverflows = T(std::numeric_limits<T>::max() / kLargestWeight);
  return fma<T>(splat(kOverflows) * weights, Vec<T>{}, check);
}

// A number for every trained weight, 0 at first: what a rule remembers of it.
template <class T>
class Memory {
 public:
  explicit Memory(const Network<T>& network) {
    for (const Parameters<T>* group : network.trained) arrays_.emplace_back(group->weights.size());
  }

  std::size_t size() const { return arrays_.size(); }  // groups, in the order of network.trained
  Buffer<T>& operator[](std::size_t group) { return arrays_[group]; }
  void clear() {
    for (Buffer<T>& array : arrays_) std::fill(array.begin(), array.end(), T(0));
  }

  void rescale(Content content, const UnitChanges& changes, const Network<T>& network) {
    for (std::size_t g = 0; g < arrays_.size(); ++g)
      elman::rescale(*network.trained[g], arrays_[g], content, changes);
  }

  void exchange(Archive& archive, const std::string& prefix, const Network<T>& network, Limits limits = {}) {
    for (std::size_t g = 0; g < arrays_.size(); ++g)
      network.trained[g]->exchange(archive, prefix, arrays_[g], limits);
  }

 private:
  std::vector<Buffer<T>> arrays_;
};

}  // namespace elman
