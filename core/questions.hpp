// Questions that were answered and whose truth is not known yet.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "archive.hpp"
#include "cell/cell.hpp"
#include "combine/quantiles.hpp"
#include "combine/trust.hpp"
#include "prepare/preparation.hpp"

namespace elman {

// What was said of one output: the unit of that moment, the answer in it, what it was made of, the opinions
// of members and what two mixtures made of them, and what its interval was made of.
struct Said {
  explicit Said(int members) : opinions(std::size_t(members)) {}

  Moments moments;
  double mixed = 0;
  Trust::Layers layers = {};
  Quantiles::Given interval;
  std::vector<double> opinions;

  // Whether so much less was known of the targets than now, by the units of both, that what was said tells
  // little of what would be said today.
  bool is_outgrown(const Moments& now) const {
    return !moments.varies() || moments.count < kOutgrown * now.count;
  }
  static constexpr double kOutgrown = 0.5;
};

// A question. It is known by the number of its row, from 1.
struct Ticket {
  Ticket(int outputs, int members, std::size_t n_states)
      : said(std::size_t(outputs), Said(members)), states(n_states) {}

  std::int64_t row = 0;
  std::int64_t due = 0;        // the row after which its truth is told; 0: nobody knows when it comes
  std::vector<double> truth;   // which is on its way then; else empty
  std::vector<Said> said;      // of each output
  std::vector<double> states;  // of every learner, before the stretch that ends with the row
  bool kept = false;           // whether they are there; else the row is still the newest of all
};

class Questions {
 public:
  enum class Status { open, unknown, dropped, settled };
  using Open = std::map<std::int64_t, std::unique_ptr<Ticket>>;

  const Open& open() const { return open_; }
  std::int64_t dropped() const { return dropped_; }

  Ticket* find(std::int64_t row) const {
    const auto found = open_.find(row);
    return found == open_.end() ? nullptr : found->second.get();
  }

  // Of the row of that number, the newest of all being `newest`.
  Status status(std::int64_t row, std::int64_t newest) const {
    if (row < 1 || row > newest) return Status::unknown;
    if (find(row) != nullptr) return Status::open;
    const auto after = gone_.upper_bound(row);
    return after != gone_.begin() && std::prev(after)->second >= row ? Status::dropped : Status::settled;
  }

  Ticket* ask(std::unique_ptr<Ticket> ticket) {
    const std::int64_t row = ticket->row, due = ticket->due;
    const auto opened = open_.emplace_hint(open_.end(), row, std::move(ticket));
    if (due > 0) try {
        on_the_way_.emplace(due, row);
      } catch (...) {
        open_.erase(opened);
        throw;
      }
    return opened->second.get();
  }

  // Closes a question; the caller keeps the ticket as long as it needs it.
  std::unique_ptr<Ticket> close(std::int64_t row) {
    const auto found = open_.find(row);
    std::unique_ptr<Ticket> ticket = std::move(found->second);
    open_.erase(found);
    if (ticket->due > 0) on_the_way_.erase({ticket->due, row});
    return ticket;
  }

  // Closes a question whose truth will not be learned, because the caller says so.
  std::unique_ptr<Ticket> forget(std::int64_t row) {
    note_gone(row);
    return close(row);
  }

  // Closes the oldest question: there are too many.
  std::unique_ptr<Ticket> drop_oldest() {
    ++dropped_;
    return forget(open_.begin()->first);
  }

  // A question whose truth has arrived by the time of row `newest`, the oldest first; null if there is none.
  Ticket* due(std::int64_t newest) const {
    if (on_the_way_.empty() || on_the_way_.begin()->first > newest) return nullptr;
    return find(on_the_way_.begin()->second);
  }

  // How many of these there are, and how many questions would be open beyond `most` after one more.
  std::size_t count_due(std::int64_t newest) const {
    std::size_t n = 0;
    for (auto each = on_the_way_.begin(); each != on_the_way_.end() && each->first <= newest; ++each) ++n;
    return n;
  }
  std::size_t count_beyond(std::size_t most) const {
    return open_.size() + 1 > most ? open_.size() + 1 - most : 0;
  }

