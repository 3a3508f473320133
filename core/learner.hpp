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
#include "importance.hpp"
#include "initial_weights.hpp"
#include "network.hpp"
#include "past.hpp"
#include "prepare/columns.hpp"
#include "prepare/preparation.hpp"
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

// What happens on a stream: its next row comes and is to be answered, or the targets of a row become known.
struct Event {
  static constexpr std::size_t kRow = std::size_t(-1);

  std::size_t targets;  // where they begin among all, or kRow
  std::int64_t row;     // its number
  std::int64_t age;     // of the row whose targets these are: rows that have come after it
  std::int64_t when;    // orders what becomes known
  // States of all learners before the stretch that ends with the row of the targets; with a new row, where
  // those of the row before it are to be kept, or null.
  double* states;
  double* next;  // the same of the row after it, if that is a question, too; or null
  // Where, among all, learners write what they would answer now to the row of the targets; or kNowhere.
  std::size_t again;
  static constexpr std::size_t kNowhere = std::size_t(-1);
};

// What of a stream's rows, targets, states and answers is a learner's own: where it begins.
struct Share {
  int lagged, feature, output;
  std::size_t state, answer;
};

// Of the rows at which it is looked which inputs matter: how far each column is moved, [row][column], and
// where the answers' changes go, [row][output][column].
struct Looks {
  const double* spreads;
  double* changes;
  std::size_t columns;
};

// What a learner is shown of a stream.
struct Script {
  const std::vector<Event>& events;
  Rows rows;              // the new ones, one after the other
  const double* targets;  // prepared, NaN where unknown; of all outputs
  Past& past;
  Looks looks;
  double* again;  // what would be answered now to rows of before
};

// Copies the state of a cell out of it, or back.
class StateCopy final : public Archive {
 public:
  enum class Way { count, out, back };
  StateCopy(Way way, double* place) : way_(way), place_(place) {}

  void walk(const std::string&, const ArrayView& array) override {
    array.visit([&](auto* data) {
      array.each_run(data, [&](auto* run, std::size_t n) {
        if (way_ == Way::out) std::copy_n(run, n, place_ + count_);
        if (way_ == Way::back) std::copy_n(place_ + count_, n, run);
        count_ += n;
      });
    });
  }
  bool has_part(const std::string&, bool mine) override { return mine; }

  // Returns how many numbers it is.
  template <class AnyCell>
  std::size_t walk_all(AnyCell& cell) {
    cell.exchange_state(*this);
    return count_;
  }

 private:
  Way way_;
  double* place_;
  std::size_t count_ = 0;
};

// What the outside sees, whatever the number type, the cell and the training.
class Learner {
 public:
  virtual ~Learner() = default;

