// Several learners on one stream, weighted by how well they forecast it; or one, which is trusted alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "combine/drift.hpp"
#include "combine/quantiles.hpp"
#include "combine/trust.hpp"
#include "growth.hpp"
#include "importance.hpp"
#include "learner.hpp"
#include "parallel.hpp"
#include "past.hpp"
#include "prepare/preparation.hpp"
#include "questions.hpp"
#include "simple_learner.hpp"

namespace elman {

struct MemberOptions {
  int number;  // by which it is known when a committee grows and others leave it
  int window;
  Part cell, training, readout;
  bool lagged;    // sees the last targets, before the features, the newest first
  bool features;  // sees the features
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

// Rows are prepared once for all. Learners never see each other's forecasts, so they can learn in parallel, a
// chunk of rows at a time, with the same bits as row by row. Rows and answers are double arrays; a NaN
// feature is a missing one, a NaN target an unknown one. Not thread-safe: the caller holds a lock.
class Committee {
 public:
  explicit Committee(const CommitteeOptions& options)
      : preparation_(options.columns, {options.scale, options.scale && options.loss == Loss::squared},
                     Coding(options.kinds, options.columns.outputs)),
        n_outputs_(options.columns.outputs),
        n_members_(int(options.members.size())),
        numbers_(labels(options.members)),
        joint_(options.joint),
        limits_opinions_(!joint_ || (n_members_ > 1 && options.loss == Loss::squared)),
        lowest_(options.lowest),
        highest_(options.highest),
        mixtures_(n_outputs_, Trust(Axis("member", numbers_))),
        quantiles_(n_outputs_),
        importance_(std::size_t(n_outputs_), options.columns.axis()),
        recent_errors_(std::size_t(n_outputs_) * (n_members_ + 1)),
        mean_errors_(std::size_t(n_outputs_) * (n_members_ + 1)),
        judged_(n_outputs_),
        past_(options.columns, options.double_precision, reach(options.members)),
        single_(chunk(1)),
        said_(n_outputs_, Said(n_members_)) {
    for (int k = 0; k < (joint_ ? 1 : n_outputs_); ++k)
      for (const MemberOptions& member : options.members) {
        seats_.push_back(seat(options, member, k));
        seats_.back().own.state = n_states_;
        seats_.back().own.answer = (seats_.size() - 1) * std::size_t(seats_.back().n_outputs);
        n_states_ += seats_.back().learner->state_size();
      }
  }

  Committee(const Committee&) = delete;

  // Draws the initial weights of everybody, for each member others. Every output has the same ones, as if it
  // were alone.
  void initialise(const std::vector<std::uint64_t>& seed) {
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      std::vector<std::uint64_t> own = seed;
      if (!joint_ || n_members_ > 1) own.push_back(s % n_members_);
      seats_[s].learner->initialise(own);
    }
  }

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

  // Answers row x; changes nothing that `run` or `exchange` could see.
  void predict(const double* x, Answers out) {
    preparation_.preview(x, single_.rows.data());
    for (std::size_t s = 0; s < seats_.size(); ++s)
      seats_[s].learner->predict(rows_of(single_, seats_[s]), forecasts_of(single_, s, 0));
    note_what_was_shown(single_, 0);
    say(single_, 0, said_);
    write(said_, out, 0);
  }

  // An event and what its answer is learned from: that of a question, or that of the row that has just come.
  struct Judgement {
    Ticket* ticket;  // or null
    const double* y;
  };

  // The smallest and the largest answer.
  struct Reach {
    double low, high;
  };

  // Rows in work: prepared rows, forecasts [learner][row][output], and what scaled and limits the answers;
  // what happens, with the targets that become known, prepared; and the questions that are closed by it.
  struct Chunk {
    std::size_t capacity;
    Buffer<double> rows, forecasts;
    std::vector<Unit> units;
    std::vector<Reach> reaches;
    std::vector<Event> events;
    std::vector<Judgement> judgements;  // of each event
    std::vector<double> targets;
    std::vector<Labelled> labelled;  // with each target
    std::vector<std::unique_ptr<Ticket>> closed;
    Buffer<double> spreads, changes;  // of the rows at which it is looked which inputs matter, see Looks
    std::size_t looks = 0;            // how many such rows there are so far
  };

