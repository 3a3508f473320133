// What a raw row becomes before a network sees it: dates and categories coded, past targets added, missing
// values filled in, everything scaled. Done once for all networks that learn the same stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "archive.hpp"
#include "prepare/coding.hpp"
#include "prepare/columns.hpp"
#include "prepare/regime.hpp"
#include "prepare/shown.hpp"
#include "prepare/target_series.hpp"
#include "rescale.hpp"
#include "simd/buffer.hpp"

namespace elman {

// In which units networks answer, as of one moment: deviations from the target's running mean, or the
// target's own.
struct Unit {
  static constexpr double kLimit = 1e6;  // of values that are not scaled

  Moments moments;
  bool scaled;

  double standardise(double y) const {
    return scaled ? moments.standardise(y) : std::clamp(y, -kLimit, kLimit);
  }
  // The same without a limit, for what is compared with answers.
  double standardise_far(double y) const {
    return scaled ? moments.standardise_far(y) : std::clamp(y, -Moments::kFarthest, Moments::kFarthest);
  }
  double restore(double answer) const { return scaled ? moments.restore(answer) : answer; }
  // What 1 is in the units of the stream.
  double size() const { return scaled ? moments.deviation() : 1; }
  // The target's variance in these units.
  double variance() const { return scaled ? 1 : moments.variance(); }
};

// The unit of an output after a target was taken, whether it is that of a new regime, and whether the target
// was a fault, of which nobody learns; and the target of the row before it as networks see it, if it is known
// where targets come late; else NaN.
struct Labelled {
  Unit unit;
  bool renewed, fault;
  UnitChange change;  // from the unit before, if that is carried over
  double before = std::numeric_limits<double>::quiet_NaN();
};

// The unit in which a row is answered; whether its features say that targets are again what they used to be,
// and how the unit changes by that, if it is carried over.
struct RowUnit {
  Unit unit;
  bool returns = false;
  UnitChange change;
};

class Preparation {
 public:
  struct Scaled {
    bool inputs, targets;
  };

  // `coding` gives the features that `columns` has.
  Preparation(Columns columns, Scaled scaled, Coding coding)
      : columns_(columns),
        scaled_(scaled),
        coding_(std::move(coding)),
        inputs_(columns.count()),
        outputs_(columns.outputs),
        shown_(columns.outputs),
        foreseen_(coding_.is_plain() ? 0 : coding_.labels().size()),
        history_(columns.lagged()),
        sources_(columns.lagged()) {
    std::fill(history_.begin(), history_.end(), std::numeric_limits<double>::quiet_NaN());
  }

  const Columns& columns() const { return columns_; }
  Coding& coding() { return coding_; }
  const Coding& coding() const { return coding_; }
  Unit unit(int output) const { return unit_of(outputs_[output].moments); }
  const Shown& shown(int output) const { return shown_[output]; }
  Unit unit_of(const Moments& moments) const { return {moments, scaled_.targets}; }

  // In which units the next row is answered, into `units`.
  void foresee(const double* raw, RowUnit* units) const {
    const double* x = nullptr;
    for (int k = 0; k < columns_.outputs; ++k) {
      units[k] = {unit(k), false, {}};
      if (!scaled_.targets || !outputs_[k].may_return()) continue;
      if (x == nullptr) x = coding_.preview(raw, foreseen_);
      if (!are_back(x, outputs_[k])) continue;
      const Unit usual = unit_of(outputs_[k].usual);
      units[k] = {usual, true,
                  carries_units_ ? UnitChange::between(outputs_[k].moments, usual.moments) : UnitChange{}};
    }
  }

  // The row of the next sample as networks see it, into `row`; its columns count from now on, and so do the
  // `units` that were foreseen. Its targets are not known yet. True if units of columns are carried over,
  // from this row to the next one: how goes into `changes`.
  bool take(const double* raw, const RowUnit* units, double* row, UnitChange* changes) {
    const double* x = coding_.take(raw);
    const bool left = have_left(x);
    bool any = false;
    for (int j = 0; j < columns_.count(); ++j) {
      row[j] = take(inputs_[j], j, column(x, j), left, units, changes[j]);
      any |= !changes[j].is_none();
    }
    for (int k = 0; k < columns_.outputs; ++k)
      if (units[k].returns) outputs_[k].return_to_usual();
    ++rows_;
    for (int k = 0; k < columns_.outputs; ++k) pass(k);
    for (TargetSeries& series : series_) series.pass();
    return any;
  }

