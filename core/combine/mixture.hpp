// Who is trusted: convex weights for several forecasts of one target, learned online.
//
// ML-Poly of Gaillard, Stoltz and van Erven (2014), "A second-order bound with excess losses", on the
// gradient of the squared loss, with discounted sums. Its regret is bounded whatever the data, see
// docs/committee.md.
#pragma once

#include <algorithm>
#include <cmath>

#include "archive.hpp"
#include "simd/buffer.hpp"

namespace elman {

class Mixture {
 public:
  Mixture(const Axis& members, double discount, double distance = kDistance)
      : members_(members),
        discount_(discount),
        distance_(distance),
        regret_(members.size()),
        variation_(members.size()),
        weights_(members.size()) {
    weigh();
  }

  const Buffer<double>& weights() const { return weights_; }

  double combine(const double* forecasts) const {
    double sum = 0;
    for (std::size_t m = 0; m < weights_.size(); ++m) sum += weights_[m] * forecasts[m];
    return sum;
  }

  // With r_m what would have been gained, to first order and less a share of the distance, by trusting member
  // m instead of the mixture:
  //   r_m = 2 (p - y) (p - f_m) - kDistance (p - f_m)^2,
  //   R_m <- g R_m + r_m,  V_m <- g V_m + r_m^2,  weight_m ~ max(R_m, 0) / (B + V_m),
  //   B <- max(g B, max r^2),  C <- max(kQuick C, max r^2).
  // An r beyond the range C that was seen lately is brought back to it: no single sample decides. `mixed` is
  // what was said at the time; everything is in units that are `scale` units of the sums.
  void learn(const double* forecasts, double mixed, double target, double scale) {
    const double square = scale * scale, slope = 2 * square * (mixed - target);
    const auto gain = [&](double forecast) {
      const double distance = mixed - forecast;
      return slope * distance - distance_ * square * distance * distance;
    };
    double largest = 0;
    for (std::size_t m = 0; m < regret_.size(); ++m)
      largest = std::max(largest, std::abs(gain(forecasts[m])));
    const double shrink = largest * largest > recent_range_ ? std::sqrt(recent_range_) / largest : 1;
    for (std::size_t m = 0; m < regret_.size(); ++m) {
      const double r = shrink * gain(forecasts[m]);
      regret_[m] = discount_ * regret_[m] + r;
      variation_[m] = discount_ * variation_[m] + r * r;
    }
    range_ = std::max(discount_ * range_, largest * largest);
    recent_range_ = std::max(kQuick * recent_range_, largest * largest);
    weigh();
  }

  // Which share of the distance is taken off what is gained, see `learn`.
  void set_distance(double share) { distance_ = share; }

  // As at the beginning.
  void forget() {
    std::fill(regret_.begin(), regret_.end(), 0.0);
    std::fill(variation_.begin(), variation_.end(), 0.0);
    range_ = recent_range_ = 0;
    weigh();
  }

  // The unit of the sums changes: what was 1 is `factor` from now on. Sums stay numbers.
  void change_unit(double factor) {
    const double square = std::min(factor * factor, kLargestRegret);
    for (double& regret : regret_) regret = std::clamp(regret * square, -kLargestRegret, kLargestRegret);
    for (double& variation : variation_) variation = in_unit(variation, square);
    range_ = in_unit(range_, square);
    recent_range_ = in_unit(recent_range_, square);
    weigh();
  }

  // Discounts the past so far that no regret is larger than `largest`.
  void fade(double largest) {
    double regret = 0;
    for (const double each : regret_) regret = std::max(regret, std::abs(each));
    if (regret <= largest) return;
    for (double& each : regret_) each *= largest / regret;
    for (double& each : variation_) each *= largest / regret;
    range_ *= largest / regret;
    recent_range_ *= largest / regret;
    weigh();
  }

  // States of `former` versions have one range for both.
  void exchange(Archive& archive, bool former = false) {
    const Limits squares = Limits::up_to(kLargestRegret * kLargestRegret);
    archive.vector("regret", regret_.data(), members_, Limits::within(kLargestRegret));
    archive.vector("variation", variation_.data(), members_, squares);
    archive.value("range", range_, squares);
    if (former)
      recent_range_ = range_;
    else
      archive.value("recent_range", recent_range_, squares);
    archive.require(recent_range_ <= range_, "what was gained lately is larger than ever");
    // By Cauchy and Schwarz R² <= V / (1 - g).
    for (std::size_t m = 0; m < regret_.size(); ++m)
      archive.require(regret_[m] * regret_[m] * (1 - discount_) <= 1.001 * variation_[m],
                      "a member's regret is larger than its variation allows");
    weigh();
  }

  // Takes over what another mixture of the same members has seen.
  void learn_from(const Mixture& other) {
    regret_ = other.regret_;
    variation_ = other.variation_;
    range_ = other.range_;
    recent_range_ = other.recent_range_;
    weigh();
  }

 private:
  static constexpr double kDistance = 0.03;  // of what is gained by averaging that is not believed
  static constexpr double kQuick = 0.998;    // what the range within which a sample counts forgets with

  static constexpr double kLargestRegret = 1e140;  // its square is still a number

  static double in_unit(double squares, double square) {
    return std::min(squares * square * square, kLargestRegret * kLargestRegret);
  }

  void weigh() {
    double sum = 0;
    for (std::size_t m = 0; m < regret_.size(); ++m) {
      const double scale = range_ + variation_[m];
      weights_[m] = regret_[m] > 0 && scale > 0 ? regret_[m] / scale : 0;
      sum += weights_[m];
    }
    for (double& w : weights_) w = sum > 0 ? w / sum : 1 / double(weights_.size());
  }

  Axis members_;
  double discount_, distance_;
  Buffer<double> regret_, variation_, weights_;
  double range_ = 0, recent_range_ = 0;
};

}  // namespace elman
