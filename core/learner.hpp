// A bare learner: a network with its training, on rows that are prepared already.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "archive.hpp"
#include "network.hpp"
#include "prepare/columns.hpp"
#include "random.hpp"
#include "registry.hpp"
#include "training/smoothness.hpp"

namespace elman {

// A cell, a training or a readout by name, with its numbers.
struct Part {
  std::string name;
  Options options;
};

struct LearnerOptions {
  Columns columns;  // of a row, without the constant 1 that is appended here
  int n_outputs;
  int window;  // samples that an update looks at
  Loss loss;
  Part cell, training, readout;
};

// Prepared rows: the lagged columns and the features of each, successive rows `step` apart.
struct Rows {
  const double* lagged;
  const double* features;
  std::size_t step;

  Rows row(std::size_t i) const { return {lagged + i * step, features + i * step, step}; }
};

// What the outside sees, whatever the number type, the cell and the training.
class Learner {
 public:
  virtual ~Learner() = default;

  // Draws the initial weights. Each column of a matrix has a random stream of its own, so that inputs and
  // outputs which come later change no other weight.
  virtual void initialise(const std::vector<std::uint64_t>& seed) = 0;
  // The answer to a row, n_outputs numbers; changes nothing that `run` or `exchange` could see.
  virtual void predict(Rows row, double* answer) = 0;
  // Answers every row, then learns from its targets, NaN where unknown; successive ones `target_step` apart.
  virtual void run(Rows rows, const double* targets, std::size_t target_step, std::size_t n,
                   double* answers) = 0;
  // From now on every update is measured, see SmoothnessProbe, or none.
  virtual void measure(bool on) = 0;
  // Of the last update that was measured.
  virtual double smoothness() const = 0;
  virtual double local_regret() const = 0;
  // Walks the weights, or the gradient of the mean loss of the window as of now, in the same layout.
  virtual void exchange_weights(Archive& archive) = 0;
  virtual void gradient(Archive& out) = 0;
  // Walks the whole state, see Archive. `restored` must follow if anything was written.
  virtual void exchange(Archive& archive) = 0;
  virtual void restored() = 0;
};

template <class T>
class LearnerOf final : public Learner {
 public:
  explicit LearnerOf(const LearnerOptions& options)
      : n_lagged_(options.columns.lagged()),
        n_features_(options.columns.features),
        n_outputs_(options.n_outputs),
        capacity_(options.window),
        inputs_(options.columns.inputs()),
        network_(make_cell(options), readout_sizes(options), options.loss,
                 !find(readouts(), options.readout.name)),
        training_(find(trainings<T>(), options.training.name)(options.training.options, network_)),
        least_squares_(find(readouts(), options.readout.name)
                           ? std::make_unique<LeastSquares<T>>(options.readout.options, network_.readout)
                           : nullptr),
        row_(inputs_.size()),
        target_(n_outputs_),
        answer_(n_outputs_) {}

  void initialise(const std::vector<std::uint64_t>& seed) override {
    draw(network_.recurrence, seed);
    draw(network_.readout.parameters(), seed);
  }

  void predict(Rows row, double* answer) override {
    // The row behind the window is scratch: the next push overwrites it.
    push(row);
    read_answer(answer);
    network_.window.pop_back();
  }

  void run(Rows rows, const double* targets, std::size_t target_step, std::size_t n,
           double* answers) override {
    for (std::size_t i = 0; i < n; ++i) {
      push(rows.row(i));
      ++samples_;
      read_answer(answers + i * n_outputs_);
      settle(targets + i * target_step);
    }
  }

  void measure(bool on) override { measures_ = on; }
  double smoothness() const override { return smoothness_; }
  double local_regret() const override { return training_->local_regret(); }

  void exchange_weights(Archive& archive) override {
    network_.recurrence.exchange(archive, "", network_.recurrence.weights);
    network_.readout.parameters().exchange(archive, "", network_.readout.weights());
  }

  void gradient(Archive& out) override {
    network_.differentiate_window(0);
    const T scale = T(1) / T(std::max(1, network_.window.labelled(0)));
    for (Parameters<T>* group : {&network_.recurrence, &network_.readout.parameters()}) {
      for (T& g : group->gradient) g *= scale;
      group->exchange(out, "", group->gradient);
    }
  }

