// Who sits in a committee: its members as they are described, and their learners, each with its share of
// rows, targets and states.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "autoregression.hpp"
#include "learner.hpp"
#include "past.hpp"
#include "simple_learner.hpp"

namespace elman {

struct MemberOptions {
  int number;  // by which it is known when a committee grows and others leave it
  int window;
  Part cell, training, readout;
  bool lagged;    // sees the last targets, before the features, the newest first
  bool features;  // sees the features
  bool absolute;  // what it has learned stays true in the units of the stream when a level or spread changes
};

struct CommitteeOptions {
  Columns columns;                 // with the features as networks see them
  std::vector<FeatureKind> kinds;  // of the features of a row as it comes
  bool scale;
  Loss loss;
  bool double_precision;
  // A joint member answers all outputs by one network and sees the past of all. Otherwise every output has
  // members of its own, so that time and state grow in proportion to their number.
  bool joint;
  double lowest, highest;  // no target and no answer lies beyond
  std::vector<MemberOptions> members;
};

// A learner, the number of outputs that it answers and its share of rows, targets and states. What a simple
// one says is known before learners run.
struct Seat {
  SimpleLearner* simple;  // the learner, or null if it is none of these
  std::unique_ptr<Learner> learner;
  int n_outputs;
  bool absolute;
  Share own;
};

class Seats {
 public:
  explicit Seats(const CommitteeOptions& options)
      : n_members_(int(options.members.size())), numbers_(labels(options.members)), joint_(options.joint) {
    const int own_members = joint_ ? 1 : options.columns.outputs;
    seats_.reserve(std::size_t(own_members) * options.members.size());
    for (int k = 0; k < own_members; ++k)
      for (const MemberOptions& member : options.members) {
        seats_.push_back(seat(options, member, k));
        seats_.back().own.state = n_states_;
        seats_.back().own.answer = (seats_.size() - 1) * std::size_t(seats_.back().n_outputs);
        n_states_ += seats_.back().learner->state_size();
        scratch_ = std::max(scratch_, seats_.back().learner->scratch());
      }
  }

  // Draws the initial weights of everybody, for each member others. Every output has the same ones, as if it
  // were alone.
  void initialise(const std::vector<std::uint64_t>& seed) {
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      std::vector<std::uint64_t> own = seed;
      if (!joint_ || n_members_ > 1) own.push_back(s % n_members_);
      seats_[s].learner->initialise(own);
    }
  }

  // Takes what memory learners need within a call, in this thread.
  void reserve() const { ScratchPlan::reserve(scratch_); }

  int n_members() const { return n_members_; }
  bool joint() const { return joint_; }
  std::size_t n_states() const { return n_states_; }  // numbers of the states of all learners
  Axis members() const { return {"member", numbers_}; }
  Axis members_and_all() const {
    std::vector<Label> and_all = numbers_;
    and_all.push_back({std::uint64_t(-1)});
    return {"member or all", and_all};
  }

  // Those of the first output, then of the second, ...; a joint one answers them all.
  std::size_t size() const { return seats_.size(); }
  Seat& operator[](std::size_t s) { return seats_[s]; }
  const Seat& operator[](std::size_t s) const { return seats_[s]; }
  auto begin() { return seats_.begin(); }
  auto end() { return seats_.end(); }
  auto begin() const { return seats_.begin(); }
  auto end() const { return seats_.end(); }

  std::size_t of(int member, int output) const {
    return joint_ ? std::size_t(member) : std::size_t(output) * n_members_ + member;
  }

  // Whether anybody looks at the targets as a series.
  static bool need_series(const std::vector<MemberOptions>& members) {
    return std::any_of(members.begin(), members.end(), [](const MemberOptions& member) {
      return member.readout.name == "Seasonal" || member.readout.name == "Autoregression";
    });
  }

  // Whether anybody follows when units change.
  static bool carry_units(const std::vector<MemberOptions>& members) {
    return std::any_of(members.begin(), members.end(),
                       [](const MemberOptions& member) { return member.absolute; });
  }

  std::string name_of(std::size_t s) const {
    return "output" + std::to_string(s / n_members_) + ".member" +
           std::to_string(numbers_[s % n_members_][0]) + ".";
  }

  // How far back each kind of column is looked at.
  static Past::Reach reach(const std::vector<MemberOptions>& members) {
    Past::Reach reach{0, 0, 0};
    for (const MemberOptions& member : members) {
      const std::int64_t window = member.window;
      reach.all = std::max(reach.all, window);
      if (member.lagged) reach.lagged = std::max(reach.lagged, window);
      if (member.features) reach.features = std::max(reach.features, window);
    }
    return reach;
  }

 private:
  static Seat seat(const CommitteeOptions& options, const MemberOptions& member, int output) {
    const Columns& all = options.columns;
    const int n_outputs = options.joint ? all.outputs : 1, lags = member.lagged ? all.lags : 0;
    const int features = member.features ? all.features : 0;
    const LearnerOptions own{{n_outputs, lags, features, all.feature_labels},
                             n_outputs,
                             member.window,
                             options.loss,
                             member.cell,
                             member.training,
                             member.readout};
    std::unique_ptr<SimpleLearner> simple = simple_learner(member.readout);
    if (simple != nullptr && options.joint)
      throw std::invalid_argument("a model alone cannot have the readout of a simple member");
    SimpleLearner* same = simple.get();
    std::unique_ptr<Learner> learner = std::move(simple);
    if (same == nullptr && options.double_precision) learner = std::make_unique<LearnerOf<double>>(own);
    if (same == nullptr && !options.double_precision) learner = std::make_unique<LearnerOf<float>>(own);
    return {same,
            std::move(learner),
            n_outputs,
            member.absolute,
            {output * all.lags, all.lagged(), output, 0, 0}};
  }

  // Which learner a readout of that name makes; null if a network has it.
  static std::unique_ptr<SimpleLearner> simple_learner(const Part& readout) {
    if (readout.name == "Mean") return std::make_unique<MeanSoFar>();
    if (readout.name == "LastValue") return std::make_unique<LastValue>();
    if (readout.name == "RecentMean") return std::make_unique<RecentMean>();
    if (readout.name == "Seasonal") return std::make_unique<SeasonAgo>(readout.options.integer("period"));
    if (readout.name == "Autoregression") return std::make_unique<Autoregression>(readout.options);
    return nullptr;
  }

  static std::vector<Label> labels(const std::vector<MemberOptions>& members) {
    std::vector<Label> numbers;
    for (const MemberOptions& member : members) numbers.push_back({std::uint64_t(member.number)});
    return numbers;
  }

  int n_members_;
  SharedVector<Label> numbers_;
  bool joint_;
  std::vector<Seat> seats_;
  std::size_t n_states_ = 0, scratch_ = 0;
};

}  // namespace elman
