// The next rows of a series, at every row. What a row ahead teaches is learned when that row has come: from
// the features and opinions that were kept at its origin, never from anything later.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "archive.hpp"
#include "forecast/covariates.hpp"
#include "forecast/features.hpp"
#include "forecast/lasting_level.hpp"
#include "forecast/origins.hpp"
#include "forecast/panel.hpp"
#include "forecast/path_errors.hpp"
#include "forecast/season_finder.hpp"
#include "growth.hpp"
#include "simd/buffer.hpp"

namespace elman {

struct ForecasterOptions {
  int horizon;
  std::vector<FeatureKind> covariates;
  bool small;
  std::vector<int> periods;  // of the seasons, in rows, at most two; empty: found
  bool find_seasons;
  double lowest, highest;               // no forecast lies beyond
  std::vector<MemberOptions> next_row;  // see PanelOptions
};

// Not thread-safe: the caller holds a lock.
class Forecaster {
 public:
  explicit Forecaster(const ForecasterOptions& options)
      : options_(options),
        H_(options.horizon),
        covariates_(options.covariates),
        nx_(covariates_.count()),
        plain_({H_, nx_, false, options.small, options.next_row}),
        ahead_(nx_ > 0 ? std::make_unique<Panel>(PanelOptions{H_, nx_, true, options.small, options.next_row})
                       : nullptr),
        paths_(H_, n_remembered()),
        paths_ahead_(ahead_ ? std::make_unique<PathErrors>(H_, n_remembered()) : nullptr),
        origins_(H_, nx_, plain_, ahead_.get()),
        levels_(std::size_t(H_)),
        features_(std::size_t(Panel::n_features(nx_))),
        x_(std::size_t(nx_)),
        calendar_(kCalendarTerms),
        opinions_(std::size_t(std::max(plain_.n_members(), ahead_ ? ahead_->n_members() : 0))),
        scratch_trails_(std::max(plain_.trail_size(), ahead_ ? ahead_->trail_size() : 0)),
        x_before_(std::size_t(nx_), NAN),
        unknown_(covariates_.n_features(), NAN) {
    // What takes memory takes it here: a row is learned whole.
    rows_ahead_.reserve(std::size_t(H_));
    x_there_.reserve(std::size_t(nx_));
    if (options.periods.size() > 0) series_.adopt(given_seasons());
  }
  Forecaster(const Forecaster&) = delete;

  void initialise(const std::vector<std::uint64_t>& seed) {
    plain_.initialise(seed);
    if (ahead_) ahead_->initialise(seed);
  }

  // Takes the next row: its value, NaN if it is not known; its covariates, NaN where missing; its stamp, NaN
  // if it has none. Steps that the stamp says were left out are rows of which nothing is known.
  void learn(double y, const double* x, double time) {
    plain_.reserve_scratch();
    if (ahead_) ahead_->reserve_scratch();
    covariates_.reserve();
    y = believable(y);
    if (const std::int64_t age = age_of_late_value(time); age > 0 && !std::isnan(y)) {
      series_.correct(age, y);
      return;
    }
    if (series_.history().rows() > 0) {
      const std::int64_t missing = series_.clock().steps_to(time) - 1;
      if (missing > kMostFilled) {
        series_.skip(missing);
        origins_.forget_all();
      } else {
        for (std::int64_t i = 0; i < missing; ++i) {
          covariates_.pass();
          take(NAN, NAN);
        }
      }
    }
    ++samples_;
    steps_ += !std::isnan(y);
    covariates_.take(x);
    take(y, time);
    covariates_.learn(samples_, y);
  }

  Covariates& covariates() { return covariates_; }

  // Where a forecast goes: a number for each of the H rows ahead and, row by row, for each level.
  struct Answers {
    double* means;
    const double* levels;
    std::size_t n_levels;
    double* quantiles;
  };

  // Steps and stamps of the rows ahead, from their stamps, NaN where these are not known: then rows go on
  // regularly.
  const std::vector<Ahead>& rows_ahead(const double* times) {
    rows_ahead_.clear();  // its room is there from the beginning
    Clock clock = series_.clock();
    std::int64_t steps = 0;
    for (int h = 0; h < H_; ++h) {
      const double time = times == nullptr ? NAN : times[h];
      steps += clock.steps_to(time);
      clock.pass(time);
      rows_ahead_.push_back({steps, clock.runs() ? clock.now() : NAN});
    }
    return rows_ahead_;
  }

