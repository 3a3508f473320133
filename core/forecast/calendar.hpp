// Where in its day, week or year a row stands. Stamps are seconds of the wall clock since 1970-01-01.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "archive.hpp"

namespace elman {

// What repeats: a number of rows, or a span of the calendar.
enum class Cycle : std::int64_t { none, counted, day, week, year };

constexpr double kDay = 86400, kWeek = 7 * kDay, kMostDays = 1e14;

// Share of the year that has passed, by the Gregorian calendar.
inline double share_of_year(double time) {
  const double days = std::floor(time / kDay);
  if (!(std::abs(days) < kMostDays)) return 0;  // beyond these a year is not told from the next
  double year = std::floor(1970 + days / 365.2425);
  const auto first_day = [](double y) {  // of year y, in days since 1970-01-01
    const double before = y - 1;
    return 365 * (y - 1970) + std::floor(before / 4) - std::floor(before / 100) + std::floor(before / 400) -
           477;
  };
  while (first_day(year) > days) --year;
  while (first_day(year + 1) <= days) ++year;
  return (time / kDay - first_day(year)) / (first_day(year + 1) - first_day(year));
}

inline double share_of_day(double time) { return time / kDay - std::floor(time / kDay); }
inline double share_of_week(double time) {  // from Monday on; 1970-01-01 was a Thursday
  const double weeks = (time + 3 * kDay) / kWeek;
  return weeks - std::floor(weeks);
}

// One season of a series: its rows fall into `period` slots, over and over.
struct Season {
  static constexpr int kLongest = 2100;

  Cycle cycle = Cycle::none;
  int period = 0;

  bool exists() const { return cycle != Cycle::none; }
  // Whether a slot is known by its stamp; by its number otherwise.
  bool tells(double time) const { return cycle != Cycle::counted && !std::isnan(time); }
  bool operator==(const Season& other) const { return cycle == other.cycle && period == other.period; }

  // A stamp may lie up to a quarter of a step before its slot begins, and no stamp on the grid or half-way
  // between is on the border of two slots.
  int slot(std::int64_t position, double time) const {
    if (cycle == Cycle::none) return 0;
    if (!tells(time)) return int(position % period);
    const double share = cycle == Cycle::day    ? share_of_day(time)
                         : cycle == Cycle::week ? share_of_week(time)
                                                : share_of_year(time);
    return int(std::floor(share * period + 0.25)) % period;
  }
};

using Seasons = std::array<Season, 2>;

// The step between rows, found from their stamps, and the seasons that the calendar has for such a step.
class Clock {
 public:
  static constexpr double kLatest = 1e30;  // seconds: no stamp is later, however long a series goes on

  static constexpr double kLongestStep = 2e12;  // between stamps as rows have them

  bool runs() const { return step_ > 0; }
  double step() const { return step_; }
  double now() const { return now_; }

  // How many steps the stamp is after the one before: at least one, whatever the stamps say. A stamp that is
  // repeated or goes back, as when clocks are set back, is the next row.
  std::int64_t steps_to(double time) const {
    if (!runs() || std::isnan(time)) return 1;
    const double steps = std::floor((time - now_) / step_ + 0.5);
    return std::int64_t(std::clamp(steps, 1.0, kMostSteps));
  }
  double ahead(std::int64_t steps) const { return now_ + double(steps) * step_; }

  // Goes on to the next row without learning from its stamp.
  void pass(double time) { now_ = std::isnan(time) ? now_ + step_ : time; }

  // Takes the stamp of the next row, NaN if there is none. True if the step has changed.
  bool advance(double time) {
    if (std::isnan(time)) {
      if (runs()) now_ += step_;
      return false;
    }
    const double difference = time - now_;
    const bool first = std::isnan(now_);
    now_ = time;
    if (first || !(difference > 0)) return false;
    differences_[std::size_t(count_++ % kRemembered)] = difference;
    std::array<double, kRemembered> sorted = differences_;
    const std::int64_t n = std::min<std::int64_t>(count_, kRemembered);
    std::sort(sorted.begin(), sorted.begin() + n);
    const double usual = snapped(sorted[std::size_t((n - 1) / 2)]);
    if (std::abs(usual - step_) <= kTolerance * step_) return false;
    step_ = usual;
    return true;
  }

