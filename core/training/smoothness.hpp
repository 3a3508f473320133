// How smooth the error surface is along a step (section IV-A3 of the paper): a probe around an update.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "network.hpp"
#include "training/wogd.hpp"

namespace elman {

// max over the matrices of ||grad L(theta_{t+1}) - grad L(theta_t)|| / ||theta_{t+1} - theta_t|| for the
// windowed loss L, with the window, the state before it and the readout as they were before the step.
template <class T>
class SmoothnessProbe {
 public:
  void before(Network<T>& network, int first) {
    network.differentiate_window(first);
    const Scratch<T>& gradient = network.recurrence.gradient;
    gradient_ = Buffer<T>(gradient.size());
    std::copy(gradient.begin(), gradient.end(), gradient_.begin());
    weights_ = network.recurrence.weights;
    readout_ = network.readout.weights();
  }

  // NaN if no weight has moved. The trajectory is that of the former weights again when this returns.
  double after(Network<T>& network, int first) {
    std::swap(readout_, network.readout.weights());
    network.forward(first);
    network.differentiate_window(first);
    std::swap(readout_, network.readout.weights());
    network.cell->refresh(weights_.data());
    network.forward(weights_, first);
    network.refresh();
    double largest = std::numeric_limits<double>::quiet_NaN();
    for (const Block& block : network.recurrence.blocks) {
      const double moved = squared_distance(block, network.recurrence.weights.data(), weights_.data());
      const double changed = squared_distance(block, network.recurrence.gradient.data(), gradient_.data());
      if (moved > 0)
        largest = std::fmax(largest, std::sqrt(changed / moved) / network.window.labelled(first));
    }
    return largest;
  }

 private:
  Buffer<T> gradient_, weights_, readout_;  // before the step
};

}  // namespace elman