  // The H rows ahead. `xs`: their covariates [H][covariates], NaN where not known, or null. Changes nothing.
  void forecast(const std::vector<Ahead>& rows, const double* xs, const Answers& out) {
    if (series_.known() == 0) return nothing_known(out);
    const bool ahead = ahead_ && xs != nullptr;
    Panel& panel = ahead ? *ahead_ : plain_;
    View view = view_from(series_.measure(), covariates_.now());
    float origin[feature::kOfOrigin];
    series_.origin_features(view.unit, origin);
    std::copy_n(origin, feature::kOfOrigin, features_.data());
    for (int j = 0; j < nx_; ++j) features_[feature::kCovariates + j] = float(covariates_.standard()[j]);
    panel.begin(features_.data(), scratch_trails_.data());
    LastingLevel::levels(series_.history(), H_, levels_.data());
    std::int64_t step = 0;
    for (int h = 0; h < H_; ++h) {
      double mixed = 0;
      // Rows that lie between are passed over, but not for ever.
      const std::int64_t last = std::max(step + 1, std::min<std::int64_t>(rows[h].steps, step + 1 + H_));
      for (step = step + 1; step <= last; ++step) {
        const bool asked = step == last;
        row_features(view.unit, asked ? Ahead{rows[h].steps, rows[h].time} : series_.ahead(step));
        if (ahead) {
          covariates_.look_ahead(asked ? xs + std::size_t(h) * unknown_.size() : unknown_.data(), x_there_);
          view.covariates = x_there_.data();
          covariates_.standardise(x_there_.data(), x_.data());
          multiply_covariates(x_.data());
        }
        panel.opinions(features_.data(), int(step - 1), view, nullptr, scratch_trails_.data(),
                       opinions_.data());
        mixed = panel.combine(int(step - 1), opinions_.data());
      }
      --step;
      const int last_step = int(std::min<std::int64_t>(step, H_)) - 1;
      mixed = panel.lean(last_step, view.unit.of(levels_[last_step])).answer(mixed);
      write(panel, out, h, last_step, rows[h], view.unit.restore(mixed));
    }
  }

  std::int64_t samples() const { return samples_; }
  std::int64_t steps() const { return steps_; }
  int horizon() const { return H_; }
  const Series& series() const { return series_; }
  Panel& panel(bool ahead) { return ahead && ahead_ ? *ahead_ : plain_; }

  // See PathErrors.
  std::vector<double> past_errors(bool ahead) const {
    return paths(ahead).alike(series_.history().rows(), series_.seasons()[0].period);
  }
  double width_of_sum(bool ahead, double coverage) const {
    return paths(ahead).width_of_sum(bucket_of(series_.ahead(0)), coverage);
  }

  // Walks the whole state, see Archive. `restored` must follow if anything was written.
  void exchange(Archive& archive) {
    const Axis covariates{"covariate", std::size_t(nx_)};
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    series_.exchange(archive);
    archive.require(steps_ <= samples_ && steps_ <= series_.known(),
                    "the numbers of rows contradict each other");
    archive.require(options_.find_seasons || series_.seasons() == given_seasons(),
                    "the seasons are not those that were given");
    finder_.exchange(archive);
    covariates_.exchange(archive);
    archive.vector("covariates_before", x_before_.data(), covariates, Limits{}.or_unknown());
    origins_.exchange(archive);
    paths_.exchange(archive);
    plain_.exchange(archive, "plain.");
    if (!ahead_) return;
    origins_.exchange_ahead(archive);
    PrefixedArchive own(archive, "ahead.");
    paths_ahead_->exchange(own);
    ahead_->exchange(archive, "ahead.");
  }

  void restored() {
    covariates_.restored();
    plain_.restored();
    if (ahead_) ahead_->restored();
  }

  // Takes over what a forecaster with fewer covariates knows; the first covariates begin with all that the
  // panel without any has learned.
  void grow_from(Forecaster& former) {
    Snapshot snapshot;
    former.exchange(snapshot);
    if (!former.ahead_) former.plain_.exchange(snapshot, "ahead.");
    Graft graft(snapshot);
    exchange(graft);
    origins_.forget_all();
  }

