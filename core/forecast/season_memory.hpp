// What is remembered of every slot of a season: its last values, its mean, and its profile, which is the
// season alone, without the level that the series happens to have.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "archive.hpp"
#include "forecast/calendar.hpp"
#include "forecast/history.hpp"
#include "simd/buffer.hpp"

namespace elman {

class SeasonMemory {
 public:
  const Season& season() const { return season_; }

  // Begins anew with another season and learns it from what is remembered.
  void adopt(const Season& season, const History& history, std::int64_t rows) {
    Buffer<double> slots(std::size_t(kFields) * season.period);  // which may fail, before anything changes
    season_ = season;
    slots_ = std::move(slots);
    learn_anew(history, rows);
  }

  // Learns the season again from what is remembered, which takes no memory.
  void learn_anew(const History& history, std::int64_t rows) {
    std::fill(slots_.begin(), slots_.end(), 0.0);
    level_ = deviation_ = deviation_before_ = 0;
    begun_ = 0;
    if (!season_.exists()) return;
    for (std::int64_t age = std::min(rows, history.unbroken()) - 1; age >= 0; --age)
      if (season_.cycle == Cycle::counted || season_.tells(history.time(age))) absorb(history, age);
  }

  // Takes in the row of that age, in the order of time; of a value that is not known only that it was there.
  void absorb(const History& history, std::int64_t age) {
    if (!season_.exists()) return;
    const double y = history.value(age);
    const int now = slot_of(history, age);
    deviation_before_ = deviation_;
    deviation_ = y - (field(kCount, now) > 0         ? field(kQuickMean, now)
                      : age + 1 < history.unbroken() ? history.value(age + 1)
                                                     : y);
    if (history.known(age)) visit(now, y);
    learn_profile(history, age);
    const double bare = y - field(kProfile, now);
    level_ = begun_ > 0 ? level_ + kLevelRate * (bare - level_) : bare;
    begun_ = 1;
  }

  // A value that was not known when its row was taken in, unless its slot has come again since.
  void correct(const History& history, std::int64_t age) {
    if (season_.exists() && age < season_.period) visit(slot_of(history, age), history.value(age));
  }

  int slot_of(const History& history, std::int64_t age) const {
    return season_.slot(history.position() - age, history.time(age));
  }

  // Of a slot; `newest` stands in for what was never seen.
  double last(int slot, double newest) const { return or_else(kLast, slot, newest); }
  double before_last(int slot, double newest) const { return or_else(kBeforeLast, slot, newest); }
  double quick_mean(int slot, double newest) const { return or_else(kQuickMean, slot, newest); }
  double slow_mean(int slot, double newest) const { return or_else(kSlowMean, slot, newest); }
  double profile(int slot) const { return season_.exists() ? field(kProfile, slot) : 0; }
  // Of the newest row: how far it was from the mean of its slot, and the row before it.
  double deviation() const { return deviation_; }
  double deviation_before() const { return deviation_before_; }
  double level() const { return level_; }  // without the profile

  void exchange(Archive& archive, const std::string& prefix) {
    PrefixedArchive own(archive, prefix);
    auto cycle = std::int64_t(season_.cycle), period = std::int64_t(season_.period);
    own.value("cycle", cycle, Limits::up_to(double(Cycle::year)));
    own.value("period", period, Limits::up_to(Season::kLongest));
    if ((cycle > 0) != (period > 0) || period == 1) throw std::invalid_argument("a season is out of range");
    if (cycle != std::int64_t(season_.cycle) || period != season_.period) {
      season_ = {Cycle(cycle), int(period)};
      slots_ = Buffer<double>(std::size_t(kFields) * std::size_t(period));
    }
    const Limits values = Limits::within(4 * History::kLargest);
    own.array("slots", slots_.data(), {"field", kFields}, {"slot", std::size_t(period)}, std::size_t(period),
              values);
    for (const Field counts : {kCount, kProfileCount})
      for (int slot = 0; slot < int(period); ++slot)
        own.require(field(counts, slot) >= 0 && field(counts, slot) <= Limits::kLargestCount,
                    "a slot of a season was seen a negative number of times");
    own.value("level", level_, values);
    own.value("deviation", deviation_, values);
    own.value("deviation_before", deviation_before_, values);
    own.value("begun", begun_, Limits::up_to(1));
  }

 private:
  enum Field { kLast, kBeforeLast, kQuickMean, kSlowMean, kProfile, kCount, kProfileCount, kFields };
  static constexpr double kQuick = 0.2, kSlow = 0.05, kProfileRate = 0.03, kLevelRate = 0.5;

  double& field(Field f, int slot) { return slots_[std::size_t(f) * season_.period + slot]; }
  double field(Field f, int slot) const { return slots_[std::size_t(f) * season_.period + slot]; }
  double or_else(Field f, int slot, double newest) const {
    return season_.exists() && field(kCount, slot) > 0 ? field(f, slot) : newest;
  }

  void visit(int slot, double y) {
    double& count = field(kCount, slot);
    field(kBeforeLast, slot) = count > 0 ? field(kLast, slot) : y;
    field(kLast, slot) = y;
    count += 1;
    field(kQuickMean, slot) += std::max(kQuick, 1 / count) * (y - field(kQuickMean, slot));
    field(kSlowMean, slot) += std::max(kSlow, 1 / count) * (y - field(kSlowMean, slot));
  }

  // The value of half a period ago against the mean of the period around it.
  void learn_profile(const History& history, std::int64_t age) {
    const std::int64_t half = season_.period / 2;
    if (age + 2 * half >= history.unbroken()) return;
    const double x = history.value(age + half) - history.mean(age, age + 2 * half);
    const int slot = slot_of(history, age + half);
    double& count = field(kProfileCount, slot);
    count += 1;
    field(kProfile, slot) += std::max(kProfileRate, 1 / count) * (x - field(kProfile, slot));
  }

  Season season_;
  Buffer<double> slots_;  // [field][slot]
  double level_ = 0, deviation_ = 0, deviation_before_ = 0;
  std::int64_t begun_ = 0;
};

}  // namespace elman
