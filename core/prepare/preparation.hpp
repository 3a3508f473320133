// What a raw row becomes before a network sees it: past targets added, missing values filled in, everything
// scaled. Done once for all networks that learn the same stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "archive.hpp"
#include "prepare/columns.hpp"
#include "prepare/scaling.hpp"
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
  double restore(double answer) const { return scaled ? moments.restore(answer) : answer; }
  // The target's variance in these units.
  double variance() const { return scaled ? 1 : moments.variance; }
};

class Preparation {
 public:
  struct Scaled {
    bool inputs, targets;
  };

  Preparation(Columns columns, Scaled scaled)
      : columns_(columns),
        scaled_(scaled),
        inputs_(columns.count()),
        outputs_(columns.outputs),
        history_(columns.lagged()) {
    std::fill(history_.begin(), history_.end(), std::numeric_limits<double>::quiet_NaN());
  }

  const Columns& columns() const { return columns_; }
  Unit unit(int output) const { return {outputs_[output].moments, scaled_.targets}; }

  // The row of the next sample as networks see it, into `row`; its columns count from now on.
  void take(const double* x, double* row) {
    for (int j = 0; j < columns_.count(); ++j) {
      const double value = column(x, j);
      inputs_[j].observe(value);
      row[j] = prepared(inputs_[j].moments, value);
    }
  }

  // The same row, without changing anything.
  void preview(const double* x, double* row) const {
    for (int j = 0; j < columns_.count(); ++j) {
      const double value = column(x, j);
      Regime regime = inputs_[j];
      regime.observe(value);
      row[j] = prepared(regime.moments, value);
    }
  }

  // The targets of that sample as networks see them, NaN where unknown, into `targets`. True if any is known.
  bool label(const double* y, double* targets) {
    bool known = false;
    for (int k = 0; k < columns_.outputs; ++k) {
      outputs_[k].observe(y[k]);
      targets[k] = std::isnan(y[k]) ? y[k] : unit(k).standardise(y[k]);
      known |= !std::isnan(y[k]);
      remember(k, y[k]);
    }
    return known;
  }

  void exchange(Archive& archive) {
    const Axis outputs{"output", outputs_.size()};
    exchange_regimes(archive, "input", columns_.axis(), inputs_);
    exchange_regimes(archive, "target", outputs, outputs_);
    archive.targets("history", history_.data(), outputs, {"lag", std::size_t(columns_.lags)}, columns_.lags);
  }

 private:
  double column(const double* x, int j) const {
    return j < columns_.lagged() ? history_[j] : x[j - columns_.lagged()];
  }

  double prepared(const Moments& moments, double value) const {
    if (scaled_.inputs) return moments.standardise_feature(value);
    return std::clamp(std::isnan(value) ? moments.mean : value, -Unit::kLimit, Unit::kLimit);
  }

  // In place of a target that is not known stands the last one that was.
  void remember(int k, double y) {
    if (columns_.lags == 0) return;
    double* newest = &history_[std::size_t(k) * columns_.lags];
    std::copy_backward(newest, newest + columns_.lags - 1, newest + columns_.lags);
    if (!std::isnan(y)) *newest = y;
  }

  Columns columns_;
  Scaled scaled_;
  std::vector<Regime> inputs_, outputs_;
  Buffer<double> history_;  // [outputs][lags], the newest first
};

}  // namespace elman
