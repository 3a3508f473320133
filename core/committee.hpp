// Several learners on one stream, weighted by how well they forecast it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "combine/drift.hpp"
#include "learner.hpp"
#include "combine/mixture.hpp"
#include "combine/quantiles.hpp"

namespace elman {

// The committee scales features and targets once for all its members, who do not scale on their own, and adds
// the last targets to the features of those who want them. Members never see each other's forecasts, so they
// can learn in parallel, a chunk of rows at a time, with the same bits as row by row.
class Committee final : public Model {
 public:
  struct Member {
    std::unique_ptr<Learner> learner;
    bool lagged;  // sees the last targets, too: before the features, the newest first
  };
  struct Sizes {
    int n_features, n_outputs, lags;
  };

  Committee(Sizes sizes, std::vector<Member> members)
      : n_features_(sizes.n_features),
        n_outputs_(sizes.n_outputs),
        n_lagged_(sizes.lags * sizes.n_outputs),
        n_columns_(n_lagged_ + n_features_),
        members_(std::move(members)),
        inputs_(n_columns_),
        outputs_(n_outputs_),
        history_(n_lagged_),
        mixtures_(n_outputs_, Mixture(int(members_.size()))),
        quantiles_(n_outputs_),
        recent_errors_(members_.size() + 1),
        mean_errors_(members_.size() + 1),
        rows_(std::size_t(kChunk) * n_columns_),
        targets_(std::size_t(kChunk) * n_outputs_),
        forecasts_(members_.size() * kChunk * n_outputs_),
        units_(std::size_t(kChunk) * n_outputs_),
        opinions_(members_.size()) {
    std::fill(history_.begin(), history_.end(), std::numeric_limits<double>::quiet_NaN());
  }

  void predict(const double* x, double* answer) override { forecast(x, answer, nullptr, nullptr, 0); }

  // The answer for row x and the interval that holds the target with probability `coverage`.
  void interval(const double* x, double coverage, double* low, double* high) {
    std::vector<double> answer(n_outputs_);
    forecast(x, answer.data(), low, high, coverage);
  }

  void learn(const double* x, const double* y) override {
    std::vector<double> answer(n_outputs_);
    run(x, y, 1, answer.data());
  }

  void run(const double* X, const double* Y, std::size_t rows, double* answers) override {
    run(X, Y, rows, {answers, nullptr, nullptr, 0}, 1);
  }

  struct Answers {
    double* answers;
    double* low;  // with `high` the interval that holds a target with probability `coverage`, or null
    double* high;
    double coverage;
  };
  void run(const double* X, const double* Y, std::size_t rows, Answers out, int threads) {
    for (std::size_t begin = 0; begin < rows; begin += kChunk) {
      const std::size_t n = std::min(rows - begin, std::size_t(kChunk));
      for (std::size_t i = 0; i < n; ++i)
        take(X + (begin + i) * n_features_, Y + (begin + i) * n_outputs_, i);
      run_members(n, threads);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = (begin + i) * n_outputs_;
        conclude(Y + at, i, out, at, samples_ - std::int64_t(n - 1 - i));
      }
    }
  }

  Meters meters() const override { return {samples_, steps_, 0}; }

  int n_members() const { return int(members_.size()); }
  double weight(int member, int output) const { return mixtures_[output].weights()[member]; }
  // Squared errors in units of the target's variance, of each member and then of the committee: of the last
  // thousand samples or so, and of all.
  const Buffer<double>& recent_errors() const { return recent_errors_; }
  const Buffer<double>& mean_errors() const { return mean_errors_; }
  const DriftMeter& drift() const { return drift_; }

  void exchange(Archive& archive) override {
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    archive.value("concluded", concluded_);
    exchange_regimes(archive, "input", inputs_);
    exchange_regimes(archive, "target", outputs_);
    archive.array("history", history_.data(), 1, n_lagged_, n_lagged_);
    archive.array("recent_errors", recent_errors_.data(), 1, recent_errors_.size(), recent_errors_.size());
    archive.array("mean_errors", mean_errors_.data(), 1, mean_errors_.size(), mean_errors_.size());
    drift_.exchange(archive);
    for (int k = 0; k < n_outputs_; ++k) {
      PrefixedArchive own(archive, "output" + std::to_string(k) + ".");
      mixtures_[k].exchange(own);
      quantiles_[k].exchange(own);
    }
    for (std::size_t m = 0; m < members_.size(); ++m) {
      PrefixedArchive own(archive, "member" + std::to_string(m) + ".");
      members_[m].learner->exchange(own);
    }
  }

  void restored() override {
    for (Member& member : members_) member.learner->restored();
  }

 private:
  static constexpr int kChunk = 512;
  static constexpr double kRecent = 0.001;  // share of the newest error among the recent ones

  void forecast(const double* x, double* answer, double* low, double* high, double coverage) {
    for (int j = 0; j < n_columns_; ++j) {
      Regime regime = inputs_[j];
      const double value = column(x, j);
      regime.observe(value);
      rows_[j] = regime.moments.standardise_feature(value);
    }
    for (std::size_t m = 0; m < members_.size(); ++m)
      members_[m].learner->predict(row_of(members_[m], 0), forecasts_of(m, 0));
    for (int k = 0; k < n_outputs_; ++k) {
      units_[k] = outputs_[k].moments;
      answer_output(0, k, {answer, low, high, coverage}, k);
    }
  }

