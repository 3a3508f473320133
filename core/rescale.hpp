// A change of units, written into what a network has learned in the units of before: so that it goes on to
// say the same in the units of the stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "parameters.hpp"
#include "prepare/scaling.hpp"

namespace elman {

// What was z before is z' now: z = shift + scale z'.
struct UnitChange {
  static constexpr double kLargest = 1000;  // what goes further is not the same quantity any more
  static constexpr double kSmallest = 0.01;

  double scale = 1, shift = 0;

  bool is_none() const { return scale == 1 && shift == 0; }

  // From one level and spread to another. There is none where one of them is not known, where nothing of the
  // former one could be told in the latter, and where they are nearly the same.
  static UnitChange between(const Moments& former, const Moments& now) {
    if (!former.varies() || !now.varies()) return {};
    const double scale = now.deviation() / former.deviation();
    const double shift = (now.mean - former.mean) / former.deviation();
    const double size = std::max({scale, 1 / scale, std::abs(shift), std::abs(shift / scale)});
    const bool same = std::abs(shift) < kSmallest && std::abs(scale - 1) < kSmallest;
    return size <= kLargest && !same ? UnitChange{scale, shift} : UnitChange{};
  }

  // A number that networks see. Nothing that they see is further away than the limit.
  double now(double former) const {
    return is_none() ? former : std::clamp(far(former), -Moments::kLimit, Moments::kLimit);
  }
  // The same without a limit, for what they say.
  double far(double former) const { return (former - shift) / scale; }
};

// The changes of the columns and outputs that a network has. Its last input is a constant.
struct UnitChanges {
  const UnitChange* lagged;
  const UnitChange* features;
  const UnitChange* outputs;
  std::size_t n_lagged, n_features, n_outputs;

  UnitChange input(std::size_t j) const {
    if (j < n_lagged) return lagged[j];
    return j < n_lagged + n_features ? features[j - n_lagged] : UnitChange{};
  }

  // What becomes of the squared error of a sample. With several outputs whose units change differently there
  // is no such number: it is their mean.
  double of_loss() const {
    double sum = 0;
    for (std::size_t k = 0; k < n_outputs; ++k) sum += 1 / (outputs[k].scale * outputs[k].scale);
    return sum / double(n_outputs);
  }
};

// Along which of its axes a matrix has inputs, and along which outputs.
struct RescaledBlock {
  explicit RescaledBlock(const Block& of)
      : block(of),
        outer_inputs(is(of.outer, "input")),
        inner_inputs(is(of.inner, "input")),
        outer_outputs(is(of.outer, "output")) {}

  // Calls f(place, place of the same weight of the constant, change) for every weight of an input that
  // changes.
  template <class F>
  void each_input(const UnitChanges& changes, F f) const {
    if (!outer_inputs && !inner_inputs) return;
    const std::size_t n = (outer_inputs ? block.outer : block.inner).size();
    const std::size_t others = (outer_inputs ? block.inner : block.outer).size();
    const auto place = [&](std::size_t j, std::size_t i) {
      return outer_inputs ? block.place(j, i) : block.place(i, j);
    };
    for (std::size_t j = 0; j + 1 < n; ++j) {
      const UnitChange change = changes.input(j);
      if (change.is_none()) continue;
      for (std::size_t i = 0; i < others; ++i) f(place(j, i), place(n - 1, i), change);
    }
  }

  // Calls f(place, change, whether it is the weight of the constant) for every weight of an output that
  // changes.
  template <class F>
  void each_output(const UnitChanges& changes, F f) const {
    if (!outer_outputs) return;
    for (std::size_t k = 0; k < block.outer.size(); ++k)
      for (std::size_t j = 0; j < block.inner.size() && !changes.outputs[k].is_none(); ++j)
        f(block.place(k, j), changes.outputs[k], inner_inputs && j + 1 == block.inner.size());
  }

  const Block& block;
  bool outer_inputs, inner_inputs, outer_outputs;

 private:
  static bool is(const Axis& axis, std::string_view kind) { return axis.kind() == kind; }
};

// What an array in the layout of the weights holds: these themselves; a direction in which they move; a
// gradient of the squared error; or its squares.
enum class Content { weights, direction, gradient, squares };

// Writes the change into such an array. As u x + b = (u scale) x' + (b + u shift), weights follow exactly,
// and with them directions and, the other way round, gradients. Of squares of gradients only the size is
// known, not how those of an input and of the constant went together: they are taken as unrelated. A network
// without a weight from the constant to its outputs cannot follow their level.
template <class T, class Array>
void rescale(const Parameters<T>& group, Array& array, Content content, const UnitChanges& changes) {
  const bool of_loss = content == Content::gradient || content == Content::squares;
  const auto limited = [](double w) { return T(std::clamp(w, -kLargestWeight, kLargestWeight)); };
  for (const Block& each : group.blocks) {
    const RescaledBlock block(each);
    block.each_input(changes, [&](std::size_t at, std::size_t constant, const UnitChange& change) {
      const double u = array[at], b = array[constant], s = change.scale, d = change.shift;
      if (!of_loss) array[constant] = limited(b + d * u);
      array[at] = limited(content == Content::gradient  ? (u - d * b) / s
                          : content == Content::squares ? (u + d * d * b) / (s * s)
                                                        : u * s);
    });
    block.each_output(changes, [&](std::size_t at, const UnitChange& change, bool constant) {
      const double shift = content == Content::weights && constant ? change.shift : 0;
      const double s = content == Content::squares ? change.scale * change.scale : change.scale;
      array[at] = limited((array[at] - shift) / s);
    });
  }
  if (!of_loss || group.role == Parameters<T>::Role::readout) return;
  const double loss = changes.of_loss();
  for (auto& value : array) value = limited(value * (content == Content::squares ? loss * loss : loss));
}

// P <- E P E^T of a symmetric matrix, where E adds `factor` times entry `from` of a vector to entry `to`. The
// variance of that stays below `largest`: if it would not, all of its row is shortened.
template <class Matrix>
void add_row(Matrix& P, int n, int to, int from, double factor, double largest) {
  const double variance = P.entry(to, to) + factor * (2 * P.entry(to, from) + factor * P.entry(from, from));
  const double shortened = std::sqrt(std::min(1.0, largest / std::max(variance, 1e-300)));
  for (int k = 0; k < n; ++k)
    if (k != to) P.set_entry(to, k, shortened * (P.entry(to, k) + factor * P.entry(from, k)));
  P.set_entry(to, to, shortened * shortened * variance);
}

// The same where entry `at` of a vector is multiplied.
template <class Matrix>
void multiply_row(Matrix& P, int n, int at, double factor, double largest) {
  const double variance = P.entry(at, at);
  factor = std::min(factor, std::sqrt(largest / std::max(variance, 1e-300)));
  for (int k = 0; k < n; ++k)
    if (k != at) P.set_entry(at, k, factor * P.entry(at, k));
  P.set_entry(at, at, factor * factor * variance);
}

}  // namespace elman
