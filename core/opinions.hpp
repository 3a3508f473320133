// What everybody says of a row, in which units and within which limits; and what they would say now of a row
// of before.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "chunk.hpp"
#include "judge.hpp"
#include "prepare/preparation.hpp"
#include "seats.hpp"
#include "shares.hpp"

namespace elman {

class Opinions {
 public:
  // Opinions that are weighed against others are limited; a network alone says what it says.
  Opinions(const Preparation& preparation, const Seats& seats, const Judge& judge, bool limited)
      : preparation_(preparation),
        seats_(seats),
        judge_(judge),
        limited_(limited),
        n_outputs_(preparation.columns().outputs),
        n_members_(seats.n_members()),
        again_(std::size_t(n_outputs_ * n_members_)) {}

  Seen seen(int k) const { return {preparation_.unit(k), preparation_.shown(k), preparation_.series(k)}; }

  // What the targets have shown by now: the units and limits of answers to row i, and what simple members say
  // of it. So many samples came before it.
  void note_what_was_shown(Chunk& chunk, std::size_t i, std::int64_t samples) const {
    const Bounds& bounds = judge_.bounds();
    for (int k = 0; k < n_outputs_; ++k) {
      const Unit unit = chunk.row_units[k].unit;
      const Shown& shown = preparation_.shown(k);
      const double margin = shown.margin();
      chunk.units[i * n_outputs_ + k] = unit;
      chunk.ages[i * n_outputs_ + k] = std::max(double(samples + 1) - shown.row_of_last, 0.0);
      chunk.reaches[i * n_outputs_ + k] = {
          unit.standardise_far(std::max(shown.lowest - margin, bounds.lowest)),
          unit.standardise_far(std::min(shown.highest + margin, bounds.highest))};
    }
    for (std::size_t s = 0; s < seats_.size(); ++s)
      if (seats_[s].simple != nullptr) {
        Seen seen = this->seen(seats_[s].own.output);
        seen.unit = chunk.row_units[seats_[s].own.output].unit;
        *shares(chunk).forecasts(s, i) = seen.unit.standardise_far(seats_[s].simple->says(seen));
      }
  }

  // What is said of row i of the chunk, in the units of that moment.
  void say(Chunk& chunk, std::size_t i, std::vector<Said>& said) const {
    for (int k = 0; k < n_outputs_; ++k) {
      const Reach& within = chunk.reaches[i * n_outputs_ + k];
      const bool is_return = i + 1 == chunk.taken && chunk.row_units[k].returns;
      for (int m = 0; m < n_members_; ++m) {
        const std::size_t s = seats_.of(m, k);
        double opinion = shares(chunk).forecasts(s, i)[k - seats_[s].own.output];
        if (is_return) opinion = at_return(chunk.row_units[k], seats_[s].absolute, opinion);
        said[k].opinions[m] = limited_ ? std::clamp(opinion, within.low, within.high) : opinion;
      }
      said[k].moments = chunk.units[i * n_outputs_ + k].moments;
      judge_.mix(said[k], k, chunk.ages[i * n_outputs_ + k]);
    }
  }

  // Room for what everybody would answer now to a row of before. Simple members answer at once, in the units
  // of the stream.
  std::size_t say_again(Chunk& chunk) const {
    const std::size_t at = chunk.again.size();
    chunk.again.resize(at + std::size_t(n_members_ * n_outputs_), std::numeric_limits<double>::quiet_NaN());
    for (const Seat& seat : seats_)
      if (seat.simple != nullptr && seat.simple->is_of_all_rows())
        chunk.again[at + seat.own.answer] = seat.simple->says(seen(seat.own.output));
    return at;
  }

  // These answers as opinions in the units of now, [output][member], or null if there are none. What the last
  // targets say depends on how old they were: of this a simple member says what it said, and nothing if no
  // target was known.
  double* again(const Chunk& chunk, const Event& event, const std::vector<Said>& said) {
    if (event.again == Event::kNowhere) return nullptr;
    for (int k = 0; k < n_outputs_; ++k) {
      const Unit& now = chunk.labelled[event.targets + std::size_t(k)].unit;
      for (int m = 0; m < n_members_; ++m) {
        const Seat& seat = seats_[seats_.of(m, k)];
        double& opinion = again_[std::size_t(k) * n_members_ + m];
        opinion = chunk.again[event.again + seat.own.answer + std::size_t(k - seat.own.output)];
        if (seat.simple == nullptr)
          opinion = limited(opinion);
        else if (seat.simple->is_of_all_rows())
          opinion = now.standardise_far(opinion);
        else if (said[k].moments.count > 0)
          opinion = now.standardise_far(preparation_.unit_of(said[k].moments).restore(said[k].opinions[m]));
        else
          opinion = std::numeric_limits<double>::quiet_NaN();
      }
    }
    return again_.data();
  }

 private:
  Shares shares(Chunk& chunk) const { return {chunk, seats_, preparation_.columns().count()}; }

  double limited(double opinion) const {
    return limited_ ? std::clamp(opinion, -Moments::kLimit, Moments::kLimit) : opinion;
  }

  // Where targets are again what they used to be, an opinion is told in that unit. One that is still about
  // what they were in between counts for none.
  static double at_return(const RowUnit& row, bool absolute, double opinion) {
    if (absolute) opinion = row.change.far(opinion);
    return std::abs(opinion) > Regime::kUsual ? std::numeric_limits<double>::quiet_NaN() : opinion;
  }

  const Preparation& preparation_;
  const Seats& seats_;
  const Judge& judge_;
  bool limited_;
  int n_outputs_, n_members_;
  Buffer<double> again_;  // opinions that there would be now
};

}  // namespace elman
