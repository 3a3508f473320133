// Direct forecasts by least squares: for every step ahead a regression of its own on chosen features.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "archive.hpp"
#include "forecast/features.hpp"
#include "options.hpp"
#include "readout/least_squares.hpp"
#include "readout/readout.hpp"
#include "simd/buffer.hpp"

namespace elman {

// Which features a regression sees, each by its place and by a label that stays when there are more of them.
struct Selection {
  std::vector<int> places;
  std::vector<Label> labels;

  void add(int place, Label label) {
    places.push_back(place);
    labels.push_back(label);
  }
};

class Regressions {
 public:
  Regressions(const Selection& selection, int horizon, double forgetting, double initial_variance)
      : places_(selection.places),
        axis_("regressor", selection.labels),
        chosen_(places_.size() + kLanes<double>) {
    const Options options({{"forgetting", {forgetting}}, {"initial_variance", {initial_variance}}});
    for (int h = 0; h < horizon; ++h) steps_.push_back(std::make_unique<Step>(axis_, options));
  }

  double answer(const double* features, int step) {
    double out;
    const Readout<double>& readout = steps_[step]->readout;
    choose(features);
    readout.answer(chosen_.data(), chosen_.data(), &out);  // there are no hidden units
    return out;
  }

  // Takes the memory that learning needs in this thread; only this may fail.
  void reserve_scratch() const {
    for (const auto& step : steps_) step->scratch.reserve();
  }

  // An error far beyond the usual ones teaches no more than one at that limit.
  void learn(const double* features, int step, double target) {
    Step& s = *steps_[step];
    const double before = answer(features, step), error = target - before;
    const double usual = s.count > kFirst ? kLimit * std::sqrt(s.mean_square) : kLargestError;
    const double limit = std::clamp(usual, kSmallestLimit, kLargestError);
    const double taken = std::clamp(error, -limit, limit);
    double y = before + taken;
    s.scratch.reserve();
    s.fit.learn(s.readout, chosen_.data(), chosen_.data(), &y, 1, s.count);
    ++s.count;
    s.mean_square += (taken * taken - s.mean_square) * std::max(1 / double(s.count), kRate);
  }

  void exchange(Archive& archive, const std::string& prefix) {
    for (std::size_t h = 0; h < steps_.size(); ++h) {
      PrefixedArchive own(archive, prefix + std::to_string(h + 1) + ".");
      Step& s = *steps_[h];
      s.readout.parameters().exchange(own, "", s.readout.weights(), Limits::within(kLargestWeight));
      s.fit.exchange(own);
      own.value("count", s.count);
      own.value("mean_square", s.mean_square, Limits::up_to(kLargestError * kLargestError));
    }
  }

 private:
  static constexpr double kLimit = 6, kRate = 0.005;
  static constexpr double kSmallestLimit = 0.1;  // in deviations of the target
  static constexpr std::int64_t kFirst = 50;
  static constexpr double kLargestError = 2 * Measure::kFarthest;

  struct Step {
    Step(const Axis& axis, const Options& options)
        : readout({1, 0, axis, 1, true}, Loss::squared, scratch), fit(options, readout, scratch) {}
    ScratchPlan scratch;
    Readout<double> readout;
    LeastSquares<double> fit;
    std::int64_t count = 0;
    double mean_square = 0;
  };

  void choose(const double* features) {
    for (std::size_t i = 0; i < places_.size(); ++i) chosen_[i] = features[places_[i]];
  }

  std::vector<int> places_;
  Axis axis_;
  std::vector<std::unique_ptr<Step>> steps_;
  Buffer<double> chosen_;
};

}  // namespace elman
