// One model on one stream: scaling, cell, readout, training and the window they work on, put together.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "archive.hpp"
#include "cell/srnn.hpp"
#include "loss.hpp"
#include "readout/gradient.hpp"
#include "scaling.hpp"
#include "training/wogd.hpp"
#include "window.hpp"

namespace elman {

struct LearnerOptions {
  int n_inputs;  // features of a row, without the constant 1 that is appended here
  int n_hidden;
  int n_outputs;
  Loss loss;
  bool scale;
};

// What the outside sees, whatever the number type, the cell and the training. Rows and answers are double arrays; a NaN
// feature is a missing one, a NaN target an unknown one. Not thread-safe: the caller holds a lock.
class Learner {
 public:
  virtual ~Learner() = default;

  // The answer for row x; changes nothing that `learn` or `exchange` could see.
  virtual void predict(const double* x, double* answer) = 0;
  // Learns one sample; with no known target it only advances the state.
  virtual void learn(const double* x, const double* y) = 0;
  // predict, then learn, for every row.
  virtual void run(const double* X, const double* Y, std::size_t rows, double* answers) = 0;
  // Learns one sample like `learn` and measures the smoothness of the error surface along the step (section IV-A3).
  virtual double learn_measured(const double* x, const double* y) = 0;
  // The gradient of the windowed loss as of now, in the layout of `exchange` ("U", "W", "C").
  virtual void gradient(Archive& out) = 0;
  // Walks the whole state, see Archive. `restored` must follow if anything was written.
  virtual void exchange(Archive& archive) = 0;
  virtual void restored() = 0;
};

template <class T>
class LearnerOf final : public Learner {
 public:
  LearnerOf(const LearnerOptions& options, const WOGDOptions& training)
      : options_(options),
        capacity_(training.window),
        n_inputs_(options.n_inputs + 1),
        cell_(n_inputs_, options.n_hidden, capacity_ + 2),
        readout_(options.n_outputs, options.n_hidden, capacity_ + 1, options.loss),
        training_(training, cell_.blocks(), cell_.n_weights()),
        window_(n_inputs_, options.n_outputs, capacity_ + 1),
        input_moments_(options.n_inputs),
        target_moments_(options.n_outputs),
        weights_(cell_.n_weights()),
        gradient_(cell_.n_weights()),
        readout_gradient_(readout_.weights().size()),
        row_(n_inputs_),
        target_(options.n_outputs),
        answer_(options.n_outputs) {}

  void predict(const double* x, double* answer) override {
    scale_row(x, [this](int j, double value) {
      Moments moments = input_moments_[j];
      moments.observe(value);
      return moments;
    });
    // The slot behind the window is scratch: the next push overwrites it.
    window_.push(row_.data(), unknown().data());
    cell_.forward(weights_.data(), window_.inputs(), window_.size() - 1, window_.size());
    read_answer(answer);
    window_.pop_back();
  }

  void learn(const double* x, const double* y) override {
    advance(x);
    settle(y, nullptr);
  }

  void run(const double* X, const double* Y, std::size_t rows, double* answers) override {
    for (std::size_t i = 0; i < rows; ++i) {
      advance(X + i * options_.n_inputs);
      read_answer(answers + i * options_.n_outputs);
      settle(Y + i * options_.n_outputs, nullptr);
    }
  }

  double learn_measured(const double* x, const double* y) override {
    double smoothness = std::numeric_limits<double>::quiet_NaN();
    advance(x);
    settle(y, &smoothness);
    return smoothness;
  }

  void gradient(Archive& out) override {
    const int first = 0;
    differentiate(first);
    const T scale = T(1) / T(std::max(1, window_.labelled(first)));
    for (T& g : gradient_) g *= scale;
    for (T& g : readout_gradient_) g *= scale;
    exchange_weights(out, gradient_, readout_gradient_);
  }

  void exchange(Archive& archive) override {
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    archive.value("local_regret", training_.local_regret);
    exchange_moments(archive, "input_moments", input_moments_);
    exchange_moments(archive, "target_moments", target_moments_);
    exchange_weights(archive, weights_, readout_.weights());
    archive.array("state", cell_.state(0), 1, options_.n_hidden, cell_.stride());
    std::int64_t size = window_.size();
    archive.value("window_size", size);
    if (size < 0 || size > capacity_) throw std::invalid_argument("window_size is out of range");
    window_.resize(int(size));
    archive.array("window_inputs", window_.inputs(), size, n_inputs_, n_inputs_);
    archive.array("window_targets", window_.targets(), options_.n_outputs, size, window_.target_step());
  }

  void restored() override {
    window_.recount();
    if (samples_ == 0) training_.project(weights_, readout_.weights(), readout_.stride());
    cell_.refresh(weights_.data());
    cell_.forward(weights_.data(), window_.inputs(), 0, window_.size());
  }

 private:
  static constexpr double kUnscaledLimit = 1e6;

  const Buffer<T>& unknown() {
    std::fill(target_.begin(), target_.end(), std::numeric_limits<T>::quiet_NaN());
    return target_;
  }