  bool is_untouched() const { return open_.empty() && dropped_ == 0 && gone_.empty(); }

  struct Sizes {
    std::size_t outputs;
    Axis members;
    std::size_t states;
  };

  // Walks everything but the states, where the newest row of all is `newest`.
  void exchange(Archive& archive, std::int64_t newest, const Sizes& sizes) {
    std::int64_t count = std::int64_t(open_.size());
    archive.value("open_questions", count);
    const std::size_t n = std::size_t(count), said = sizes.outputs * (7 + sizes.members.size());
    archive.require_room(n, (2 + said + sizes.states) * sizeof(double));
    std::vector<std::int64_t> rows, due;
    std::vector<double> truth(n * sizes.outputs, std::numeric_limits<double>::quiet_NaN());
    for (const auto& [row, ticket] : open_) {
      std::copy(ticket->truth.begin(), ticket->truth.end(), truth.data() + rows.size() * sizes.outputs);
      rows.push_back(row);
      due.push_back(ticket->due);
    }
    rows.resize(n);
    due.resize(n);
    const Axis questions{"question", n};
    archive.vector("open_rows", rows.data(), questions);
    archive.vector("open_due", due.data(), questions);
    archive.array("open_truth", truth.data(), questions, {"output", sizes.outputs}, sizes.outputs,
                  Limits{}.or_unknown());
    check(rows, due, newest);
    exchange_gone(archive, newest);
    for (std::size_t i = 0; i < n; ++i)
      if (find(rows[i]) == nullptr) renew(rows[i], due[i], &truth[i * sizes.outputs], sizes);
    for (std::size_t k = 0; k < sizes.outputs && n > 0; ++k) {
      PrefixedArchive own(archive, "output" + std::to_string(k) + ".");
      exchange_said(own, k, sizes.members);
    }
  }

  // Walks states [begin, begin + n) of every question.
  void exchange_states(Archive& archive, std::size_t begin, std::size_t n) {
    std::vector<double> states;
    for (const auto& [row, ticket] : open_)
      states.insert(states.end(), ticket->states.data() + begin, ticket->states.data() + begin + n);
    archive.array("open_states", states.data(), {"question", open_.size()}, {"state", n}, n,
                  Limits::within(kLargestState));
    const double* state = states.data();
    for (const auto& [row, ticket] : open_) {
      std::copy_n(state, n, ticket->states.data() + begin);
      state += n;
    }
  }

 private:
  static constexpr double kLargestError = 1e150;     // of a quantile, in the target's own units
  static constexpr double kLargestAnswer = 1e50;     // in units; weights and inputs have limits far below
  static constexpr std::size_t kRemembered = 10000;  // ranges of rows whose questions were dropped

  void note_gone(std::int64_t row) noexcept try {
    const auto after = gone_.upper_bound(row);
    const bool joins = after != gone_.begin() && std::prev(after)->second == row - 1;
    const auto range = joins ? std::prev(after) : gone_.emplace(row, row).first;
    range->second = row;
    if (after != gone_.end() && after->first == row + 1) {
      range->second = after->second;
      gone_.erase(after);
    }
    if (gone_.size() > kRemembered) gone_.erase(gone_.begin());
  } catch (const std::bad_alloc&) {
    // It will be taken for settled.
  }

