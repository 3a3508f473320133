// Members that see the targets of their output and nothing else: what they say of a row is known before it
// comes. In the seats of a committee they stand where others have a network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "importance.hpp"
#include "learner.hpp"
#include "prepare/shown.hpp"
#include "prepare/target_series.hpp"

namespace elman {

// What is to be seen of the targets of an output.
struct Seen {
  Unit unit;
  const Shown& shown;
  const TargetSeries* series;  // null if nobody needs it
};

class SimpleLearner : public Learner {
 public:
  // Of the row after the newest, in the units of the stream; NaN if it has nothing to say of its own.
  virtual double says(const Seen& seen) = 0;
  // Whether it says the same of all rows, those of before too.
  virtual bool is_of_all_rows() const { return false; }
  // The target of a row has become known.
  virtual void learn(const Seen&, std::int64_t /* row */, double /* y */) {}

  std::size_t scratch() const override { return 0; }
  void initialise(const std::vector<std::uint64_t>&) override {}
  void predict(Rows, double*) override {}
  // What it says does not depend on the row.
  void run(const Script& script, const Share&, double*) final {
    std::size_t looks = 0;
    for (const Event& event : script.events)
      if (event.targets == Event::kRow && Importance::looks_at(event.row))
        std::fill_n(script.looks.changes + looks++ * script.looks.columns, script.looks.columns, 0.0);
  }
  void rescale(const Share&, const UnitChange*, const UnitChange*) final {}
  int remembered() const final { return 0; }
  void expect_late_targets() final {}
  std::size_t state_size() final { return 0; }
  void keep(double*) final {}
  void recall(const Past::Stretch&, const Share&) final {}
  void measure(bool) final {}
  double smoothness() const final { return std::numeric_limits<double>::quiet_NaN(); }
  double local_regret() const final { return std::numeric_limits<double>::quiet_NaN(); }
  std::int64_t samples() const final { return 0; }
  void exchange_weights(Archive&) override {}
  void gradient(Archive&) final {}
  void exchange(Archive&) override {}
  void restored() final {}
};

// These learn nothing and are exact.
class MeanSoFar final : public SimpleLearner {
 public:
  double says(const Seen& seen) override { return seen.unit.moments.mean; }
  bool is_of_all_rows() const override { return true; }
};

class LastValue final : public SimpleLearner {
 public:
  double says(const Seen& seen) override {
    return seen.shown.count > 0 ? seen.shown.last : seen.unit.moments.mean;
  }
};

class RecentMean final : public SimpleLearner {
 public:
  double says(const Seen& seen) override {
    return seen.shown.count > 0 ? seen.shown.recent_mean : seen.unit.moments.mean;
  }
};

// The target one season ago; where the period is not given, that of the season that was found, if there is
// one.
class SeasonAgo final : public SimpleLearner {
 public:
  explicit SeasonAgo(int period) : period_(period) {}
  double says(const Seen& seen) override {
    const Seasons& found = seen.series->seasons();
    const int period = period_ > 0 ? period_ : found[0].period;
    if (period == 0) return std::numeric_limits<double>::quiet_NaN();
    return seen.series->before(seen.series->rows() + 1).at(period);
  }

 private:
  int period_;
};

}  // namespace elman
