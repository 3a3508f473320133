// Has the stream changed? The test of Page and Hinkley on the errors of a forecast.
#pragma once

#include <algorithm>
#include <cstdint>

#include "archive.hpp"

namespace elman {

class DriftMeter {
 public:
  std::int64_t alarms() const { return alarms_; }
  std::int64_t last_alarm() const {
    return last_alarm_;
  }  // number of the sample, from 1; 0 if there was none

  // Takes the squared error of sample t. An alarm is raised when the errors have exceeded their mean,
  // together and beyond what is tolerated, by more than chance explains; then everything starts anew.
  void learn(double squared_error, std::int64_t t) {
    ++count_;
    if (count_ > 1) squared_error = std::min(squared_error, kLimit * mean_);
    mean_ += (squared_error - mean_) / double(count_);
    if (count_ < kSettled || mean_ <= 0) return;
    excess_ = std::max(0.0, excess_ + squared_error / mean_ - 1 - kTolerance);
    if (excess_ < kThreshold) return;
    ++alarms_;
    last_alarm_ = t;
    excess_ = mean_ = 0;
    count_ = 0;
  }

  void exchange(Archive& archive) {
    archive.value("drift_mean", mean_);
    archive.value("drift_excess", excess_);
    archive.value("drift_count", count_);
    archive.value("drift_alarms", alarms_);
    archive.value("drift_last_alarm", last_alarm_);
  }

 private:
  static constexpr double kTolerance = 0.25, kThreshold = 100, kLimit = 20;  // in units of the mean error
  static constexpr std::int64_t kSettled = 500;                              // samples before the first alarm

  double mean_ = 0, excess_ = 0;
  std::int64_t count_ = 0, alarms_ = 0, last_alarm_ = 0;
};

}  // namespace elman