  // Bytes that it needs within a call, see ScratchPlan.
  virtual std::size_t scratch() const = 0;
  // Draws the initial weights. Each column of a matrix has a random stream of its own, so that inputs and
  // outputs which come later change no other weight.
  virtual void initialise(const std::vector<std::uint64_t>& seed) = 0;
  // The answer to a row, n_outputs numbers; changes nothing that `run` or `exchange` could see.
  virtual void predict(Rows row, double* answer) = 0;
  // Answers every row that comes, and learns from targets as they become known.
  virtual void run(const Script& script, const Share& own, double* answers) = 0;
  // The units of columns, all of them, and outputs have changed: it goes on to say the same in those of the
  // stream.
  virtual void rescale(const Share& own, const UnitChange* columns, const UnitChange* outputs) = 0;
  // Rows of the stretch that ends with the newest one.
  virtual int remembered() const = 0;
  // From now on targets may come later than the next row.
  virtual void expect_late_targets() = 0;
  // Numbers of a state; the state before the stretch that ends with the newest row.
  virtual std::size_t state_size() = 0;
  virtual void keep(double* state) = 0;
  // Writes that stretch, and what is known of its targets, to where the past has room for it.
  virtual void recall(const Past::Stretch& stretch, const Share& own) = 0;
  // From now on every update is measured, see SmoothnessProbe, or none.
  virtual void measure(bool on) = 0;
  // Of the last update that was measured.
  virtual double smoothness() const = 0;
  virtual double local_regret() const = 0;
  virtual std::int64_t samples() const = 0;
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
                           ? std::make_unique<LeastSquares<T>>(options.readout.options, network_.readout,
                                                               network_.scratch)
                           : nullptr),
        row_(place<T>(inputs_.size())),
        target_(place<T>(std::size_t(n_outputs_))),
        unknown_(place<T>(std::size_t(n_outputs_))),
        answer_(place<T>(std::size_t(n_outputs_))),
        present_(place<double>(state_size())),
        moved_(place<double>(std::size_t(n_lagged_ + n_features_))),
        moved_answer_(place<double>(std::size_t(n_outputs_))) {}

  std::size_t scratch() const override { return network_.scratch.bytes(); }

  void initialise(const std::vector<std::uint64_t>& seed) override {
    draw_weights(network_.recurrence, seed);
    draw_weights(network_.readout.parameters(), seed);
  }

  void predict(Rows row, double* answer) override {
    network_.scratch.reserve();
    // The row behind the window is scratch: the next push overwrites it.
    push(row);
    read_answer(answer);
    network_.window.pop_back();
  }

  void run(const Script& script, const Share& own, double* answers) override {
    network_.scratch.reserve();
    std::size_t i = 0;
    Looks looks = script.looks;
    for (const Event& event : script.events) {
      if (event.targets == Event::kRow) {
        if (event.states != nullptr) keep(event.states + own.state);
        if (Importance::looks_at(event.row)) looks = look(script.rows.row(i), own, looks);
        push(script.rows.row(i));
        ++samples_;
        read_answer(answers + i++ * n_outputs_);
        continue;
      }
      std::copy_n(script.targets + event.targets + own.output, n_outputs_, target_.data());
      if (event.age == 0)
        settle_newest();
      else
        settle_earlier(script, own, event);
    }
  }

  void rescale(const Share& own, const UnitChange* columns, const UnitChange* outputs) override {
    const UnitChanges changes{columns + own.lagged,   columns + own.feature,    outputs + own.output,
                              std::size_t(n_lagged_), std::size_t(n_features_), std::size_t(n_outputs_)};
    network_.scratch.reserve();
    make_room();
    for (Parameters<T>* group : {&network_.recurrence, &network_.readout.parameters()})
      elman::rescale(*group, group->weights, Content::weights, changes);
    training_->rescale(changes, network_);
    if (least_squares_ != nullptr) least_squares_->rescale(changes, network_.readout);
    network_.window.rescale(changes);
    network_.refresh();
    network_.forward(0);
    is_up_to_date_ = true;
  }

  int remembered() const override { return std::min(network_.window.size(), capacity_); }

  void expect_late_targets() override {
    if (earlier_ == nullptr)
      earlier_ = std::make_unique<Window<T>>(int(inputs_.size()), n_outputs_, capacity_ + 1);
  }

  std::size_t state_size() override {
    return StateCopy(StateCopy::Way::count, nullptr).walk_all(*network_.cell);
  }

  void keep(double* state) override {
    make_room();
    StateCopy(StateCopy::Way::out, state).walk_all(*network_.cell);
  }

  void recall(const Past::Stretch& stretch, const Share& own) override {
    make_room();
    for (std::size_t i = 0; i < stretch.n; ++i) {
      const T* input = network_.window.input(int(i));
      double* row = stretch.numbers + i * stretch.step;
      std::copy_n(input, n_lagged_, row + own.lagged);
      std::copy_n(input + n_lagged_, n_features_, row + own.feature);
      for (int k = 0; k < n_outputs_; ++k) {
        const T y = network_.window.targets()[k * network_.window.target_step() + i];
        stretch.targets[i * stretch.step + own.output + k] = y;
        if (!std::isnan(y)) stretch.settled[i] = 1;
      }
    }
  }

  void measure(bool on) override { probe_ = on ? std::make_unique<SmoothnessProbe<T>>() : nullptr; }
  double smoothness() const override { return smoothness_; }
  double local_regret() const override { return training_->local_regret(); }
  std::int64_t samples() const override { return samples_; }

  void exchange_weights(Archive& archive) override {
    const Limits limits = Limits::within(kLargestWeight);
    network_.recurrence.exchange(archive, "", network_.recurrence.weights, limits);
    network_.readout.parameters().exchange(archive, "", network_.readout.weights(), limits);
  }

  void gradient(Archive& out) override {
    make_room();
    bring_up_to_date();
    network_.differentiate_window(0);
    const T scale = T(1) / T(std::max(1, network_.window.labelled(0)));
    for (Parameters<T>* group : {&network_.recurrence, &network_.readout.parameters()}) {
      for (T& g : group->gradient) g *= scale;
      group->exchange(out, "", group->gradient, {});
    }
  }

  void exchange(Archive& archive) override {
    make_room();
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
    const Limits prepared = Limits::within(Unit::kLimit);
    archive.array("window_inputs", window.inputs(), samples, inputs_, inputs_.size(), prepared);
    archive.array("window_targets", window.targets(), outputs, samples, window.target_step(),
                  prepared.or_unknown());
  }

  void restored() override {
    network_.window.recount();
    network_.clock = samples_ - network_.window.size();
    network_.refresh();
    if (samples_ == 0) training_->prepare(network_);
    network_.refresh();
    network_.forward(0);
    is_up_to_date_ = true;
  }

 private:
  template <class U>
  Scratch<U> place(std::size_t size) {
    return network_.scratch.template place<U>(size);
  }

  static std::unique_ptr<Cell<T>> make_cell(const LearnerOptions& o) {
    const int n_hidden = o.cell.options.integer("n_hidden");
    return find(cells<T>(), o.cell.name)({o.columns.inputs(), n_hidden, o.window + 1}, o.cell.options);
  }
  static ReadoutSizes readout_sizes(const LearnerOptions& o) {
    return {o.n_outputs, o.cell.options.integer("n_hidden"), o.columns.inputs(), o.window + 1,
            o.readout.options.integer("skip") != 0};
  }

  // How the answer to a row changes with each of its columns: half a spread to either side. Returns where the
  // next look goes.
  Looks look(Rows row, const Share& own, Looks looks) {
    std::copy_n(row.features, n_features_, std::copy_n(row.lagged, n_lagged_, moved_.begin()));
    const Rows moved{moved_.data(), moved_.data() + n_lagged_, 0};
    for (int j = 0; j < n_lagged_ + n_features_; ++j) {
      const int column = j < n_lagged_ ? own.lagged + j : own.feature + j - n_lagged_;
      const double spread = looks.spreads[column], value = moved_[j];
      double* change = looks.changes + column;
      for (int k = 0; k < n_outputs_; ++k) change[std::size_t(k) * looks.columns] = 0;
      if (spread == 0) continue;
      for (const double side : {0.5, -0.5}) {
        moved_[j] = value + side * spread;
        predict(moved, moved_answer_.data());
        for (int k = 0; k < n_outputs_; ++k)
          change[std::size_t(k) * looks.columns] += 2 * side * moved_answer_[k];
      }
      moved_[j] = value;
    }
    return {looks.spreads + looks.columns, looks.changes + std::size_t(n_outputs_) * looks.columns,
            looks.columns};
  }

  // Appends a row to the window, its target unknown, and runs the network over it.
  void push(Rows row) {
    make_room();
    append(network_.window, row);
    smoothness_ = std::numeric_limits<double>::quiet_NaN();
    if (is_up_to_date_) return network_.forward(network_.window.size() - 1);
    bring_up_to_date();
  }

  void append(Window<T>& window, Rows row) {
    T* out = std::copy_n(row.lagged, n_lagged_, row_.data());
    std::copy_n(row.features, n_features_, out)[0] = 1;
    std::fill(unknown_.begin(), unknown_.end(), std::numeric_limits<T>::quiet_NaN());
    window.push(row_.data(), unknown_.data());
  }

  void read_answer(double* answer) {
    network_.answer(answer_.data());
    std::copy(answer_.begin(), answer_.end(), answer);
  }

  // The trajectory is that of the weights of now.
  void bring_up_to_date() {
    if (!is_up_to_date_) network_.forward(0);
    is_up_to_date_ = true;
  }

  // The newest row has come, and nothing more will be learned from it as such: the window begins where it
  // will for the next row.
  void make_room() {
    if (network_.window.size() <= capacity_) return;
    bring_up_to_date();
    network_.drop_first();
    is_up_to_date_ = false;
  }

  bool is_known() const {
    return std::any_of(target_.begin(), target_.end(), [](T value) { return !std::isnan(value); });
  }

  // Learns target_, of the newest row, and brings the trajectory up to date with the new weights: that pass
  // is the next row's forward pass, done early.
  void settle_newest() {
    if (!is_known()) return;
    bring_up_to_date();
    const int first = network_.window.size() > capacity_ ? 1 : 0;
    network_.window.relabel(network_.window.size() - 1, target_.data());
    learn(first);
    if (first == 1) network_.drop_first();
    network_.forward(0);
  }

  // Learns target_, of a row before the newest, as the weights of now see it: from the state before its
  // stretch over the rows of then.
  void settle_earlier(const Script& script, const Share& own, const Event& event) {
    make_room();
    Window<T>& window = network_.window;
    if (event.age < window.size()) window.relabel(window.size() - 1 - int(event.age), target_.data());
    if (event.age >= samples_) return;  // a learner that joined later was not asked
    const std::int64_t longest = std::min(std::int64_t(capacity_), samples_ - event.age);
    const Past::Stretch stretch = script.past.ending(event.row, std::size_t(longest));
    if (stretch.n == 0) return;
    gather(stretch, own, event.when);
    StateCopy(StateCopy::Way::out, present_.data()).walk_all(*network_.cell);
    const std::int64_t clock = network_.clock;
    std::swap(window, *earlier_);
    network_.clock = samples_ - event.age - window.size();
    StateCopy(StateCopy::Way::back, event.states + own.state).walk_all(*network_.cell);
    network_.forward(0);
    if (event.again != Event::kNowhere) read_answer(script.again + event.again + own.answer);
    if (is_known()) learn(0);
    if (window.size() == capacity_) carry_on(own, event);
    std::swap(window, *earlier_);
    network_.clock = clock;
    StateCopy(StateCopy::Way::back, present_.data()).walk_all(*network_.cell);
    is_up_to_date_ = false;
  }

  // The stretch of the next row begins with the second row of this one: the state before it is now known as
  // the weights that have just answered see it, as it is when no target is late.
  void carry_on(const Share& own, const Event& event) {
    network_.cell->drop_first();
    if (event.next != nullptr)
      StateCopy(StateCopy::Way::out, event.next + own.state).walk_all(*network_.cell);
    if (event.age == 1) StateCopy(StateCopy::Way::out, present_.data()).walk_all(*network_.cell);
  }

  // A stretch as a window: with the targets that were known by then, and target_ as those of its last row.
  void gather(const Past::Stretch& stretch, const Share& own, std::int64_t when) {
    earlier_->clear();
    const Rows rows{stretch.numbers + own.lagged, stretch.numbers + own.feature, stretch.step};
    for (std::size_t i = 0; i < stretch.n; ++i) {
      append(*earlier_, rows.row(i));
      if (stretch.settled[i] == 0 || stretch.settled[i] >= when) continue;
      std::copy_n(stretch.targets + i * stretch.step + own.output, n_outputs_, unknown_.data());
      earlier_->relabel(int(i), unknown_.data());
    }
    earlier_->relabel(earlier_->size() - 1, target_.data());
  }

  void learn(int first) {
    if (probe_ != nullptr) probe_->before(network_, first);
    training_->update(network_, first, ++steps_);
    if (probe_ != nullptr) smoothness_ = probe_->after(network_, first);
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
  std::unique_ptr<SmoothnessProbe<T>> probe_;       // of updates that are measured
  double smoothness_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t samples_ = 0, steps_ = 0;
  bool is_up_to_date_ = true;  // the trajectory
  Scratch<T> row_, target_, unknown_, answer_;
  std::unique_ptr<Window<T>> earlier_;    // where the stretch of an earlier row is laid out
  Scratch<double> present_;               // the state before the window while such a stretch is run over
  Scratch<double> moved_, moved_answer_;  // a row of which one column is moved, and the answer to it
};

}  // namespace elman
