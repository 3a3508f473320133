// Several learners on one stream, weighted by how well they forecast it; or one, which is trusted alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "chunk.hpp"
#include "growth.hpp"
#include "importance.hpp"
#include "judge.hpp"
#include "opinions.hpp"
#include "past.hpp"
#include "prepare/preparation.hpp"
#include "questions.hpp"
#include "seats.hpp"
#include "shares.hpp"

namespace elman {

// Rows are prepared once for all. Learners never see each other's forecasts, so they can learn in parallel, a
// chunk of rows at a time, with the same bits as row by row. Rows and answers are double arrays; a NaN
// feature is a missing one, a NaN target an unknown one. Not thread-safe: the caller holds a lock.
class Committee {
 public:
  explicit Committee(const CommitteeOptions& options)
      : preparation_(options.columns, {options.scale, options.scale && options.loss == Loss::squared},
                     Coding(options.kinds, options.columns.outputs)),
        n_outputs_(options.columns.outputs),
        seats_(options),
        n_members_(seats_.n_members()),
        judge_(n_outputs_, seats_.members(), {options.lowest, options.highest}),
        importance_(std::size_t(n_outputs_), options.columns.axis()),
        past_(options.columns, options.double_precision, Seats::reach(options.members)),
        opinions_(preparation_, seats_, judge_,
                  !options.joint || (n_members_ > 1 && options.loss == Loss::squared)) {
    if (Seats::need_series(options.members)) preparation_.keep_series();
    if (Seats::carry_units(options.members)) preparation_.carry_units();
  }

  Committee(const Committee&) = delete;

  void initialise(const std::vector<std::uint64_t>& seed) { seats_.initialise(seed); }

  // Answers row x; changes nothing that `run` or `exchange` could see.
  void predict(const double* x, Answers out) {
    Chunk& room = single();
    preparation_.foresee(x, room.row_units.data());
    preparation_.preview(x, room.row_units.data(), room.rows.data());
    for (std::size_t s = 0; s < seats_.size(); ++s)
      seats_[s].learner->predict(shares(room).rows(s), shares(room).forecasts(s, 0));
    opinions_.note_what_was_shown(room, 0, samples_);
    room.taken = 1;
    opinions_.say(room, 0, room.said);
    room.taken = 0;
    judge_.write(room.said, preparation_, out, 0);
  }

  // Takes the memory that `learn` needs in this thread; only this may fail.
  void reserve_scratch() const { single(); }