  // Scales sample i of the chunk and advances everything that does not depend on a forecast.
  void take(const double* x, const double* y, std::size_t i) {
    double* row = &rows_[i * n_columns_];
    for (int j = 0; j < n_columns_; ++j) {
      const double value = column(x, j);
      inputs_[j].observe(value);
      row[j] = inputs_[j].moments.standardise_feature(value);
    }
    bool known = false;
    for (int k = 0; k < n_outputs_; ++k) {
      const std::size_t at = i * n_outputs_ + k;
      units_[at] = outputs_[k].moments;
      outputs_[k].observe(y[k]);
      targets_[at] = std::isnan(y[k]) ? y[k] : outputs_[k].moments.standardise(y[k]);
      known |= !std::isnan(y[k]);
    }
    remember(y);
    ++samples_;
    steps_ += known;
  }

  double column(const double* x, int j) const { return j < n_lagged_ ? history_[j] : x[j - n_lagged_]; }

  // The newest targets come first. In place of one that is not known stands the last one that was.
  void remember(const double* y) {
    if (n_lagged_ == 0) return;
    std::copy_backward(history_.begin(), history_.end() - n_outputs_, history_.end());
    for (int k = 0; k < n_outputs_; ++k)
      if (!std::isnan(y[k])) history_[k] = y[k];
  }

  const double* row_of(const Member& member, std::size_t i) const {
    return rows_.data() + i * n_columns_ + (member.lagged ? 0 : n_lagged_);
  }
  double* forecasts_of(std::size_t member, std::size_t i) {
    return &forecasts_[(member * kChunk + i) * n_outputs_];
  }

  // Every member runs over the first n samples of the chunk.
  void run_members(std::size_t n, int threads) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t m = next++; m < members_.size(); m = next++)
        members_[m].learner->run_rows(row_of(members_[m], 0), n_columns_, targets_.data(), n,
                                      forecasts_of(m, 0));
    };
    std::vector<std::thread> helpers;
    if (n > kWorthAThread)
      for (int i = 1; i < std::min(threads, n_members()); ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
  }
  static constexpr std::size_t kWorthAThread = 16;  // rows; starting a thread takes about as long

  // Answers sample i of the chunk, its t-th of all, and learns from its target.
  void conclude(const double* y, std::size_t i, const Answers& out, std::size_t at, std::int64_t t) {
    std::vector<double>& squared = squared_errors_;
    squared.assign(members_.size() + 1, 0);
    int known = 0;
    for (int k = 0; k < n_outputs_; ++k) {
      const double mixed = answer_output(i, k, out, at + k);
      const Moments& unit = units_[i * n_outputs_ + k];
      if (std::isnan(y[k]) || !unit.varies()) continue;
      const double target = unit.standardise(y[k]);
      mixtures_[k].learn(opinions_.data(), target);
      quantiles_[k].learn(target - mixed);
      for (std::size_t m = 0; m < members_.size(); ++m) squared[m] += square(opinions_[m] - target);
      squared.back() += square(mixed - target);
      ++known;
    }
    if (known == 0) return;
    ++concluded_;
    for (std::size_t m = 0; m < squared.size(); ++m) {
      const double error = squared[m] / known;
      recent_errors_[m] += (error - recent_errors_[m]) * std::max(1 / double(concluded_), kRecent);
      mean_errors_[m] += (error - mean_errors_[m]) / double(concluded_);
    }
    drift_.learn(squared.back() / known, t);
  }

  // Writes the answer for output k of sample i to place `at`; returns it in units of the target's deviation.
  // Leaves the members' forecasts in opinions_.
  double answer_output(std::size_t i, int k, const Answers& out, std::size_t at) {
    for (std::size_t m = 0; m < members_.size(); ++m)
      opinions_[m] = std::clamp(forecasts_of(m, i)[k], -Moments::kLimit, Moments::kLimit);
    const double mixed = mixtures_[k].combine(opinions_.data());
    const Moments& unit = units_[i * n_outputs_ + k];
    out.answers[at] = unit.restore(mixed);
    if (out.low != nullptr) {
      out.low[at] = bound(unit, mixed, k, (1 - out.coverage) / 2);
      out.high[at] = bound(unit, mixed, k, (1 + out.coverage) / 2);
    }
    return mixed;
  }

  // The value below which the target of output k lies with probability `level`. Of a target that has never
  // varied in n samples the rule of succession says that it varies now with probability 1 / (n + 1).
  double bound(const Moments& unit, double mixed, int k, double level) const {
    if (unit.varies()) return end_of_interval(unit, mixed, quantiles_[k].at(level));
    const double uncertain = 2 * std::min(level, 1 - level);
    if (uncertain * (unit.count + 1) >= 1) return unit.mean;
    return level < 0.5 ? -HUGE_VAL : HUGE_VAL;
  }

  // An infinite error stays infinite in any unit.
  static double end_of_interval(const Moments& unit, double mixed, double error) {
    return std::isinf(error) ? error : unit.restore(mixed + error);
  }

  static double square(double x) { return x * x; }

  int n_features_, n_outputs_, n_lagged_, n_columns_;
  std::vector<Member> members_;
  std::vector<Regime> inputs_, outputs_;
  Buffer<double> history_;  // [lags][n_outputs]
  std::vector<Mixture> mixtures_;
  std::vector<Quantiles> quantiles_;
  DriftMeter drift_;
  Buffer<double> recent_errors_, mean_errors_;
  std::int64_t samples_ = 0, steps_ = 0;
  std::int64_t concluded_ = 0;  // labelled samples whose target had varied before
  // A chunk: scaled rows and targets, forecasts [member][sample][output], and what scaled the answers.
  Buffer<double> rows_, targets_, forecasts_;
  std::vector<Moments> units_;
  std::vector<double> opinions_, squared_errors_;
};

}  // namespace elman
