// A chunk of rows in work: what was prepared for learners, what they said, and what became known meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "importance.hpp"
#include "learner.hpp"
#include "prepare/preparation.hpp"
#include "questions.hpp"
#include "simd/buffer.hpp"

namespace elman {

// An event and what its answer is learned from: that of a question, or that of the row that has just come.
struct Judgement {
  Ticket* ticket;  // or null
  const double* y;
};

// The smallest and the largest answer.
struct Reach {
  double low, high;
};

// Prepared rows, forecasts [learner][row][output], and what scaled and limits the answers; what happens, with
// the targets that become known, prepared; and the questions that are closed by it.
struct Chunk {
  struct Sizes {
    std::size_t capacity, columns, outputs, members;
  };

  explicit Chunk(const Sizes& sizes)
      : capacity(sizes.capacity),
        rows(sizes.capacity * sizes.columns),
        forecasts(sizes.capacity * sizes.outputs * sizes.members),
        units(sizes.capacity * sizes.outputs),
        reaches(sizes.capacity * sizes.outputs),
        ages(sizes.capacity * sizes.outputs),
        spreads(most_looks() * sizes.columns),
        changes(most_looks() * sizes.columns * sizes.outputs * sizes.members),
        column_changes(sizes.columns),
        output_changes(sizes.outputs),
        row_units(sizes.outputs),
        outputs(sizes.outputs),
        members(sizes.members),
        said(sizes.outputs, Said(int(sizes.members))),
        room_(sizes) {
    reserve(2 * capacity);
  }

  // Makes room for another committee of these sizes.
  void fit(const Sizes& sizes) {
    if (room_.columns < sizes.columns || room_.outputs < sizes.outputs || room_.members < sizes.members)
      *this = Chunk({capacity, std::max(room_.columns, sizes.columns), std::max(room_.outputs, sizes.outputs),
                     std::max(room_.members, sizes.members)});
    outputs = sizes.outputs;
    members = sizes.members;
    start();
    reserve(2 * capacity);
  }

  // Room for so many events more.
  void reserve(std::size_t more) {
    grow(events, more);
    grow(judgements, more);
    grow(targets, more * outputs);
    grow(labelled, more * outputs);
    grow(closed, more);
  }

  // Room for so many questions of before more.
  void reserve_again(std::size_t more) { grow(again, more * outputs * members); }

  void start() {
    events.clear();
    judgements.clear();
    targets.clear();
    labelled.clear();
    again.clear();
    closed.clear();
    taken = looks = 0;
  }

  // At how many of its rows it is looked which inputs matter, at most.
  std::size_t most_looks() const { return capacity / std::size_t(Importance::kEvery) + 1; }

  std::size_t capacity, taken = 0;  // rows
  Buffer<double> rows, forecasts;
  std::vector<Unit> units;
  std::vector<Reach> reaches;
  std::vector<double> ages;  // of the newest known targets, in rows
  std::vector<Event> events;
  std::vector<Judgement> judgements;  // of each event
  std::vector<double> targets;
  std::vector<Labelled> labelled;  // with each target
  std::vector<double> again;       // what would be answered now to a question of before, see Event
  std::vector<std::unique_ptr<Ticket>> closed;
  Buffer<double> spreads, changes;                         // see Looks
  std::size_t looks = 0;                                   // how many such rows there are so far
  std::vector<UnitChange> column_changes, output_changes;  // of units, by the newest row or target
  std::vector<RowUnit> row_units;                          // of the newest row, by output
  std::size_t outputs, members;
  std::vector<Said> said;  // of a row that is no question

 private:
  template <class Vector>
  static void grow(Vector& vector, std::size_t more) {
    if (vector.capacity() - vector.size() < more)
      vector.reserve(std::max(vector.size() + more, 2 * vector.capacity()));
  }

  Sizes room_;
};

}  // namespace elman
