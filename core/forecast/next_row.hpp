// What a committee says of the next row, the one that is easiest to forecast and most often asked for. It has
// members that are too dear to be rolled out, and sees the calendar and the covariates.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "archive.hpp"
#include "committee.hpp"
#include "forecast/features.hpp"

namespace elman {

class NextRow {
 public:
  // Features of the forecaster that it sees, besides covariates.
  static constexpr std::array<int, 0> kPlaces = {};

  NextRow(const std::vector<MemberOptions>& members, int covariates)
      : committee_(options(members, int(kPlaces.size()) + covariates)), row_(kPlaces.size() + covariates) {}

  void initialise(const std::vector<std::uint64_t>& seed) { committee_.initialise(seed); }

  // The value of the row of these features and covariates, in the units of the series.
  double answer(const double* features, const double* covariates) {
    double out;
    committee_.predict(row(features, covariates), {&out, nullptr, nullptr, 0});
    return out;
  }
  void learn(const double* features, const double* covariates, double y) {
    double out;
    committee_.learn(row(features, covariates), &y, {&out, nullptr, nullptr, 0});
  }

  // Takes the memory that learning needs in this thread; only this may fail.
  void reserve_scratch() const { committee_.reserve_scratch(); }

  void exchange(Archive& archive) { committee_.exchange(archive); }
  void restored() { committee_.restored(); }

 private:
  static CommitteeOptions options(const std::vector<MemberOptions>& members, int n) {
    const std::vector<FeatureKind> kinds(std::size_t(n), FeatureKind::number);
    return {{1, feature::kNLags, n, Coding(kinds, 1).labels()},
            kinds,
            true,
            Loss::squared,
            false,
            false,
            -HUGE_VAL,
            HUGE_VAL,
            members};
  }

  const double* row(const double* features, const double* covariates) {
    double* out = row_.data();
    for (const int place : kPlaces) *out++ = features[place];
    std::copy_n(covariates, row_.size() - kPlaces.size(), out);
    return row_.data();
  }

  Committee committee_;
  std::vector<double> row_;
};

}  // namespace elman
