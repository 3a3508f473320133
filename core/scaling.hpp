// Running standardisation of a stream's columns, with no look at the future and no way for one row to spoil
// it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "archive.hpp"
#include "buffer.hpp"

namespace elman {

// Mean and variance of one column. Every row counts alike up to `kMemory` rows, then the past fades
// exponentially, so that a stream which drifts for ever is followed for ever. A value far outside what was
// seen moves them no further than one `kLimit` standard deviations away.
struct Moments {
  static constexpr double kMemory = 10000;
  static constexpr double kLimit = 10;        // in standard deviations
  static constexpr double kAbsurd = 1e100;    // its square is still a number
  static constexpr double kConstant = 1e-12;  // a spread below this share of the mean is rounding

  double count = 0, mean = 0, variance = 0;

  double deviation() const { return std::sqrt(variance); }

  void observe(double value) {
    if (std::isnan(value)) return;
    value = std::clamp(value, -kAbsurd, kAbsurd);
    if (count >= 2 && variance > 0) {
      const double reach = kLimit * deviation();
      value = std::clamp(value, mean - reach, mean + reach);
    }
    count += 1;
    const double weight = 1 / std::min(count, kMemory);
    const double difference = value - mean;
    mean += difference * weight;
    variance += (difference * (value - mean) - variance) * weight;
  }

  // Whether the column has varied by more than rounding.
  bool varies() const { return count >= 2 && deviation() > kConstant * std::abs(mean); }

  // 0 for an unknown value and for a column that has not varied yet.
  double standardise(double value) const {
    if (std::isnan(value) || !varies()) return 0;
    return std::clamp((value - mean) / deviation(), -kLimit, kLimit);
  }

  double restore(double standardised) const { return count > 0 ? mean + deviation() * standardised : 0; }
};

inline void exchange_moments(Archive& archive, const char* name, std::vector<Moments>& moments) {
  static_assert(sizeof(Moments) == 3 * sizeof(double));
  archive.array(name, reinterpret_cast<double*>(moments.data()), moments.size(), 3, 3);
}

}  // namespace elman
