// What the level of a category is to a network: the mean of the past targets of its rows, shrunk towards the
// mean of all. A row is coded before its own target is known, so that nothing of it leaks (ordered target
// statistics, as in CatBoost).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "archive.hpp"
#include "prepare/scaling.hpp"

namespace elman {

// A mean in which the newest of many values keeps a little weight, so that it follows a level that changes.
struct FadingMean {
  static constexpr double kMemory = 1000;
  static constexpr double kAbsurd = Moments::kAbsurd;

  double count = 0, mean = 0;

  void observe(double value) {
    count = std::min(count + 1, kMemory);
    mean += (std::clamp(value, -kAbsurd, kAbsurd) - mean) / count;
  }
};

class Category {
 public:
  static constexpr double kShrinkage = 1;         // rows that the mean of all counts as: benchmarks/words.py
  static constexpr std::size_t kMost = 1u << 14;  // levels; then the half is forgotten that is longest unseen

  explicit Category(int outputs) : outputs_(std::size_t(outputs)), all_(outputs_) {}

  int width() const { return int(outputs_); }

  // Writes a number for each output, NaN for a missing level.
  void code(double level, double* out) const {
    const std::size_t found = std::isnan(level) ? kNone : find(level);
    for (std::size_t k = 0; k < outputs_; ++k) {
      const FadingMean own = found == kNone ? FadingMean{} : means_[found * outputs_ + k];
      out[k] = std::isnan(level) || all_[k].count == 0
                   ? std::numeric_limits<double>::quiet_NaN()
                   : (own.count * own.mean + kShrinkage * all_[k].mean) / (own.count + kShrinkage);
    }
  }

  // Makes room for n levels more: once there is, `learn` needs no memory.
  void reserve(std::size_t n) {
    const std::size_t wanted = std::min(levels_.size() + n, kMost);
    if (wanted > levels_.capacity()) {
      const std::size_t roomy = std::max<std::size_t>(2 * wanted, 8);
      levels_.reserve(roomy), seen_.reserve(roomy), means_.reserve(roomy * outputs_);
    }
    std::size_t slots = std::max<std::size_t>(slots_.size(), 16);
    while (slots < 2 * wanted) slots *= 2;
    if (slots > slots_.size()) {
      std::vector<std::int64_t> larger(slots, -1);
      slots_.swap(larger);
      index();
    }
  }

  // Takes in the targets of row number `row`, NaN where not known. There must be room.
  void learn(double level, const double* y, std::int64_t row) {
    std::size_t at = kNone;
    for (std::size_t k = 0; k < outputs_; ++k) {
      if (std::isnan(y[k])) continue;
      all_[k].observe(y[k]);
      if (std::isnan(level)) continue;
      if (at == kNone) at = found_or_new(level);
      means_[at * outputs_ + k].observe(y[k]);
      seen_[at] = std::max(seen_[at], row);
    }
  }

  void exchange(Archive& archive, const std::string& name) {
    const Axis outputs{"output", outputs_}, two{"mean", 2};
    static_assert(sizeof(FadingMean) == 2 * sizeof(double));
    const Limits sums = Limits::within(2 * FadingMean::kAbsurd);
    std::int64_t n = std::int64_t(levels_.size());
    archive.array(name + ".all", reinterpret_cast<double*>(all_.data()), outputs, two, 2, sums);
    archive.value(name + ".levels", n);
    if (n < 0 || std::size_t(n) > kMost) throw std::invalid_argument("a category has too many levels");
    archive.require_room(std::size_t(n), (2 + 2 * outputs_) * sizeof(double));
    levels_.resize(std::size_t(n)), seen_.resize(std::size_t(n)), means_.resize(std::size_t(n) * outputs_);
    const Axis levels{"level", std::size_t(n)};
    archive.vector(name + ".codes", levels_.data(), levels);
    archive.vector(name + ".seen", seen_.data(), levels);
    for (std::size_t k = 0; k < outputs_; ++k)
      archive.array(name + ".means" + std::to_string(k), reinterpret_cast<double*>(means_.data() + k), levels,
                    two, 2 * outputs_, sums);
    for (const FadingMean& each : means_)
      archive.require(each.count >= 0, "a level has been seen a negative number of times");
  }

  void restored() {
    slots_.clear();
    reserve(1);
    for (std::size_t i = 0; i < levels_.size(); ++i)
      if (find(double(levels_[i])) != i) throw std::invalid_argument("a level comes twice");
  }

 private:
  static constexpr std::size_t kNone = std::size_t(-1);

  // The slot of a level, or the empty one where it belongs.
  std::size_t slot(std::int64_t level) const {
    std::size_t at = (std::uint64_t(level) * 0x9e3779b97f4a7c15 >> 20) & (slots_.size() - 1);
    while (slots_[at] >= 0 && levels_[std::size_t(slots_[at])] != level) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::size_t find(double level) const {
    if (slots_.empty()) return kNone;
    const std::int64_t found = slots_[slot(std::int64_t(level))];
    return found < 0 ? kNone : std::size_t(found);
  }

  std::size_t found_or_new(double level) {
    if (const std::size_t found = find(level); found != kNone) return found;
    if (levels_.size() >= kMost) forget_half();
    slots_[slot(std::int64_t(level))] = std::int64_t(levels_.size());
    levels_.push_back(std::int64_t(level));
    seen_.push_back(0);
    means_.resize(means_.size() + outputs_);
    return levels_.size() - 1;
  }

  // Forgets the levels that were not seen for longest; the others keep their order.
  void forget_half() {
    std::int64_t oldest = 0, newest = *std::max_element(seen_.begin(), seen_.end());
    while (oldest < newest) {  // the middle of the rows in which levels were seen last, without taking memory
      const std::int64_t middle = oldest + (newest - oldest) / 2;
      const auto before = std::count_if(seen_.begin(), seen_.end(), [&](auto row) { return row <= middle; });
      if (2 * std::size_t(before) >= levels_.size())
        newest = middle;
      else
        oldest = middle + 1;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      if (seen_[i] <= oldest) continue;
      levels_[kept] = levels_[i], seen_[kept] = seen_[i];
      std::copy_n(&means_[i * outputs_], outputs_, &means_[kept * outputs_]);
      ++kept;
    }
    levels_.resize(kept), seen_.resize(kept), means_.resize(kept * outputs_);
    index();
  }

  void index() {
    std::fill(slots_.begin(), slots_.end(), -1);
    for (std::size_t i = 0; i < levels_.size(); ++i) slots_[slot(levels_[i])] = std::int64_t(i);
  }

  std::size_t outputs_;
  std::vector<FadingMean> all_;              // of all levels, for each output
  std::vector<std::int64_t> levels_, seen_;  // of each level its code, and the row in which it was seen last
  std::vector<FadingMean> means_;            // [level][output]
  std::vector<std::int64_t> slots_;          // where in levels_ a level is, by its hash; -1 for none
};

}  // namespace elman
