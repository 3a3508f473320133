// Where the past has nothing to say: a series that has jumped to where it never was.
//
// Whoever has learned the past expects it to come back, and a step so many rows ahead learns only so many
// rows later that it does not. But the steps before it learn sooner. If a level that has lasted for half as
// long as a forecast reaches was by far the better forecast lately, at this step and those before it, then it
// is expected to last; by far, in squared errors that are usual at the step. Whether that has paid in the
// past, a mixture of two says for all steps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "archive.hpp"
#include "combine/mixture.hpp"
#include "forecast/history.hpp"
#include "simd/buffer.hpp"

namespace elman {

class LastingLevel {
 public:
  // What is said of a step besides the mixture of all members, in the units of the origin.
  struct Lean {
    float level;  // that has lasted
    float share;  // of it in the answer, the rest is the mixture's
    float trust;  // in that

    static constexpr std::size_t kSize = 3;
    double guarded(double mixed) const { return mixed + double(share) * (double(level) - mixed); }
    double answer(double mixed) const { return mixed + double(trust) * (guarded(mixed) - mixed); }
  };

  explicit LastingLevel(int horizon)
      : horizon_(horizon),
        paid_({"way", 2}, std::pow(kDiscount, 1.0 / horizon), 0),
        count_(std::size_t(horizon)),
        gain_(std::size_t(horizon)),
        usual_(std::size_t(horizon)) {}

  // The level for each step: the median of as many of the newest values, an odd number, as make up half of
  // the way. `values` has room for the steps.
  static void levels(const History& history, int horizon, double* values) {
    std::array<double, kMost> sorted;
    const std::int64_t known = std::min<std::int64_t>(history.unbroken(), kMost);
    std::int64_t n = 0;
    for (int h = 1; h <= horizon; ++h) {
      for (const std::int64_t wanted = std::min<std::int64_t>(known, (h / 2) | 1); n < wanted; ++n) {
        const double value = history.value(n);
        auto* const place = std::upper_bound(sorted.data(), sorted.data() + n, value);
        std::copy_backward(place, sorted.data() + n, sorted.data() + n + 1);
        *place = value;
      }
      values[h - 1] = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2] + sorted[n / 2 - 1]) / 2;
    }
  }

  Lean lean(int step, double level) const {
    return {float(level), float(share(step)), float(paid_.weights()[0])};
  }

  void begin_row() { sum_ = 0; }

  // The truth about a row, for its steps in their order: what the mixture said and what was said besides.
  // With g_k what the level would have gained on the mixture at step k,
  //   G_h <- max(kFade G_h + (g_1 + ... + g_h) / h, 0).
  void learn(int step, double mixed, const Lean& said, double target, double scale) {
    const double square = scale * scale, error = mixed - target, other = said.level - target;
    sum_ += std::clamp(square * (error * error - other * other), -kLargest, kLargest);
    gain_[step] = std::max(kFade * gain_[step] + sum_ / (step + 1), 0.0);
    ++count_[step];
    const double limit = count_[step] > kFirst ? kLimit * usual_[step] : kLargest;
    usual_[step] +=
        (std::min(square * error * error, limit) - usual_[step]) * std::max(1 / double(count_[step]), kRate);
    const std::array<double, 2> ways = {said.guarded(mixed), mixed};
    paid_.learn(ways.data(), said.answer(mixed), target, scale);
  }

  // Everybody begins anew.
  void forget() { std::fill(gain_.begin(), gain_.end(), 0.0); }

  void exchange(Archive& archive) {
    PrefixedArchive own(archive, "level.");
    const Axis steps{"step", std::size_t(horizon_)};
    own.vector("learned", count_.data(), steps);
    own.vector("gain", gain_.data(), steps, Limits::up_to(kLargest / (1 - kFade)));
    own.vector("usual_error", usual_.data(), steps, Limits::up_to(kLargest));
    paid_.exchange(own);
  }

 private:
  static constexpr double kDiscount = 0.9998;          // of a row, as that of the mixtures of members
  static constexpr double kFade = 0.95;                // of what was gained
  static constexpr double kFar = 6 / (1 - kFade);      // usual squared errors, the gain that half convinces
  static constexpr double kRate = 0.001, kLimit = 20;  // of the usual squared error
  static constexpr std::int64_t kFirst = 50;
  static constexpr std::int64_t kMost = 25;  // values whose median is a level; an odd number
  static constexpr double kLargest = 1e40;

  double share(int step) const {
    if (!(gain_[step] > 0)) return 0;
    const double doubt = kFar * usual_[step] / gain_[step];
    return 1 / (1 + doubt * doubt);
  }

  int horizon_;
  Mixture paid_;  // of leaning to the level and of not doing it
  Buffer<std::int64_t> count_;
  Buffer<double> gain_, usual_;
  double sum_ = 0;  // of what was gained at the steps of a row so far
};

}  // namespace elman
