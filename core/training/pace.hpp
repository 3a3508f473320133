// How a gradient becomes the direction of a step: momentum, and rates of each weight's own.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "options.hpp"
#include "simd/buffer.hpp"
#include "simd/lane.hpp"
#include "training/training.hpp"

namespace elman {

// With g the gradient: m <- momentum m + g, and d = m, or with Nesterov's look ahead d = g + momentum m. If
// rates are adaptive, v <- v + g² (AdaGrad) or v <- decay v + (1 - decay) g², corrected as in Adam for its
// start from 0, and the direction is d / (sqrt(v) + epsilon); otherwise it is d.
template <class T>
class Pace {
 public:
  Pace(const Options& options, const Parameters<T>& group)
      : momentum_(options.number("momentum")),
        nesterov_(options.integer("nesterov") != 0),
        adaptive_(Adaptive(options.integer("adaptive"))),
        moments_{memory(group, momentum_ > 0), memory(group, adaptive_ != Adaptive::no)},
        next_(moments_) {}

  // Whether the direction is the gradient.
  bool is_plain() const { return momentum_ == 0 && adaptive_ == Adaptive::no; }

  // to <- weights - rate direction, where the gradient is the group's over `samples`; returns a sum that is 0
  // unless something is infinite or NaN. `accept` makes the memory follow.
  Vec<T> move(const Parameters<T>& group, int samples, double rate, std::int64_t t, Buffer<T>& to) {
    const T share = T(1) / T(samples), correction = T(1 / (1 - std::pow(kDecay, double(t))));
    Vec<T> check = {};
    for (std::size_t i = 0; i < to.size(); i += kLanes<T>) {
      const Vec<T> g = splat(share) * load<T>(&group.gradient[i]);
      Vec<T> direction = g;
      if (momentum_ > 0) {
        const Vec<T> m = fma<T>(splat(T(momentum_)), load<T>(&moments_.mean[i]), g);
        direction = nesterov_ ? fma<T>(splat(T(momentum_)), m, g) : m;
        check = fma<T>(m, Vec<T>{}, check);
        store<T>(&next_.mean[i], m);
      }
      if (adaptive_ != Adaptive::no) {
        const bool fades = adaptive_ == Adaptive::adam;
        const Vec<T> before = load<T>(&moments_.square[i]);
        const Vec<T> v =
            fades ? fma<T>(splat(T(kDecay)), before, splat(T(1 - kDecay)) * g * g) : before + g * g;
        direction = direction / (sqrt<T>(fades ? splat(correction) * v : v) + splat(T(kEpsilon)));
        check = fma<T>(v, Vec<T>{}, check);
        store<T>(&next_.square[i], v);
      }
      const Vec<T> moved = fma<T>(splat(T(-rate)), direction, load<T>(&group.weights[i]));
      check = checked<T>(moved, check);
      store<T>(&to[i], moved);
    }
    return check;
  }

  void accept() { std::swap(moments_, next_); }

  void rescale(const UnitChanges& changes, const Parameters<T>& group) {
    if (momentum_ > 0) elman::rescale(group, moments_.mean, Content::gradient, changes);
    if (adaptive_ != Adaptive::no) elman::rescale(group, moments_.square, Content::squares, changes);
  }

  void exchange(Archive& archive, const Parameters<T>& group) {
    if (momentum_ > 0) group.exchange(archive, "momentum.", moments_.mean, {});
    const Limits squares = Limits::up_to(double(std::numeric_limits<T>::max()));
    if (adaptive_ != Adaptive::no) group.exchange(archive, "square.", moments_.square, squares);
  }

 private:
  enum class Adaptive { no, adagrad, adam };
  struct Moments {
    Buffer<T> mean, square;
  };
  static constexpr double kDecay = 0.999, kEpsilon = 1e-8;  // Adam's usual ones

  static Buffer<T> memory(const Parameters<T>& group, bool kept) {
    return Buffer<T>(kept ? group.weights.size() : 0);
  }

  double momentum_;
  bool nesterov_;
  Adaptive adaptive_;
  Moments moments_, next_;
};

}  // namespace elman
