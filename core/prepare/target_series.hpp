// The targets of one output as a series: the last values by their rows, and the seasons that they have.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "archive.hpp"
#include "forecast/calendar.hpp"
#include "forecast/season_finder.hpp"
#include "prepare/scaling.hpp"
#include "simd/buffer.hpp"

namespace elman {

class TargetSeries {
 public:
  static constexpr std::int64_t kLength = 1024;  // rows that are remembered

  TargetSeries() : values_(2 * kLength), sources_(kLength) {}

  std::int64_t rows() const { return rows_; }
  const Seasons& seasons() const { return seasons_; }

  // The next row has come. Until its target is known, the newest one that is known stands in its place.
  void pass() {
    ++rows_;
    const double before = rows_ > 1 ? values_[slot(rows_ - 1)] : 0;
    write(rows_, before, rows_ > 1 ? sources_[slot(rows_ - 1)] : 0);
  }

  // The target of a row has become known, at once or later.
  void observe(std::int64_t row, double y) {
    if (std::isnan(y) || rows_ - row >= kLength) return;
    y = std::clamp(y, -Moments::kAbsurd, Moments::kAbsurd);
    for (std::int64_t r = row; r <= rows_ && sources_[slot(r)] < row; ++r) write(r, y, row);
    look_for_seasons(row);
  }

  // The targets before a row, the newest first: `n` of them are there.
  struct Before {
    const double* values;
    std::int64_t n;
    // The one `age` rows before; NaN if that is too long ago.
    double at(std::int64_t age) const {
      return age <= n ? values[age - 1] : std::numeric_limits<double>::quiet_NaN();
    }
  };
  Before before(std::int64_t row) const {
    const std::int64_t oldest = std::max<std::int64_t>(rows_ - kLength + 1, first_);
    return {&values_[slot(row - 1)], first_ > 0 ? std::max<std::int64_t>(row - oldest, 0) : 0};
  }

  void exchange(Archive& archive) {
    archive.vector("series", values_.data(), {"past", std::size_t(kLength)},
                   Limits::within(Moments::kAbsurd));
    archive.vector("series_rows", sources_.data(), {"past", std::size_t(kLength)});
    archive.value("series_first", first_);
    archive.value("series_looked_at", looked_at_);
    for (std::size_t i = 0; i < seasons_.size(); ++i) {
      std::int64_t period = seasons_[i].period;
      archive.value("season" + std::to_string(i), period, Limits::up_to(kLength));
      seasons_[i] = period > 0 ? Season{Cycle::counted, int(period)} : Season{};
    }
    finder_.exchange(archive);
    std::copy_n(values_.data(), kLength, values_.data() + kLength);
  }

  void restored(std::int64_t rows) {
    const auto later = [&](std::int64_t row) { return row > rows; };
    if (later(first_) || later(looked_at_) || std::any_of(sources_.begin(), sources_.end(), later))
      throw std::invalid_argument("the series has targets of rows that did not come");
    rows_ = rows;
  }

 private:
  // Older rows lie behind newer ones, and everything is there twice: what lies before a row is contiguous.
  static std::size_t slot(std::int64_t row) { return std::size_t(kLength - 1 - row % kLength); }

  void write(std::int64_t row, double y, std::int64_t source) {
    values_[slot(row)] = values_[slot(row) + kLength] = y;
    sources_[slot(row)] = source;
    if (source > 0 && (first_ == 0 || source < first_)) first_ = source;
  }

  // Changes are looked at in the order of the rows; one that is not known in time is none.
  void look_for_seasons(std::int64_t row) {
    if (row <= looked_at_) return;
    if (looked_at_ > 0) {
      for (std::int64_t r = std::max(looked_at_ + 1, row - kLength); r < row; ++r) learn_change(0);
      const Before before = this->before(row);
      learn_change(before.n > 0 ? values_[slot(row)] - before.at(1) : 0);
    }
    looked_at_ = row;
  }
  void learn_change(double change) {
    if (finder_.learn(change)) seasons_ = finder_.look(seasons_);
  }

  Buffer<double> values_;
  Buffer<std::int64_t> sources_;  // of which row each is the target; 0 if nothing was known yet
  std::int64_t rows_ = 0;
  std::int64_t first_ = 0;      // row whose target was the first that was known; 0 if none is
  std::int64_t looked_at_ = 0;  // the newest row whose change was looked at
  SeasonFinder finder_;
  Seasons seasons_ = {};
};

}  // namespace elman
