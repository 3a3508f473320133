// How wrong a forecast will be: quantiles of its errors that keep their coverage on any stream.
//
// Each quantile moves up when an error lies above it and down when one does not, in proportion to its level:
// online conformal prediction (Gibbs and Candes 2021; Angelopoulos, Candes and Tibshirani 2023). It moves in
// units of the recent error, so that calm and wild times get the width they need. Such units can be played
// with: where more errors too many, or too few, than patience bears have come to lie below it, the quantile
// is moved besides in units of the largest recent error, in proportion to their number. However the errors
// come, the share of n of them that lie below it therefore differs from its level by no more than about
// (patience + range of the errors / (kInsistence largest recent one)) / n.
//
// Where errors are known late many of them were judged by the same quantiles before the first can move these:
// moved by what was given, they would swing. They are moved by where the error lies among those of now, and
// by less; what the given ones owe is paid back by an account.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "archive.hpp"
#include "combine/account.hpp"
#include "prepare/scaling.hpp"

namespace elman {

class Quantiles {
 public:
  static constexpr std::size_t kLevels = 12;

  std::int64_t count() const { return count_; }

  // The quantiles as they are when something is answered, of how many errors they were made, and how old the
  // knowledge was of which the answer was made, in rows.
  struct Given {
    std::array<double, kLevels> errors = {};
    std::int64_t count = 0;
    double age = 1;
  };
  Given given(double widening, double age) const {
    Given made{errors(widening), count_, age};
    if (!account_.is_open()) return made;
    const std::array<double, kLevels> errors = made.errors;
    for (std::size_t j = 0; j < kLevels; ++j) made.errors[j] = at(account_.level(j, kLevel[j]), errors);
    order(made.errors);
    return made;
  }

  // The size of recent errors.
  double size() const { return std::sqrt(variance_) / Moments::kFine + kSmallest; }

  // The error below which a share of `level` of the errors is expected; infinite before there were any.
  static double at(double level, const Given& given) {
    if (given.count < kFirst) return level < 0.5 ? -HUGE_VAL : HUGE_VAL;
    return at(level, given.errors);
  }

  // Enters the error of an answer whose interval was made of `given`, before anything is learned from it.
  void account(double error, const Given& given) {
    if (given.count >= kFirst)
      account_.enter(surplus(error, given.errors), late(given), heeded_at_once(given));
  }

  // Takes the error of an answer whose interval was made of `given`, and would be made with `widening` now.
  // The newest of late errors say no more of those to come than the ones before them: their size is that of
  // more.
  void learn(double error, const Given& given, double widening) {
    error = std::clamp(error, -kAbsurd, kAbsurd);
    if (count_ >= kFirst) {
      const bool had_interval = given.count >= kFirst;
      const std::array<double, kLevels> now = errors(had_interval ? widening : 1);
      const std::array<double, kLevels> to_now = surplus(error, now);
      const std::array<double, kLevels> to_given = had_interval ? surplus(error, given.errors) : to_now;
      const double fading = count_ > kSettled ? 0 : std::pow(double(count_ - kFirst + 1), -0.6);
      const double share = heeded_at_once(given), step = share * kStep * std::max(fading, kSmallestStep);
      for (std::size_t j = 0; j < kLevels; ++j) {
        quantiles_[j] += step * to_now[j];
        missing_[j] += share * to_given[j];
      }
    }
    const double fade = kFade / (1 + late(given) / kCalmSize);
    ++count_;
    largest_ = std::max(std::abs(error), largest_ * (1 - kFadeOfLargest));
    const double fine = Moments::kFine * error;
    variance_ += (std::min(fine * fine, count_ > kFirst ? kLimit * variance_ : HUGE_VAL) - variance_) *
                 std::max(1 / double(count_), fade);
  }

  void exchange(Archive& archive) {
    const Limits counts = Limits::within(Limits::kLargestCount);
    archive.vector("quantiles", quantiles_.data(), {"level", kLevels}, counts);
    archive.vector("missing_below", missing_.data(), {"level", kLevels}, counts);
    constexpr double kUnit = Moments::kFine * Moments::kFine;
    const bool former = archive.has_part("error_variance", false);  // in the target's units
    archive.value(former ? "error_variance" : "error_fine_variance", variance_,
                  Limits::up_to(Moments::kFine * kAbsurd * (Moments::kFine * kAbsurd)));
    if (former) variance_ *= kUnit;
    archive.value("largest_error", largest_, Limits::up_to(kAbsurd));
    archive.value("error_count", count_);
    account_.exchange(archive);
  }

