// Where in a chunk the share of a learner lies, and all learners at work on theirs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>

#include "chunk.hpp"
#include "parallel.hpp"
#include "past.hpp"
#include "seats.hpp"

namespace elman {

class Shares {
 public:
  Shares(Chunk& chunk, const Seats& seats, int columns)
      : chunk_(chunk), seats_(seats), columns_(std::size_t(columns)) {}

  Rows rows(std::size_t s) const {
    const Share& own = seats_[s].own;
    return {chunk_.rows.data() + own.lagged, chunk_.rows.data() + own.feature, columns_};
  }

  // Where the forecasts of a learner begin: those of all learners before it, and of its rows before row i,
  // come first.
  double* forecasts(std::size_t s, std::size_t i) const {
    return &chunk_.forecasts[(s * chunk_.capacity + i) * std::size_t(seats_[s].n_outputs)];
  }

  // Where the looks of a learner begin: those of all learners before it come first.
  Looks looks(std::size_t s) const {
    return {chunk_.spreads.data(),
            chunk_.changes.data() + s * chunk_.most_looks() * seats_[s].n_outputs * columns_, columns_};
  }

  // Every learner goes through the events of the chunk.
  void work(Past& past, int threads) const {
    // Nobody writes of columns that he does not see, and the room may have been another committee's.
    if (chunk_.looks > 0) std::fill(chunk_.changes.begin(), chunk_.changes.end(), 0.0);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      if (!has_room()) return;  // a helper: the caller has
      for (std::size_t s = next++; s < seats_.size(); s = next++)
        seats_[s].learner->run(
            {chunk_.events, rows(s), chunk_.targets.data(), past, looks(s), chunk_.again.data()},
            seats_[s].own, forecasts(s, 0));
    };
    share(chunk_.taken > kWorthAThread ? std::min(threads, int(seats_.size())) - 1 : 0, work);
  }

 private:
  static constexpr std::size_t kWorthAThread = 16;  // rows; starting a thread takes about as long

  bool has_room() const try {
    seats_.reserve();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  Chunk& chunk_;
  const Seats& seats_;
  std::size_t columns_;
};

}  // namespace elman