  static void check(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& due,
                    std::int64_t newest) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < 1 || rows[i] > newest || (i > 0 && rows[i] <= rows[i - 1]))
        throw std::invalid_argument("the open questions are not in order");
      if (due[i] != 0 && due[i] <= newest)
        throw std::invalid_argument("a truth that has arrived is not learned");
    }
  }

  // A question out of a state that is read.
  void renew(std::int64_t row, std::int64_t due, const double* truth, const Sizes& sizes) {
    auto ticket = std::make_unique<Ticket>(int(sizes.outputs), int(sizes.members.size()), sizes.states);
    ticket->row = row;
    ticket->due = due;
    ticket->kept = true;
    if (due > 0) ticket->truth.assign(truth, truth + sizes.outputs);
    ask(std::move(ticket));
  }

  void exchange_said(Archive& archive, std::size_t k, const Axis& members) {
    constexpr std::size_t n = 7;
    std::vector<double> answers, intervals, opinions, ages;
    for (const auto& [row, ticket] : open_) {
      const Said& said = ticket->said[k];
      answers.insert(answers.end(),
                     {said.moments.count, said.moments.mean, said.moments.fine_variance, said.mixed,
                      double(said.interval.count), said.layers[0], said.layers[1]});
      ages.push_back(said.interval.age);
      intervals.insert(intervals.end(), said.interval.errors.begin(), said.interval.errors.end());
      opinions.insert(opinions.end(), said.opinions.begin(), said.opinions.end());
    }
    const Axis questions{"question", open_.size()};
    const bool former = archive.has_part("open_answers", false);  // whose variances are in the target's units
    if (!former) archive.vector("open_ages", ages.data(), questions, Limits::up_to(Limits::kLargestCount));
    archive.array(former ? "open_answers" : "open_fine_answers", answers.data(), questions, {"answer", n}, n);
    archive.array("open_intervals", intervals.data(), questions, {"level", Quantiles::kLevels},
                  Quantiles::kLevels, Limits::within(kLargestError));
    archive.array("open_opinions", opinions.data(), questions, members, members.size(),
                  Limits::within(kLargestAnswer));
    std::size_t at = 0;
    const double *answer = answers.data(), *interval = intervals.data(), *opinion = opinions.data();
    for (const auto& [row, ticket] : open_) {
      Said& said = ticket->said[k];
      said.moments = {answer[0], answer[1], answer[2] * (former ? Moments::kFine * Moments::kFine : 1)};
      archive.require(said.moments.is_possible() && std::abs(answer[3]) <= kLargestAnswer && answer[4] >= 0 &&
                          answer[4] <= Limits::kLargestCount,
                      "what was answered to an open question is out of range");
      said.mixed = answer[3];
      said.interval.count = std::int64_t(answer[4]);
      std::copy_n(interval, Quantiles::kLevels, said.interval.errors.begin());
      said.layers = {answer[5], answer[6]};
      said.interval.age = ages[at++];
      std::copy_n(opinion, members.size(), said.opinions.begin());
      answer += n;
      interval += Quantiles::kLevels;
      opinion += members.size();
    }
  }

  void exchange_gone(Archive& archive, std::int64_t newest) {
    archive.value("dropped", dropped_);
    std::int64_t count = std::int64_t(gone_.size());
    archive.value("dropped_ranges", count);
    archive.require_room(std::size_t(count), 2 * sizeof(double));
    std::vector<std::int64_t> ranges;
    for (const auto& [first, last] : gone_) ranges.insert(ranges.end(), {first, last});
    ranges.resize(2 * std::size_t(count));
    archive.array("dropped_rows", ranges.data(), {"range", std::size_t(count)}, {"end", 2}, 2);
    gone_.clear();
    for (std::size_t i = 0; i < ranges.size(); i += 2) {
      const std::int64_t before = i > 0 ? ranges[i - 1] : 0;
      if (ranges[i] <= before || ranges[i + 1] < ranges[i] || ranges[i + 1] > newest)
        throw std::invalid_argument("the questions that were dropped are not in order");
      gone_.emplace_hint(gone_.end(), ranges[i], ranges[i + 1]);
    }
  }

  Open open_;
  std::set<std::pair<std::int64_t, std::int64_t>> on_the_way_;  // (due, row)
  std::map<std::int64_t, std::int64_t> gone_;  // first and last row of ranges whose questions were dropped
  std::int64_t dropped_ = 0;                   // because there were too many
};

}  // namespace elman
