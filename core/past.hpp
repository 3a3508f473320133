// Prepared rows of the past, with the targets that are known of them: what open questions are learned from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "archive.hpp"
#include "prepare/columns.hpp"
#include "prepare/preparation.hpp"

namespace elman {

// Rows are known by their numbers, counted from 1. Those that lie between the stretches of open questions are
// forgotten, so that a question which stays open for long keeps no more than its own stretch. Numbers are
// rounded as networks round them, so that it does not matter from where a row is taken.
class Past {
 public:
  // How many rows, the newest included, are looked at of lagged columns, of features, and at all.
  struct Reach {
    std::int64_t lagged, features, all;
  };

  Past(const Columns& columns, bool double_precision, Reach reach)
      : columns_(columns), double_precision_(double_precision), reach_(reach) {}

  bool is_kept() const { return is_kept_; }
  void clear() { *this = Past(columns_, double_precision_, reach_); }
  const Columns& columns() const { return columns_; }
  const Reach& reach() const { return reach_; }

  // From now on rows are kept: there is room for rows (newest - n, newest], nothing known of them.
  void begin(std::int64_t newest, std::size_t n) {
    clear();
    is_kept_ = true;
    for (std::int64_t row = newest - std::int64_t(n) + 1; row <= newest; ++row) append(row, nullptr);
  }

  // Room for so many rows more.
  void reserve(std::size_t more) {
    if (!is_kept_ || rows_.capacity() - rows_.size() >= more) return;
    const std::size_t n = std::max(rows_.size() + more, rows_.size() * 3 / 2 + kSlack);
    settled_.reserve(n);
    numbers_.reserve(n * step());
    rows_.reserve(n);
  }

  // The next row as networks see it.
  void append(std::int64_t row, const double* prepared) {
    rows_.push_back(row);
    settled_.push_back(0);
    numbers_.resize(numbers_.size() + step(), std::numeric_limits<double>::quiet_NaN());
    double* columns = numbers_.data() + numbers_.size() - step();
    if (prepared == nullptr)
      std::fill_n(columns, columns_.count(), 0.0);
    else
      round(prepared, columns_.count(), columns);
  }

  // Its targets as networks see them; `when` orders what becomes known, from 1.
  void settle(std::int64_t row, const double* targets, std::int64_t when) {
    const std::size_t at = find(row);
    if (at == rows_.size()) return;
    round(targets, columns_.outputs, numbers_.data() + at * step() + columns_.count());
    settled_[at] = when;
  }

  // The targets of a row as networks see them, or null.
  const double* targets_of(std::int64_t row) const {
    const std::size_t at = find(row);
    if (at == rows_.size() || settled_[at] == 0) return nullptr;
    return numbers_.data() + at * step() + columns_.count();
  }

  // Successive rows, `step` numbers apart: the columns of each and behind them its targets.
  struct Stretch {
    double* numbers;
    double* targets;
    std::int64_t* settled;  // when its targets became known; 0: they are not
    std::size_t n, step;
  };

  // The stretch of up to n rows that ends with `row`.
  Stretch ending(std::int64_t row, std::size_t n) {
    const std::size_t last = find(row);
    if (last == rows_.size()) return {nullptr, nullptr, nullptr, 0, step()};
    n = std::min(n, last - begin_ + 1);
    while (rows_[last - n + 1] != row - std::int64_t(n) + 1) --n;
    const std::size_t first = last - n + 1;
    double* numbers = numbers_.data() + first * step();
    return {numbers, numbers + columns_.count(), settled_.data() + first, n, step()};
  }

  // Forgets rows that nobody will ask for: those out of reach of every open question and of the newest row.
  // `open` are the numbers of these rows, ascending.
  void tidy(const std::vector<std::int64_t>& open) {
    auto question = open.begin();
    keep_if([&](std::int64_t row) {
      while (question != open.end() && *question < row) ++question;
      return question != open.end() && row > *question - reach_.all;
    });
    remaining_ = rows_.size();
  }

