// Who is trusted at one step ahead: convex weights for several forecasts, learned from issued ones.
//
// ML-Poly of Gaillard, Stoltz and van Erven (2014), "A second-order bound with excess losses", on the
// gradient of the squared loss at the forecast that was issued, with discounted sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "archive.hpp"
#include "simd/buffer.hpp"

namespace elman {

class StepTrust {
 public:
  explicit StepTrust(const Axis& members)
      : members_(members), regret_(members.size()), variation_(members.size()), weights_(members.size()) {
    weigh();
  }

  const Buffer<double>& weights() const { return weights_; }

  double combine(const double* forecasts) const {
    double sum = 0;
    for (std::size_t m = 0; m < weights_.size(); ++m) sum += weights_[m] * forecasts[m];
    return sum;
  }

  // With r_m what would have been gained, to first order, by trusting member m instead of what was issued:
  // in units of `scale`,
  //   R_m <- g R_m + r_m,  V_m <- g V_m + r_m^2,  weight_m ~ max(R_m, 0) / (B + V_m).
  void learn(const double* forecasts, double issued, double target, double scale) {
    const double slope = 2 * (issued - target) * scale * scale;
    for (std::size_t m = 0; m < regret_.size(); ++m) {
      double r = slope * (issued - forecasts[m]);
      r = std::isnan(r) ? 0 : std::clamp(r, -kLargestGain, kLargestGain);
      regret_[m] = kDiscount * regret_[m] + r;
      variation_[m] = kDiscount * variation_[m] + r * r;
      range_ = std::max(range_, std::abs(r));
    }
    weigh();
  }

  void exchange(Archive& archive) {
    archive.vector("regret", regret_.data(), members_);
    archive.vector("variation", variation_.data(), members_,
                   Limits::up_to(kMostGains * kLargestGain * kLargestGain));
    archive.value("range", range_, Limits::up_to(kLargestGain));
    for (const double regret : regret_)
      archive.require(std::abs(regret) <= kMostGains * range_, "a regret is larger than its gains");
    weigh();
  }

 private:
  static constexpr double kDiscount = 0.9997;
  static constexpr double kMostGains = 1.01 / (1 - kDiscount);  // that a discounted sum may come to
  static constexpr double kLargestGain = 1e100;

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
  Buffer<double> regret_, variation_, weights_;
  double range_ = 0;
};

}  // namespace elman