  // Room for a run over so many rows. Unless truths come late it is the only memory that a run needs: once
  // there is room, nothing can fail half-way.
  Chunk room_for(std::size_t rows) const {
    seats_.reserve();
    return Chunk(sizes(std::min(rows, kChunk)));
  }

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
      room.start();
      Turn turn{room, out.from(begin * n_outputs_), threads};
      if (delay.rows > 0 && n > 1 && !past_.is_kept()) recall();
      for (std::size_t i = 0; i < n; ++i) try {
          const double* y = Y + (begin + i) * n_outputs_;
          take(turn, X + (begin + i) * n_features(), delay.rows > 0 ? new_ticket(y, delay.rows) : nullptr,
               delay.most_open);
          if (delay.rows == 0) settle(turn, samples_, nullptr, y);
        } catch (const std::bad_alloc&) {
          finish(turn);
          throw;
        }
      finish(turn);
    }
  }

  // The same for one row.
  void learn(const double* x, const double* y, Answers out) { run(x, y, 1, out, {0, 0}, 1, single()); }

  // Answers row x and keeps the question open; returns its number.
  std::int64_t ask(const double* x, std::size_t most_open, Answers out) {
    Turn turn{single(), out, 1};
    take(turn, x, new_ticket(nullptr, 0), most_open);
    finish(turn);
    return samples_;
  }

  // Learns the targets of a question that is open.
  void tell(std::int64_t row, const double* y) {
    Chunk& room = single();
    preparation_.coding().reserve(1);
    room.reserve_again(1);
    room.closed.push_back(questions_.close(row));
    Turn turn{room, {}, 1};
    settle(turn, row, room.closed.back().get(), y);
    finish(turn);
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
  Learner& learner(int member, int output) { return *seats_[seats_.of(member, output)].learner; }
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
  double weight(int member, int output) const { return judge_.weight(member, output); }
  double variance(int output) const { return preparation_.unit(output).moments.variance(); }
  const Buffer<double>& recent_errors() const { return judge_.recent_errors(); }
  const Buffer<double>& mean_errors() const { return judge_.mean_errors(); }
  const DriftMeter& drift() const { return judge_.drift(); }
  const Importance& importance() const { return importance_; }

  // Walks the whole state, see Archive. `restored` must follow if anything was written.
  void exchange(Archive& archive) {
    keep_newest();
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    const bool former = archive.has_part("concluded", false);
    if (former) judge_.exchange_former_count(archive);
    preparation_.exchange(archive, former);
    judge_.exchange_errors(archive, seats_.members_and_all(), preparation_, former, samples_);
    archive.require(judge_.most_judged() <= steps_ && steps_ <= samples_,
                    "the numbers of samples contradict each other");
    judge_.exchange_drift(archive, samples_, steps_);
    importance_.exchange(archive);
    judge_.exchange_trust(archive, preparation_, former, steps_);
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      PrefixedArchive own(archive, seats_.name_of(s));
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
    for (int k = former.n_outputs_; !seats_.joint() && k < n_outputs_; ++k)
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
  Chunk::Sizes sizes(std::size_t capacity) const {
    return {capacity, std::size_t(preparation_.columns().count()), std::size_t(n_outputs_),
            std::size_t(n_members_)};
  }

  // Work on rows that come one after the other: where it is done, where answers go, and by how many threads.
  struct Turn {
    Chunk& chunk;
    Answers out;  // to the rows of the chunk
    int threads;
  };

  // Room for one row: that of the thread, which all committees use in turn.
  Chunk& single() const {
    static thread_local Chunk room({1, 0, 0, 0});
    seats_.reserve();
    room.fit(sizes(1));
    return room;
  }

  static constexpr std::size_t kChunk = 512;

  Shares shares(Chunk& chunk) const { return {chunk, seats_, preparation_.columns().count()}; }

  // A question about the next row, whose truth `y` comes so many rows later, if that is known.
  std::unique_ptr<Ticket> new_ticket(const double* y, std::int64_t delay) const {
    auto ticket = std::make_unique<Ticket>(n_outputs_, n_members_, seats_.n_states());
    ticket->row = samples_ + 1;
    ticket->due = delay > 0 ? ticket->row + delay : 0;
    if (delay > 0) ticket->truth.assign(y, y + n_outputs_);
    return ticket;
  }

  // Prepares the next row as one of the chunk, with the question that it is, if any, and advances
  // everything that does not depend on a forecast. What needs memory comes first: either that fails or
  // nothing does.
  void take(Turn& turn, const double* x, std::unique_ptr<Ticket> ticket, std::size_t most_open) {
    Chunk& chunk = turn.chunk;
    preparation_.foresee(x, chunk.row_units.data());
    Ticket* before = questions_.find(samples_);
    if (before != nullptr && !past_.is_kept()) recall();
    past_.reserve(1);
    const std::size_t due = questions_.count_due(samples_ + 1);
    chunk.reserve(2 + due + (ticket != nullptr ? questions_.count_beyond(most_open) : 0));
    chunk.reserve_again(due);
    preparation_.coding().reserve(1 + due);
    if (ticket != nullptr) preparation_.coding().keep(samples_ + 1, x);
    Ticket* question = ticket != nullptr ? questions_.ask(std::move(ticket)) : nullptr;

    double* row = &chunk.rows[chunk.taken * preparation_.columns().count()];
    opinions_.note_what_was_shown(chunk, chunk.taken++, samples_);
    const bool changed = preparation_.take(x, chunk.row_units.data(), row, chunk.column_changes.data());
    ++samples_;
    if (Importance::looks_at(samples_))
      preparation_.spreads(&chunk.spreads[chunk.looks++ * preparation_.columns().count()]);
    if (past_.is_kept()) past_.append(samples_, row);
    const bool keeps = before != nullptr && !std::exchange(before->kept, true);
    chunk.events.push_back(
        {Event::kRow, samples_, 0, 0, keeps ? before->states.data() : nullptr, nullptr, Event::kNowhere});
    chunk.judgements.push_back({question, nullptr});
    if (changed || is_a_return(chunk)) change_units(turn);
    while (question != nullptr && n_open() > most_open) {
      chunk.closed.push_back(questions_.drop_oldest());
      preparation_.coding().forget(chunk.closed.back()->row);
    }
    while (const Ticket* due = questions_.due(samples_)) {
      chunk.closed.push_back(questions_.close(due->row));
      settle(turn, due->row, chunk.closed.back().get(), due->truth.data());
    }
  }

  // The targets of a row have become known; `ticket` holds what was answered, or it was answered just now.
  void settle(Turn& turn, std::int64_t row, Ticket* ticket, const double* y) {
    Chunk& chunk = turn.chunk;
    const std::size_t at = chunk.targets.size();
    chunk.targets.resize(at + n_outputs_);
    chunk.labelled.resize(at + n_outputs_);
    const std::size_t again =
        ticket != nullptr && row < samples_ ? opinions_.say_again(chunk) : Event::kNowhere;
    const bool known = preparation_.label(row, y, &chunk.targets[at], &chunk.labelled[at]);
    bool changed = false;
    for (int k = 0; k < n_outputs_; ++k) {
      chunk.output_changes[k] = chunk.labelled[at + k].change;
      changed |= !chunk.output_changes[k].is_none();
    }
    if (changed) change_units(turn);
    for (const Seat& seat : seats_)
      if (seat.simple != nullptr && !std::isnan(chunk.targets[at + seat.own.output]))
        seat.simple->learn(opinions_.seen(seat.own.output), row, y[seat.own.output]);
    if (!known && samples_ == row) return;
    const std::int64_t when = ++known_;
    steps_ += known;
    if (known && past_.is_kept()) {
      past_.settle(row, &chunk.targets[at], when);
      if (row < samples_) note_target_before(row, &chunk.labelled[at]);
    }
    double* states = ticket != nullptr ? ticket->states.data() : nullptr;
    Ticket* after = questions_.find(row + 1);
    double* next = after != nullptr && after->kept ? after->states.data() : nullptr;
    chunk.events.push_back({at, row, samples_ - row, when, states, next, again});
    chunk.judgements.push_back({ticket, y});
  }

  // The row before that of a question is at hand as long as the question is, unless nobody looks back.
  void note_target_before(std::int64_t row, Labelled* labelled) const {
    const double* before = past_.reach().all > 1 ? past_.targets_of(row - 1) : nullptr;
    for (int k = 0; before != nullptr && k < n_outputs_; ++k) labelled[k].before = before[k];
  }

  // Whether the newest row says that targets are again what they used to be.
  bool is_a_return(const Chunk& chunk) const {
    return std::any_of(chunk.row_units.begin(), chunk.row_units.begin() + n_outputs_,
                       [](const RowUnit& unit) { return unit.returns; });
  }

  // Units have changed by what came last. When everybody has learned what came before, it is written into
  // what those know who follow. Rows of the past are as others saw them.
  void change_units(Turn& turn) {
    work_off(turn);
    Chunk& chunk = turn.chunk;
    for (int k = 0; k < n_outputs_; ++k) {
      const RowUnit& row = chunk.row_units[k];
      if (!row.returns) continue;
      judge_.begin_anew(k, row.unit);
      chunk.output_changes[k] = row.change;
    }
    for (const Seat& seat : seats_)
      if (seat.absolute)
        seat.learner->rescale(seat.own, chunk.column_changes.data(), chunk.output_changes.data());
    std::fill(chunk.column_changes.begin(), chunk.column_changes.end(), UnitChange{});
    std::fill(chunk.output_changes.begin(), chunk.output_changes.end(), UnitChange{});
    std::fill(chunk.row_units.begin(), chunk.row_units.end(), RowUnit{});
  }

  // After rows were taken, and truths told: everybody learns.
  void finish(Turn& turn) {
    work_off(turn);
    turn.chunk.closed.clear();
    tidy();
  }

  // Everybody learns from what has happened so far.
  void work_off(Turn& turn) {
    Chunk& chunk = turn.chunk;
    shares(chunk).work(past_, turn.threads);
    std::size_t i = 0, look_at = 0;
    for (std::size_t e = 0; e < chunk.events.size(); ++e) {
      const Judgement& judgement = chunk.judgements[e];
      std::vector<Said>& said = judgement.ticket != nullptr ? judgement.ticket->said : chunk.said;
      if (chunk.events[e].targets != Event::kRow) {
        judge_.conclude(said, preparation_, judgement.y, chunk.labelled.data() + chunk.events[e].targets,
                        chunk.events[e].row, opinions_.again(chunk, chunk.events[e], said));
        continue;
      }
      opinions_.say(chunk, i, said);
      judge_.write(said, preparation_, turn.out, i++ * n_outputs_);
      if (Importance::looks_at(chunk.events[e].row)) look(chunk, look_at++, said);
    }
    turn.out = turn.out.from(i * n_outputs_);
    chunk.events.clear();
    chunk.judgements.clear();
    chunk.taken = chunk.looks = 0;
  }

  // The past begins to be kept, with what the learners remember of it.
  void recall() {
    std::size_t longest = 0;
    for (const Seat& seat : seats_) longest = std::max(longest, std::size_t(seat.learner->remembered()));
    past_.begin(samples_, longest);
    for (const Seat& seat : seats_) {
      if (seat.simple != nullptr) continue;  // it remembers no rows
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
    questions_.exchange(archive, samples_, {std::size_t(n_outputs_), seats_.members(), seats_.n_states()});
    if (n_open() == 0) return;
    preparation_.exchange_sources(archive, questions_.open().begin()->first, samples_);
    past_.exchange(archive, rows_to_reach());
    for (const auto& [row, ticket] : questions_.open())
      if (!past_.has(row)) throw std::invalid_argument("the row of an open question is missing");
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      PrefixedArchive own(archive, seats_.name_of(s));
      questions_.exchange_states(own, seats_[s].own.state, seats_[s].learner->state_size());
    }
    known_ = std::max(known_, std::int64_t(1));
  }

  // How what was said would change with the inputs, by the weights that it was said with.
  void look(Chunk& chunk, std::size_t at, const std::vector<Said>& said) {
    importance_.look();
    for (int k = 0; k < n_outputs_; ++k) {
      const Unit unit = preparation_.unit_of(said[k].moments);
      for (int j = 0; j < preparation_.columns().count(); ++j) {
        double change = 0;
        for (int m = 0; m < n_members_; ++m) {
          const std::size_t s = seats_.of(m, k);
          const Looks looks = shares(chunk).looks(s);
          const std::size_t row =
              at * std::size_t(seats_[s].n_outputs) + std::size_t(k - seats_[s].own.output);
          change += judge_.weight(m, k) * looks.changes[row * looks.columns + std::size_t(j)];
        }
        importance_.learn(std::size_t(k), std::size_t(j), unit.restore(change) - unit.restore(0));
      }
    }
  }

  template <class From, class To>
  static void graft(From walk_from, To walk_to) {
    Snapshot snapshot;
    walk_from(snapshot);
    Graft archive(snapshot);
    walk_to(archive);
  }

  Preparation preparation_;
  int n_outputs_;
  Seats seats_;
  int n_members_;
  Judge judge_;
  Importance importance_;
  std::int64_t samples_ = 0, steps_ = 0;
  Questions questions_;
  Past past_;               // kept while questions are open
  std::int64_t known_ = 0;  // orders what becomes known of the past
  Opinions opinions_;
};

}  // namespace elman