  // The same row, without changing anything.
  void preview(const double* raw, const RowUnit* units, double* row) const {
    std::vector<double> coded;
    const double* x = coding_.preview(raw, coded);
    const bool left = have_left(x);
    for (int j = 0; j < columns_.count(); ++j) {
      Regime regime = inputs_[j];
      UnitChange change;
      row[j] = take(regime, j, column(x, j), left, units, change);
    }
  }

  // From now on, before the first row, units that change are carried over, see UnitChange.
  void carry_units() { carries_units_ = true; }

  // From now on, before the first row, the targets of every output are kept as a series.
  void keep_series() { series_.resize(outputs_.size()); }
  const TargetSeries* series(int output) const { return series_.empty() ? nullptr : &series_[output]; }

  // How far each column is moved to see whether it matters: one standard deviation, as networks see it.
  void spreads(double* out) const {
    for (int j = 0; j < columns_.count(); ++j) {
      const Moments& moments = inputs_[j].moments;
      out[j] = !moments.varies() ? 0 : scaled_.inputs ? 1 : moments.deviation();
    }
  }

  // The targets of a row by its number, from 1, as networks see them, NaN where unknown or a fault, into
  // `targets`. True if any is known. What that made of the units goes into `labelled`.
  bool label(std::int64_t row, const double* y, double* targets, Labelled* labelled) {
    bool known = false;
    for (int k = 0; k < columns_.outputs; ++k) {
      labelled[k].fault = scaled_.targets && outputs_[k].is_fault(y[k], Regime::Role::target);
      targets[k] = labelled[k].fault ? std::numeric_limits<double>::quiet_NaN() : y[k];
      known |= !std::isnan(y[k]);
    }
    coding_.learn(row, targets);
    const bool left = row == rows_ && std::any_of(inputs_.begin() + columns_.lagged(), inputs_.end(),
                                                  [](const Regime& each) { return each.has_left(); });
    for (int k = 0; k < columns_.outputs; ++k) {
      labelled[k].renewed = false;
      labelled[k].change =
          observe(outputs_[k], y[k], scaled_.targets, Regime::Role::target, left, &labelled[k].renewed);
      labelled[k].unit = unit(k);
      if (std::isnan(targets[k])) continue;
      targets[k] = unit(k).standardise(y[k]);
      shown_[k].observe(y[k], row);
      if (!series_.empty()) series_[k].observe(row, y[k]);
      remember(k, row, y[k]);
    }
    return known;
  }

  void exchange(Archive& archive, bool former) {
    const Axis outputs{"output", outputs_.size()};
    coding_.exchange(archive);
    exchange_regimes(archive, "input", columns_.axis(), inputs_);
    exchange_regimes(archive, "target", outputs, outputs_);
    archive.array("history", history_.data(), outputs, {"lag", std::size_t(columns_.lags)}, columns_.lags,
                  Limits{}.or_unknown());
    if (former)
      for (int k = 0; k < columns_.outputs; ++k) shown_[k] = Shown::of(outputs_[k].moments);
    else
      exchange_shown(archive, shown_);
    for (std::size_t k = 0; k < series_.size(); ++k) {
      PrefixedArchive own(archive, "output" + std::to_string(k) + ".");
      series_[k].exchange(own);
    }
  }

  // Walks what else is needed where targets come late, of row `oldest` or a newer one; `newest` is that of
  // now.
  void exchange_sources(Archive& archive, std::int64_t oldest, std::int64_t newest) {
    for (std::int64_t& row : sources_)
      if (row < oldest) row = 0;
    coding_.forget_before(oldest);
    coding_.exchange_waiting(archive);
    archive.array("history_rows", sources_.data(), {"output", outputs_.size()},
                  {"lag", std::size_t(columns_.lags)}, columns_.lags);
    if (std::any_of(sources_.begin(), sources_.end(), [&](std::int64_t row) { return row > newest; }))
      throw std::invalid_argument("a past target is of a row that has not come yet");
  }
  void restored(std::int64_t rows) {
    rows_ = rows;
    for (TargetSeries& series : series_) series.restored(rows);
    coding_.restored();
  }