 private:
  static constexpr std::int64_t kFirst = 30;        // values before units are settled
  static constexpr std::int64_t kMostFilled = 400;  // rows that a gap is filled with
  static constexpr int kOfTarget = Origins::kOfTarget;

  std::int64_t n_remembered() const { return options_.small ? 200 : 1200; }

  Seasons given_seasons() const {
    Seasons given;
    for (std::size_t i = 0; i < options_.periods.size() && i < 2; ++i)
      given[i] = {Cycle::counted, options_.periods[i]};
    return given;
  }

  // The value, or NaN for a fault.
  double believable(double y) {
    y = std::clamp(y, -History::kAbsurd, History::kAbsurd);
    if (!series_.is_fault(y)) return y;
    series_.note_fault(y);
    return NAN;
  }

  std::int64_t age_of_late_value(double time) const {
    const History& history = series_.history();
    if (!series_.clock().runs() || std::isnan(time) || history.rows() == 0) return 0;
    const double age = std::floor((history.time() - time) / series_.clock().step() + 0.5);
    if (!(age >= 1 && age < double(history.unbroken()))) return 0;
    return history.known(std::int64_t(age)) ? 0 : std::int64_t(age);
  }

  // One row, whose covariates have been taken.
  void take(double y, double time) {
    const bool new_step = series_.clock().advance(time);
    const Ahead here{1, series_.clock().now()};
    series_.calendar(here, calendar_.data());
    learn_from_origins(y, here);
    const double expected = std::isnan(y) ? expectation() : y;
    const double before = series_.history().rows() > 0 ? series_.history().value(0) : expected;
    if (series_.absorb(expected, here.time, !std::isnan(y))) begin_anew();
    look_for_seasons(expected - before, new_step);
    issue();
  }

  void look_for_seasons(double change, bool new_step) {
    if (!options_.find_seasons || options_.periods.size() > 0) return;
    const Seasons former = series_.seasons();
    Seasons found = former;
    if (new_step) found = series_.clock().seasons();
    const bool by_calendar = series_.clock().seasons()[0].exists();
    if (!by_calendar && finder_.learn(change)) found = finder_.look(former);
    if (found == former) return;
    const bool another_day = !(found[0] == former[0]);
    try {
      series_.adopt(found);
    } catch (const std::bad_alloc&) {
      return;  // no memory for a season now; it is looked for again
    }
    if (another_day)
      begin_anew();
    else
      origins_.forget_all();
  }

  // The series is another one: forecasts of before count no more, and whom to trust is open again.
  void begin_anew() {
    origins_.forget_all();
    plain_.begin_anew();
    paths_.forget_buckets();
    if (!ahead_) return;
    ahead_->begin_anew();
    paths_ahead_->forget_buckets();
  }

  // Answers make sense within the range of the values seen, and as far again beyond it.
  View view_from(const Measure& unit, const double* covariates) const {
    const double range = series_.highest() - series_.lowest();
    return {unit, unit.of(series_.lowest() - range), unit.of(series_.highest() + range), covariates};
  }
  const PathErrors& paths(bool ahead) const { return ahead && paths_ahead_ ? *paths_ahead_ : paths_; }

  // What was expected of the row that has come.
  double expectation() {
    const std::int64_t rows = series_.history().rows();
    if (rows == 0) return 0;
    const std::size_t origin = origins_.at(rows - 1);
    if (!origins_.validity(origin)) return series_.history().value(0);
    const double range = series_.highest() - series_.lowest();
    return std::clamp(
        origins_.unit(origin).restore(origins_.lean(origin, 0).answer(origins_.mixed(origin, 0))),
        series_.lowest() - range, series_.highest() + range);
  }

