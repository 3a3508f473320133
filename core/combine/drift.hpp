// Has the stream changed? The test of Page and Hinkley on the errors of a forecast.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

#include "archive.hpp"

namespace elman {

class DriftMeter {
 public:
  std::int64_t alarms() const { return alarms_; }
  std::int64_t last_alarm() const {
    return last_alarm_;
  }  // number of the sample, from 1; 0 if there was none

  static constexpr double kLargestError = 1e200;  // that is noted; what is larger is no worse

  // Whether this can be after so many samples, of which so many had an error.
  bool is_possible(std::int64_t samples, std::int64_t errors) const {
    return last_alarm_ <= samples && alarms_ <= errors && count_ <= errors;
  }

  // A change of the stream: the sample at which it was noticed, and how many times larger errors had become.
  struct Change {
    std::int64_t sample;
    double size;
  };
  // The newest ones, the oldest first.
  const std::vector<Change>& changes() const { return changes_; }

  // Takes the squared error of sample t. An alarm is raised when the errors have exceeded their mean,
  // together and beyond what is tolerated, by more than chance explains; then everything starts anew.
  void learn(double squared_error, std::int64_t t) {
    ++count_;
    if (count_ > 1) squared_error = std::min(squared_error, kLimit * mean_);
    mean_ += (squared_error - mean_) / double(count_);
    if (count_ < kSettled || mean_ <= 0) return;
    excess_ = std::max(0.0, excess_ + squared_error / mean_ - 1 - kTolerance);
    rising_ = excess_ > 0 ? rising_ + 1 : 0;
    if (excess_ < kThreshold) return;
    ++alarms_;
    last_alarm_ = t;
    note(t);
    excess_ = mean_ = 0;
    count_ = rising_ = 0;
  }

  void exchange(Archive& archive) {
    archive.value("drift_mean", mean_, Limits::up_to(kLargestError));
    archive.value("drift_excess", excess_, Limits::up_to(kThreshold));
    archive.value("drift_count", count_);
    archive.value("drift_alarms", alarms_);
    archive.value("drift_last_alarm", last_alarm_);
    if (archive.has_part("drift_rising", true)) exchange_changes(archive);
  }

 private:
  void note(std::int64_t t) try {
    if (changes_.size() == kMost) changes_.erase(changes_.begin());
    changes_.push_back({t, std::sqrt(1 + kTolerance + excess_ / double(rising_))});
  } catch (const std::bad_alloc&) {
    // Without memory it is counted and not listed: a row that was learned is learned.
  }

  void exchange_changes(Archive& archive) {
    archive.value("drift_rising", rising_);
    archive.require(rising_ <= count_, "errors have been rising for longer than there were any");
    std::int64_t n = std::int64_t(changes_.size());
    archive.value("drift_changes", n);
    if (n < 0 || n > std::int64_t(kMost)) throw std::invalid_argument("there are too many changes");
    changes_.resize(std::size_t(n));
    std::vector<std::int64_t> samples;
    std::vector<double> sizes;
    for (const Change& change : changes_) {
      samples.push_back(change.sample);
      sizes.push_back(change.size);
    }
    archive.vector("drift_samples", samples.data(), {"change", std::size_t(n)});
    archive.vector("drift_sizes", sizes.data(), {"change", std::size_t(n)}, Limits::up_to(kLargestError));
    for (std::size_t i = 0; i < changes_.size(); ++i) changes_[i] = {samples[i], sizes[i]};
  }

  static constexpr double kTolerance = 0.25, kThreshold = 100, kLimit = 20;  // in units of the mean error
  static constexpr std::int64_t kSettled = 500;                              // samples before the first alarm

  static constexpr std::size_t kMost = 1000;  // changes that are remembered

  double mean_ = 0, excess_ = 0;
  std::int64_t count_ = 0, alarms_ = 0, last_alarm_ = 0;
  std::int64_t rising_ = 0;  // samples since there was no excess
  std::vector<Change> changes_;
};

}  // namespace elman
