// Several learners on one stream, weighted by how well they forecast it; or one, which is trusted alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "combine/drift.hpp"
#include "combine/mixture.hpp"
#include "combine/quantiles.hpp"
#include "growth.hpp"
#include "learner.hpp"
#include "prepare/preparation.hpp"

namespace elman {

struct MemberOptions {
  int number;  // by which it is known when a committee grows and others leave it
  int window;
  Part cell, training, readout;
  bool lagged;    // sees the last targets, before the features, the newest first
  bool features;  // sees the features
};

struct CommitteeOptions {
  Columns columns;
  bool scale;
  Loss loss;
  bool double_precision;
  // A joint member answers all outputs by one network and sees the past of all. Otherwise every output has
  // members of its own, so that time and state grow in proportion to their number.
  bool joint;
  std::vector<MemberOptions> members;
};

// Rows are prepared once for all. Learners never see each other's forecasts, so they can learn in parallel, a
// chunk of rows at a time, with the same bits as row by row. Rows and answers are double arrays; a NaN
// feature is a missing one, a NaN target an unknown one. Not thread-safe: the caller holds a lock.
class Committee {
 public:
  explicit Committee(const CommitteeOptions& options)
      : preparation_(options.columns, {options.scale, options.scale && options.loss == Loss::squared}),
        n_outputs_(options.columns.outputs),
        n_members_(int(options.members.size())),
        numbers_(labels(options.members)),
        joint_(options.joint),
        probability_(options.loss == Loss::logistic),
        mixtures_(n_outputs_, Mixture(Axis("member", numbers_))),
        quantiles_(n_outputs_),
        recent_errors_(n_members_ + 1),
        mean_errors_(n_members_ + 1),
        single_(chunk(1)),
        opinions_(n_members_),
        squared_errors_(n_members_ + 1) {
    for (int k = 0; k < (joint_ ? 1 : n_outputs_); ++k)
      for (const MemberOptions& member : options.members) seats_.push_back(seat(options, member, k));
  }

  Committee(const Committee&) = delete;

  // Draws the initial weights of everybody. Every output has the same ones, as if it were alone.
  void initialise(const std::vector<std::uint64_t>& seed) {
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      std::vector<std::uint64_t> own = seed;
      if (!joint_) own.push_back(s % n_members_);
      seats_[s].learner->initialise(own);
    }
  }

  // Where answers go: an output after the other, a row after the other.
  struct Answers {
    double* answers;
    double* low;  // with `high` the interval that holds a target with probability `coverage`, or null
    double* high;
    double coverage;
  };

  // Answers row x; changes nothing that `run` or `exchange` could see.
  void predict(const double* x, Answers out) {
    preparation_.preview(x, single_.rows.data());
    for (std::size_t s = 0; s < seats_.size(); ++s)
      seats_[s].learner->predict(rows_of(single_, seats_[s]), forecasts_of(single_, s, 0));
    for (int k = 0; k < n_outputs_; ++k) {
      single_.units[k] = preparation_.unit(k);
      answer_output(single_, 0, k, out, k);
    }
  }

