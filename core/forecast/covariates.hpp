// What is known of a row besides its value: dates and words as numbers, in units of their own, and which of
// it is known of rows ahead.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "archive.hpp"
#include "forecast/features.hpp"
#include "prepare/coding.hpp"
#include "simd/buffer.hpp"

namespace elman {

class Covariates {
 public:
  explicit Covariates(const std::vector<FeatureKind>& kinds)
      : coding_(kinds, 1),
        known_ahead_(kinds.size()),
        spreads_(coding_.labels().size()),
        now_(spreads_.size()),
        standard_(spreads_.size()),
        coded_(spreads_.size()) {
    std::fill(known_ahead_.begin(), known_ahead_.end(), 1);
    pass();
  }

  std::size_t n_features() const { return coding_.n_features(); }  // as rows have them
  int count() const { return int(spreads_.size()); }               // as numbers

  // Takes the memory that the next row may need; only this may fail.
  void reserve() { coding_.reserve(1); }
  // The next row comes; then its value, NaN if it is not known.
  void take(const double* x) {
    std::copy_n(coding_.take(x), now_.size(), now_.begin());
    for (std::size_t j = 0; j < now_.size(); ++j) spreads_[j].observe(now_[j]);
    standardise(now_.data(), standard_.data());
  }
  void learn(std::int64_t row, double y) { coding_.learn(row, &y); }
  // A row of which nothing is known.
  void pass() {
    std::fill(now_.begin(), now_.end(), std::numeric_limits<double>::quiet_NaN());
    std::fill(standard_.begin(), standard_.end(), 0.0);
  }

  // Of the newest row: as numbers, NaN where missing, and in deviations from their means.
  const double* now() const { return now_.data(); }
  const double* standard() const { return standard_.data(); }

  // A row ahead as numbers, NaN where they are not known ahead.
  void look_ahead(const double* x, std::vector<double>& out) {
    const double* numbers = coding_.preview(x, coded_);
    out.assign(numbers, numbers + count());
    hide_unknown(out);
  }
  // The newest row as it would have been seen ahead.
  void as_if_ahead(std::vector<double>& out) const {
    out.assign(now_.begin(), now_.end());
    hide_unknown(out);
  }

  // Deviations from the means; a missing one is its mean.
  void standardise(const double* x, double* out) const {
    for (std::size_t j = 0; j < spreads_.size(); ++j)
      out[j] = std::isnan(x[j])
                   ? 0
                   : std::clamp((x[j] - spreads_[j].mean) / spreads_[j].deviation(), -kLargest, kLargest);
  }

  // Which columns are known for rows ahead when a forecast is asked for; the others are known only up to now.
  void set_known_ahead(const std::vector<bool>& known) {
    std::copy(known.begin(), known.end(), known_ahead_.begin());
  }
  bool known_ahead(std::size_t feature) const { return known_ahead_[feature] != 0; }

  static constexpr double kLargest = 5;  // in deviations

  void exchange(Archive& archive) {
    const Axis numbers{"covariate", spreads_.size()}, features{"feature", n_features()};
    static_assert(sizeof(Spread) == 3 * sizeof(double));
    double* moments = reinterpret_cast<double*>(spreads_.data());
    archive.array("covariate_moments", moments, numbers, {"moment", 3}, 3);
    for (const Spread& each : spreads_) archive.require(each.is_possible(), "moments are out of range");
    archive.vector("known_ahead", known_ahead_.data(), features, Limits::up_to(1));
    archive.vector("covariates_now", now_.data(), numbers, Limits{}.or_unknown());
    coding_.exchange(archive);
  }
  void restored() {
    coding_.restored();
    standardise(now_.data(), standard_.data());
  }

 private:
  void hide_unknown(std::vector<double>& x) const {
    for (std::size_t j = 0; j < x.size(); ++j)
      if (!known_ahead(feature_of(j))) x[j] = std::numeric_limits<double>::quiet_NaN();
  }
  // A feature may be several numbers.
  std::size_t feature_of(std::size_t j) const { return coding_.labels()[j][0] & ((1u << 30) - 1); }

  Coding coding_;
  Buffer<std::int64_t> known_ahead_;  // of each feature
  std::vector<Spread> spreads_;
  std::vector<double> now_, standard_, coded_;
};

}  // namespace elman