  // Room for a run over so many rows. Unless truths come late it is the only memory that a run needs: once
  // there is room, nothing can fail half-way.
  Chunk room_for(std::size_t rows) const { return chunk(std::min(rows, kChunk)); }

  // How truths come: each so many rows after its row, and of how many questions that are open at a time the
  // oldest is given up.
  struct Delay {
    std::int64_t rows;
    std::size_t most_open;
  };

  // Answers every row, then learns from its targets, at once or as many rows later as `delay` says. Those
  // that are not due by the end are learned when they are, whatever brings the rows until then. If there is
  // no memory for a question, the rows before it have been learned and no more.
  void run(const double* X, const double* Y, std::size_t rows, Answers out, Delay delay, int threads,
           Chunk& room) {
    for (std::size_t begin = 0; begin < rows; begin += room.capacity) {
      const std::size_t n = std::min(rows - begin, room.capacity);
      start(room);
      if (delay.rows > 0 && n > 1 && !past_.is_kept()) recall();
      for (std::size_t i = 0; i < n; ++i) try {
          const double* y = Y + (begin + i) * n_outputs_;
          take(room, X + (begin + i) * n_features(), i, delay.rows > 0 ? new_ticket(y, delay.rows) : nullptr,
               delay.most_open);
          if (delay.rows == 0) settle(room, samples_, nullptr, y);
        } catch (const std::bad_alloc&) {
          finish(room, i, out.from(begin * n_outputs_), threads);
          throw;
        }
      finish(room, n, out.from(begin * n_outputs_), threads);
    }
  }

  // The same for one row, which there is always room for.
  void learn(const double* x, const double* y, Answers out) { run(x, y, 1, out, {0, 0}, 1, single_); }

  // Answers row x and keeps the question open; returns its number.
  std::int64_t ask(const double* x, std::size_t most_open, Answers out) {
    start(single_);
    take(single_, x, 0, new_ticket(nullptr, 0), most_open);
    finish(single_, 1, out, 1);
    return samples_;
  }

  // Learns the targets of a question that is open.
  void tell(std::int64_t row, const double* y) {
    start(single_);
    reserve(single_, 1);
    preparation_.coding().reserve(1);
    single_.closed.push_back(questions_.close(row));
    settle(single_, row, single_.closed.back().get(), y);
    finish(single_, 0, {}, 1);
  }

  // Gives up a question that is open.
  void forget(std::int64_t row) {
    questions_.forget(row);
    preparation_.coding().forget(row);
    tidy();
  }

  Questions::Status status(std::int64_t row) const { return questions_.status(row, samples_); }
  std::size_t n_open() const { return questions_.open().size(); }
  std::int64_t dropped() const { return questions_.dropped(); }

  int n_members() const { return n_members_; }
  int n_outputs() const { return n_outputs_; }
  int n_features() const { return int(preparation_.coding().n_features()); }
  Learner& learner(int member, int output) { return *seats_[seat_of(member, output)].learner; }
  // Of the joint members the one that is trusted most, by all outputs together.
  Learner& most_trusted() {
    int best = 0;
    double most = -1;
    for (int m = 0; m < n_members_; ++m) {
      double trust = 0;
      for (int k = 0; k < n_outputs_; ++k) trust += weight(m, k);
      if (trust > most) most = trust, best = m;
    }
    return learner(best, 0);
  }
  std::int64_t samples() const { return samples_; }
  std::int64_t steps() const { return steps_; }  // samples with a target
  double weight(int member, int output) const { return mixtures_[output].weights()[member]; }
  double variance(int output) const { return preparation_.unit(output).moments.variance; }
  // Mean squared errors [output][member], and then of the committee: of the last thousand samples or so, and
  // of all.
  const Buffer<double>& recent_errors() const { return recent_errors_; }
  const Buffer<double>& mean_errors() const { return mean_errors_; }
  const DriftMeter& drift() const { return drift_; }
  const Importance& importance() const { return importance_; }