  // The row that has come was ahead of the last H origins.
  void learn_from_origins(double y, const Ahead& here) {
    const std::int64_t rows = series_.history().rows();
    const int bucket = bucket_of(here);
    const double now = series_.deviation_with(y);
    covariates_.as_if_ahead(x_there_);
    covariates_.standardise(x_there_.data(), x_.data());
    plain_.begin_row();
    if (ahead_) ahead_->begin_row();
    for (int step = 0; step < H_ && step < rows; ++step) {
      const std::size_t origin = origins_.at(rows - 1 - step);
      if (!origins_.validity(origin)) continue;
      recall(origin, step);
      learn_ahead(origin, step, y, bucket, rows - 1 - step, now);
      if (std::isnan(y)) continue;
      std::copy_n(origins_.opinions(origin, step), plain_.n_members(), opinions_.data());
      const Said said = {origin, step, bucket, rows - 1 - step, now};
      learn_from(plain_, paths_, said, origins_.mixed(origin, step), origins_.lean(origin, step),
                 origins_.error(origin, step), y);
    }
    const std::size_t newest = origins_.at(std::max<std::int64_t>(rows - 1, 0));
    recall(newest, 0);
    plain_.learn_next_row(features_.data(), x_before_.data(), y);
    if (ahead_) ahead_->learn_next_row(features_.data(), x_there_.data(), y);
    std::copy_n(covariates_.now(), nx_, x_before_.begin());
    if (rows == 0 || origins_.validity(newest) != Origins::kSettled) return;
    const double target = origins_.unit(newest).of(y);
    plain_.learn_networks(features_.data(), target);
    if (ahead_) ahead_->learn_networks(features_.data(), target);
  }

  // Where and when something was said of the row that has come.
  struct Said {
    std::size_t origin;
    int step, bucket;
    std::int64_t row;
    double deviation;  // of the target, now
  };

  // Teaches a panel what came of what it had said, its opinions in opinions_, and its errors' size.
  void learn_from(Panel& panel, PathErrors& paths, const Said& said, double mixed,
                  const LastingLevel::Lean& lean, const float* expected, double y) {
    const Measure unit = origins_.unit(said.origin);
    const double target = unit.of(y), error = y - unit.restore(lean.answer(mixed));
    panel.uncertainty().learn(said.step, said.bucket, error, unit.deviation, expected);
    paths.note(said.row, said.step, error, expected[0] * unit.deviation, unit.deviation);
    panel.learn(features_.data(), said.step, opinions_.data(), mixed, lean, target,
                unit.deviation / said.deviation, origins_.validity(said.origin) == Origins::kSettled);
  }

  // With the covariates of the rows ahead a forecast can only be made when they have come.
  void learn_ahead(std::size_t origin, int step, double y, int bucket, std::int64_t row, double now) {
    if (!ahead_) return;
    const View view = view_from(origins_.unit(origin), x_there_.data());
    ahead_->opinions(features_.data(), step, view, origins_.weights(origin), origins_.trail(origin),
                     opinions_.data());
    if (std::isnan(y)) return;
    learn_from(*ahead_, *paths_ahead_, {origin, step, bucket, row, now},
               ahead_->combine(step, opinions_.data()), origins_.lean_ahead(origin, step),
               origins_.error_ahead(origin, step), y);
  }

  // The features that the row which has come had at an origin, into features_.
  void recall(std::size_t origin, int step) {
    std::copy_n(origins_.features(origin), feature::kOfOrigin, features_.data());
    std::copy_n(origins_.target_features(origin, step), kOfTarget, features_.data() + feature::kTarget);
    std::copy_n(calendar_.data(), kCalendarTerms, features_.data() + feature::kCalendar);
    for (int j = 0; j < nx_; ++j) features_[feature::kCovariates + j] = origins_.covariates(origin)[j];
    multiply_covariates(x_.data());
  }

  // The features of a row ahead of the newest one, into features_.
  void row_features(const Measure& unit, const Ahead& row) {
    float target[kOfTarget];
    series_.target_features(unit, row, target);
    std::copy_n(target, kOfTarget, features_.data() + feature::kTarget);
    series_.calendar(row, features_.data() + feature::kCalendar);
  }

  void multiply_covariates(const double* x) {
    double* ahead = features_.data() + Panel::covariates_ahead(nx_);
    double* product = ahead + nx_;
    for (int j = 0; j < nx_; ++j) {
      ahead[j] = x[j];
      for (int k = 0; k < feature::kProducts; ++k) *product++ = ahead[j] * features_[feature::kCalendar + k];
    }
  }