  // Answers every row, then learns from its targets.
  void run(const double* X, const double* Y, std::size_t rows, Answers out, int threads) {
    Chunk many = chunk(rows > 1 ? std::min(rows, kChunk) : 0);
    Chunk& used = rows > 1 ? many : single_;
    for (std::size_t begin = 0; begin < rows; begin += used.capacity) {
      const std::size_t n = std::min(rows - begin, used.capacity);
      for (std::size_t i = 0; i < n; ++i)
        take(used, X + (begin + i) * preparation_.columns().features, Y + (begin + i) * n_outputs_, i);
      run_learners(used, n, threads);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = (begin + i) * n_outputs_;
        conclude(used, Y + at, i, out, at, samples_ - std::int64_t(n - 1 - i));
      }
    }
  }

  int n_members() const { return n_members_; }
  int n_outputs() const { return n_outputs_; }
  int n_features() const { return preparation_.columns().features; }
  Learner& learner(int member, int output) { return *seats_[seat_of(member, output)].learner; }
  std::int64_t samples() const { return samples_; }
  std::int64_t steps() const { return steps_; }  // samples with a target
  double weight(int member, int output) const { return mixtures_[output].weights()[member]; }
  // Squared errors in units of the target's variance, of each member and then of the committee: of the last
  // thousand samples or so, and of all.
  const Buffer<double>& recent_errors() const { return recent_errors_; }
  const Buffer<double>& mean_errors() const { return mean_errors_; }
  const DriftMeter& drift() const { return drift_; }

  // Walks the whole state, see Archive. `restored` must follow if anything was written.
  void exchange(Archive& archive) {
    std::vector<Label> and_all = numbers_;
    and_all.push_back({std::uint64_t(-1)});
    const Axis members{"member or all", and_all};
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    archive.value("concluded", concluded_);
    preparation_.exchange(archive);
    archive.vector("recent_errors", recent_errors_.data(), members);
    archive.vector("mean_errors", mean_errors_.data(), members);
    drift_.exchange(archive);
    for (int k = 0; k < n_outputs_; ++k) {
      PrefixedArchive own(archive, "output" + std::to_string(k) + ".");
      mixtures_[k].exchange(own);
      quantiles_[k].exchange(own);
    }
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      PrefixedArchive own(archive, "output" + std::to_string(s / n_members_) + ".member" +
                                       std::to_string(numbers_[s % n_members_][0]) + ".");
      seats_[s].learner->exchange(own);
    }
  }

  void restored() {
    for (Seat& seat : seats_) seat.learner->restored();
  }

  // Takes over what a committee of fewer inputs or outputs knows. An output that is new begins with the
  // learners of the first one, who have seen the same rows.
  void grow_from(Committee& former) {
    graft([&](Archive& archive) { former.exchange(archive); }, [&](Archive& archive) { exchange(archive); });
    for (int k = former.n_outputs_; !joint_ && k < n_outputs_; ++k)
      for (int m = 0; m < n_members_; ++m)
        graft([&](Archive& archive) { learner(m, 0).exchange(archive); },
              [&](Archive& archive) { learner(m, k).exchange(archive); });
  }

 private:
  // A learner, the outputs that it answers and the lagged columns that it sees.
  struct Seat {
    std::unique_ptr<Learner> learner;
    int first_output, n_outputs, first_lagged;
  };

  // Rows in work: prepared rows and targets, forecasts [learner][row][output], and what scaled the answers.
  struct Chunk {
    std::size_t capacity;
    Buffer<double> rows, targets, forecasts;
    std::vector<Unit> units;
  };
  Chunk chunk(std::size_t capacity) const {
    const std::size_t n = capacity * n_outputs_;
    return {capacity, Buffer<double>(capacity * preparation_.columns().count()), Buffer<double>(n),
            Buffer<double>(n * n_members_), std::vector<Unit>(n)};
  }

  static constexpr std::size_t kChunk = 512;
  static constexpr std::size_t kWorthAThread = 16;  // rows; starting a thread takes about as long
  static constexpr double kRecent = 0.001;          // share of the newest error among the recent ones

  static Seat seat(const CommitteeOptions& options, const MemberOptions& member, int output) {
    const Columns& all = options.columns;
    const int n_outputs = options.joint ? all.outputs : 1, lags = member.lagged ? all.lags : 0;
    const int features = member.features ? all.features : 0;
    const LearnerOptions own{{n_outputs, lags, features},
                             n_outputs,
                             member.window,
                             options.loss,
                             member.cell,
                             member.training,
                             member.readout};
    std::unique_ptr<Learner> learner;
    if (options.double_precision)
      learner = std::make_unique<LearnerOf<double>>(own);
    else
      learner = std::make_unique<LearnerOf<float>>(own);
    return {std::move(learner), output, n_outputs, output * all.lags};
  }

  static std::vector<Label> labels(const std::vector<MemberOptions>& members) {
    std::vector<Label> numbers;
    for (const MemberOptions& member : members) numbers.push_back({std::uint64_t(member.number)});
    return numbers;
  }

  std::size_t seat_of(int member, int output) const {
    return joint_ ? std::size_t(member) : std::size_t(output) * n_members_ + member;
  }

  Rows rows_of(const Chunk& chunk, const Seat& seat) const {
    const Columns& columns = preparation_.columns();
    const double* row = chunk.rows.data();
    return {row + seat.first_lagged, row + columns.lagged(), std::size_t(columns.count())};
  }

  // Where the forecasts of a learner begin: those of all learners before it, and of its rows before row i.
  double* forecasts_of(Chunk& chunk, std::size_t s, std::size_t i) const {
    const std::size_t n = std::size_t(seats_[s].n_outputs);
    return &chunk.forecasts[(s * chunk.capacity + i) * n];
  }

  // Prepares sample i of the chunk and advances everything that does not depend on a forecast.
  void take(Chunk& chunk, const double* x, const double* y, std::size_t i) {
    preparation_.take(x, &chunk.rows[i * preparation_.columns().count()]);
    for (int k = 0; k < n_outputs_; ++k) chunk.units[i * n_outputs_ + k] = preparation_.unit(k);
    steps_ += preparation_.label(y, &chunk.targets[i * n_outputs_]);
    ++samples_;
  }

  // Every learner runs over the first n samples of the chunk.
  void run_learners(Chunk& chunk, std::size_t n, int threads) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t s = next++; s < seats_.size(); s = next++)
        seats_[s].learner->run(rows_of(chunk, seats_[s]), chunk.targets.data() + seats_[s].first_output,
                               std::size_t(n_outputs_), n, forecasts_of(chunk, s, 0));
    };
    std::vector<std::thread> helpers;
    if (n > kWorthAThread)
      for (int i = 1; i < std::min(threads, int(seats_.size())); ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
  }

  // Answers sample i of the chunk, its t-th of all, and learns from its target.
  void conclude(Chunk& chunk, const double* y, std::size_t i, const Answers& out, std::size_t at,
                std::int64_t t) {
    std::fill(squared_errors_.begin(), squared_errors_.end(), 0.0);
    int known = 0;
    for (int k = 0; k < n_outputs_; ++k) {
      const double mixed = answer_output(chunk, i, k, out, at + k);
      const Unit& unit = chunk.units[i * n_outputs_ + k];
      if (std::isnan(y[k]) || !unit.moments.varies()) continue;
      const double target = unit.standardise(y[k]);
      mixtures_[k].learn(opinions_.data(), target);
      quantiles_[k].learn(y[k] - unit.restore(mixed));
      for (int m = 0; m < n_members_; ++m)
        squared_errors_[m] += square(opinions_[m] - target) / unit.variance();
      squared_errors_[n_members_] += square(mixed - target) / unit.variance();
      ++known;
    }
    if (known > 0) note_errors(known, t);
  }

  void note_errors(int known, std::int64_t t) {
    ++concluded_;
    for (std::size_t m = 0; m < squared_errors_.size(); ++m) {
      const double error = squared_errors_[m] / known;
      recent_errors_[m] += (error - recent_errors_[m]) * std::max(1 / double(concluded_), kRecent);
      mean_errors_[m] += (error - mean_errors_[m]) / double(concluded_);
    }
    drift_.learn(squared_errors_[n_members_] / known, t);
  }

  // Writes the answer for output k of sample i to place `at`; returns it in the unit of that moment. Leaves
  // the members' forecasts in opinions_.
  double answer_output(Chunk& chunk, std::size_t i, int k, const Answers& out, std::size_t at) {
    for (int m = 0; m < n_members_; ++m) {
      const std::size_t s = seat_of(m, k);
      const double opinion = forecasts_of(chunk, s, i)[k - seats_[s].first_output];
      opinions_[m] = joint_ ? opinion : std::clamp(opinion, -Moments::kLimit, Moments::kLimit);
    }
    const double mixed = mixtures_[k].combine(opinions_.data());
    const Unit& unit = chunk.units[i * n_outputs_ + k];
    out.answers[at] = unit.restore(mixed);
    if (out.low != nullptr) {
      out.low[at] = bound(unit, mixed, k, (1 - out.coverage) / 2);
      out.high[at] = bound(unit, mixed, k, (1 + out.coverage) / 2);
    }
    return mixed;
  }

  // The value below which the target of output k lies with probability `level`. Of a target that has never
  // varied in n samples the rule of succession says that it varies now with probability 1 / (n + 1).
  double bound(const Unit& unit, double mixed, int k, double level) const {
    if (unit.moments.varies()) return end_of_interval(unit, mixed, quantiles_[k].at(level));
    const double uncertain = 2 * std::min(level, 1 - level);
    if (uncertain * (unit.moments.count + 1) >= 1) return unit.moments.mean;
    return end_of_interval(unit, mixed, level < 0.5 ? -HUGE_VAL : HUGE_VAL);
  }

  // An infinite error stays infinite in any unit, but a probability stays one.
  double end_of_interval(const Unit& unit, double mixed, double error) const {
    const double end = std::isinf(error) ? error : unit.restore(mixed) + error;
    return probability_ ? std::clamp(end, 0.0, 1.0) : end;
  }

  template <class From, class To>
  static void graft(From walk_from, To walk_to) {
    Snapshot snapshot;
    walk_from(snapshot);
    Graft archive(snapshot);
    walk_to(archive);
  }

  static double square(double x) { return x * x; }

  Preparation preparation_;
  int n_outputs_, n_members_;
  std::vector<Label> numbers_;  // of the members
  bool joint_, probability_;
  std::vector<Seat> seats_;  // of the first output, then of the second, ...; a joint one answers them all
  std::vector<Mixture> mixtures_;
  std::vector<Quantiles> quantiles_;
  DriftMeter drift_;
  Buffer<double> recent_errors_, mean_errors_;
  std::int64_t samples_ = 0, steps_ = 0;
  std::int64_t concluded_ = 0;  // labelled samples whose target had varied before
  Chunk single_;                // for one row at a time
  Buffer<double> opinions_, squared_errors_;
};

}  // namespace elman
