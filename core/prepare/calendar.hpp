// What a date is to a network: where in the day, the week and the year it lies, as sine and cosine, so that
// no midnight makes a jump. A cycle is shown once the stream has gone through half of it, as until then it is
// but a trend, and if its rows are close enough together to follow it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "archive.hpp"

namespace elman {

class Calendar {
 public:
  static constexpr double kDay = 86400;

  // Without a time of day there is no cycle of the day.
  explicit Calendar(bool has_clock) : has_clock_(has_clock) {}

  int width() const { return has_clock_ ? 6 : 4; }

  // Takes in a date, seconds since 1970 of the clock on the wall; NaN is a missing one.
  void observe(double seconds) {
    if (std::isnan(seconds)) return;
    earliest_ = count_ == 0 ? seconds : std::min(earliest_, seconds);
    latest_ = count_ == 0 ? seconds : std::max(latest_, seconds);
    ++count_;
  }

  // Writes `width` numbers, NaN for cycles that are not shown.
  void code(double seconds, double* out) const {
    const double days =
        std::isnan(seconds) ? 0 : std::floor(std::clamp(seconds, -kFarthest, kFarthest) / kDay);
    const double day = std::clamp(seconds / kDay - days, 0.0, 1.0);
    if (has_clock_) out = wave(day, kDay, seconds, out);
    const double weekday =
        days + 3 - 7 * std::floor((days + 3) / 7);  // from Monday; 1970 began on a Thursday
    out = wave((weekday + day) / 7, 7 * kDay, seconds, out);
    const Year year = year_of(std::int64_t(days));
    wave((days - double(year.first) + day) / double(year.length), 365.2425 * kDay, seconds, out);
  }

  void exchange(Archive& archive, const std::string& name) {
    archive.value(name + ".count", count_);
    archive.value(name + ".earliest", earliest_);
    archive.value(name + ".latest", latest_);
    if (earliest_ > latest_) throw std::invalid_argument("the earliest date is later than the latest");
  }

 private:
  static constexpr double kFarthest = 1e12;  // about 30,000 years

  struct Year {
    std::int64_t first, length;  // its first day, counted from 1970, and its days
  };

  // In the Gregorian calendar: 400 years have 146,097 days.
  static Year year_of(std::int64_t days) {
    std::int64_t year = 1970 + std::int64_t(std::floor(double(days) / 365.2425));
    if (days < first_of(year)) --year;
    if (days >= first_of(year + 1)) ++year;
    return {first_of(year), first_of(year + 1) - first_of(year)};
  }
  static std::int64_t first_of(std::int64_t year) {
    const std::int64_t past = year - 1;
    const auto leaps = [](std::int64_t y) { return floored(y, 4) - floored(y, 100) + floored(y, 400); };
    return 365 * (year - 1970) + leaps(past) - leaps(1969);
  }
  static std::int64_t floored(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

  double* wave(double phase, double period, double seconds, double* out) const {
    constexpr double kPi = 3.14159265358979323846;
    const double span = latest_ - earliest_;
    const bool shown = !std::isnan(seconds) && 2 * span >= period && 2 * span <= period * double(count_ - 1);
    out[0] = shown ? std::sin(2 * kPi * phase) : std::numeric_limits<double>::quiet_NaN();
    out[1] = shown ? std::cos(2 * kPi * phase) : std::numeric_limits<double>::quiet_NaN();
    return out + 2;
  }

  bool has_clock_;
  std::int64_t count_ = 0;
  double earliest_ = 0, latest_ = 0;
};

}  // namespace elman
