// Running standardisation of a stream's columns, with no look at the future and no way for one row to spoil
// it.
#pragma once

#include <algorithm>
#include <cmath>

#include "archive.hpp"

namespace elman {

// Mean and variance of one column. Every row counts alike up to `kMemory` rows, then the past fades
// exponentially, so that a stream which drifts for ever is followed for ever. A value far outside what was
// seen moves them no further than one `kOutlier` standard deviations away, and a fault of a sensor no further
// than one of `kLimit`.
struct Moments {
  static constexpr double kMemory = 10000;
  static constexpr double kLimit = 10;      // of what networks see, in standard deviations
  static constexpr double kOutlier = 20;    // in standard deviations
  static constexpr double kOfFeature = 12;  // the same of a feature that is known: networks see no more of it
  static constexpr double kFault = 1000;    // in standard deviations
  static constexpr double kAbsurd = 1e125;  // its square is still a number in fine units, and eight of them
  static constexpr double kFarthest = 1e30;   // in standard deviations; its fourth power is still a number
  static constexpr double kConstant = 1e-15;  // a spread below this share of the mean is rounding

  // Squares are kept in units so fine that those of numbers from 1e-175 to 1e125 are numbers. The unit is a
  // power of two, so that no result depends on it.
  static constexpr double kFine = 9671406556917033397649408.0;  // 2^83

  double count = 0, mean = 0, fine_variance = 0;

  double variance() const { return fine_variance / kFine / kFine; }
  // Whether some values can have led to this.
  bool is_possible() const {
    if (count == 0) return mean == 0 && fine_variance == 0;
    return count >= 1 && count == std::floor(count) && count <= Limits::kLargestCount &&
           std::abs(mean) <= 2 * kAbsurd && is_possible_variance(fine_variance);
  }
  static bool is_possible_variance(double fine) {
    return fine >= 0 && fine <= 8 * (kFine * kAbsurd) * (kFine * kAbsurd);
  }

  double deviation() const { return std::sqrt(fine_variance) / kFine; }

  void observe(double value, double outlier = kOutlier) {
    if (std::isnan(value)) return;
    value = std::clamp(value, -kAbsurd, kAbsurd);
    if (count >= 2 && fine_variance > 0) {
      const double reach = (is_fault(value) ? kLimit : outlier) * deviation();
      value = std::clamp(value, mean - reach, mean + reach);
    }
    count += 1;
    const double weight = 1 / std::min(count, kMemory);
    const double difference = value - mean;
    mean += difference * weight;
    fine_variance += (kFine * difference * (kFine * (value - mean)) - fine_variance) * weight;
  }

  // Whether the column has varied by more than rounding.
  bool varies() const { return count >= 2 && deviation() > kConstant * std::abs(mean); }

  // 0 for an unknown value and for a column that has not varied yet.
  double standardise(double value) const {
    if (std::isnan(value) || !varies()) return 0;
    return std::clamp((value - mean) / deviation(), -kLimit, kLimit);
  }

  // The same for a feature: a value absurdly far away is a fault of a sensor and no better than an unknown
  // one.
  double standardise_feature(double value) const { return is_fault(value) ? 0 : standardise(value); }
  bool is_fault(double value) const { return std::abs(value - mean) > kFault * deviation(); }

  // The same without a limit, for what is compared with answers and not seen by a network.
  double standardise_far(double value) const {
    return varies() ? std::clamp((value - mean) / deviation(), -kFarthest, kFarthest) : 0;
  }

  double restore(double standardised) const { return count > 0 ? mean + deviation() * standardised : 0; }
};

}  // namespace elman
