// Makes one answer of several opinions and, when the truth is known, learns from it: who is trusted, how wide
// intervals are, how large everybody's errors are and whether the stream has changed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "archive.hpp"
#include "combine/caution.hpp"
#include "combine/drift.hpp"
#include "combine/quantiles.hpp"
#include "combine/trust.hpp"
#include "prepare/preparation.hpp"
#include "questions.hpp"
#include "simd/buffer.hpp"

namespace elman {

// Where answers go: an output after the other, a row after the other.
struct Answers {
  double* answers;
  double* low;  // with `high` the interval that holds a target with probability `coverage`, or null
  double* high;
  double coverage;

  // Those behind the first n.
  Answers from(std::size_t n) const {
    return {answers + n, low == nullptr ? low : low + n, high == nullptr ? high : high + n, coverage};
  }
};

// Between which values every target lies.
struct Bounds {
  double lowest, highest;
  double within(double answer) const { return std::clamp(answer, lowest, highest); }
};

class Judge {
 public:
  Judge(int outputs, const Axis& members, const Bounds& bounds)
      : n_outputs_(outputs),
        n_members_(int(members.size())),
        bounds_(bounds),
        mixtures_(outputs, Trust(members)),
        quantiles_(outputs),
        cautions_(outputs),
        recent_errors_(std::size_t(outputs) * (members.size() + 1)),
        mean_errors_(std::size_t(outputs) * (members.size() + 1)),
        judged_(outputs) {}

  double weight(int member, int output) const { return mixtures_[output].weights()[member]; }
  // Mean squared errors [output][member], and then of the committee: of the last thousand samples or so, and
  // of all.
  const Buffer<double>& recent_errors() const { return recent_errors_; }
  const Buffer<double>& mean_errors() const { return mean_errors_; }
  const DriftMeter& drift() const { return drift_; }
  const Bounds& bounds() const { return bounds_; }

  // Mixes the opinions that there are of output k, whose newest known target is `age` rows old. Who has none,
  // NaN, is of the opinion of the others.
  void mix(Said& said, int k, double age) const {
    mixtures_[k].fill_in(said.opinions.data());
    said.layers = mixtures_[k].layers(said.opinions.data());
    said.mixed = mixtures_[k].combine(said.layers);
    const double widening = cautions_[k].widening(age, quantiles_[k].size(), said.moments.deviation());
    said.interval = quantiles_[k].given(widening, age);
  }

  // What is said in the units of the stream, to place `at`.
  void write(const std::vector<Said>& said, const Preparation& preparation, const Answers& out,
             std::size_t at) const {
    for (int k = 0; k < n_outputs_; ++k, ++at) {
      const Unit unit = preparation.unit_of(said[k].moments);
      out.answers[at] = bounds_.within(unit.restore(said[k].mixed));
      if (out.low == nullptr) continue;
      out.low[at] = bound(unit, said[k], (1 - out.coverage) / 2);
      out.high[at] = bound(unit, said[k], (1 + out.coverage) / 2);
    }
  }

  // The targets of output k have got another unit: who was trusted until now counts little.
  void begin_anew(int k, const Unit& unit) { mixtures_[k].begin_anew(unit.size()); }

  // Learns from what was said of row t, what came and what that made of the units. Where what was said is
  // outgrown, who is trusted and how wide intervals are is learned from what would be said now: `again` are
  // these opinions, [output][member] in the units of now, NaN of those who have none; or null.
  void conclude(const std::vector<Said>& said, const Preparation& preparation, const double* y,
                const Labelled* labelled, std::int64_t t, double* again) {
    double of_variance = 0;
    int known = 0;
    for (int k = 0; k < n_outputs_; ++k) {
      if (std::isnan(y[k])) continue;
      note_succession(k, y[k], labelled[k]);
      const Unit unit = preparation.unit_of(said[k].moments);
      if (unit.moments.varies()) quantiles_[k].account(y[k] - unit.restore(said[k].mixed), said[k].interval);
      const bool outgrown = again != nullptr && said[k].is_outgrown(labelled[k].unit.moments);
      if (outgrown) judge_again(again + std::size_t(k) * n_members_, k, y[k], labelled[k]);
      if (unit.moments.varies() && !outgrown) judge_given(said[k], k, y[k], unit, labelled[k].fault);
      if (!unit.moments.varies()) continue;
      if (labelled[k].renewed) begin_anew(k, labelled[k].unit);
      const double target = unit.standardise_far(y[k]), mixed = said[k].mixed;
      ++known;
      ++judged_[k];
      for (int m = 0; m <= n_members_; ++m)
        note_error(k, m, square(unit.size() * ((m < n_members_ ? said[k].opinions[m] : mixed) - target)));
      of_variance += square(mixed - target) / unit.variance();
    }
    if (known > 0) drift_.learn(std::min(of_variance / known, DriftMeter::kLargestError), t);
  }

