// Which season a series has, where no calendar says it: a clear peak of the autocorrelation of its changes,
// and a multiple of it that stands out among the multiples, as the week does among days.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "archive.hpp"
#include "forecast/calendar.hpp"
#include "forecast/history.hpp"
#include "simd/buffer.hpp"

namespace elman {

class SeasonFinder {
 public:
  SeasonFinder() : changes_(2 * kLags), products_(kLags) {}

  // Takes the change of the series from one row to the next. True if it is time to look.
  bool learn(double change) {
    change = std::clamp(change, -kLargest, kLargest);
    size_ += (std::abs(change) - size_) / std::min(double(count_ + 1), kMemory);
    const double limit = kLimit * size_;
    change = std::clamp(change, -limit, limit);
    // Written twice, so that the last kLags changes are contiguous.
    at_ = (at_ + kLags - 1) % kLags;
    changes_[std::size_t(at_)] = changes_[std::size_t(at_ + kLags)] = change;
    const double* past = changes_.data() + at_;  // past[lag]
    const double keep = 1 - 1 / kMemory;
    for (std::size_t lag = 0; lag < kLags; ++lag) products_[lag] = products_[lag] * keep + change * past[lag];
    ++count_;
    if (count_ < next_look_) return false;
    next_look_ = std::max(count_ + 2, count_ + count_ / 10);
    return true;
  }

  // The seasons now, or those of before where nothing is clearly better.
  Seasons look(const Seasons& former) const {
    const int period = shortest_clear_peak();
    if (period == 0) return former;
    if (former[0].exists() && former[0].period != period &&
        correlation(period) < kBetter * std::max(correlation(former[0].period), 0.0))
      return former;
    Seasons found;
    found[0] = {Cycle::counted, period};
    if (const int multiple = multiple_that_stands_out(period)) found[1] = {Cycle::counted, multiple};
    if (found[0] == former[0] && !found[1].exists()) return former;
    return found;
  }

  void exchange(Archive& archive) {
    const Axis lags{"lag", std::size_t(kLags)};
    const Limits changes = Limits::within(kLargest);
    archive.vector("changes", changes_.data(), {"change", std::size_t(2 * kLags)}, changes);
    archive.vector("products", products_.data(), lags, Limits::within(kMemory * kLargest * kLargest));
    archive.value("changes_at", at_, Limits::up_to(kLags - 1));
    archive.value("changes_count", count_);
    archive.value("changes_size", size_, Limits::up_to(kLargest));
    archive.value("next_look", next_look_);
    archive.require(products_[0] >= 0, "a sum of squares is negative");
  }

 private:
  static constexpr double kLargest = 1e126;  // of a change: products of two are numbers
  static constexpr std::int64_t kLags = 768;
  static constexpr double kMemory = 4000, kLimit = 5, kBetter = 1.3;

  // With its share of the products that a lag has seen.
  double correlation(int lag) const {
    if (lag >= kLags) return 0;  // a season of the calendar may be longer
    const double seen = double(std::max<std::int64_t>(count_ - lag, 1)) / double(count_);
    const double share = count_ < kMemory ? seen : 1;
    return products_[0] > 0 ? products_[std::size_t(lag)] / (products_[0] * share) : 0;
  }

  bool is_peak(int lag) const {
    const int reach = std::min(3, std::max(1, lag / 2));
    for (int other = lag - reach; other <= lag + reach; ++other)
      if (other > 0 && correlation(other) > correlation(lag)) return false;
    return true;
  }

  // Beyond chance, unless it repeats to the bit.
  bool is_clear(int lag) const {
    const double r = correlation(lag);
    if (r < std::max(0.15, 4.5 / std::sqrt(double(count_ - lag))) && !(r > 0.98 && count_ >= 4 * lag + 3))
      return false;
    double lowest = 1;
    for (int other = 1; other < lag; ++other) lowest = std::min(lowest, correlation(other));
    return r - lowest > 0.1;
  }

  int longest() const { return int(std::min<std::int64_t>(kLags - 4, count_ / 3)); }

  int shortest_clear_peak() const {
    double best = 0;
    for (int lag = 2; lag <= longest(); ++lag)
      if (is_peak(lag)) best = std::max(best, correlation(lag));
    for (int lag = 2; lag <= longest(); ++lag)
      if (correlation(lag) > 0.75 * best && is_peak(lag) && is_clear(lag)) return lag;
    return 0;
  }

  int multiple_that_stands_out(int period) const {
    int best = 0;
    double lowest = correlation(period);
    for (int k = 2; k <= 10 && (k + 1) * period <= longest(); ++k) {
      const double r = correlation(k * period);
      const bool peak = r > correlation((k - 1) * period) && r > correlation((k + 1) * period);
      const double margin = std::max(0.06, 2 / std::sqrt(double(count_)));
      if (peak && r - lowest > margin && (best == 0 || r > correlation(best) + 0.03)) best = k * period;
      lowest = std::min(lowest, r);
    }
    return best;
  }

  Buffer<double> changes_, products_;
  std::int64_t at_ = 0, count_ = 0, next_look_ = 8;
  double size_ = 0;
};

}  // namespace elman
