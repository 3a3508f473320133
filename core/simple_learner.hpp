// A member that learns nothing: what it says is known from what the targets have shown, see Shown. In the
// seats of a committee it stands where others have a network.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "importance.hpp"
#include "learner.hpp"
#include "prepare/shown.hpp"

namespace elman {

// Which simple member a readout of that name makes.
inline Simple simple_of(const std::string& readout) {
  if (readout == "LastValue") return Simple::last_value;
  if (readout == "RecentMean") return Simple::recent_mean;
  if (readout == "Mean") return Simple::mean;
  return Simple::none;
}

class SimpleLearner final : public Learner {
 public:
  std::size_t scratch() const override { return 0; }
  void initialise(const std::vector<std::uint64_t>&) override {}
  void predict(Rows, double*) override {}
  // What it says does not depend on the row.
  void run(const Script& script, const Share&, double*) override {
    std::size_t looks = 0;
    for (const Event& event : script.events)
      if (event.targets == Event::kRow && Importance::looks_at(event.row))
        std::fill_n(script.looks.changes + looks++ * script.looks.columns, script.looks.columns, 0.0);
  }
  int remembered() const override { return 0; }
  void expect_late_targets() override {}
  std::size_t state_size() override { return 0; }
  void keep(double*) override {}
  void recall(const Past::Stretch&, const Share&) override {}
  void measure(bool) override {}
  double smoothness() const override { return std::numeric_limits<double>::quiet_NaN(); }
  double local_regret() const override { return std::numeric_limits<double>::quiet_NaN(); }
  std::int64_t samples() const override { return 0; }
  void exchange_weights(Archive&) override {}
  void gradient(Archive&) override {}
  void exchange(Archive&) override {}
  void restored() override {}
};

}  // namespace elman
