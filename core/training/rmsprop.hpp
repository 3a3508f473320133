// RMSprop: v <- decay v + (1 - decay) g², p <- p - rate g/(sqrt(v) + epsilon), as torch.optim.RMSprop.
#pragma once

#include <limits>

#include "options.hpp"
#include "training/descent.hpp"

namespace elman {

template <class T>
class RMSprop final : public Descent<T, RMSprop<T>, 1> {
 public:
  RMSprop(const Options& options, const Network<T>& network)
      : Descent<T, RMSprop<T>, 1>(network),
        rate_(T(options.number("rate"))),
        decay_(T(options.number("decay"))),
        innovation_(T(1 - options.number("decay"))),
        epsilon_(T(options.number("epsilon"))) {}

  static Limits limits(int) { return Limits::up_to(double(std::numeric_limits<T>::max())); }

  static constexpr Content content(int) { return Content::squares; }

  static constexpr bool kLeashed = false;  // no step is much longer than the rate

  void begin(std::int64_t) {}
  Vec<T> change(Vec<T> gradient, Vec<T>* moments) const {
    moments[0] = fma<T>(splat(decay_), moments[0], splat(innovation_) * gradient * gradient);
    return splat(rate_) * gradient / (sqrt<T>(moments[0]) + splat(epsilon_));
  }

 private:
  T rate_, decay_, innovation_, epsilon_;
};

}  // namespace elman