  // Walks the whole state, see Archive. `restored` must follow if anything was written.
  void exchange(Archive& archive) {
    keep_newest();
    std::vector<Label> and_all = numbers_;
    and_all.push_back({std::uint64_t(-1)});
    const Axis members{"member or all", and_all};
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    // States of former versions know how many targets were judged, of all outputs together.
    const bool former = archive.has_part("concluded", false);
    if (former) archive.value("concluded", judged_[0]);
    preparation_.exchange(archive, former);
    exchange_errors(archive, members, former);
    const std::int64_t judged = *std::max_element(judged_.begin(), judged_.end());
    archive.require(judged <= steps_ && steps_ <= samples_, "the numbers of samples contradict each other");
    drift_.exchange(archive);
    archive.require(drift_.is_possible(samples_, steps_), "there are alarms of samples that did not come");
    importance_.exchange(archive);
    for (int k = 0; k < n_outputs_; ++k) {
      PrefixedArchive own(archive, "output" + std::to_string(k) + ".");
      mixtures_[k].exchange(own, former ? std::max(preparation_.unit(k).size(), kSmallestUnit) : 0);
      quantiles_[k].exchange(own);
      archive.require(quantiles_[k].count() <= judged_[k], "there are more errors than answers");
    }
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      PrefixedArchive own(archive, name_of(s));
      seats_[s].learner->exchange(own);
      archive.require(seats_[s].learner->samples() <= samples_, "a member has seen more samples than came");
    }
    if (archive.has_part("open_questions", !questions_.is_untouched())) exchange_questions(archive);
  }

  void restored() {
    preparation_.restored(samples_);
    for (Seat& seat : seats_) {
      seat.learner->restored();
      if (past_.is_kept()) seat.learner->expect_late_targets();
    }
  }

  // Takes over what a committee of fewer inputs or outputs knows. An output that is new begins with the
  // learners of the first one, who have seen the same rows.
  void grow_from(Committee& former) {
    graft([&](Archive& archive) { former.exchange(archive); }, [&](Archive& archive) { exchange(archive); });
    for (int k = former.n_outputs_; !joint_ && k < n_outputs_; ++k)
      for (int m = 0; m < n_members_; ++m)
        graft([&](Archive& archive) { learner(m, 0).exchange(archive); },
              [&](Archive& archive) { learner(m, k).exchange(archive); });
    for (const auto& [row, ticket] : questions_.open())
      for (std::size_t s = std::size_t(former.n_outputs_) * n_members_; s < seats_.size(); ++s) {
        const Seat& first = seats_[s % n_members_];
        std::copy_n(&ticket->states[first.own.state], first.learner->state_size(),
                    &ticket->states[seats_[s].own.state]);
      }
  }

 private:
  // A learner, the number of outputs that it answers and its share of rows, targets and states. What a simple
  // member says is known before learners run.
  struct Seat {
    Simple simple;
    std::unique_ptr<Learner> learner;
    int n_outputs;
    Share own;
  };

  Chunk chunk(std::size_t capacity) const {
    const std::size_t n = capacity * n_outputs_;
    Chunk made{
        capacity,
        Buffer<double>(capacity * preparation_.columns().count()),
        Buffer<double>(n * n_members_),
        std::vector<Unit>(n),
        std::vector<Reach>(n),
        {},
        {},
        {},
        {},
        {},
        Buffer<double>(most_looks(capacity) * preparation_.columns().count()),
        Buffer<double>(most_looks(capacity) * preparation_.columns().count() * n_outputs_ * n_members_)};
    reserve(made, 2 * capacity);
    return made;
  }