  void exchange(Archive& archive) override {
    archive.value("samples", samples_);
    archive.value("steps", steps_);
    exchange_weights(archive);
    network_.cell->exchange_state(archive);
    training_->exchange(archive, network_);
    if (least_squares_ != nullptr) least_squares_->exchange(archive);
    Window<T>& window = network_.window;
    std::int64_t size = window.size();
    archive.value("window_size", size);
    if (steps_ > samples_) throw std::invalid_argument("there are more steps than samples");
    if (size < 0 || size > capacity_ || size > samples_)
      throw std::invalid_argument("window_size is out of range");
    window.resize(int(size));
    const Axis samples{"sample", std::size_t(size)}, outputs{"output", std::size_t(n_outputs_)};
    archive.array("window_inputs", window.inputs(), samples, inputs_, inputs_.size());
    archive.targets("window_targets", window.targets(), outputs, samples, window.target_step());
  }

  void restored() override {
    network_.window.recount();
    network_.clock = samples_ - network_.window.size();
    network_.refresh();
    if (samples_ == 0) training_->prepare(network_);
    network_.refresh();
    network_.forward(0);
  }

 private:
  static constexpr double kInitialDeviation = 0.1;  // of the initial weights, section IV of the paper

  static std::unique_ptr<Cell<T>> make_cell(const LearnerOptions& o) {
    const int n_hidden = o.cell.options.integer("n_hidden");
    return find(cells<T>(), o.cell.name)({o.columns.inputs(), n_hidden, o.window + 1}, o.cell.options);
  }
  static ReadoutSizes readout_sizes(const LearnerOptions& o) {
    return {o.n_outputs, o.cell.options.integer("n_hidden"), o.columns.inputs(), o.window + 1,
            o.readout.options.integer("skip") != 0};
  }

  // Weights ~ N(0, 0.1²); D, what a readout makes of the inputs alone, stays 0.
  static void draw(Parameters<T>& group, std::vector<std::uint64_t> seed) {
    const std::size_t n_seed = seed.size();
    for (const Block& block : group.blocks) {
      const std::string name = block.name;
      if (name == "D") continue;
      seed.resize(n_seed + 1);
      seed.insert(seed.end(), name.begin(), name.end());
      for (std::size_t i = 0; i < block.outer.size(); ++i) {
        // The constant is the last input; its stream has the number that no feature has.
        seed[n_seed] = block.outer.label(i) == Columns::kConstant ? 0 : i + 1;
        NormalStream stream(seed);
        for (std::size_t j = 0; j < block.inner.size(); ++j)
          group.weights[block.place(i, j)] = T(stream.next(0, kInitialDeviation));
      }
    }
  }

  // Appends a row to the window, its target unknown, and runs the network over it.
  void push(Rows row) {
    T* out = std::copy_n(row.lagged, n_lagged_, row_.data());
    std::copy_n(row.features, n_features_, out)[0] = 1;
    std::fill(target_.begin(), target_.end(), std::numeric_limits<T>::quiet_NaN());
    network_.window.push(row_.data(), target_.data());
    network_.forward(network_.window.size() - 1);
  }

  void read_answer(double* answer) {
    network_.answer(answer_.data());
    std::copy(answer_.begin(), answer_.end(), answer);
  }

  // Learns from the targets of the newest sample and brings the trajectory up to date with the new weights:
  // that pass is the next row's forward pass, done early.
  void settle(const double* y) {
    const int first = network_.window.size() > capacity_ ? 1 : 0;
    std::copy_n(y, n_outputs_, target_.data());
    network_.window.relabel(target_.data());
    smoothness_ = std::numeric_limits<double>::quiet_NaN();
    if (std::any_of(y, y + n_outputs_, [](double value) { return !std::isnan(value); })) learn(first);
    if (first == 1) network_.drop_first();
    network_.forward(0);
  }

  void learn(int first) {
    if (measures_) probe_.before(network_, first);
    training_->update(network_, first, ++steps_);
    if (measures_) smoothness_ = probe_.after(network_, first);
    if (least_squares_ == nullptr) return;
    // The trajectory is still that of the weights which made the answer.
    const int last = network_.window.size() - 1;
    least_squares_->learn(network_.readout, network_.cell->hidden(last + 1), network_.window.input(last),
                          network_.window.targets() + last, network_.window.target_step(), steps_);
  }

  int n_lagged_, n_features_, n_outputs_, capacity_;
  Axis inputs_;
  Network<T> network_;
  std::unique_ptr<Training<T>> training_;
  std::unique_ptr<LeastSquares<T>> least_squares_;  // what the readout learns by, if not by the training
  SmoothnessProbe<T> probe_;
  bool measures_ = false;
  double smoothness_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t samples_ = 0, steps_ = 0;
  Buffer<T> row_, target_, answer_;
};

}  // namespace elman
