// Everybody who forecasts with the same information, and who of them is trusted at which step ahead.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "archive.hpp"
#include "combine/mixture.hpp"
#include "forecast/features.hpp"
#include "forecast/lasting_level.hpp"
#include "forecast/next_row.hpp"
#include "forecast/regression.hpp"
#include "forecast/rolled_network.hpp"
#include "forecast/uncertainty.hpp"
#include "simd/buffer.hpp"

namespace elman {

struct PanelOptions {
  int horizon;
  int covariates;
  bool ahead;  // the covariates of the rows ahead are known
  bool small;
  std::vector<MemberOptions> next_row;  // of the committee that forecasts the next row; empty: there is none
};

// How a row ahead is seen from its origin.
struct View {
  Measure unit;
  double lowest, highest;    // answers that make sense, in units
  const double* covariates;  // that are known of the row, in the numbers of the series, NaN where unknown
};

// Opinions are in the units of the origin. `features` is always the whole vector of a row ahead of it.
// Whoever comes last is asked for the next row only.
class Panel {
 public:
  // Everybody in this order; regressions and networks follow.
  enum Simple { kLastValue, kMean, kNaive0, kNaive1, kProfile0, kProfile1, kSlotMean, kNSimple };

  explicit Panel(const PanelOptions& options)
      : horizon_(options.horizon),
        n_covariates_(options.covariates),
        level_(options.horizon),
        uncertainty_(options.horizon) {
    add_networks(options);
    add_regressions(options);
    if (!options.next_row.empty())
      next_row_ = std::make_unique<NextRow>(options.next_row, options.covariates);
    n_members_ = kNSimple + int(networks_.size() + regressions_.size()) + (next_row_ ? 1 : 0);
    std::vector<Label> labels;
    for (std::uint64_t m = 0; m < kNSimple; ++m) labels.push_back({m});
    for (const std::string& name : network_names_) labels.push_back(label_of(name));
    for (const std::string& name : regression_names_) labels.push_back(label_of(name));
    others_ = Axis("member", labels);
    if (next_row_) labels.push_back(label_of(kCommittee));
    members_ = Axis("member", labels);
    labels.push_back({std::uint64_t(-1)});
    and_all_ = Axis("member or all", std::move(labels));
    for (int h = 0; h < horizon_; ++h)
      mixtures_.emplace_back(h == 0 ? members_ : others_, kDiscount, kDistance);
    learned_ = Buffer<std::int64_t>(std::size_t(horizon_));
    errors_ = Buffer<double>(std::size_t(horizon_) * (n_members_ + 1));
    for (const auto& network : networks_) trail_size_ += network->trail_size();
  }
  Panel(const Panel&) = delete;

  static int n_features(int covariates) {
    return feature::kCovariates + (2 + feature::kProducts) * covariates + kMostNetworks;
  }
  static int covariates_ahead(int covariates) { return feature::kCovariates + covariates; }
  static int rolled(int covariates) { return feature::kCovariates + (2 + feature::kProducts) * covariates; }

  void initialise(std::vector<std::uint64_t> seed) {
    if (next_row_) next_row_->initialise(seed);  // as a committee alone
    seed.push_back(0);
    for (const auto& network : networks_) {
      network->initialise(seed);
      ++seed.back();
    }
  }

  int n_members() const { return n_members_; }
  // Who is asked at this step.
  int n_asked(int step) const { return step > 0 && next_row_ ? n_members_ - 1 : n_members_; }
  std::size_t trail_size() const { return trail_size_; }
  Uncertainty& uncertainty() { return uncertainty_; }
  double weight(int step, int member) const {
    return member < n_asked(step) ? mixtures_[step].weights()[std::size_t(member)] : 0;
  }
  double error(int step, int member) const { return errors_[std::size_t(step) * (n_members_ + 1) + member]; }
  std::int64_t learned(int step) const { return learned_[step]; }
  std::vector<std::string> names() const {
    std::vector<std::string> all = {"last value",       "mean so far",         "seasonal naive 1",
                                    "seasonal naive 2", "level and profile 1", "level and profile 2",
                                    "mean of the slot"};
    for (const std::string& name : network_names_) all.push_back(name);
    for (const std::string& name : regression_names_) all.push_back(name);
    if (next_row_) all.push_back(kCommittee);
    return all;
  }