  // Room for so many events more.
  void reserve(Chunk& chunk, std::size_t events) const {
    grow(chunk.events, events);
    grow(chunk.judgements, events);
    grow(chunk.targets, events * n_outputs_);
    grow(chunk.labelled, events * n_outputs_);
    grow(chunk.closed, events);
  }
  template <class Vector>
  static void grow(Vector& vector, std::size_t more) {
    if (vector.capacity() - vector.size() < more)
      vector.reserve(std::max(vector.size() + more, 2 * vector.capacity()));
  }

  static constexpr std::size_t kChunk = 512;
  static constexpr std::size_t kWorthAThread = 16;  // rows; starting a thread takes about as long
  static constexpr double kRecent = 0.001;          // share of the newest error among the recent ones
  static constexpr double kSmallestUnit = 1e-300;
  static constexpr double kLargestError = 1e300;  // squared

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
    std::unique_ptr<Learner> learner;
    const Simple simple = simple_of(member.readout.name);
    if (simple != Simple::none && options.joint)
      throw std::invalid_argument("a model alone cannot have the readout of a simple member");
    if (simple != Simple::none)
      learner = std::make_unique<SimpleLearner>();
    else if (options.double_precision)
      learner = std::make_unique<LearnerOf<double>>(own);
    else
      learner = std::make_unique<LearnerOf<float>>(own);
    return {simple, std::move(learner), n_outputs, {output * all.lags, all.lagged(), output, 0, 0}};
  }

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
    return {row + seat.own.lagged, row + seat.own.feature, std::size_t(columns.count())};
  }

  // Where the forecasts of a learner begin: those of all learners before it, and of its rows before row i.
  double* forecasts_of(Chunk& chunk, std::size_t s, std::size_t i) const {
    const std::size_t n = std::size_t(seats_[s].n_outputs);
    return &chunk.forecasts[(s * chunk.capacity + i) * n];
  }

  static void start(Chunk& chunk) {
    chunk.events.clear();
    chunk.judgements.clear();
    chunk.targets.clear();
    chunk.labelled.clear();
    chunk.closed.clear();
    chunk.looks = 0;
  }

  // A question about the next row, whose truth `y` comes so many rows later, if that is known.
  std::unique_ptr<Ticket> new_ticket(const double* y, std::int64_t delay) const {
    auto ticket = std::make_unique<Ticket>(n_outputs_, n_members_, n_states_);
    ticket->row = samples_ + 1;
    ticket->due = delay > 0 ? ticket->row + delay : 0;
    if (delay > 0) ticket->truth.assign(y, y + n_outputs_);
    for (int k = 0; k < n_outputs_; ++k)
      if (!preparation_.unit(k).moments.varies()) ticket->make_blind();
    return ticket;
  }

  // Prepares the next row as row i of the chunk, with the question that it is, if any, and advances
  // everything that does not depend on a forecast. What needs memory comes first: either that fails or
  // nothing does.
  void take(Chunk& chunk, const double* x, std::size_t i, std::unique_ptr<Ticket> ticket,
            std::size_t most_open) {
    Ticket* before = questions_.find(samples_);
    if (before != nullptr && !past_.is_kept()) recall();
    past_.reserve(1);
    const std::size_t due = questions_.count_due(samples_ + 1);
    reserve(chunk, 2 + due + questions_.count_beyond(most_open));
    preparation_.coding().reserve(1 + due);
    if (ticket != nullptr) preparation_.coding().keep(samples_ + 1, x);
    Ticket* question = ticket != nullptr ? questions_.ask(std::move(ticket)) : nullptr;

    double* row = &chunk.rows[i * preparation_.columns().count()];
    preparation_.take(x, row);
    note_what_was_shown(chunk, i);
    ++samples_;
    if (Importance::looks_at(samples_))
      preparation_.spreads(&chunk.spreads[chunk.looks++ * preparation_.columns().count()]);
    if (past_.is_kept()) past_.append(samples_, row);
    const bool keeps = before != nullptr && !std::exchange(before->kept, true);
    chunk.events.push_back(
        {Event::kRow, samples_, 0, 0, keeps ? before->states.data() : nullptr, nullptr, nullptr});
    chunk.judgements.push_back({question, nullptr});
    while (question != nullptr && n_open() > most_open) {
      chunk.closed.push_back(questions_.drop_oldest());
      preparation_.coding().forget(chunk.closed.back()->row);
    }
    while (const Ticket* due = questions_.due(samples_)) {
      chunk.closed.push_back(questions_.close(due->row));
      settle(chunk, due->row, chunk.closed.back().get(), due->truth.data());
    }
  }

  // What the targets have shown by now: the units and limits of answers to row i, and what simple members say
  // of it.
  void note_what_was_shown(Chunk& chunk, std::size_t i) {
    for (int k = 0; k < n_outputs_; ++k) {
      const Unit unit = preparation_.unit(k);
      const Shown& shown = preparation_.shown(k);
      const double margin = shown.margin();
      chunk.units[i * n_outputs_ + k] = unit;
      chunk.reaches[i * n_outputs_ + k] = {unit.standardise_far(std::max(shown.lowest - margin, lowest_)),
                                           unit.standardise_far(std::min(shown.highest + margin, highest_))};
    }
    for (std::size_t s = 0; s < seats_.size(); ++s)
      if (seats_[s].simple != Simple::none)
        *forecasts_of(chunk, s, i) = said_by(seats_[s], preparation_.unit(seats_[s].own.output));
  }

  // What a simple member says now, in some unit.
  double said_by(const Seat& seat, const Unit& unit) const {
    return unit.standardise_far(preparation_.said_by(seat.simple, seat.own.output));
  }

  // The targets of a row have become known; `ticket` holds what was answered, or it was answered just now.
  void settle(Chunk& chunk, std::int64_t row, Ticket* ticket, const double* y) {
    const std::size_t at = chunk.targets.size();
    chunk.targets.resize(at + n_outputs_);
    chunk.labelled.resize(at + n_outputs_);
    if (ticket != nullptr && ticket->is_blind() && row < samples_) say_again(*ticket);
    const bool known = preparation_.label(row, y, &chunk.targets[at], &chunk.labelled[at]);
    if (!known && samples_ == row) return;
    const std::int64_t when = ++known_;
    steps_ += known;
    if (known && past_.is_kept()) past_.settle(row, &chunk.targets[at], when);
    double* states = ticket != nullptr ? ticket->states.data() : nullptr;
    double* again = known && ticket != nullptr && ticket->is_blind() ? ticket->again.data() : nullptr;
    Ticket* after = questions_.find(row + 1);
    double* next = after != nullptr && after->kept ? after->states.data() : nullptr;
    chunk.events.push_back({at, row, samples_ - row, when, states, next, again});
    chunk.judgements.push_back({ticket, y});
  }

  // After n rows were taken, and truths told: everybody learns.
  void finish(Chunk& chunk, std::size_t n, const Answers& out, int threads) {
    run_learners(chunk, n, threads);
    std::size_t i = 0, look_at = 0;
    for (std::size_t e = 0; e < chunk.events.size(); ++e) {
      const Judgement& judgement = chunk.judgements[e];
      std::vector<Said>& said = judgement.ticket != nullptr ? judgement.ticket->said : said_;
      if (chunk.events[e].targets != Event::kRow) {
        if (chunk.events[e].again != nullptr)
          judge_again(*judgement.ticket, &chunk.targets[chunk.events[e].targets],
                      &chunk.labelled[chunk.events[e].targets]);
        conclude(said, judgement.y, chunk.labelled.data() + chunk.events[e].targets, chunk.events[e].row);
        continue;
      }
      say(chunk, i, said);
      write(said, out, i++ * n_outputs_);
      if (Importance::looks_at(chunk.events[e].row)) look(chunk, look_at++, said);
    }
    tidy();
  }

  // The past begins to be kept, with what the learners remember of it.
  void recall() {
    std::size_t longest = 0;
    for (const Seat& seat : seats_) longest = std::max(longest, std::size_t(seat.learner->remembered()));
    past_.begin(samples_, longest);
    for (const Seat& seat : seats_) {
      if (seat.simple != Simple::none) continue;  // it remembers no rows
      seat.learner->expect_late_targets();
      seat.learner->recall(past_.ending(samples_, std::size_t(seat.learner->remembered())), seat.own);
    }
    known_ = std::max(known_, std::int64_t(1));
  }

  // Of a question about the newest row nothing is kept until the next row comes, or until it is saved.
  void keep_newest() {
    Ticket* newest = questions_.find(samples_);
    if (newest == nullptr || newest->kept) return;
    if (!past_.is_kept()) recall();
    newest->kept = true;
    for (const Seat& seat : seats_) seat.learner->keep(newest->states.data() + seat.own.state);
  }

  // The rows of open questions and the newest one, ascending.
  std::vector<std::int64_t> rows_to_reach() const {
    std::vector<std::int64_t> rows;
    for (const auto& [row, ticket] : questions_.open()) rows.push_back(row);
    if (rows.empty() || rows.back() < samples_) rows.push_back(samples_);
    return rows;
  }

  void tidy() noexcept try {
    if (!past_.is_kept()) return;
    if (n_open() == 0) return past_.clear();
    past_.tidy_if_worth_it(questions_.open().begin()->first, [&] { return rows_to_reach(); });
  } catch (const std::bad_alloc&) {
    // It stays as it is until there is memory for tidying up.
  }

  void exchange_questions(Archive& archive) {
    questions_.exchange(archive, samples_, {std::size_t(n_outputs_), {"member", numbers_}, n_states_});
    if (n_open() == 0) return;
    preparation_.exchange_sources(archive, questions_.open().begin()->first, samples_);
    past_.exchange(archive, rows_to_reach());
    for (const auto& [row, ticket] : questions_.open())
      if (!past_.has(row)) throw std::invalid_argument("the row of an open question is missing");
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      PrefixedArchive own(archive, name_of(s));
      questions_.exchange_states(own, seats_[s].own.state, seats_[s].learner->state_size());
    }
    known_ = std::max(known_, std::int64_t(1));
  }

  std::string name_of(std::size_t s) const {
    return "output" + std::to_string(s / n_members_) + ".member" +
           std::to_string(numbers_[s % n_members_][0]) + ".";
  }

  // Every learner goes through the events of the chunk, in which n rows come.
  void run_learners(Chunk& chunk, std::size_t n, int threads) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t s = next++; s < seats_.size(); s = next++)
        seats_[s].learner->run(
            {chunk.events, rows_of(chunk, seats_[s]), chunk.targets.data(), past_, looks_of(chunk, s)},
            seats_[s].own, forecasts_of(chunk, s, 0));
    };
    share(n > kWorthAThread ? std::min(threads, int(seats_.size())) - 1 : 0, work);
  }

  static std::size_t most_looks(std::size_t rows) { return rows / std::size_t(Importance::kEvery) + 1; }

  // Where the looks of a learner begin: those of all learners before it come first.
  Looks looks_of(Chunk& chunk, std::size_t s) const {
    const std::size_t columns = std::size_t(preparation_.columns().count());
    return {chunk.spreads.data(),
            chunk.changes.data() + s * most_looks(chunk.capacity) * seats_[s].n_outputs * columns, columns};
  }

  // How what was said would change with the inputs, by the weights that it was said with.
  void look(Chunk& chunk, std::size_t at, const std::vector<Said>& said) {
    importance_.look();
    for (int k = 0; k < n_outputs_; ++k) {
      const Unit unit = preparation_.unit_of(said[k].moments);
      for (int j = 0; j < preparation_.columns().count(); ++j) {
        double change = 0;
        for (int m = 0; m < n_members_; ++m) {
          const std::size_t s = seat_of(m, k);
          const Looks looks = looks_of(chunk, s);
          const std::size_t row =
              at * std::size_t(seats_[s].n_outputs) + std::size_t(k - seats_[s].own.output);
          change += mixtures_[k].weights()[m] * looks.changes[row * looks.columns + std::size_t(j)];
        }
        importance_.learn(std::size_t(k), std::size_t(j), unit.restore(change) - unit.restore(0));
      }
    }
  }

  // Learns from what was said of row t, what came and what that made of the units.
  void conclude(const std::vector<Said>& said, const double* y, const Labelled* labelled, std::int64_t t) {
    double of_variance = 0;
    int known = 0;
    for (int k = 0; k < n_outputs_; ++k) {
      const Unit unit = preparation_.unit_of(said[k].moments);
      if (std::isnan(y[k]) || !unit.moments.varies()) continue;
      const double target = unit.standardise_far(y[k]), mixed = said[k].mixed;
      mixtures_[k].learn(said[k].opinions.data(), said[k].layers, mixed, target, unit.size());
      if (labelled[k].renewed) mixtures_[k].begin_anew(labelled[k].unit.size());
      quantiles_[k].learn(y[k] - unit.restore(mixed), said[k].interval);
      ++known;
      ++judged_[k];
      for (int m = 0; m <= n_members_; ++m)
        note_error(k, m, square(unit.size() * ((m < n_members_ ? said[k].opinions[m] : mixed) - target)));
      of_variance += square(mixed - target) / unit.variance();
    }
    if (known > 0) drift_.learn(std::min(of_variance / known, DriftMeter::kLargestError), t);
  }

  // Who is trusted, by what everybody would have answered now, where an answer was given before anything was
  // known of the targets: of those nothing can be learned, and until others are judged time goes by.
  void judge_again(Ticket& ticket, const double* targets, const Labelled* labelled) {
    for (int k = 0; k < n_outputs_; ++k) {
      Said& said = ticket.said[k];
      if (std::isnan(targets[k]) || said.moments.varies()) continue;
      bool answered = true;
      for (int m = 0; m < n_members_; ++m) {
        const Seat& seat = seats_[seat_of(m, k)];
        double opinion = ticket.again[seat.own.answer + k - seat.own.output];
        if (seat.simple != Simple::none) opinion = labelled[k].unit.standardise_far(opinion);
        answered &= !std::isnan(opinion);
        said.opinions[m] = limited(opinion);
      }
      if (answered) judge_now(said.opinions.data(), k, targets[k], labelled[k].unit.size());
    }
  }

  // What simple members would answer to a row of before; in the units of the stream until it is judged.
  void say_again(Ticket& ticket) const {
    for (const Seat& seat : seats_)
      if (seat.simple != Simple::none)
        ticket.again[seat.own.answer] = preparation_.said_by(seat.simple, seat.own.output);
  }

  void judge_now(const double* opinions, int k, double target, double size) {
    const Trust::Layers layers = mixtures_[k].layers(opinions);
    mixtures_[k].learn(opinions, layers, mixtures_[k].combine(layers), target, size);
  }

  void note_error(int k, int m, double squared) {
    squared = std::min(squared, DriftMeter::kLargestError);
    const std::size_t at = std::size_t(k) * (n_members_ + 1) + m;
    recent_errors_[at] += (squared - recent_errors_[at]) * std::max(1 / double(judged_[k]), kRecent);
    mean_errors_[at] += (squared - mean_errors_[at]) / double(judged_[k]);
  }

  // States of former versions have errors over variances, of all outputs together.
  void exchange_errors(Archive& archive, const Axis& members, bool former) {
    const Axis outputs{"output", std::size_t(n_outputs_)};
    const Limits limits = Limits::up_to(DriftMeter::kLargestError);
    if (!former) {
      archive.vector("judged", judged_.data(), outputs, Limits::up_to(double(samples_)));
      archive.array("recent_squared_errors", recent_errors_.data(), outputs, members, members.size(), limits);
      archive.array("mean_squared_errors", mean_errors_.data(), outputs, members, members.size(), limits);
      return;
    }
    std::fill(judged_.begin(), judged_.end(), judged_[0]);
    archive.vector("recent_errors", recent_errors_.data(), members, limits);
    archive.vector("mean_errors", mean_errors_.data(), members, limits);
    for (Buffer<double>* errors : {&recent_errors_, &mean_errors_})
      for (std::size_t i = errors->size(); i-- > 0;)
        (*errors)[i] = (*errors)[i % members.size()] * variance(int(i / members.size()));
  }

  double limited(double opinion) const {
    return limits_opinions_ ? std::clamp(opinion, -Moments::kLimit, Moments::kLimit) : opinion;
  }

  // What is said of row i of the chunk, in the units of that moment.
  void say(Chunk& chunk, std::size_t i, std::vector<Said>& said) {
    for (int k = 0; k < n_outputs_; ++k) {
      const Reach& within = chunk.reaches[i * n_outputs_ + k];
      for (int m = 0; m < n_members_; ++m) {
        const std::size_t s = seat_of(m, k);
        const double opinion = forecasts_of(chunk, s, i)[k - seats_[s].own.output];
        said[k].opinions[m] = limits_opinions_ ? std::clamp(opinion, within.low, within.high) : opinion;
      }
      said[k].moments = chunk.units[i * n_outputs_ + k].moments;
      said[k].layers = mixtures_[k].layers(said[k].opinions.data());
      said[k].mixed = mixtures_[k].combine(said[k].layers);
      said[k].interval = quantiles_[k].given();
    }
  }

  // The same in the units of the stream, to place `at`.
  void write(const std::vector<Said>& said, const Answers& out, std::size_t at) const {
    for (int k = 0; k < n_outputs_; ++k, ++at) {
      const Unit unit = preparation_.unit_of(said[k].moments);
      out.answers[at] = within(unit.restore(said[k].mixed));
      if (out.low == nullptr) continue;
      out.low[at] = bound(unit, said[k].mixed, k, (1 - out.coverage) / 2);
      out.high[at] = bound(unit, said[k].mixed, k, (1 + out.coverage) / 2);
    }
  }

  // The value below which the target of output k lies with probability `level`. Of a target that has never
  // varied in n samples the rule of succession says that it varies now with probability 1 / (n + 1).
  double bound(const Unit& unit, double mixed, int k, double level) const {
    if (unit.moments.varies()) return end_of_interval(unit, mixed, quantiles_[k].at(level));
    const double uncertain = 2 * std::min(level, 1 - level);
    if (uncertain * (unit.moments.count + 1) >= 1) return unit.moments.mean;
    return end_of_interval(unit, mixed, level < 0.5 ? -HUGE_VAL : HUGE_VAL);
  }

  // An infinite error stays infinite in any unit, unless answers have a bound.
  double end_of_interval(const Unit& unit, double mixed, double error) const {
    return within(std::isinf(error) ? error : unit.restore(mixed) + error);
  }
  double within(double answer) const { return std::clamp(answer, lowest_, highest_); }

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
  bool joint_;
  bool limits_opinions_;  // those that are weighed against others; a network alone says what it says
  double lowest_, highest_;
  std::vector<Seat> seats_;  // of the first output, then of the second, ...; a joint one answers them all
  std::vector<Trust> mixtures_;
  std::vector<Quantiles> quantiles_;
  DriftMeter drift_;
  Importance importance_;
  Buffer<double> recent_errors_, mean_errors_;
  std::int64_t samples_ = 0, steps_ = 0;
  Buffer<std::int64_t> judged_;  // targets of each output that had varied before
  std::size_t n_states_ = 0;     // numbers of the states of all learners
  Questions questions_;
  Past past_;               // kept while questions are open
  std::int64_t known_ = 0;  // orders what becomes known of the past
  Chunk single_;            // for one row at a time
  std::vector<Said> said_;  // of a row that is no question
};

}  // namespace elman
