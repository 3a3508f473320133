// The last values of a series with their stamps. Where a value is not known stands what was expected.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "archive.hpp"
#include "forecast/calendar.hpp"
#include "simd/buffer.hpp"

namespace elman {

class History {
 public:
  static constexpr double kAbsurd = 1e100;          // the largest value that is taken for what it is
  static constexpr double kLargest = 10 * kAbsurd;  // values, and what was expected in their place
  static constexpr std::int64_t kLength = Season::kLongest + 12;

  History() : values_(kLength), times_(kLength), known_(kLength) {}

  std::int64_t rows() const { return rows_; }          // so far; the newest is row rows() - 1
  std::int64_t position() const { return position_; }  // of the newest row, in steps
  // How many of the newest rows follow each other without a gap that was not filled.
  std::int64_t unbroken() const { return std::min(rows_ - first_, kLength); }

  double value(std::int64_t age) const { return values_[place(age)]; }  // age 0: the newest
  double time(std::int64_t age) const { return times_[place(age)]; }
  double time() const { return rows_ > 0 ? time(0) : NAN; }

  bool known(std::int64_t age) const { return known_[place(age)] != 0; }

  // The mean of the rows of these ages, the younger first.
  double mean(std::int64_t youngest, std::int64_t oldest) const {
    double sum = 0;
    for (std::int64_t age = youngest; age <= oldest; ++age) sum += value(age);
    return sum / double(oldest - youngest + 1);
  }

  void push(double value, double time, bool known) {
    ++rows_;
    ++position_;
    values_[place(0)] = value;
    times_[place(0)] = time;
    known_[place(0)] = known;
  }

  // So many steps have passed of which nothing is known.
  void skip(std::int64_t steps) {
    if (steps <= 0) return;
    position_ += steps;
    first_ = rows_;
  }

  // A value that was not known when its row came.
  void correct(std::int64_t age, double value) {
    values_[place(age)] = value;
    known_[place(age)] = 1;
  }

  // A value that is no better than an unknown one, and what was expected in its place.
  void forget(std::int64_t age, double expected) {
    values_[place(age)] = expected;
    known_[place(age)] = 0;
  }

  void exchange(Archive& archive) {
    archive.value("history_rows", rows_);
    archive.value("history_steps", position_);
    archive.value("history_first", first_);
    const Axis past{"past", std::size_t(kLength)};
    archive.vector("history_values", values_.data(), past, Limits::within(kLargest));
    archive.vector("history_known", known_.data(), past, Limits::up_to(1));
    archive.vector("history_times", times_.data(), past, Limits::within(Clock::kLatest).or_unknown());
    if (first_ > rows_ || position_ + 1 < rows_)
      throw std::invalid_argument("the rows of the past are miscounted");
  }

 private:
  std::size_t place(std::int64_t age) const { return std::size_t((rows_ - 1 - age + kLength) % kLength); }

  std::int64_t rows_ = 0, position_ = 0, first_ = 0;
  Buffer<double> values_, times_;
  Buffer<float> known_;  // 0 or 1
};

}  // namespace elman