  // The row as the network sees it, into row_; `moments(j, value)` gives the statistics to scale feature j with.
  template <class MomentsOf>
  void scale_row(const double* x, MomentsOf moments) {
    for (int j = 0; j < options_.n_inputs; ++j) {
      const Moments m = moments(j, x[j]);
      if (options_.scale)
        row_[j] = T(m.standardise(x[j]));
      else
        row_[j] = T(std::clamp(std::isnan(x[j]) ? m.mean : x[j], -kUnscaledLimit, kUnscaledLimit));
    }
    row_[options_.n_inputs] = 1;
  }

  // Takes in the row of a new sample whose target is not known yet.
  void advance(const double* x) {
    scale_row(x, [this](int j, double value) {
      input_moments_[j].observe(value);
      return input_moments_[j];
    });
    window_.push(row_.data(), unknown().data());
    cell_.forward(weights_.data(), window_.inputs(), window_.size() - 1, window_.size());
    ++samples_;
  }

  // Learns from the targets of the newest sample and brings the window up to date with the new weights.
  void settle(const double* y, double* smoothness) {
    const int first = window_.size() > capacity_ ? 1 : 0;
    if (label(y)) {
      ++steps_;
      differentiate(first);
      update(first, smoothness);
    }
    if (first == 1) {
      std::copy(cell_.state(1), cell_.state(2), cell_.state(0));
      window_.pop_front();
    }
    cell_.forward(weights_.data(), window_.inputs(), 0, window_.size());
  }

  // Scales the targets into the newest row of the window. True if any is known.
  bool label(const double* y) {
    bool known = false;
    for (int k = 0; k < options_.n_outputs; ++k) {
      Moments& moments = target_moments_[k];
      moments.observe(y[k]);
      known |= !std::isnan(y[k]);
      if (std::isnan(y[k]))
        target_[k] = T(y[k]);
      else if (scales_targets())
        target_[k] = T(moments.standardise(y[k]));
      else
        target_[k] = T(std::clamp(y[k], -kUnscaledLimit, kUnscaledLimit));
    }
    window_.relabel(target_.data());
    return known;
  }

  bool scales_targets() const { return options_.scale && options_.loss == Loss::squared; }

  // Gradients of the summed loss over rows [first, size) of the window.
  void differentiate(int first) {
    const int n = window_.size() - first;
    readout_.differentiate(cell_.state(first + 1), window_.targets() + first, window_.target_step(), n,
                           readout_gradient_.data());
    cell_.backward(readout_.dLdh(), first, window_.size());
    cell_.gradient(window_.inputs(), first, window_.size(), gradient_.data());
  }

  void update(int first, double* smoothness) {
    const int samples = window_.labelled(first);
    if (smoothness != nullptr) {
      previous_weights_ = weights_;
      previous_gradient_ = gradient_;
    }
    if (!training_.step(weights_, gradient_, samples)) return;
    cell_.refresh(weights_.data());
    if (smoothness != nullptr) *smoothness = measure_smoothness(first, samples);
    training_.step_readout(readout_.weights().data(), readout_gradient_.data(), options_.n_outputs,
                           readout_.stride(), samples, steps_);
  }

  // max over the matrices of ||grad L(theta_{t+1}) - grad L(theta_t)|| / ||theta_{t+1} - theta_t||, same window and readout.
  double measure_smoothness(int first, int samples) {
    const Buffer<T> readout_gradient = readout_gradient_;
    cell_.forward(weights_.data(), window_.inputs(), first, window_.size());
    differentiate(first);
    readout_gradient_ = readout_gradient;
    double largest = 0;
    for (const Block& block : cell_.blocks()) {
      double change = 0, distance = 0;
      for (int j = 0; j < block.columns; ++j)
        for (int i = 0; i < block.rows; ++i) {
          const std::size_t at = block.offset + std::size_t(j) * block.stride + i;
          const double g = (double(gradient_[at]) - previous_gradient_[at]) / samples;
          const double d = double(weights_[at]) - previous_weights_[at];
          change += g * g;
          distance += d * d;
        }
      if (distance > 0) largest = std::max(largest, std::sqrt(change / distance));
    }
    return largest;
  }

  // The readout of the newest state, in the units of the target.
  void read_answer(double* answer) {
    readout_.answer(cell_.state(window_.size()), answer_.data());
    for (int k = 0; k < options_.n_outputs; ++k)
      answer[k] = scales_targets() ? target_moments_[k].restore(answer_[k]) : double(answer_[k]);
  }

  void exchange_moments(Archive& archive, const char* name, std::vector<Moments>& moments) {
    static_assert(sizeof(Moments) == 3 * sizeof(double));
    archive.array(name, reinterpret_cast<double*>(moments.data()), moments.size(), 3, 3);
  }

  void exchange_weights(Archive& archive, Buffer<T>& weights, Buffer<T>& readout) {
    for (const Block& block : cell_.blocks())
      archive.array(block.name, weights.data() + block.offset, block.columns, block.rows, block.stride);
    archive.array("C", readout.data(), options_.n_outputs, options_.n_hidden, readout_.stride());
  }

  LearnerOptions options_;
  int capacity_, n_inputs_;
  SRNN<T> cell_;
  GradientReadout<T> readout_;
  WOGD<T> training_;
  Window<T> window_;
  std::vector<Moments> input_moments_, target_moments_;
  std::int64_t samples_ = 0, steps_ = 0;
  Buffer<T> weights_, gradient_, readout_gradient_, previous_weights_, previous_gradient_;
  Buffer<T> row_, target_, answer_;
};

}  // namespace elman