  Seasons seasons() const {
    if (!runs() || step_ > kQuarter * 1.05) return {};
    if (step_ == kQuarter) return {{{Cycle::year, 4}, {}}};
    if (step_ == kMonth) return {{{Cycle::year, 12}, {}}};
    if (std::abs(step_ - kWeek) < 0.1 * kWeek) return {{{Cycle::year, 52}, {}}};
    if (std::abs(step_ - kDay) < 0.1 * kDay) return {{{Cycle::week, 7}, {Cycle::year, 365}}};
    const double in_a_day = std::floor(kDay / step_ + 0.5);
    if (in_a_day < 2 || in_a_day > Season::kLongest) return {};
    Seasons found;
    found[0] = {Cycle::day, int(in_a_day)};
    if (7 * in_a_day <= Season::kLongest) found[1] = {Cycle::week, int(7 * in_a_day)};
    return found;
  }

  void exchange(Archive& archive) {
    archive.value("clock_step", step_, Limits::up_to(kLongestStep));
    archive.value("clock_now", now_, Limits::within(kLatest).or_unknown());
    archive.vector("clock_differences", differences_.data(), {"difference", kRemembered},
                   Limits::up_to(kLongestStep));
    archive.value("clock_count", count_);
    archive.require(!(runs() && std::isnan(now_)), "a clock runs and shows no time");
  }

 private:
  static constexpr std::size_t kRemembered = 15;
  static constexpr double kTolerance = 0.02, kMostSteps = 1e9;
  static constexpr double kMonth = 365.2425 * kDay / 12, kQuarter = 365.2425 * kDay / 4;

  // Months and quarters differ in length.
  static double snapped(double difference) {
    if (difference >= 28 * kDay && difference <= 31 * kDay) return kMonth;
    if (difference >= 89 * kDay && difference <= 93 * kDay) return kQuarter;
    return difference;
  }

  double step_ = 0, now_ = NAN;
  std::array<double, kRemembered> differences_ = {};
  std::int64_t count_ = 0;
};

// The calendar as numbers for a model: harmonics of the day (of the year, where a step is a day or more) and
// of the week, the weekend, and the day's shape at the weekend. Without stamps those of the seasons found.
constexpr int kCalendarTerms = 19;

inline void calendar_terms(const Clock& clock, const Seasons& seasons, std::int64_t position, double time,
                           double* out) {
  constexpr double kTurn = 6.283185307179586;
  double inner = 0, outer = 0, weekend = 0;
  if (std::isnan(time)) {
    if (!seasons[0].exists()) return void(std::fill_n(out, kCalendarTerms, 0.0));
    inner = double(seasons[0].slot(position, time)) / seasons[0].period;
    outer = seasons[1].exists() ? double(seasons[1].slot(position, time)) / seasons[1].period : 0;
  } else {
    inner = clock.step() < kDay * 0.9 ? share_of_day(time) : share_of_year(time);
    outer = clock.step() < kWeek * 0.9 ? share_of_week(time) : 0;
    weekend = clock.step() < kWeek * 0.9 && outer >= 5.0 / 7 ? 1 : 0;
  }
  for (int k = 1; k <= 4; ++k) {
    *out++ = std::sin(kTurn * k * inner);
    *out++ = std::cos(kTurn * k * inner);
  }
  const double* shape = out - 8;
  for (int k = 1; k <= 3; ++k) {
    *out++ = std::sin(kTurn * k * outer);
    *out++ = std::cos(kTurn * k * outer);
  }
  *out++ = weekend;
  for (int k = 0; k < 4; ++k) *out++ = weekend * shape[k];
}

}  // namespace elman
