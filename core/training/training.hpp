// What the rest of the core knows of a training rule.
#pragma once

#include <cstdint>

#include "archive.hpp"
#include "network.hpp"

namespace elman {

template <class T>
class Training {
 public:
  virtual ~Training() = default;

  // Sum over all steps of the squared norm of the projected gradient, equation (7) of the paper; 0 where it
  // has no meaning.
  double local_regret = 0;

  // Brings initial weights into the sets that the steps keep them in.
  virtual void prepare(Network<T>&) {}
  // One update from rows [first, size) of the window, whose newest sample is labelled; t counts labelled
  // samples from 1. The trajectory is that of the current weights; the weights are refreshed here and the
  // trajectory by the caller. A step that would make a weight infinite or NaN is not taken. `smoothness`, if
  // asked for, is that of section IV-A3.
  virtual void update(Network<T>& network, int first, std::int64_t t, double* smoothness) = 0;
  // Walks the state of the rule, such as moments of the gradient.
  virtual void exchange(Archive&, Network<T>&) {}
};

}  // namespace elman
