// A network that forecasts one step, rolled out on its own answers to reach further.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "archive.hpp"
#include "cell/srnn.hpp"
#include "forecast/features.hpp"
#include "forecast/regression.hpp"
#include "initial_weights.hpp"
#include "network.hpp"
#include "simd/buffer.hpp"
#include "training/ekf.hpp"

namespace elman {

// A simple recurrent network with a skip, trained by an extended Kalman filter. It sees the last values and
// chosen features of the row that it forecasts.
class RolledNetwork {
 public:
  RolledNetwork(const Selection& selection, int n_hidden, double noise)
      : places_(selection.places),
        inputs_(Columns{1, feature::kNLags, int(places_.size())}.inputs()),
        network_(std::make_unique<SRNN<T>>(CellSizes{inputs_, n_hidden, kLookback + 1}),
                 ReadoutSizes{1, n_hidden, inputs_, kLookback + 1, true}, Loss::squared, true),
        filter_(Options({{"initial_variance", {0.2}},
                         {"process_noise", {1e-5}},
                         {"measurement_noise", {noise}},
                         {"surprise", {0}}}),
                network_),
        row_(inputs_.size()),
        kept_(std::size_t(n_hidden)),
        others_{Buffer<T>(network_.recurrence.weights.size()), Buffer<T>(network_.readout.weights().size())} {
  }
  RolledNetwork(const RolledNetwork&) = delete;

  void initialise(const std::vector<std::uint64_t>& seed) {
    draw_weights(network_.recurrence, seed);
    draw_weights(network_.readout.parameters(), seed);
    restored();
  }

  // Numbers that a roll-out carries from step to step: the hidden state and the last values.
  std::size_t trail_size() const { return n_hidden() + feature::kNLags; }

  // Sets a roll-out to the newest row, whose features these are.
  void begin(const double* features, double* trail) {
    std::copy_n(newest_state(), n_hidden(), trail);
    std::copy_n(features + feature::kLags, feature::kNLags, trail + n_hidden());
  }

  // A copy of all weights, and how many there are.
  std::size_t n_weights() const {
    std::size_t n = 0;
    const_cast<RolledNetwork*>(this)->each_run([&](T*, std::size_t length) { n += length; });
    return n;
  }
  void copy_weights(float* weights) {
    each_run([&](T* run, std::size_t length) { weights = std::copy_n(run, length, weights); });
  }

  // One step of a roll-out to the row of these features, with the weights of now or, if given, of before; its
  // answer is kept within bounds and fed back. Changes nothing else.
  double follow(const double* features, const float* weights, double lowest, double highest, double* trail) {
    if (weights != nullptr) {
      exchange_weights();
      each_run([&](T* run, std::size_t length) {
        std::copy_n(weights, length, run);
        weights += length;
      });
    }
    double* lags = trail + n_hidden();
    const double answer = std::clamp(pass(lags, features, trail), lowest, highest);
    if (weights != nullptr) exchange_weights();
    std::copy_backward(lags, lags + feature::kNLags - 1, lags + feature::kNLags);
    lags[0] = answer;
    return answer;
  }

  // Learns from the row of these features, its target NaN if it is not known. One target teaches no more than
  // one at the limit.
  void learn(const double* features, double target) {
    push(features + feature::kLags, features);
    const double answer = this->answer();
    const int first = network_.window.size() > kLookback ? 1 : 0;
    ++samples_;
    if (!std::isnan(target)) {
      const double near = answer + std::clamp(target - answer, -kLimit, kLimit);
      const T taken = T(std::clamp(near, -kLargestTarget, kLargestTarget));
      network_.window.relabel(network_.window.size() - 1, &taken);
      filter_.update(network_, first, ++steps_);
    }
    if (first == 1) network_.drop_first();
    network_.forward(0);
  }

  // Takes the memory that learning needs in this thread; only this may fail.
  void reserve_scratch() const { network_.scratch.reserve(); }

  void exchange(Archive& archive) {
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    const Limits weights = Limits::within(kLargestWeight), inputs = Limits::within(kLargestInput);
    network_.recurrence.exchange(archive, "", network_.recurrence.weights, weights);
    network_.readout.parameters().exchange(archive, "", network_.readout.weights(), weights);
    network_.cell->exchange_state(archive);
    filter_.exchange(archive, network_);
    Window<T>& window = network_.window;
    std::int64_t size = window.size();
    archive.value("window_size", size);
    if (size < 0 || size > kLookback || size > samples_ || steps_ > samples_)
      throw std::invalid_argument("window_size is out of range");
    window.resize(int(size));
    const Axis samples{"sample", std::size_t(size)};
    archive.array("window_inputs", window.inputs(), samples, inputs_, inputs_.size(), inputs);
    archive.array("window_targets", window.targets(), {"output", 1}, samples, window.target_step(),
                  Limits::within(kLargestTarget).or_unknown());
  }

  void restored() {
    network_.window.recount();
    network_.refresh();
    network_.forward(0);
  }

 private:
  using T = float;
  static constexpr int kLookback = 5;
  static constexpr double kLimit = 4;          // of an error, in deviations of the target
  static constexpr double kLargestInput = 12;  // in deviations
  static constexpr double kLargestTarget = 2 * Measure::kFarthest;

  std::size_t n_hidden() const { return kept_.size(); }
  T* newest_state() { return network_.cell->hidden(network_.window.size()); }

  // Calls f(begin, length) for every contiguous run of weights.
  template <class F>
  void each_run(F f) {
    for (Parameters<T>* group : {&network_.recurrence, &network_.readout.parameters()})
      for (const Block& block : group->blocks)
        for (std::size_t i = 0; i < block.outer.size(); ++i)
          f(group->weights.data() + block.place(i, 0), block.inner.size());
  }
  void exchange_weights() {
    std::swap(network_.recurrence.weights, others_[0]);
    std::swap(network_.readout.weights(), others_[1]);
  }

  void push(const double* lags, const double* features) {
    T* out = row_.data();
    const auto put = [&](double value) { *out++ = T(std::clamp(value, -kLargestInput, kLargestInput)); };
    for (int i = 0; i < feature::kNLags; ++i) put(lags[i]);
    for (const int place : places_) put(features[place]);
    *out = 1;
    const T unknown = std::numeric_limits<T>::quiet_NaN();
    network_.window.push(row_.data(), &unknown);
    network_.forward(network_.window.size() - 1);
  }
  double answer() {
    T out;
    network_.answer(&out);
    return std::isfinite(out) ? double(out) : 0;
  }

  // The answer to a row behind a hidden state that becomes the one behind the row.
  double pass(const double* lags, const double* features, double* state) {
    T* newest = newest_state();
    std::copy_n(newest, n_hidden(), kept_.data());
    std::copy_n(state, n_hidden(), newest);
    push(lags, features);
    const double out = answer();
    std::copy_n(newest_state(), n_hidden(), state);
    network_.window.pop_back();
    std::copy_n(kept_.data(), n_hidden(), newest);
    return out;
  }

  std::vector<int> places_;
  Axis inputs_;
  Network<T> network_;
  EKF<T> filter_;
  std::int64_t samples_ = 0, steps_ = 0;
  Buffer<T> row_, kept_;
  Buffer<T> others_[2];  // weights of before, for a pass
};

}  // namespace elman
