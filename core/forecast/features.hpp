// What a forecast is made of: numbers known at its origin, for a row so many steps ahead of it, in the units
// that the target had at the origin.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "archive.hpp"
#include "forecast/calendar.hpp"
#include "forecast/history.hpp"
#include "forecast/season_memory.hpp"
#include "prepare/regime.hpp"

namespace elman {

// Places in a vector of features. What is not of the row ahead comes first.
namespace feature {
enum : int {
  kOne = 0,
  kLags = 1,  // the newest first
  kNLags = 6,
  kMeans = kLags + kNLags,  // exponential means, the quickest first
  kNMeans = 3,
  kNow = kMeans + kNMeans,  // of each season: a period ago, two deviations from the slot's mean, profile
  kNNow = 4,
  kLevels = kNow + 2 * kNNow,  // of each season, without its profile
  kOfOrigin = kLevels + 2,
  kTarget = kOfOrigin,  // of each season, in the slot ahead: last, before last, quick and slow mean, profile
  kLast = 0,
  kBeforeLast,
  kQuickMean,
  kSlowMean,
  kProfile,
  kNTarget,
  kCalendar = kTarget + 2 * kNTarget,
  kCovariates = kCalendar + kCalendarTerms  // now; then those ahead; then products of these with the calendar
};
constexpr int kProducts = 4;  // terms of the calendar that a covariate ahead is multiplied with
}  // namespace feature

// Mean and deviation of a column, the past fading after kMemory rows.
struct Spread {
  static constexpr double kMemory = 10000;
  double count = 0, mean = 0, variance = 0;

  void observe(double value, double memory = kMemory) {
    if (std::isnan(value)) return;
    value = std::clamp(value, -History::kAbsurd, History::kAbsurd);
    count += 1;
    const double weight = 1 / std::min(count, memory), difference = value - mean;
    mean += difference * weight;
    variance += (difference * (value - mean) - variance) * weight;
  }
  bool is_possible() const {
    return count >= 0 && count <= Limits::kLargestCount && std::abs(mean) <= History::kAbsurd &&
           variance >= 0 && variance <= 4 * History::kAbsurd * History::kAbsurd;
  }
  bool varies() const { return std::sqrt(std::max(variance, 0.0)) > 1e-12 * std::abs(mean); }
  // Never zero: of a column that has not varied any unit will do.
  double deviation() const { return varies() ? std::sqrt(variance) : std::max(std::abs(mean), 1.0) * 1e-3; }
};

// The units of a moment.
struct Measure {
  static constexpr double kSmallest = 1e-165;  // the root of the smallest number is larger
  double mean = 0, deviation = 1;
  double of(double value) const { return limited((value - mean) / deviation); }
  double of_difference(double value) const { return limited(value / deviation); }
  double restore(double z) const { return mean + deviation * z; }

  static constexpr double kFarthest = 1e9;  // what is further away is no measure of anything
  static double limited(double z) { return std::clamp(z, -kFarthest, kFarthest); }

  bool is_possible() const {
    return std::abs(mean) <= History::kAbsurd && deviation >= kSmallest && deviation <= 2 * History::kAbsurd;
  }
};

// A row ahead of an origin: its distance and, where rows have stamps, its time.
struct Ahead {
  std::int64_t steps;
  double time;
};

// All that is remembered of the series itself.
class Series {
 public:
  static constexpr double kLargestFeature = 1e6;  // in deviations; beyond it is cut

  const History& history() const { return history_; }
  const Seasons seasons() const { return {memories_[0].season(), memories_[1].season()}; }
  const Clock& clock() const { return clock_; }
  Measure measure() const { return {level_, spread_.deviation()}; }
  // The unit once y is known as well.
  double deviation_with(double y) const {
    Spread spread = spread_;
    spread.observe(y, kSpreadMemory);
    return spread.deviation();
  }
  std::int64_t known() const { return known_; }  // values seen
  // The values seen so far lie between these.
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }

  Clock& clock() { return clock_; }

  // Whether a value is so far beyond all reason that it teaches nothing; too many of them are the truth.
  bool is_fault(double y) const { return regimes_[0].is_fault(y, Regime::Role::target); }
  void note_fault(double y) { regimes_[0].observe(y, Regime::Role::target); }

  void skip(std::int64_t steps) { history_.skip(steps); }

  // Takes the value of the next row, or what is expected in its place. True if values are again as they were
  // before a stretch of others, of which nothing is remembered then.
  bool absorb(double y, double time, bool known) {
    history_.push(y, time, known);
    const int stretch = known ? judged(y) : 0;
    if (known) observe(y);
    for (int i = 0; i < feature::kNMeans; ++i)
      means_[i] = history_.rows() == 1 ? y : means_[i] + kRates[i] * (y - means_[i]);
    for (SeasonMemory& memory : memories_) memory.absorb(history_, 0);
    if (stretch > 0) take_out(stretch);
    return stretch > 0;
  }

  void adopt(const Seasons& seasons) {
    for (std::size_t i = 0; i < 2; ++i)
      if (!(seasons[i] == memories_[i].season())) memories_[i].adopt(seasons[i], history_, History::kLength);
  }

  // A value of some rows ago that comes only now.
  void correct(std::int64_t age, double y) {
    history_.correct(age, y);
    observe(y);
    for (SeasonMemory& memory : memories_) memory.correct(history_, age);
  }

  Ahead ahead(std::int64_t steps) const { return {steps, clock_.runs() ? clock_.ahead(steps) : NAN}; }
  int slot(int season, const Ahead& row) const {
    return memories_[season].season().slot(history_.position() + row.steps, row.time);
  }
  void calendar(const Ahead& row, double* out) const {
    calendar_terms(clock_, seasons(), history_.position() + row.steps, row.time, out);
  }