 private:
  static constexpr std::array<double, kLevels> kLevel = {0.005, 0.01, 0.025, 0.05,  0.1,  0.25,
                                                         0.75,  0.9,  0.95,  0.975, 0.99, 0.995};
  static constexpr std::int64_t kFirst = 2;       // errors that only set the unit
  static constexpr double kStep = 1.5;            // of a quantile, in units; falls with the number of errors
  static constexpr double kSmallestStep = 0.02;   // to this share, so that drift is followed for ever
  static constexpr std::int64_t kSettled = 1000;  // errors by when the step has fallen that far
  static constexpr double kFade = 0.03;           // share of the newest error in the unit
  static constexpr double kLimit = 25;  // one error raises the variance no further than by this factor

  static constexpr double kPatience = 40;      // errors too many or too few below a quantile
  static constexpr double kInsistence = 0.05;  // of the largest recent error, for every further one
  static constexpr double kFadeOfLargest = 0.001;
  // Errors between an answer and its own: by how many its share is halved in what moves quantiles, and in the
  // size of errors.
  static constexpr double kCalm = 10, kCalmSize = 50;
  static constexpr double kAbsurd = Moments::kAbsurd;
  static constexpr double kSmallest = 1e-200;  // so that an error of 0 lies between the quantiles of zeros

  // The quantiles as they are read and judged: those further out never lie within the others.
  std::array<double, kLevels> errors(double widening) const {
    const double unit = widening * size();
    const double patience = std::min(kPatience, 6 + 0.2 * std::sqrt(double(count_)));
    std::array<double, kLevels> at;
    for (std::size_t j = 0; j < kLevels; ++j) {
      const double beyond = std::max(std::abs(missing_[j]) - patience, 0.0);
      at[j] = unit * quantiles_[j] + std::copysign(kInsistence * largest_ * beyond, missing_[j]);
    }
    order(at);
    return at;
  }

  static void order(std::array<double, kLevels>& at) {
    for (std::size_t j = kLevels / 2 - 1; j-- > 0;) at[j] = std::min(at[j], at[j + 1]);
    for (std::size_t j = kLevels / 2; j < kLevels; ++j) at[j] = std::max(at[j], at[j - 1]);
  }

  // How many errors have come since an interval was given, and the share of its own that is heeded like that
  // of an interval of now.
  double late(const Given& given) const {
    return given.count >= kFirst ? std::max(0.0, double(count_ - given.count)) : 0;
  }
  double heeded_at_once(const Given& given) const { return 1 / (1 + late(given) / kCalm); }

  // Each level, less 1 if the error is not above its quantile.
  static std::array<double, kLevels> surplus(double error, const std::array<double, kLevels>& errors) {
    std::array<double, kLevels> of;
    for (std::size_t j = 0; j < kLevels; ++j) of[j] = kLevel[j] - (error <= errors[j] ? 1 : 0);
    return of;
  }

  // Linear between the levels, and beyond the last ones, in their normal quantiles.
  static double at(double level, const std::array<double, kLevels>& errors) {
    static const std::array<double, kLevels> abscissae = [] {
      std::array<double, kLevels> of;
      for (std::size_t j = 0; j < kLevels; ++j) of[j] = normal_quantile(kLevel[j]);
      return of;
    }();
    const double z = normal_quantile(level);
    std::size_t j = 1;
    while (j + 1 < kLevels && abscissae[j] < z) ++j;
    const double share = (z - abscissae[j - 1]) / (abscissae[j] - abscissae[j - 1]);
    return errors[j - 1] + share * (errors[j] - errors[j - 1]);
  }

  // Of the standard normal distribution, to three digits (Abramowitz and Stegun 26.2.23): the abscissa in
  // which quantiles are interpolated. Rounding to a level of 1 must not make it infinite, nor the error of
  // the approximation turn its sign near the median.
  static double normal_quantile(double p) {
    const double q = std::max(std::min(p, 1 - p), kSmallestTail), t = std::sqrt(-2 * std::log(q));
    const double z =
        t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    return p < 0.5 ? -std::max(z, 0.0) : std::max(z, 0.0);
  }
  static constexpr double kSmallestTail = 1e-17;  // 1 - p of the largest p below 1 is ten times that

  std::array<double, kLevels> quantiles_ = {-2.576, -2.326, -1.96, -1.645, -1.282, -0.674,
                                            0.674,  1.282,  1.645, 1.96,   2.326,  2.576};
  std::array<double, kLevels> missing_ = {};  // errors below each quantile that its level asks for and lacks
  double variance_ = 0, largest_ = 0;         // the variance in fine units, as that of Moments
  std::int64_t count_ = 0;
  Account<kLevels> account_;
};

}  // namespace elman