  // A copy of the networks' weights, and how many there are.
  std::size_t n_weights() const {
    std::size_t n = 0;
    for (const auto& network : networks_) n += network->n_weights();
    return n;
  }
  void copy_weights(float* weights) const {
    for (const auto& network : networks_) {
      network->copy_weights(weights);
      weights += network->n_weights();
    }
  }

  // Sets the roll-outs to the newest row.
  void begin(const double* features, double* trails) const {
    for (const auto& network : networks_) {
      network->begin(features, trails);
      trails += network->trail_size();
    }
  }

  // What everybody says of the row `step` steps (0 for the next) ahead; steps beyond the horizon are answered
  // as the last one. The roll-outs go one step on, with the weights of now or, if given, of before. Leaves
  // them among the features.
  void opinions(double* features, int step, const View& view, const float* weights, double* trails,
                double* out) {
    step = std::min(step, horizon_ - 1);
    simple(features, out);
    double* next = out + kNSimple;
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      *next = features[rolled(n_covariates_) + i] =
          networks_[i]->follow(features, weights, view.lowest, view.highest, trails);
      if (weights != nullptr) weights += networks_[i]->n_weights();
      trails += networks_[i]->trail_size();
      ++next;
    }
    for (Regressions& regressions : regressions_) *next++ = regressions.answer(features, step);
    if (next_row_) *next = step == 0 ? view.unit.of(next_row_->answer(features, view.covariates)) : 0;
    for (int m = 0; m < n_members_; ++m)  // an opinion that is no number is that of the mean
      out[m] = std::clamp(std::isnan(out[m]) ? 0.0 : out[m], view.lowest, view.highest);
  }

  // A step of which little is known yet is answered by whoever of the simple ones was best at the next row:
  // the others have learned nothing for it.
  double combine(int step, const double* opinions) const {
    step = std::min(step, horizon_ - 1);
    if (learned_[step] >= kFewest) return mixtures_[step].combine(opinions);
    if (learned_[0] == 0) return opinions[kNaive0];
    return opinions[std::min_element(errors_.begin(), errors_.begin() + kNSimple) - errors_.begin()];
  }

  // How far the mixture is leant to a level that has lasted.
  LastingLevel::Lean lean(int step, double level) const { return level_.lean(step, level); }

  // The truth about a row follows, step by step.
  void begin_row() { level_.begin_row(); }

