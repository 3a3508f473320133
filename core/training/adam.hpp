// Adam, as torch.optim.Adam: m <- decay1 m + (1 - decay1) g, v <- decay2 v + (1 - decay2) g²,
// p <- p - rate/(1 - decay1^t) m / (sqrt(v/(1 - decay2^t)) + epsilon).
#pragma once

#include <cmath>
#include <limits>

#include "options.hpp"
#include "training/descent.hpp"

namespace elman {

template <class T>
class Adam final : public Descent<T, Adam<T>, 2> {
 public:
  Adam(const Options& options, const Network<T>& network)
      : Descent<T, Adam<T>, 2>(network),
        rate_(options.number("rate")),
        decays_{options.numbers("decays").at(0), options.numbers("decays").at(1)},
        epsilon_(T(options.number("epsilon"))) {}

  // The second moment is one of squares.
  static Limits limits(int m) {
    return m == 0 ? Limits{} : Limits::up_to(double(std::numeric_limits<T>::max()));
  }

  static constexpr Content content(int m) { return m == 0 ? Content::gradient : Content::squares; }

  static constexpr bool kLeashed = false;  // no step is much longer than the rate

  void begin(std::int64_t t) {
    step_ = T(rate_ / (1 - std::pow(decays_[0], double(t))));
    correction_ = T(1 / (1 - std::pow(decays_[1], double(t))));
  }
  Vec<T> change(Vec<T> gradient, Vec<T>* moments) const {
    moments[0] = fma<T>(splat(T(decays_[0])), moments[0], splat(T(1 - decays_[0])) * gradient);
    moments[1] = fma<T>(splat(T(decays_[1])), moments[1], splat(T(1 - decays_[1])) * gradient * gradient);
    return splat(step_) * moments[0] / (sqrt<T>(splat(correction_) * moments[1]) + splat(epsilon_));
  }

 private:
  double rate_, decays_[2];
  T epsilon_;
  T step_ = 0, correction_ = 0;  // rate and 1/(1 - decay2^t) of the present step
};

}  // namespace elman
