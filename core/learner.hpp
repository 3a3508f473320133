// One model on one stream: scaling, network and training put together.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "archive.hpp"
#include "model.hpp"
#include "network.hpp"
#include "registry.hpp"
#include "prepare/scaling.hpp"

namespace elman {

struct LearnerOptions {
  int n_inputs;  // features of a row, without the constant 1 that is appended here
  int n_outputs;
  int window;  // samples that an update looks at
  Loss loss;
  bool scale;
  std::string cell, training, readout;
  Options cell_options, training_options, readout_options;
};

// What the outside sees, whatever the number type, the cell and the training.
class Learner : public Model {
 public:
  // `run` over rows that are `step` elements apart.
  virtual void run_rows(const double* X, std::size_t step, const double* Y, std::size_t rows,
                        double* answers) = 0;
  // Learns one sample like `learn` and measures the smoothness of the error surface along the step (section
  // IV-A3).
  virtual double learn_measured(const double* x, const double* y) = 0;
  // The gradient of the mean loss of the window as of now, in the layout of the weights in `exchange`.
  virtual void gradient(Archive& out) = 0;
};

template <class T>
class LearnerOf final : public Learner {
 public:
  explicit LearnerOf(const LearnerOptions& options)
      : n_features_(options.n_inputs),
        n_outputs_(options.n_outputs),
        capacity_(options.window),
        scale_inputs_(options.scale),
        scale_targets_(options.scale && options.loss == Loss::squared),
        network_(make_cell<T>(options.cell,
                              {n_features_ + 1, options.cell_options.integer("n_hidden"), capacity_ + 1},
                              options.cell_options),
                 {n_outputs_, options.cell_options.integer("n_hidden"), n_features_ + 1, capacity_ + 1,
                  options.readout_options.integer("skip") != 0},
                 options.loss),
        training_(make_training<T>(options.training, options.training_options)),
        least_squares_(make_least_squares(options.readout, options.readout_options, network_.readout)),
        inputs_(n_features_),
        outputs_(n_outputs_),
        row_(n_features_ + 1),
        target_(n_outputs_),
        answer_(n_outputs_) {
    network_.readout_is_trained = least_squares_ == nullptr;
  }

  void predict(const double* x, double* answer) override {
    scale_row(x, [this](int j, double value) {
      Regime regime = inputs_[j];
      regime.observe(value);
      return regime.moments;
    });
    // The row behind the window is scratch: the next push overwrites it.
    push_row();
    read_answer(answer);
    network_.window.pop_back();
  }

  void learn(const double* x, const double* y) override {
    advance(x);
    settle(y, nullptr);
  }

  void run(const double* X, const double* Y, std::size_t rows, double* answers) override {
    run_rows(X, n_features_, Y, rows, answers);
  }

  void run_rows(const double* X, std::size_t step, const double* Y, std::size_t rows,
                double* answers) override {
    for (std::size_t i = 0; i < rows; ++i) {
      advance(X + i * step);
      read_answer(answers + i * n_outputs_);
      settle(Y + i * n_outputs_, nullptr);
    }
  }

  double learn_measured(const double* x, const double* y) override {
    double smoothness = std::numeric_limits<double>::quiet_NaN();
    advance(x);
    settle(y, &smoothness);
    return smoothness;
  }

  Meters meters() const override { return {samples_, steps_, training_->local_regret}; }

  void gradient(Archive& out) override {
    network_.differentiate_window(0);
    const T scale = T(1) / T(std::max(1, network_.window.labelled(0)));
    for (T& g : network_.gradient) g *= scale;
    for (T& g : network_.readout_gradient) g *= scale;
    exchange_weights(out, network_.gradient, network_.readout_gradient);
  }

  void exchange(Archive& archive) override {
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    archive.value("local_regret", training_->local_regret);
    exchange_regimes(archive, "input", inputs_);
    exchange_regimes(archive, "target", outputs_);
    exchange_weights(archive, network_.weights, network_.readout.weights());
    network_.cell->exchange_state(archive);
    training_->exchange(archive, network_);
    if (least_squares_ != nullptr) least_squares_->exchange(archive);
    Window<T>& window = network_.window;
    std::int64_t size = window.size();
    archive.value("window_size", size);
    if (size < 0 || size > capacity_ || size > samples_)
      throw std::invalid_argument("window_size is out of range");
    window.resize(int(size));
    archive.array("window_inputs", window.inputs(), size, n_features_ + 1, n_features_ + 1);
    archive.array("window_targets", window.targets(), n_outputs_, size, window.target_step());
  }