  // The newest row becomes an origin: everybody says what comes.
  void issue() {
    const std::int64_t row = series_.history().rows() - 1;
    const std::size_t origin = origins_.at(row);
    if (series_.known() == 0) return;
    const Measure unit = series_.measure();
    origins_.begin(origin, series_.known() < kFirst ? Origins::kBegun : Origins::kSettled, unit);
    series_.origin_features(unit, origins_.features(origin));
    for (int j = 0; j < nx_; ++j) origins_.covariates(origin)[j] = float(covariates_.standard()[j]);
    std::copy_n(origins_.features(origin), feature::kOfOrigin, features_.data());
    for (int j = 0; j < nx_; ++j) features_[feature::kCovariates + j] = origins_.covariates(origin)[j];
    if (ahead_) {
      ahead_->begin(features_.data(), origins_.trail(origin));
      ahead_->copy_weights(origins_.weights(origin));
    }
    plain_.begin(features_.data(), scratch_trails_.data());
    LastingLevel::levels(series_.history(), H_, levels_.data());
    const View view = view_from(unit, covariates_.now());
    for (int step = 0; step < H_; ++step) {
      const Ahead there = series_.ahead(step + 1);
      row_features(unit, there);
      std::copy_n(features_.data() + feature::kTarget, kOfTarget, origins_.target_features(origin, step));
      plain_.opinions(features_.data(), step, view, nullptr, scratch_trails_.data(), opinions_.data());
      std::copy_n(opinions_.data(), plain_.n_members(), origins_.opinions(origin, step));
      origins_.mixed(origin, step) = float(plain_.combine(step, opinions_.data()));
      const double level = unit.of(levels_[step]);
      origins_.set_lean(origin, step, plain_.lean(step, level));
      const int bucket = bucket_of(there);
      plain_.uncertainty().issue(step, bucket, unit.deviation, origins_.error(origin, step));
      if (!ahead_) continue;
      origins_.set_lean_ahead(origin, step, ahead_->lean(step, level));
      ahead_->uncertainty().issue(step, bucket, unit.deviation, origins_.error_ahead(origin, step));
    }
    const int now = bucket_of(series_.ahead(0));
    paths_.open(row, now, unit.deviation);
    if (ahead_) paths_ahead_->open(row, now, unit.deviation);
  }

  // The time of day of a row ahead, for the size of errors.
  int bucket_of(const Ahead& row) const {
    const Season season = series_.seasons()[0];
    if (!season.exists()) return 0;
    const int slot = series_.slot(0, row);
    return season.period <= Uncertainty::kBuckets
               ? slot
               : int(std::int64_t(slot) * Uncertainty::kBuckets / season.period);
  }

  double bounded(double value) const { return std::clamp(value, options_.lowest, options_.highest); }

  void write(Panel& panel, const Answers& out, int h, int step, const Ahead& row, double mean) const {
    out.means[h] = bounded(mean);
    const double unit = panel.uncertainty().unit(step, bucket_of(row));
    for (std::size_t i = 0; i < out.n_levels; ++i) {
      const double level = out.levels[i];
      const double error = unit >= 0     ? unit * panel.uncertainty().quantile(step, level)
                           : level < 0.5 ? -HUGE_VAL
                                         : HUGE_VAL;
      out.quantiles[std::size_t(h) * out.n_levels + i] = bounded(mean + error);
    }
  }

  void nothing_known(const Answers& out) const {
    for (int h = 0; h < H_; ++h) {
      out.means[h] = bounded(0);
      for (std::size_t i = 0; i < out.n_levels; ++i)
        out.quantiles[std::size_t(h) * out.n_levels + i] =
            bounded(out.levels[i] < 0.5 ? -HUGE_VAL : HUGE_VAL);
    }
  }

  ForecasterOptions options_;
  int H_;
  Series series_;
  SeasonFinder finder_;
  Covariates covariates_;
  int nx_;
  Panel plain_;                   // knows covariates up to now
  std::unique_ptr<Panel> ahead_;  // knows those of the rows ahead, too
  PathErrors paths_;              // of either panel
  std::unique_ptr<PathErrors> paths_ahead_;
  std::int64_t samples_ = 0, steps_ = 0;

  Origins origins_;

  Buffer<double> levels_;  // of the newest row, see LastingLevel
  Buffer<double> features_, x_, calendar_, opinions_, scratch_trails_;
  std::vector<double> x_before_;  // the covariates of the row before
  std::vector<double> unknown_;   // those of a row of which nothing is known
  std::vector<double> x_there_;
  std::vector<Ahead> rows_ahead_;
};

}  // namespace elman
