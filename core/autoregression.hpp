// A linear model of a series by its own past: recursive least squares over the last targets and, if seasons
// are looked at, over those around one season ago and the means of the last ten, thirty and a hundred.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "forecast/regression.hpp"
#include "prepare/target_series.hpp"
#include "simd/buffer.hpp"
#include "simple_learner.hpp"

namespace elman {

// Everything is in the unit of the target, so that what is learned stays true when that changes. What is too
// long ago to be known is the mean.
class Autoregression final : public SimpleLearner {
 public:
  explicit Autoregression(const Options& options)
      : lags_(options.integer("lags")),
        seasons_(options.integer("seasons") != 0),
        fit_(selection(), 1, options.number("forgetting"), options.number("initial_variance")),
        regressors_(std::size_t(count())) {}

  double says(const Seen& seen) override {
    regress(seen, seen.series->rows() + 1);
    return seen.unit.restore(fit_.answer(regressors_.data(), 0));
  }

  void learn(const Seen& seen, std::int64_t row, double y) override {
    if (seen.series->rows() - row >= TargetSeries::kLength || !seen.unit.moments.varies()) return;
    regress(seen, row);
    fit_.learn(regressors_.data(), 0, seen.unit.standardise(y));
  }

  void exchange(Archive& archive) override { fit_.exchange(archive, "step"); }

 private:
  static constexpr std::array<std::int64_t, 3> kMeans = {10, 30, 100};
  static constexpr std::array<std::int64_t, 3> kAround = {0, 1, -1};  // rows before the one a season ago

  int count() const { return lags_ + 1 + (seasons_ ? int(kMeans.size() + 2 * kAround.size()) : 0); }
  Selection selection() const {
    Selection all;
    for (int i = 0; i < count(); ++i) all.add(i, {std::uint64_t(i)});
    return all;
  }

  // What the answer to a row is made of.
  void regress(const Seen& seen, std::int64_t row) {
    const TargetSeries::Before before = seen.series->before(row);
    double* out = regressors_.data();
    *out++ = 1;
    for (int lag = 1; lag <= lags_; ++lag) *out++ = seen.unit.standardise(before.at(lag));
    if (!seasons_) return;
    for (const Season& season : seen.series->seasons())
      for (const std::int64_t around : kAround)
        *out++ = season.exists() ? seen.unit.standardise(before.at(season.period + around)) : 0;
    double sum = 0;
    std::int64_t n = 0;
    for (const std::int64_t length : kMeans) {
      for (; n < std::min(length, before.n); ++n) sum += before.values[n];
      *out++ = n > 0 ? seen.unit.standardise(sum / double(n)) : 0;
    }
  }

  int lags_;
  bool seasons_;
  Regressions fit_;
  Buffer<double> regressors_;
};

}  // namespace elman
