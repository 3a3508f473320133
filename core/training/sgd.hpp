// Stochastic gradient descent: p <- p - rate g, as torch.optim.SGD.
#pragma once

#include "options.hpp"
#include "training/descent.hpp"

namespace elman {

template <class T>
class SGD final : public Descent<T, SGD<T>, 0> {
 public:
  SGD(const Options& options, const Network<T>& network)
      : Descent<T, SGD<T>, 0>(network), rate_(T(options.number("rate"))) {}

  void begin(std::int64_t) {}
  Vec<T> change(Vec<T> gradient, Vec<T>*) const { return splat(rate_) * gradient; }

 private:
  T rate_;
};

}  // namespace elman
