// A mixture that forgets fast and one that forgets slowly, and above them a third that says which of the two
// is right. Errors count in the units of the stream, which do not change when those of the members do.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>

#include "archive.hpp"
#include "combine/mixture.hpp"
#include "simd/buffer.hpp"

namespace elman {

class Trust {
 public:
  static constexpr double kFast = 0.999, kSlow = 0.9999;
  using Layers = std::array<double, 2>;  // what the fast and the slow mixture say

  explicit Trust(const Axis& members)
      : fast_(members, kFast), slow_(members, kSlow), above_({"rate", 2}, kFast), weights_(members.size()) {
    weigh();
  }

  // Of each member in the answer.
  const Buffer<double>& weights() const { return weights_; }

  // In place of a forecast that is NaN, the weighted mean of the others; their mean if none of them is
  // trusted.
  void fill_in(double* forecasts) const {
    double sum = 0, trusted = 0, plain = 0, n = 0;
    for (std::size_t m = 0; m < weights_.size(); ++m) {
      if (std::isnan(forecasts[m])) continue;
      sum += weights_[m] * forecasts[m];
      trusted += weights_[m];
      plain += forecasts[m];
      n += 1;
    }
    if (n == double(weights_.size())) return;
    const double filled = trusted > 0 ? sum / trusted : n > 0 ? plain / n : 0;
    for (std::size_t m = 0; m < weights_.size(); ++m)
      if (std::isnan(forecasts[m])) forecasts[m] = filled;
  }

  Layers layers(const double* forecasts) const {
    return {fast_.combine(forecasts), slow_.combine(forecasts)};
  }
  double combine(const Layers& layers) const { return above_.combine(layers.data()); }

  // Learns what was said and what came, in units of `deviation`.
  void learn(const double* forecasts, const Layers& layers, double mixed, double target, double deviation) {
    keep_unit_near(deviation);
    const double scale = deviation / unit_;
    above_.learn(layers.data(), mixed, target, scale);
    fast_.learn(forecasts, layers[0], target, scale);
    slow_.learn(forecasts, layers[1], target, scale);
    weigh();
  }

  // The targets have got another level or spread for good: who was trusted until now counts no more than a
  // few targets in units of the new deviation will.
  void begin_anew(double deviation) {
    const double size = deviation / unit_;
    for (Mixture* mixture : {&fast_, &slow_, &above_}) mixture->fade(kRemembered * size * size);
    weigh();
  }

  // States of former versions have one mixture, whose sums are in units of `deviation`; 0 for other states.
  void exchange(Archive& archive, double deviation) {
    fast_.exchange(archive, deviation > 0);
    if (deviation > 0) {
      unit_ = deviation;
      slow_.learn_from(fast_);
    } else {
      archive.value("unit_of_regret", unit_);
      archive.require(unit_ > 0, "the unit of the members' regret is not positive");
      PrefixedArchive slow(archive, "slow."), above(archive, "above.");
      slow_.exchange(slow);
      above_.exchange(above);
    }
    weigh();
  }

 private:
  static constexpr double kRemembered = 10;                     // squared deviations
  static constexpr double kLarge = 0x1p100, kSmall = 0x1p-200;  // in between fourth powers are numbers

  // Changes the unit of the sums, by a power of two and only if errors in it would be too large or small.
  void keep_unit_near(double deviation) {
    if (!(deviation > 0) || (deviation < unit_ * kLarge && deviation > unit_ * kSmall)) return;
    const double unit = std::exp2(std::floor(std::log2(deviation)));
    for (Mixture* mixture : {&fast_, &slow_, &above_}) mixture->change_unit(unit_ / unit);
    unit_ = unit;
  }

  void weigh() {
    for (std::size_t m = 0; m < weights_.size(); ++m)
      weights_[m] = above_.weights()[0] * fast_.weights()[m] + above_.weights()[1] * slow_.weights()[m];
  }

  Mixture fast_, slow_, above_;
  double unit_ = 1;  // of the sums, in those of the stream
  Buffer<double> weights_;
};

}  // namespace elman
