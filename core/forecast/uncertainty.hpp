// How wrong a forecast so many steps ahead will be: quantiles of its errors, for every step, in units of the
// recent errors of that step and of the time of day.
//
// Each quantile moves up when an error lies above it and down when one does not, in proportion to its level:
// online conformal prediction (Gibbs and Candes 2021). An error is judged in the units in which its forecast
// was issued, h steps before.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "archive.hpp"
#include "simd/buffer.hpp"

namespace elman {

class Uncertainty {
 public:
  static constexpr std::size_t kLevels = 13;
  static constexpr int kBuckets = 48;
  static constexpr std::array<double, kLevels> kLevel = {0.005, 0.01, 0.025, 0.05,  0.1,  0.25, 0.5,
                                                         0.75,  0.9,  0.95,  0.975, 0.99, 0.995};

  // Of errors at each of so many steps, the first of which becomes known `delay` rows after its forecast.
  explicit Uncertainty(int horizon, int delay = 1)
      : horizon_(horizon),
        delay_(delay),
        count_(horizon),
        size_(horizon),
        quantiles_(std::size_t(horizon) * kLevels),
        shares_(std::size_t(horizon) * kBuckets) {
    for (int h = 0; h < horizon; ++h)
      for (std::size_t j = 0; j < kLevels; ++j)
        quantiles_[h * kLevels + j] = kFirstWidth * normal_quantile(kLevel[j]);
    forget_buckets();
  }

  // The unit of an error `step` (0 for the next row) at that time of day; 0 if all were 0, -1 if nothing is
  // known yet.
  double unit(int step, int bucket) const {
    const int known = experienced(step);
    if (known < 0) return -1;
    return size_[known] * std::sqrt(double(step + 1) / double(known + 1)) * share(known, bucket);
  }

  // The error below which a share of `level` of the errors is expected, in that unit.
  double quantile(int step, double level) const {
    const std::array<double, kLevels> q = ordered(step);
    const double z = normal_quantile(level);
    std::size_t j = 1;
    while (j + 1 < kLevels && kLevel[j] < level) ++j;
    const double left = normal_quantile(kLevel[j - 1]), right = normal_quantile(kLevel[j]);
    return q[j - 1] + (z - left) / (right - left) * (q[j] - q[j - 1]);
  }

  // What a forecast is issued with: the unit of its error, in deviations of the target at that time, and in
  // that unit the quantiles.
  static constexpr std::size_t kIssued = 1 + kLevels;
  void issue(int step, int bucket, double deviation, float* out) const {
    const double size = unit(step, bucket);
    *out++ = size < 0 ? -1 : float(std::min(size / deviation, kLargestUnit));
    const std::array<double, kLevels> q = ordered(step);
    std::copy(q.begin(), q.end(), out);
  }

  static Limits issued_limits() { return {-kLargestQuantile, kLargestUnit}; }

  // Learns the error of a forecast and what it was issued with.
  void learn(int step, int bucket, double error, double deviation, const float* issued) {
    error = std::clamp(error, -kAbsurd, kAbsurd);
    double* q = quantiles_.data() + step * kLevels;
    const double size = size_[step], unit = issued[0] * deviation;
    if (unit > 0 && count_[step] >= kFirst) {
      const double z = error / unit;
      // While h forecasts are open all of their errors are judged by about the same quantiles.
      const double early = std::min(std::pow(double(count_[step]), -0.6), kMostOpen / (step + delay_));
      const double rate = std::max(kRate, early);
      for (std::size_t j = 0; j < kLevels; ++j)
        q[j] = std::clamp(q[j] + rate * (kLevel[j] - (z <= issued[1 + j] ? 1 : 0)), -kLargestQuantile,
                          kLargestQuantile);
    }
    if (size > 0) {
      double& share = shares_[std::size_t(step) * kBuckets + bucket];
      share += kShareRate * (std::min(std::abs(error) / size, kLimit) - share);
    }
    ++count_[step];
    const double weight = std::max(1 / double(count_[step]), kFade);
    // After nothing but zeros an error counts up to the deviation of the target.
    const double limit = count_[step] > kFirst ? std::max(kLimit * size, deviation) : HUGE_VAL;
    size_[step] += weight * (std::min(std::abs(error), limit) - size);
  }

  // The times of day have got another meaning.
  void forget_buckets() { std::fill(shares_.begin(), shares_.end(), 1.0); }

  void exchange(Archive& archive) {
    const Axis steps{"step", std::size_t(horizon_)};
    archive.vector("error_counts", count_.data(), steps);
    archive.vector("error_sizes", size_.data(), steps, Limits::up_to(kAbsurd));
    archive.array("error_quantiles", quantiles_.data(), steps, {"level", kLevels}, kLevels,
                  Limits::within(kLargestQuantile));
    archive.array("error_shares", shares_.data(), steps, {"time of day", kBuckets}, kBuckets,
                  Limits::up_to(kLimit));
  }

 private:
  static constexpr std::int64_t kFirst = 4;
  // Of a normal distribution it would be 1.25; while sizes of errors are learned, too, tails are heavier.
  static constexpr double kFirstWidth = 1.5;
  static constexpr double kRate = 0.02, kMostOpen = 1.5, kFade = 0.01, kShareRate = 0.04, kLimit = 10;
  static constexpr double kSmallestShare = 0.1, kAbsurd = 1e110;
  static constexpr double kLargestUnit = 1e9, kLargestQuantile = 1e4;

  // The quantiles as they are issued: those further out never lie within the others.
  std::array<double, kLevels> ordered(int step) const {
    std::array<double, kLevels> q;
    std::copy_n(quantiles_.data() + std::max(experienced(step), 0) * kLevels, kLevels, q.begin());
    for (std::size_t j = kLevels / 2; j-- > 0;) q[j] = std::min(q[j], q[j + 1]);
    for (std::size_t j = kLevels / 2 + 1; j < kLevels; ++j) q[j] = std::max(q[j], q[j - 1]);
    return q;
  }

  double share(int step, int bucket) const {
    return std::max(shares_[std::size_t(step) * kBuckets + bucket], kSmallestShare);
  }

  // The furthest step up to this one that errors are known of; -1 if there is none.
  int experienced(int step) const {
    while (step >= 0 && count_[step] < kFirst) --step;
    return step;
  }

  // Of the standard normal distribution, to three digits (Abramowitz and Stegun 26.2.23).
  static double normal_quantile(double p) {
    const double q = std::max(std::min(p, 1 - p), 1e-17), t = std::sqrt(-2 * std::log(q));
    const double z =
        t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    return p < 0.5 ? -std::max(z, 0.0) : std::max(z, 0.0);
  }

  int horizon_, delay_;
  Buffer<std::int64_t> count_;
  Buffer<double> size_, quantiles_, shares_;
};

}  // namespace elman