  // The truth about a row ahead: what everybody had said, the features it was said of.
  // Only origins with settled units teach regressions. `scale` is the origin's unit in units of now.
  void learn(double* features, int step, const double* opinions, double mixed, const LastingLevel::Lean& lean,
             double target, double scale, bool settled) {
    for (std::size_t i = 0; i < networks_.size(); ++i)
      features[rolled(n_covariates_) + i] = opinions[kNSimple + i];
    if (settled)
      for (Regressions& regressions : regressions_) regressions.learn(features, step, target);
    scale = std::min(scale, kLargestScale);
    level_.learn(step, mixed, lean, target, scale);
    // As long as the mixture was not asked, it is judged by what it would have said.
    const bool asked = learned_[step] >= kFewest + horizon_;
    mixtures_[step].set_distance(kDistance / (1 + double(learned_[step]) / kSettled));
    mixtures_[step].learn(opinions, asked ? mixed : mixtures_[step].combine(opinions), target, scale);
    ++learned_[step];
    const double rate = std::max(1 / double(learned_[step]), kErrorRate);
    double* errors = &errors_[std::size_t(step) * (n_members_ + 1)];
    for (int m = 0; m <= n_members_; ++m) {
      if (m == n_asked(step) && m < n_members_) continue;
      const double error = scale * ((m < n_members_ ? opinions[m] : lean.answer(mixed)) - target);
      errors[m] += rate * (std::min(error * error, kLargestError) - errors[m]);
    }
  }
  // Another season was found: who is good at which step is open again, and so are the times of day.
  void begin_anew() {
    for (Mixture& mixture : mixtures_) mixture.forget();
    std::fill(learned_.begin(), learned_.end(), 0);
    level_.forget();
    uncertainty_.forget_buckets();
  }
  void reserve_scratch() const {
    for (const auto& network : networks_) network->reserve_scratch();
    for (const Regressions& each : regressions_) each.reserve_scratch();
    if (next_row_) next_row_->reserve_scratch();
  }
  void learn_networks(const double* features, double target) {
    for (const auto& network : networks_) network->learn(features, target);
  }
  // The value of the row that has come, in the units of the series, NaN if it is not known.
  void learn_next_row(const double* features, const double* covariates, double y) {
    if (next_row_) next_row_->learn(features, covariates, y);
  }

