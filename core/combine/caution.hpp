// How much wider an interval must be where answers are made of older knowledge than those whose errors are
// known.
//
// Errors that were made with fresh knowledge say little of those that will be made with old knowledge where a
// target resembles the one before it. At worst an answer and its target have nothing to do with each other:
// then their difference has twice the target's variance; and where targets wander, this grows with time: what
// was seen in n rows, grows by (n + a) / n until a rows later. Between the size that errors had and that one,
// on a scale of ratios, lies what is expected: the nearer to the latter the more the targets follow each
// other, and the fewer stretches of time as long as the knowledge is old have been judged.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "archive.hpp"

namespace elman {

class Caution {
 public:
  // A target and the one of the row before it differ by that much, squared, over the target's variance.
  void see_succession(double squared_difference) {
    ++pairs_;
    const double half = std::min(squared_difference / 2, kMostDifferent);
    difference_ += (half - difference_) / std::min(double(pairs_) + kBelieved, kMemory);
  }

  // An error becomes known, of an answer that was made when the newest known target was `age` rows old; if it
  // was given, and not made up later.
  void learn(double age, bool was_given) {
    ++count_;
    judged_ += was_given;
    age_ += (age - age_) * std::max(1 / double(count_), kFade);
  }

  // By what the size of errors is multiplied now; `deviation` is that of the targets.
  double widening(double age, double size, double deviation) const {
    const double worst = std::sqrt(2 * (1 + age / (1 + double(count_)))) * deviation;
    if (age <= 1 || pairs_ == 0 || !(worst > size)) return 1;
    const double older = 1 - std::min(1.0, (age_ + kSameAge) / (age + kSameAge));
    const double untried = 1 / (1 + double(judged_) / (kTried * age));
    const double follows = std::clamp(1 - difference_, 0.0, 1.0);
    return std::pow(worst / size, follows * std::max(older, untried));
  }

  void exchange(Archive& archive) {
    archive.value("successive_targets", pairs_);
    archive.value("difference_of_successive_targets", difference_, Limits::up_to(kMostDifferent));
    archive.value("errors_by_age", count_);
    archive.value("given_errors_by_age", judged_);
    archive.value("age_of_knowledge", age_, Limits::up_to(Limits::kLargestCount));
    archive.require(judged_ <= count_, "more answers were judged than there were");
  }

 private:
  static constexpr double kBelieved = 10;  // pairs of equal targets that are believed before any was seen
  static constexpr double kMemory = 1000;  // pairs
  static constexpr double kMostDifferent = 10;
  static constexpr double kFade = 0.03;   // share of the newest error in the age
  static constexpr double kSameAge = 10;  // rows that hardly matter
  static constexpr double kTried = 3;     // ages of the knowledge after which half of the caution is left

  std::int64_t pairs_ = 0, count_ = 0, judged_ = 0;
  double difference_ = 0;  // half the squared one, over the variance: 1 where targets do not know each other
  double age_ = 0;         // of the knowledge with which the recent answers were made, in rows
};

}  // namespace elman
