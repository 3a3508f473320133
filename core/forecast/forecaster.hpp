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
        valid_(std::size_t(H_)),
        units_(std::size_t(H_) * 2),
        of_origin_(std::size_t(H_) * feature::kOfOrigin),
        x_of_origin_(std::size_t(H_) * nx_),
        of_target_(std::size_t(H_) * H_ * kOfTarget),
        issued_(std::size_t(H_) * H_ * n_issued()),
        issued_ahead_(ahead_ ? std::size_t(H_) * H_ * Uncertainty::kIssued : 0),
        trails_(ahead_ ? std::size_t(H_) * ahead_->trail_size() : 0),
        weights_(ahead_ ? std::size_t(H_) * ahead_->n_weights() : 0),
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
    trail_.reserve(ahead_ ? ahead_->trail_size() : 0);
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
    y = std::clamp(y, -History::kAbsurd, History::kAbsurd);
    if (const std::int64_t age = age_of_late_value(time); age > 0 && !std::isnan(y)) {
      series_.correct(age, y);
      return;
    }
    if (series_.history().rows() > 0) {
      const std::int64_t missing = series_.clock().steps_to(time) - 1;
      if (missing > kMostFilled) {
        series_.skip(missing);
        std::fill(valid_.begin(), valid_.end(), 0);
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
      write(panel, out, h, int(std::min<std::int64_t>(step, H_)) - 1, rows[h], view.unit.restore(mixed));
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
    const Axis origins{"origin", std::size_t(H_)}, covariates{"covariate", std::size_t(nx_)};
    const Limits measured = Limits::within(Measure::kFarthest);
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
    archive.vector("origin_valid", valid_.data(), origins, Limits::up_to(kSettled));
    archive.array("origin_units", units_.data(), origins, {"unit", 2}, 2);
    for (int i = 0; i < H_; ++i)
      archive.require(!valid_[i] || unit_of(i).is_possible(), "the units of an origin are out of range");
    const Limits features = Limits::within(Series::kLargestFeature);
    archive.array("origin_features", of_origin_.data(), origins, {"feature", feature::kOfOrigin},
                  feature::kOfOrigin, features);
    archive.array("origin_covariates", x_of_origin_.data(), origins, covariates, std::size_t(nx_),
                  Limits::within(Covariates::kLargest));
    archive.array("target_features", of_target_.data(), origins,
                  {"step and feature", std::size_t(H_) * kOfTarget}, std::size_t(H_) * kOfTarget, features);
    const std::size_t row = std::size_t(H_) * n_issued();
    archive.array("issued", issued_.data(), origins, {"step and member", row}, row, measured);
    paths_.exchange(archive);
    plain_.exchange(archive, "plain.");
    if (!ahead_) return;
    const std::size_t trail = ahead_->trail_size(), n_weights = ahead_->n_weights();
    const std::size_t row_ahead = std::size_t(H_) * Uncertainty::kIssued;
    archive.array("issued_ahead", issued_ahead_.data(), origins, {"step and quantile", row_ahead}, row_ahead,
                  Uncertainty::issued_limits());
    archive.array("trails", trails_.data(), origins, {"trail", trail}, trail, measured);
    archive.array("trail_weights", weights_.data(), origins, {"weight", n_weights}, n_weights,
                  Limits::within(kLargestWeight));
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
    std::fill(valid_.begin(), valid_.end(), 0);
  }

 private:
  enum Validity : std::int64_t { kUnusable, kBegun, kSettled };  // of an origin; its units have settled
  static constexpr std::int64_t kFirst = 30;                     // values before units are settled
  static constexpr std::int64_t kMostFilled = 400;               // rows that a gap is filled with
  static constexpr int kOfTarget = 2 * feature::kNTarget;

  std::int64_t n_remembered() const { return options_.small ? 200 : 1200; }

  Seasons given_seasons() const {
    Seasons given;
    for (std::size_t i = 0; i < options_.periods.size() && i < 2; ++i)
      given[i] = {Cycle::counted, options_.periods[i]};
    return given;
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
    series_.absorb(expected, here.time, !std::isnan(y));
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
    std::fill(valid_.begin(), valid_.end(), 0);
    if (!another_day) return;
    plain_.begin_anew();
    paths_.forget_buckets();
    if (!ahead_) return;
    ahead_->begin_anew();
    paths_ahead_->forget_buckets();
  }

  std::size_t place(std::int64_t row) const { return std::size_t(row % H_); }
  Measure unit_of(std::size_t origin) const { return {units_[origin * 2], units_[origin * 2 + 1]}; }
  float* issued(std::size_t origin, int step) { return &issued_[(origin * H_ + step) * n_issued()]; }
  std::size_t n_issued() const { return std::size_t(plain_.n_members()) + 1 + Uncertainty::kIssued; }
  float* issued_ahead(std::size_t origin, int step) {
    return &issued_ahead_[(origin * H_ + step) * Uncertainty::kIssued];
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
    const std::size_t origin = place(rows - 1);
    if (!valid_[origin]) return series_.history().value(0);
    const double range = series_.highest() - series_.lowest();
    return std::clamp(unit_of(origin).restore(issued(origin, 0)[plain_.n_members()]),
                      series_.lowest() - range, series_.highest() + range);
  }

  // The row that has come was ahead of the last H origins.
  void learn_from_origins(double y, const Ahead& here) {
    const std::int64_t rows = series_.history().rows();
    const int bucket = bucket_of(here);
    const double now = series_.deviation_with(y);
    covariates_.as_if_ahead(x_there_);
    covariates_.standardise(x_there_.data(), x_.data());
    for (int step = 0; step < H_ && step < rows; ++step) {
      const std::size_t origin = place(rows - 1 - step);
      if (!valid_[origin]) continue;
      const Measure unit = unit_of(origin);
      recall(origin, step);
      learn_ahead(origin, step, unit, y, bucket, rows - 1 - step, now);
      if (std::isnan(y)) continue;
      float* issued = this->issued(origin, step);
      const int n = plain_.n_members();
      std::copy_n(issued, n, opinions_.data());
      const double target = unit.of(y), error = y - unit.restore(issued[n]);
      plain_.uncertainty().learn(step, bucket, error, unit.deviation, issued + n + 1);
      paths_.note(rows - 1 - step, step, error, issued[n + 1] * unit.deviation, unit.deviation);
      plain_.learn(features_.data(), step, opinions_.data(), issued[n], target, unit.deviation / now,
                   valid_[origin] == kSettled);
    }
    const std::size_t newest = place(std::max<std::int64_t>(rows - 1, 0));
    recall(newest, 0);
    plain_.learn_next_row(features_.data(), x_before_.data(), y);
    if (ahead_) ahead_->learn_next_row(features_.data(), x_there_.data(), y);
    std::copy_n(covariates_.now(), nx_, x_before_.begin());
    if (rows == 0 || valid_[newest] != kSettled) return;
    const double target = unit_of(newest).of(y);
    plain_.learn_networks(features_.data(), target);
    if (ahead_) ahead_->learn_networks(features_.data(), target);
  }

  // With the covariates of the rows ahead a forecast can only be made when they have come.
  void learn_ahead(std::size_t origin, int step, const Measure& unit, double y, int bucket, std::int64_t row,
                   double now) {
    if (!ahead_) return;
    const View view = view_from(unit, x_there_.data());
    std::vector<double>& trail = trail_;
    const std::size_t n = ahead_->trail_size();
    trail.assign(&trails_[origin * n], &trails_[origin * n] + n);
    ahead_->opinions(features_.data(), step, view, &weights_[origin * ahead_->n_weights()], trail.data(),
                     opinions_.data());
    std::copy(trail.begin(), trail.end(), &trails_[origin * n]);
    if (std::isnan(y)) return;
    const double mixed = ahead_->combine(step, opinions_.data());
    const double error = y - unit.restore(mixed);
    const float* issued = issued_ahead(origin, step);
    ahead_->uncertainty().learn(step, bucket, error, unit.deviation, issued);
    paths_ahead_->note(row, step, error, issued[0] * unit.deviation, unit.deviation);
    ahead_->learn(features_.data(), step, opinions_.data(), mixed, unit.of(y), unit.deviation / now,
                  valid_[origin] == kSettled);
  }

  // The features that the row which has come had at an origin, into features_.
  void recall(std::size_t origin, int step) {
    std::copy_n(&of_origin_[origin * feature::kOfOrigin], feature::kOfOrigin, features_.data());
    std::copy_n(&of_target_[(origin * H_ + step) * kOfTarget], kOfTarget,
                features_.data() + feature::kTarget);
    std::copy_n(calendar_.data(), kCalendarTerms, features_.data() + feature::kCalendar);
    for (int j = 0; j < nx_; ++j) features_[feature::kCovariates + j] = x_of_origin_[origin * nx_ + j];
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
    const std::size_t origin = place(row);
    if (series_.known() == 0) return;
    const Measure unit = series_.measure();
    units_[origin * 2] = unit.mean;
    units_[origin * 2 + 1] = unit.deviation;
    valid_[origin] = series_.known() < kFirst ? kBegun : kSettled;
    series_.origin_features(unit, &of_origin_[origin * feature::kOfOrigin]);
    for (int j = 0; j < nx_; ++j) x_of_origin_[origin * nx_ + j] = float(covariates_.standard()[j]);
    std::copy_n(&of_origin_[origin * feature::kOfOrigin], feature::kOfOrigin, features_.data());
    for (int j = 0; j < nx_; ++j) features_[feature::kCovariates + j] = x_of_origin_[origin * nx_ + j];
    std::vector<double>& trail = trail_;
    if (ahead_) {
      trail.resize(ahead_->trail_size());
      ahead_->begin(features_.data(), trail.data());
      std::copy(trail.begin(), trail.end(), &trails_[origin * trail.size()]);
      ahead_->copy_weights(&weights_[origin * ahead_->n_weights()]);
    }
    plain_.begin(features_.data(), scratch_trails_.data());
    const View view = view_from(unit, covariates_.now());
    const int n = plain_.n_members();
    for (int step = 0; step < H_; ++step) {
      const Ahead there = series_.ahead(step + 1);
      row_features(unit, there);
      std::copy_n(features_.data() + feature::kTarget, kOfTarget,
                  &of_target_[(origin * H_ + step) * kOfTarget]);
      plain_.opinions(features_.data(), step, view, nullptr, scratch_trails_.data(), opinions_.data());
      float* issued = this->issued(origin, step);
      std::copy_n(opinions_.data(), n, issued);
      issued[n] = float(plain_.combine(step, opinions_.data()));
      plain_.uncertainty().issue(step, bucket_of(there), unit.deviation, issued + n + 1);
      if (ahead_)
        ahead_->uncertainty().issue(step, bucket_of(there), unit.deviation, issued_ahead(origin, step));
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

  // The last H origins, each in place row % H.
  Buffer<std::int64_t> valid_;  // Validity
  Buffer<double> units_;        // [origin][mean, deviation]
  Buffer<float> of_origin_, x_of_origin_,
      of_target_;  // [origin][feature], [origin][covariate], [origin][step][feature]
  Buffer<float>
      issued_;  // [origin][step][opinions, their mixture, and of its error Uncertainty::kIssued numbers]
  Buffer<float> issued_ahead_;  // [origin][step][those of the other panel]
  Buffer<double> trails_;       // [origin]: roll-outs that wait for covariates
  Buffer<float> weights_;       // [origin]: of the networks that make them

  Buffer<double> features_, x_, calendar_, opinions_, scratch_trails_;
  std::vector<double> x_before_;  // the covariates of the row before
  std::vector<double> unknown_;   // those of a row of which nothing is known
  std::vector<double> trail_, x_there_;
  std::vector<Ahead> rows_ahead_;
};

}  // namespace elman