  // The features of an origin at the newest row, kOfOrigin numbers.
  void origin_features(const Measure& unit, float* out) const {
    *out++ = 1;
    for (int lag = 0; lag < feature::kNLags; ++lag)
      *out++ = shown(unit.of(history_.value(std::min<std::int64_t>(lag, history_.rows() - 1))));
    for (const double mean : means_) *out++ = shown(unit.of(mean));
    const double newest = history_.value(0);
    for (const SeasonMemory& memory : memories_) {
      const int now = memory.season().exists() ? memory.slot_of(history_, 0) : 0;
      *out++ = shown(unit.of(memory.before_last(now, newest)));
      *out++ = shown(unit.of_difference(memory.deviation()));
      *out++ = shown(unit.of_difference(memory.deviation_before()));
      *out++ = shown(unit.of_difference(memory.profile(now)));
    }
    for (const SeasonMemory& memory : memories_)
      *out++ = shown(unit.of(memory.season().exists() ? memory.level() : newest));
  }

  // The features of the row ahead besides calendar and covariates, 2 kNTarget numbers.
  void target_features(const Measure& unit, const Ahead& row, float* out) const {
    const double newest = history_.value(0);
    for (int i = 0; i < 2; ++i) {
      const SeasonMemory& memory = memories_[i];
      const int slot = memory.season().exists() ? this->slot(i, row) : 0;
      *out++ = shown(unit.of(memory.last(slot, newest)));
      *out++ = shown(unit.of(memory.before_last(slot, newest)));
      *out++ = shown(unit.of(memory.quick_mean(slot, newest)));
      *out++ = shown(unit.of(memory.slow_mean(slot, newest)));
      *out++ = shown(unit.of_difference(memory.profile(slot)));
    }
  }

  void exchange(Archive& archive) {
    clock_.exchange(archive);
    history_.exchange(archive);
    const Limits values = Limits::within(History::kAbsurd), expected = Limits::within(History::kLargest);
    archive.value("target_count", spread_.count);
    archive.value("target_mean", spread_.mean);
    archive.value("target_variance", spread_.variance);
    archive.require(spread_.is_possible(), "moments are out of range");
    archive.value("target_level", level_, values);
    archive.value("known", known_);
    if (archive.has_part("faults", false))  // of versions that knew no more than these
      exchange_faults(archive);
    else
      exchange_regimes(archive, "series", {"series", 1}, regimes_);
    archive.value("lowest_seen", lowest_, values);
    archive.value("highest_seen", highest_, values);
    archive.vector("means", means_.data(), {"rate", feature::kNMeans}, expected);
    for (std::size_t i = 0; i < 2; ++i) memories_[i].exchange(archive, "season" + std::to_string(i) + ".");
    archive.require(
        lowest_ <= highest_ && known_ <= history_.position() + 1 && spread_.count == double(known_),
        "what was seen of the series contradicts itself");
    archive.require(known_ == 0 || history_.rows() > 0, "values are known of rows that never came");
  }

 private:
  // How long the stretch was that is over with this value; 0 if none is.
  int judged(double y) {
    Regime& regime = regimes_[0];
    const int stretch = regime.stretch + 1;
    const bool renewed = regime.observe(y, Regime::Role::target);
    return renewed && regime.moments.count > Regime::kConvinced ? stretch : 0;
  }

  void observe(double y) {
    spread_.observe(y, kSpreadMemory);
    level_ +=
        (std::clamp(y, -History::kAbsurd, History::kAbsurd) - level_) / std::min(spread_.count, kLevelMemory);
    lowest_ = known_ == 0 ? y : std::min(lowest_, y);
    highest_ = known_ == 0 ? y : std::max(highest_, y);
    ++known_;
  }

  // Puts what was usual in the place of a stretch: the value of a season ago, or the mean.
  void take_out(int stretch) {
    const Moments& usual = regimes_[0].moments;
    spread_.mean = level_ = usual.mean;
    spread_.variance = usual.variance();
    means_.fill(usual.mean);
    const int period = memories_[0].season().period;
    for (std::int64_t age = std::min<std::int64_t>(stretch, history_.unbroken()) - 1; age >= 0; --age) {
      if (regimes_[0].fits(history_.value(age))) continue;
      const bool seen = period > 0 && age + period < history_.unbroken();
      const double before = seen ? history_.value(age + period) : usual.mean;
      history_.forget(age, regimes_[0].fits(before) ? before : usual.mean);
    }
    for (SeasonMemory& memory : memories_) memory.learn_anew(history_, History::kLength);
  }

  void exchange_faults(Archive& archive) {
    double faults = 0;
    archive.value("faults", faults, Limits::up_to(Regime::kMostFaults));
    Regime& regime = regimes_[0];
    regime.moments = {spread_.count, spread_.mean, Moments::kFine * (Moments::kFine * spread_.variance)};
    regime.faults = float(faults);
    regime.calm = std::uint16_t(std::min<double>(spread_.count, Regime::kEstablished));
  }

  static float shown(double value) { return float(std::clamp(value, -kLargestFeature, kLargestFeature)); }

  // The level that values are measured from follows the series more closely than the unit of measure.
  static constexpr double kLevelMemory = 1000, kSpreadMemory = 3000;
  static constexpr std::array<double, feature::kNMeans> kRates = {0.2, 0.03, 0.005};

  Clock clock_;
  History history_;
  Spread spread_;
  std::array<double, feature::kNMeans> means_ = {};
  std::array<SeasonMemory, 2> memories_;
  double level_ = 0, lowest_ = 0, highest_ = 0;
  std::vector<Regime> regimes_{1};  // the one of the series
  std::int64_t known_ = 0;
};

}  // namespace elman
