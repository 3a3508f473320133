// What intervals owe whose errors become known late.
//
// Quantiles that follow the errors as they become known are right about these, and late: where errors come in
// long stretches of their own size and sign, the next stretch is another one. So it is counted how many
// errors too few, or too many, came to lie below each quantile that was given, and the next ones are taken at
// another level, which pays this back. Nothing of what is paid is seen before an error of the new level is
// known: paid faster than within some such delays, the levels would swing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "archive.hpp"

namespace elman {

template <std::size_t n_levels>
class Account {
 public:
  // An error becomes known when `late` others have come since the quantiles were given by which it is judged:
  // `surplus` is their levels, less 1 where the error lies below. What is known at once is no debt: the
  // quantiles heed it before they are given again.
  void enter(const std::array<double, n_levels>& surplus, double late, double known_at_once) {
    for (std::size_t j = 0; j < n_levels; ++j) owed_[j] += (1 - known_at_once) * surplus[j];
    late_ += kFade * (late - late_);
  }

  bool is_open() const { return late_ > 0; }

  // The level at which the j-th quantile is to be taken: it stays on its side of the median.
  double level(std::size_t j, double asked) const {
    const double paid = asked + owed_[j] / (kAtLeast + kDelays * late_);
    return asked < 0.5 ? std::clamp(paid, kOutermost, kInnermost)
                       : std::clamp(paid, 1 - kInnermost, 1 - kOutermost);
  }

  void exchange(Archive& archive) {
    if (!archive.has_part("owed_below", is_open())) return;
    const Limits counts = Limits::within(Limits::kLargestCount);
    archive.vector("owed_below", owed_.data(), {"level", n_levels}, counts);
    archive.value("errors_late", late_, Limits::up_to(Limits::kLargestCount));
  }

 private:
  static constexpr double kAtLeast = 300, kDelays = 3;  // errors, and delays, within which is paid
  static constexpr double kFade = 0.01;                 // share of the newest error in how late they are
  static constexpr double kOutermost = 0.003, kInnermost = 0.45;  // levels

  std::array<double, n_levels> owed_ = {};  // errors below each quantile that its level asks for and lacks
  double late_ = 0;                         // errors between an answer and its own, as of late
};

}  // namespace elman
