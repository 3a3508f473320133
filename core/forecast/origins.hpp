// What is kept of the last rows that forecasts were made at, as many as steps are ahead: units, features,
// what everybody said. From these is learned when the rows ahead have come.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "archive.hpp"
#include "forecast/covariates.hpp"
#include "forecast/features.hpp"
#include "forecast/lasting_level.hpp"
#include "forecast/panel.hpp"
#include "forecast/uncertainty.hpp"
#include "simd/buffer.hpp"

namespace elman {

class Origins {
 public:
  enum Validity : std::int64_t { kUnusable, kBegun, kSettled };  // its units have settled
  static constexpr int kOfTarget = 2 * feature::kNTarget;

  // `ahead`: the panel that knows the covariates of the rows ahead, or null.
  Origins(int horizon, int covariates, const Panel& plain, const Panel* ahead)
      : H_(std::size_t(horizon)),
        nx_(std::size_t(covariates)),
        n_members_(std::size_t(plain.n_members())),
        n_trail_(ahead ? ahead->trail_size() : 0),
        n_weights_(ahead ? ahead->n_weights() : 0),
        valid_(H_),
        units_(H_ * 2),
        of_origin_(H_ * feature::kOfOrigin),
        x_(H_ * nx_),
        of_target_(H_ * H_ * kOfTarget),
        issued_(H_ * H_ * n_issued()),
        issued_ahead_(ahead ? H_ * H_ * kIssuedAhead : 0),
        trails_(H_ * n_trail_),
        weights_(H_ * n_weights_) {}

  // Where an origin lies.
  std::size_t at(std::int64_t row) const { return std::size_t(row) % H_; }

  std::int64_t validity(std::size_t origin) const { return valid_[origin]; }
  void forget_all() { std::fill(valid_.begin(), valid_.end(), std::int64_t(kUnusable)); }
  void begin(std::size_t origin, Validity validity, const Measure& unit) {
    valid_[origin] = validity;
    units_[origin * 2] = unit.mean;
    units_[origin * 2 + 1] = unit.deviation;
  }

  Measure unit(std::size_t origin) const { return {units_[origin * 2], units_[origin * 2 + 1]}; }
  float* features(std::size_t origin) { return &of_origin_[origin * feature::kOfOrigin]; }
  float* covariates(std::size_t origin) { return x_.data() + origin * nx_; }
  float* target_features(std::size_t origin, int step) {
    return &of_target_[(origin * H_ + std::size_t(step)) * kOfTarget];
  }

  // Of a step: opinions, their mixture, what was said besides, and how wrong that would be.
  float* opinions(std::size_t origin, int step) {
    return &issued_[(origin * H_ + std::size_t(step)) * n_issued()];
  }
  float& mixed(std::size_t origin, int step) { return opinions(origin, step)[n_members_]; }
  float* error(std::size_t origin, int step) { return lean_of(origin, step) + Lean::kSize; }
  float* error_ahead(std::size_t origin, int step) { return lean_of_ahead(origin, step) + Lean::kSize; }

  using Lean = LastingLevel::Lean;
  Lean lean(std::size_t origin, int step) { return read(lean_of(origin, step)); }
  Lean lean_ahead(std::size_t origin, int step) { return read(lean_of_ahead(origin, step)); }
  void set_lean(std::size_t origin, int step, const Lean& lean) { write(lean, lean_of(origin, step)); }
  void set_lean_ahead(std::size_t origin, int step, const Lean& lean) {
    write(lean, lean_of_ahead(origin, step));
  }

  // Roll-outs that wait for covariates, and the weights of the networks that make them.
  double* trail(std::size_t origin) { return trails_.data() + origin * n_trail_; }
  float* weights(std::size_t origin) { return weights_.data() + origin * n_weights_; }

  void exchange(Archive& archive) {
    const Axis origins{"origin", H_};
    const Limits measured = Limits::within(Measure::kFarthest);
    archive.vector("origin_valid", valid_.data(), origins, Limits::up_to(kSettled));
    archive.array("origin_units", units_.data(), origins, {"unit", 2}, 2);
    for (std::size_t i = 0; i < H_; ++i)
      archive.require(!valid_[i] || unit(i).is_possible(), "the units of an origin are out of range");
    const Limits features = Limits::within(Series::kLargestFeature);
    archive.array("origin_features", of_origin_.data(), origins, {"feature", feature::kOfOrigin},
                  feature::kOfOrigin, features);
    archive.array("origin_covariates", x_.data(), origins, {"covariate", nx_}, nx_,
                  Limits::within(Covariates::kLargest));
    archive.array("target_features", of_target_.data(), origins, {"step and feature", H_ * kOfTarget},
                  H_ * kOfTarget, features);
    const std::size_t row = H_ * n_issued();
    archive.array("issued", issued_.data(), origins, {"step and member", row}, row, measured);
  }
  void exchange_ahead(Archive& archive) {
    const Axis origins{"origin", H_};
    const std::size_t row = H_ * kIssuedAhead;
    archive.array("issued_ahead", issued_ahead_.data(), origins, {"step and quantile", row}, row,
                  Limits::within(Measure::kFarthest));
    archive.array("trails", trails_.data(), origins, {"trail", n_trail_}, n_trail_,
                  Limits::within(Measure::kFarthest));
    archive.array("trail_weights", weights_.data(), origins, {"weight", n_weights_}, n_weights_,
                  Limits::within(kLargestWeight));
  }

 private:
  static constexpr std::size_t kIssuedAhead = Lean::kSize + Uncertainty::kIssued;

  std::size_t n_issued() const { return n_members_ + 1 + kIssuedAhead; }
  float* lean_of(std::size_t origin, int step) { return &mixed(origin, step) + 1; }
  float* lean_of_ahead(std::size_t origin, int step) {
    return &issued_ahead_[(origin * H_ + std::size_t(step)) * kIssuedAhead];
  }
  static Lean read(const float* from) { return {from[0], from[1], from[2]}; }
  static void write(const Lean& lean, float* to) {
    to[0] = lean.level;
    to[1] = lean.share;
    to[2] = lean.trust;
  }

  std::size_t H_, nx_, n_members_, n_trail_, n_weights_;
  Buffer<std::int64_t> valid_;               // Validity
  Buffer<double> units_;                     // [origin][mean, deviation]
  Buffer<float> of_origin_, x_, of_target_;  // [origin][feature], [covariate], [step][feature]
  Buffer<float> issued_, issued_ahead_;      // [origin][step][...]
  Buffer<double> trails_;                    // [origin][..]
  Buffer<float> weights_;                    // [origin][..]
};

}  // namespace elman
