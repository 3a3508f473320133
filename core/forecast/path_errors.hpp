// How the errors of a forecast go together over its steps: those of past forecasts whose rows have all come,
// and how far their sums were off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "archive.hpp"
#include "forecast/uncertainty.hpp"
#include "simd/buffer.hpp"

namespace elman {

class PathErrors {
 public:
  PathErrors(int horizon, std::int64_t remembered)
      : H_(horizon),
        remembered_(remembered),
        errors_(std::size_t(remembered) * horizon),
        sums_(std::size_t(horizon)),
        counts_(std::size_t(horizon)),
        buckets_(std::size_t(horizon)),
        issued_(std::size_t(horizon) * Uncertainty::kIssued),
        sum_(1, horizon) {
    std::fill(errors_.begin(), errors_.end(), NAN);
  }

  // A row becomes an origin, at that time of day; `deviation` is the target's.
  void open(std::int64_t row, int bucket, double deviation) {
    std::fill_n(&errors_[std::size_t(row % remembered_) * H_], H_, NAN);
    const std::size_t at = std::size_t(row % H_);
    sums_[at] = 0;
    counts_[at] = 0;
    buckets_[at] = bucket;
    sum_.issue(0, bucket, H_ * deviation, &issued_[at * Uncertainty::kIssued]);
  }

  // The error of what was forecast at an origin for a row so many steps ahead; `unit` is what it was expected
  // to be about.
  void note(std::int64_t row, int step, double error, double unit, double deviation) {
    if (unit > 0)
      errors_[std::size_t(row % remembered_) * H_ + step] =
          float(std::clamp(error / unit, -kLargest, kLargest));
    const std::size_t at = std::size_t(row % H_);
    sums_[at] = std::clamp(sums_[at] + error, -kAbsurd, kAbsurd);
    if (++counts_[at] == H_)
      sum_.learn(0, int(buckets_[at]), sums_[at], H_ * deviation, &issued_[at * Uncertainty::kIssued]);
  }

  // Errors in the units they were issued in, [..][H]: of forecasts that were made at about this time of day,
  // where there are enough. `rows` have come so far, `period` is that of the day.
  std::vector<double> alike(std::int64_t rows, int period) const {
    std::vector<double> all, alike;
    for (std::int64_t age = H_; age < remembered_ && age < rows; ++age) {
      const float* errors = &errors_[std::size_t((rows - 1 - age) % remembered_) * H_];
      if (std::any_of(errors, errors + H_, [](float e) { return std::isnan(e); })) continue;
      all.insert(all.end(), errors, errors + H_);
      const std::int64_t phase = period > 0 ? age % period : 0;
      if (8 * std::min(phase, period - phase) <= period) alike.insert(alike.end(), errors, errors + H_);
    }
    return alike.size() >= std::size_t(kFewestAlike * H_) ? alike : all;
  }

  // How wide the interval is that holds the sum of all steps with this probability; NaN if nothing is known.
  double width_of_sum(int bucket, double coverage) const {
    const double unit = sum_.unit(0, bucket);
    if (unit < 0) return NAN;
    return unit * (sum_.quantile(0, (1 + coverage) / 2) - sum_.quantile(0, (1 - coverage) / 2));
  }

  void forget_buckets() { sum_.forget_buckets(); }

  void exchange(Archive& archive) {
    const Axis origins{"origin", std::size_t(H_)}, steps{"step", std::size_t(H_)};
    archive.array("past_errors", errors_.data(), {"past", std::size_t(remembered_)}, steps, std::size_t(H_),
                  Limits::within(kLargest).or_unknown());
    archive.vector("path_sums", sums_.data(), origins, Limits::within(kAbsurd));
    archive.vector("path_counts", counts_.data(), origins, Limits::up_to(H_));
    archive.vector("path_buckets", buckets_.data(), origins, Limits::up_to(Uncertainty::kBuckets - 1));
    archive.array("path_issued", issued_.data(), origins, {"quantile", Uncertainty::kIssued},
                  Uncertainty::kIssued, Uncertainty::issued_limits());
    PrefixedArchive sum(archive, "sum.");
    sum_.exchange(sum);
  }

 private:
  static constexpr int kFewestAlike = 60;
  static constexpr double kLargest = 1e6, kAbsurd = 1e110;

  int H_;
  std::int64_t remembered_;
  Buffer<float> errors_;                   // [remembered][step]
  Buffer<double> sums_;                    // of the last H origins: errors so far
  Buffer<std::int64_t> counts_, buckets_;  // of how many steps; the time of day of the origin
  Buffer<float> issued_;                   // what was said of their sums
  Uncertainty sum_;
};

}  // namespace elman