 private:
  double column(const double* x, int j) const {
    return j < columns_.lagged() ? history_[j] : x[j - columns_.lagged()];
  }

  Regime::Role role(int j) const {
    return j < columns_.lagged() ? Regime::Role::past_target : Regime::Role::feature;
  }

  // The next value of column j as networks see it: in the unit of before if another one is carried over.
  double take(Regime& regime, int j, double value, bool left, const RowUnit* units,
              UnitChange& change) const {
    const Moments former = regime.moments;
    bool returns = false;
    for (int k = 0; k < columns_.outputs && j >= columns_.lagged(); ++k)
      returns |= units[k].returns && left_with(outputs_[k], regime, value);
    if (returns) regime.return_to_usual();
    change = observe(regime, value, scaled_.inputs, role(j), left && j >= columns_.lagged());
    if (returns && carries_units_ && scaled_.inputs) change = UnitChange::between(former, regime.moments);
    return prepared(change.is_none() ? regime.moments : former, value);
  }

  // Whether some feature of a row is still what it is in a stretch.
  bool have_left(const double* x) const {
    for (int j = columns_.lagged(); j < columns_.count(); ++j)
      if (inputs_[j].stretch > 0 && !std::isnan(column(x, j)) && !inputs_[j].is_usual(column(x, j)))
        return true;
    return false;
  }

  // Whether a feature left what is usual together with a target.
  static bool left_with(const Regime& target, const Regime& feature, double value) {
    return feature.stretch > 0 && !std::isnan(value) &&
           std::abs(feature.stretch - target.stretch) <= Regime::kTogether;
  }

  // Whether all features that did are back.
  bool are_back(const double* x, const Regime& target) const {
    double evidence = 0;
    for (int j = columns_.lagged(); j < columns_.count(); ++j) {
      const double value = column(x, j);
      if (!left_with(target, inputs_[j], value)) continue;
      if (!inputs_[j].is_usual(value)) return false;
      evidence += inputs_[j].evidence_with(value);
    }
    return evidence > Regime::kSure;
  }

  // Takes a value in; how that changes the unit, if it is adopted anew or was a short while ago.
  UnitChange observe(Regime& regime, double value, bool scaled, Regime::Role role, bool others_left,
                     bool* renewed = nullptr) const {
    const Moments former = regime.moments;
    const bool young = regime.is_young(), anew = regime.observe(value, role, others_left);
    if (renewed != nullptr) *renewed = anew;
    return carries_units_ && scaled && (young || anew) ? UnitChange::between(former, regime.moments)
                                                       : UnitChange{};
  }

  double prepared(const Moments& moments, double value) const {
    if (scaled_.inputs) return moments.standardise_feature(value);
    return std::clamp(std::isnan(value) ? moments.mean : value, -Unit::kLimit, Unit::kLimit);
  }

  // The newest row has come: the past targets of output k lie one row further back. In place of one that is
  // not known stands the newest that is known and older.
  void pass(int k) {
    if (columns_.lags == 0) return;
    const std::size_t newest = std::size_t(k) * columns_.lags, last = newest + columns_.lags - 1;
    std::copy_backward(&history_[newest], &history_[last], &history_[last] + 1);
    std::copy_backward(&sources_[newest], &sources_[last], &sources_[last] + 1);
  }

  void remember(int k, std::int64_t row, double y) {
    for (int lag = 0; lag < columns_.lags && rows_ - lag >= row; ++lag) {
      const std::size_t at = std::size_t(k) * columns_.lags + lag;
      if (sources_[at] >= row) continue;
      history_[at] = y;
      sources_[at] = row;
    }
  }

  Columns columns_;
  Scaled scaled_;
  Coding coding_;
  std::vector<Regime> inputs_, outputs_;
  bool carries_units_ = false;
  std::vector<Shown> shown_;              // by each output
  std::vector<TargetSeries> series_;      // of each output, or none
  mutable std::vector<double> foreseen_;  // room for features as numbers: to foresee takes no memory
  std::int64_t rows_ = 0;                 // taken so far
  Buffer<double> history_;                // [outputs][lags], the newest first
  Buffer<std::int64_t> sources_;  // of which row each is the target; 0 if that does not matter any more
};

}  // namespace elman
