// Features that are no numbers, as numbers: dates by their cycles, categories by the targets of their levels.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "archive.hpp"
#include "prepare/calendar.hpp"
#include "prepare/category.hpp"

namespace elman {

// What a feature holds: a number, seconds since 1970 (with a time of day or without), or the code of a level.
enum class FeatureKind { number, date, datetime, category };

class Coding {
 public:
  Coding(const std::vector<FeatureKind>& kinds, int outputs) : n_features_(kinds.size()) {
    std::vector<Label> labels;
    for (std::size_t j = 0; j < kinds.size(); ++j) {
      coders_.push_back(coder(kinds[j], outputs));
      plain_ &= kinds[j] == FeatureKind::number;
      const int width = std::visit([](const auto& each) { return each.width(); }, coders_.back());
      for (std::uint64_t part = 0; part < std::uint64_t(width); ++part)
        labels.push_back({std::uint64_t(2) << 60 | part << 30 | j});
    }
    labels_ = labels;
    if (plain_) coders_ = std::vector<Coder>();
    coded_.resize(plain_ ? 0 : labels.size());
    levels_.resize(plain_ ? 0 : n_features_);
  }

  std::size_t n_features() const { return n_features_; }
  bool is_plain() const { return plain_; }                       // all features are numbers
  const SharedVector<Label>& labels() const { return labels_; }  // of the numbers that features become

  // The features of the next row as numbers, which last until the next call; it counts from now on.
  const double* take(const double* x) {
    if (plain_) return x;
    for (std::size_t j = 0; j < n_features_; ++j)
      if (auto* calendar = std::get_if<Calendar>(&coders_[j])) calendar->observe(x[j]);
    levels_.assign(x, x + n_features_);
    write(x, coded_.data());
    return coded_.data();
  }

  // The same, into `out`, without changing anything.
  const double* preview(const double* x, std::vector<double>& out) const {
    if (plain_) return x;
    out.resize(labels_.size());
    double* next = out.data();
    for (std::size_t j = 0; j < n_features_; ++j) {
      if (const auto* calendar = std::get_if<Calendar>(&coders_[j])) {
        Calendar then = *calendar;
        then.observe(x[j]);
        then.code(x[j], next);
      } else {
        std::visit([&](const auto& each) { each.code(x[j], next); }, coders_[j]);
      }
      next += std::visit([](const auto& each) { return each.width(); }, coders_[j]);
    }
    return out.data();
  }

  // Before row number `row` is taken, whose targets come later: keeps what they will be learned for.
  void keep(std::int64_t row, const double* x) {
    if (!plain_) waiting_.emplace(row, std::vector<double>(x, x + n_features_));
  }
  // Rows before `oldest` are not waited for any more, nor is `row`.
  void forget_before(std::int64_t oldest) { waiting_.erase(waiting_.begin(), waiting_.lower_bound(oldest)); }
  void forget(std::int64_t row) { waiting_.erase(row); }

  // Makes room for the targets of n rows.
  void reserve(std::size_t n) {
    for (Coder& coder : coders_)
      if (auto* category = std::get_if<Category>(&coder)) category->reserve(n);
  }

  // Takes in the targets of a row: of the one that was taken last, or of one that was kept.
  void learn(std::int64_t row, const double* y) {
    if (plain_) return;
    const auto kept = waiting_.find(row);
    const double* x = kept == waiting_.end() ? levels_.data() : kept->second.data();
    for (std::size_t j = 0; j < n_features_; ++j)
      if (auto* category = std::get_if<Category>(&coders_[j])) category->learn(x[j], y, row);
    if (kept != waiting_.end()) waiting_.erase(kept);
  }

  void exchange(Archive& archive) {
    for (std::size_t j = 0; j < coders_.size(); ++j) {
      const std::string name = "feature" + std::to_string(j);
      if (auto* calendar = std::get_if<Calendar>(&coders_[j])) calendar->exchange(archive, name);
      if (auto* category = std::get_if<Category>(&coders_[j])) category->exchange(archive, name);
    }
  }

  // Walks the features of rows whose targets are waited for.
  void exchange_waiting(Archive& archive) {
    if (plain_) return;
    std::int64_t n = std::int64_t(waiting_.size());
    archive.value("waiting", n);
    archive.require_room(std::size_t(n), (1 + n_features_) * sizeof(double));
    std::vector<std::int64_t> rows;
    std::vector<double> kept;
    for (const auto& [row, x] : waiting_) {
      rows.push_back(row);
      kept.insert(kept.end(), x.begin(), x.end());
    }
    rows.resize(std::size_t(n));
    kept.resize(std::size_t(n) * n_features_, std::nan(""));
    const Axis axis{"question", std::size_t(n)};
    archive.vector("waiting_rows", rows.data(), axis);
    archive.array("waiting_features", kept.data(), axis, {"feature", n_features_}, n_features_,
                  Limits{}.or_unknown());
    waiting_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i)
      waiting_.emplace(rows[i],
                       std::vector<double>(&kept[i * n_features_], &kept[i * n_features_] + n_features_));
    if (waiting_.size() != rows.size()) throw std::invalid_argument("a row is waited for twice");
  }

  void restored() {
    for (Coder& coder : coders_)
      if (auto* category = std::get_if<Category>(&coder)) category->restored();
  }

 private:
  struct Number {
    int width() const { return 1; }
    void code(double value, double* out) const { *out = value; }
  };
  using Coder = std::variant<Number, Calendar, Category>;

  static Coder coder(FeatureKind kind, int outputs) {
    if (kind == FeatureKind::number) return Number{};
    if (kind == FeatureKind::category) return Category(outputs);
    return Calendar(kind == FeatureKind::datetime);
  }

  void write(const double* x, double* out) const {
    for (std::size_t j = 0; j < n_features_; ++j)
      std::visit([&](const auto& each) { each.code(x[j], out), out += each.width(); }, coders_[j]);
  }

  std::size_t n_features_;
  bool plain_ = true;  // all features are numbers
  std::vector<Coder> coders_;
  SharedVector<Label> labels_;
  std::vector<double> coded_, levels_;  // of the row that was taken last: as numbers, and as it came
  std::map<std::int64_t, std::vector<double>> waiting_;
};

}  // namespace elman