  // The same, where it is worth the time; `oldest` is the first of the open ones.
  template <class Numbers>
  void tidy_if_worth_it(std::int64_t oldest, Numbers open) {
    while (begin_ < rows_.size() && rows_[begin_] <= oldest - reach_.all) ++begin_;
    if (rows_.size() - begin_ > 2 * remaining_ + kSlack)
      tidy(open());
    else if (begin_ > kSlack && begin_ > rows_.size() / 2)
      keep_if([](std::int64_t) { return true; });
  }

  // `open` as above. What is out of reach is written as 0.
  void exchange(Archive& archive, const std::vector<std::int64_t>& open) {
    tidy(open);
    erase_unreachable(open);
    std::int64_t count = std::int64_t(rows_.size());
    archive.value("past_rows", count);
    archive.require_room(std::size_t(count), (step() + 2) * sizeof(double));
    const std::size_t n = std::size_t(count);
    rows_.resize(n);
    settled_.resize(n);
    numbers_.resize(n * step(), 0.0);
    for (std::int64_t& when : settled_) when = when > 0;
    const Axis rows{"row", n}, outputs{"output", std::size_t(columns_.outputs)};
    archive.vector("past_numbers_of_rows", rows_.data(), rows);
    archive.vector("past_settled", settled_.data(), rows);
    const Limits prepared = Limits::within(Unit::kLimit);
    archive.array("past_columns", numbers_.data(), rows, columns_.axis(), step(), prepared);
    archive.array("past_targets", numbers_.data() + columns_.count(), rows, outputs, step(),
                  prepared.or_unknown());
    for (std::size_t i = 0; i < n; ++i)
      if (rows_[i] < 1 || rows_[i] > open.back() || settled_[i] > 1 || (i > 0 && rows_[i] <= rows_[i - 1]))
        throw std::invalid_argument("the rows of open questions are not in order");
    remaining_ = n;
    is_kept_ = true;
  }

  bool has(std::int64_t row) const { return find(row) < rows_.size(); }

 private:
  static constexpr std::size_t kSlack = 256;  // rows; tidying up fewer is not worth it

  std::size_t step() const { return std::size_t(columns_.count() + columns_.outputs); }

  std::size_t find(std::int64_t row) const {
    const auto found = std::lower_bound(rows_.begin() + std::ptrdiff_t(begin_), rows_.end(), row);
    return found != rows_.end() && *found == row ? std::size_t(found - rows_.begin()) : rows_.size();
  }

  void round(const double* from, int n, double* to) const {
    for (int i = 0; i < n; ++i) to[i] = double_precision_ ? from[i] : double(float(from[i]));
  }

  void erase_unreachable(const std::vector<std::int64_t>& open) {
    auto question = open.begin();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      while (*question < rows_[i]) ++question;
      double* columns = numbers_.data() + i * step();
      if (rows_[i] <= *question - reach_.lagged) std::fill_n(columns, columns_.lagged(), 0.0);
      if (rows_[i] <= *question - reach_.features)
        std::fill_n(columns + columns_.lagged(), columns_.features, 0.0);
    }
  }

  template <class Needed>
  void keep_if(Needed needed) {
    std::size_t to = 0;
    for (std::size_t from = begin_; from < rows_.size(); ++from) {
      if (!needed(rows_[from])) continue;
      rows_[to] = rows_[from];
      settled_[to] = settled_[from];
      if (to != from) std::copy_n(numbers_.data() + from * step(), step(), numbers_.data() + to * step());
      ++to;
    }
    rows_.resize(to);
    settled_.resize(to);
    numbers_.resize(to * step());
    begin_ = 0;
  }

  Columns columns_;
  std::vector<std::int64_t> rows_, settled_;
  std::vector<double> numbers_;
  bool double_precision_;
  Reach reach_;
  bool is_kept_ = false;
  std::size_t begin_ = 0;      // rows before it are forgotten
  std::size_t remaining_ = 0;  // rows that were left when it was last tidied
};

}  // namespace elman