  // Walks how many were judged, and errors. States of former versions have errors over variances, and know
  // how many targets were judged, of all outputs together.
  void exchange_former_count(Archive& archive) { archive.value("concluded", judged_[0]); }
  void exchange_errors(Archive& archive, const Axis& members, const Preparation& preparation, bool former,
                       std::int64_t samples) {
    const Axis outputs{"output", std::size_t(n_outputs_)};
    const Limits limits = Limits::up_to(DriftMeter::kLargestError);
    if (!former) {
      archive.vector("judged", judged_.data(), outputs, Limits::up_to(double(samples)));
      archive.array("recent_squared_errors", recent_errors_.data(), outputs, members, members.size(), limits);
      archive.array("mean_squared_errors", mean_errors_.data(), outputs, members, members.size(), limits);
      return;
    }
    std::fill(judged_.begin(), judged_.end(), judged_[0]);
    archive.vector("recent_errors", recent_errors_.data(), members, limits);
    archive.vector("mean_errors", mean_errors_.data(), members, limits);
    for (Buffer<double>* errors : {&recent_errors_, &mean_errors_})
      for (std::size_t i = errors->size(); i-- > 0;)
        (*errors)[i] =
            (*errors)[i % members.size()] * preparation.unit(int(i / members.size())).moments.variance();
  }
  std::int64_t most_judged() const { return *std::max_element(judged_.begin(), judged_.end()); }

  void exchange_drift(Archive& archive, std::int64_t samples, std::int64_t steps) {
    drift_.exchange(archive);
    archive.require(drift_.is_possible(samples, steps), "there are alarms of samples that did not come");
  }

  void exchange_trust(Archive& archive, const Preparation& preparation, bool former, std::int64_t steps) {
    for (int k = 0; k < n_outputs_; ++k) {
      PrefixedArchive own(archive, "output" + std::to_string(k) + ".");
      mixtures_[k].exchange(own, former ? std::max(preparation.unit(k).size(), kSmallestUnit) : 0);
      quantiles_[k].exchange(own);
      archive.require(quantiles_[k].count() <= steps, "there are more errors than targets");
      if (!former) cautions_[k].exchange(own);
    }
  }

 private:
  static constexpr double kRecent = 0.001;  // share of the newest error among the recent ones
  static constexpr double kSmallestUnit = 1e-300;

  // A fault says nothing about who is right; that it came is an error of the interval all the same.
  void judge_given(const Said& said, int k, double y, const Unit& unit, bool fault) {
    if (!fault)
      mixtures_[k].learn(said.opinions.data(), said.layers, said.mixed, unit.standardise_far(y), unit.size());
    const double widening =
        cautions_[k].widening(said.interval.age, quantiles_[k].size(), said.moments.deviation());
    quantiles_[k].learn(y - unit.restore(said.mixed), said.interval, widening);
    cautions_[k].learn(said.interval.age, true);
  }

  // Those who have no opinion follow the others: that is no merit and no fault.
  void judge_again(double* opinions, int k, double y, const Labelled& labelled) {
    const Unit& unit = labelled.unit;
    const auto is_unknown = [](double opinion) { return std::isnan(opinion); };
    if (!unit.moments.varies() || std::all_of(opinions, opinions + n_members_, is_unknown)) return;
    mixtures_[k].fill_in(opinions);
    const Trust::Layers layers = mixtures_[k].layers(opinions);
    const double mixed = mixtures_[k].combine(layers);
    if (!labelled.fault) mixtures_[k].learn(opinions, layers, mixed, unit.standardise_far(y), unit.size());
    quantiles_[k].learn(y - unit.restore(mixed), {}, 1);
    cautions_[k].learn(1, false);
  }

  void note_succession(int k, double y, const Labelled& labelled) {
    const Unit& unit = labelled.unit;
    if (std::isnan(labelled.before) || labelled.fault || !unit.moments.varies()) return;
    cautions_[k].see_succession(square(unit.standardise(y) - labelled.before) / unit.variance());
  }

  void note_error(int k, int m, double squared) {
    squared = std::min(squared, DriftMeter::kLargestError);
    const std::size_t at = std::size_t(k) * (n_members_ + 1) + m;
    recent_errors_[at] += (squared - recent_errors_[at]) * std::max(1 / double(judged_[k]), kRecent);
    mean_errors_[at] += (squared - mean_errors_[at]) / double(judged_[k]);
  }

  // The value below which the target lies with probability `level`. Of a target that has never
  // varied in n samples the rule of succession says that it varies now with probability 1 / (n + 1).
  double bound(const Unit& unit, const Said& said, double level) const {
    if (unit.moments.varies()) return end_of_interval(unit, said.mixed, Quantiles::at(level, said.interval));
    const double uncertain = 2 * std::min(level, 1 - level);
    if (uncertain * (unit.moments.count + 1) >= 1) return unit.moments.mean;
    return end_of_interval(unit, said.mixed, level < 0.5 ? -HUGE_VAL : HUGE_VAL);
  }

  // An infinite error stays infinite in any unit, unless answers have a bound.
  double end_of_interval(const Unit& unit, double mixed, double error) const {
    return bounds_.within(std::isinf(error) ? error : unit.restore(mixed) + error);
  }

  static double square(double x) { return x * x; }

  int n_outputs_, n_members_;
  Bounds bounds_;
  std::vector<Trust> mixtures_;
  std::vector<Quantiles> quantiles_;
  std::vector<Caution> cautions_;
  DriftMeter drift_;
  Buffer<double> recent_errors_, mean_errors_;
  Buffer<std::int64_t> judged_;  // targets of each output that had varied before
};

}  // namespace elman