  void restored() override {
    network_.window.recount();
    network_.clock = samples_ - network_.window.size();
    network_.cell->refresh(network_.weights.data());
    if (samples_ == 0) training_->prepare(network_);
    network_.cell->refresh(network_.weights.data());
    network_.forward(0);
  }

 private:
  static constexpr double kUnscaledLimit = 1e6;

  // The row as the network sees it, into row_; `moments(j, value)` gives the statistics to scale feature j
  // with.
  template <class MomentsOf>
  void scale_row(const double* x, MomentsOf moments) {
    for (int j = 0; j < n_features_; ++j) {
      const Moments m = moments(j, x[j]);
      if (scale_inputs_)
        row_[j] = T(m.standardise_feature(x[j]));
      else
        row_[j] = T(std::clamp(std::isnan(x[j]) ? m.mean : x[j], -kUnscaledLimit, kUnscaledLimit));
    }
    row_[n_features_] = 1;
  }

  // Appends row_ to the window, its target unknown, and runs the network over it.
  void push_row() {
    std::fill(target_.begin(), target_.end(), std::numeric_limits<T>::quiet_NaN());
    network_.window.push(row_.data(), target_.data());
    network_.forward(network_.window.size() - 1);
  }

  // Takes in the row of a new sample whose target is not known yet.
  void advance(const double* x) {
    scale_row(x, [this](int j, double value) {
      inputs_[j].observe(value);
      return inputs_[j].moments;
    });
    push_row();
    ++samples_;
  }

  // Learns from the targets of the newest sample and brings the trajectory up to date with the new weights:
  // that pass is the next row's forward pass, done early.
  void settle(const double* y, double* smoothness) {
    const int first = network_.window.size() > capacity_ ? 1 : 0;
    if (label(y)) {
      training_->update(network_, first, ++steps_, smoothness);
      if (least_squares_ != nullptr) learn_readout();
    }
    if (first == 1) network_.drop_first();
    network_.forward(0);
  }

  // The trajectory is still that of the weights which made the answer.
  void learn_readout() {
    const int last = network_.window.size() - 1;
    least_squares_->learn(network_.readout, network_.cell->hidden(last + 1), network_.window.input(last),
                          network_.window.targets() + last, network_.window.target_step(), steps_);
  }

  // Scales the targets into the newest row of the window. True if any is known.
  bool label(const double* y) {
    bool known = false;
    for (int k = 0; k < n_outputs_; ++k) {
      outputs_[k].observe(y[k]);
      known |= !std::isnan(y[k]);
      if (std::isnan(y[k]))
        target_[k] = T(y[k]);
      else if (scale_targets_)
        target_[k] = T(outputs_[k].moments.standardise(y[k]));
      else
        target_[k] = T(std::clamp(y[k], -kUnscaledLimit, kUnscaledLimit));
    }
    network_.window.relabel(target_.data());
    return known;
  }

  // The readout of the newest state, in the units of the target.
  void read_answer(double* answer) {
    network_.answer(answer_.data());
    for (int k = 0; k < n_outputs_; ++k)
      answer[k] = scale_targets_ ? outputs_[k].moments.restore(answer_[k]) : double(answer_[k]);
  }

  void exchange_weights(Archive& archive, Buffer<T>& weights, Buffer<T>& readout) {
    for (const Block& block : network_.cell->blocks())
      archive.array(block.name, weights.data() + block.offset, block.columns, block.rows, block.stride);
    network_.readout.exchange(archive, "", readout);
  }

  int n_features_, n_outputs_, capacity_;
  bool scale_inputs_, scale_targets_;
  Network<T> network_;
  std::unique_ptr<Training<T>> training_;
  std::unique_ptr<LeastSquares<T>> least_squares_;  // what the readout learns by, if not by the training
  std::vector<Regime> inputs_, outputs_;
  std::int64_t samples_ = 0, steps_ = 0;
  Buffer<T> row_, target_, answer_;
};

}  // namespace elman