  void exchange(Archive& archive, const std::string& prefix) {
    PrefixedArchive own(archive, prefix);
    const Axis steps{"step", std::size_t(horizon_)};
    own.vector("learned", learned_.data(), steps);
    own.array("errors", errors_.data(), steps, and_all_, std::size_t(n_members_ + 1),
              Limits::up_to(kLargestError));
    uncertainty_.exchange(own);
    level_.exchange(own);
    for (int h = 0; h < horizon_; ++h) {
      PrefixedArchive step(own, "step" + std::to_string(h + 1) + ".");
      mixtures_[h].exchange(step);
    }
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      PrefixedArchive network(own, "network" + std::to_string(i) + ".");
      networks_[i]->exchange(network);
    }
    for (std::size_t i = 0; i < regressions_.size(); ++i)
      regressions_[i].exchange(own, "regression" + std::to_string(i) + ".");
    if (!next_row_) return;
    PrefixedArchive next(own, "next_row.");
    next_row_->exchange(next);
  }
  void restored() {
    for (const auto& network : networks_) network->restored();
    if (next_row_) next_row_->restored();
  }

 private:
  static constexpr int kMostNetworks = 4;
  static constexpr int kMostProducts = 16;  // covariates; with more of them their products are left out
  static constexpr const char* kCommittee = "committee, next row only";
  static constexpr double kErrorRate = 0.002, kLargestError = 1e40;
  static constexpr double kDiscount = 0.9998;
  // Of what is gained by averaging that is not believed while little is known: by chance somebody always
  // seems to know where a random walk goes.
  static constexpr double kDistance = 0.2, kSettled = 500;  // at first; rows after which it is half of that
  static constexpr double kLargestScale = 1e3;
  static constexpr std::int64_t kFewest = 15;  // rows of a step that tell whom to trust

  void simple(const double* features, double* out) const {
    const double* target0 = features + feature::kTarget;
    const double* target1 = target0 + feature::kNTarget;
    out[kLastValue] = features[feature::kLags];
    out[kMean] = 0;
    out[kNaive0] = target0[feature::kLast];
    out[kNaive1] = target1[feature::kLast];
    out[kProfile0] = features[feature::kLevels] + target0[feature::kProfile];
    out[kProfile1] = features[feature::kLevels + 1] + target1[feature::kProfile];
    out[kSlotMean] = target1[feature::kQuickMean];
  }

  // A member keeps its label when others come or go.
  static Label label_of(const std::string& name) {
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const char c : name) hash = (hash ^ std::uint64_t(c)) * 1099511628211u;
    return {hash};
  }

  static void add_range(Selection& selection, int first, int count) {
    for (int i = first; i < first + count; ++i) selection.add(i, {std::uint64_t(i)});
  }
  // Covariates are known by their number, wherever they lie.
  void add_covariates(Selection& selection, int first, std::uint64_t kind, int each = 1) const {
    for (int j = 0; j < n_covariates_ * each; ++j) selection.add(first + j, {1000 + kind, std::uint64_t(j)});
  }

  void add_networks(const PanelOptions& options) {
    using namespace feature;
    struct Design {
      const char* name;
      int n_hidden;
      double noise;
      std::vector<int> calendar;
    };
    const std::vector<int> few = {0, 1, 2, 3, 8, 9, 14},
                           many = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    std::vector<Design> designs = {{"network, noisy", 12, 1.0, few},
                                   {"network, calm", 10, 0.1, many},
                                   {"network without calendar", 12, 0.3, {}}};
    // What is known of the rows ahead is best used by roll-outs: there one more of them pays.
    if (options.ahead) designs.push_back({"network, medium", 12, 0.3, few});
    if (options.small) designs = {{"network", 5, 1.0, few}};
    for (const Design& design : designs) {
      Selection selection;
      for (int season = 0; season < 2; ++season)
        for (const int part : {kLast, kQuickMean, kProfile})
          add_range(selection, kTarget + season * kNTarget + part, 1);
      for (const int term : design.calendar) add_range(selection, kCalendar + term, 1);
      if (options.ahead) add_covariates(selection, covariates_ahead(n_covariates_), 1);
      networks_.push_back(std::make_unique<RolledNetwork>(selection, design.n_hidden, design.noise));
      network_names_.push_back(design.name);
    }
  }

  void add_regressions(const PanelOptions& options) {
    using namespace feature;
    Selection few;
    add_range(few, kOne, 1 + kNLags + kNMeans);
    for (int season = 0; season < 2; ++season) {
      add_range(few, kTarget + season * kNTarget + kProfile, 1);
      add_range(few, kNow + season * kNNow + 3, 1);
    }
    if (options.ahead) add_covariates(few, covariates_ahead(n_covariates_), 1);
    Selection all;
    add_range(all, kOne, kLevels);
    add_range(all, kTarget, kCovariates - kTarget);
    add_covariates(all, kCovariates, 0);
    if (options.ahead) add_covariates(all, covariates_ahead(n_covariates_), 1);
    add("few features", few, 0.9995);
    if (options.small) return;
    add("all features", all, 0.9998);
    if (options.ahead && n_covariates_ <= kMostProducts) {
      Selection products = all;
      add_covariates(products, covariates_ahead(n_covariates_) + n_covariates_, 2, kProducts);
      add("products of covariates and hour", products, 0.9998);
    }
    for (std::size_t i = 0; i < networks_.size(); ++i) all.add(rolled(n_covariates_) + int(i), {2000, i});
    add("all features and networks", all, 0.9998);
  }
  void add(const char* name, const Selection& selection, double forgetting) {
    regressions_.emplace_back(selection, horizon_, forgetting, kInitialVariance);
    regression_names_.push_back(name);
  }
  static constexpr double kInitialVariance = 1 / 0.3;

  int horizon_, n_covariates_, n_members_ = 0;
  std::size_t trail_size_ = 0;
  std::vector<std::unique_ptr<RolledNetwork>> networks_;
  std::vector<Regressions> regressions_;
  std::vector<std::string> network_names_, regression_names_;
  std::unique_ptr<NextRow> next_row_;
  Axis members_{"member", 0}, others_{"member", 0}, and_all_{"member or all", 0};
  std::vector<Mixture> mixtures_;  // one for each step
  Buffer<std::int64_t> learned_;   // rows, for each step
  Buffer<double> errors_;          // [step][member, and then the mixture]: recent mean squares
  LastingLevel level_;
  Uncertainty uncertainty_;
};

}  // namespace elman
