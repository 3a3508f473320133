// A cell, its readout and the window they are trained on: answers, and gradients of the losses that trainings
// descend.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cell/cell.hpp"
#include "parameters.hpp"
#include "readout/readout.hpp"
#include "simd/vector.hpp"
#include "window.hpp"

namespace elman {

// The samples of the window a training looks at are rows [first, window.size()). Gradients are of summed
// losses, and overwrite those of the parameters.
template <class T>
struct Network {
  // `readout_is_trained`: by the training; otherwise it learns by itself.
  Network(std::unique_ptr<Cell<T>> new_cell, const ReadoutSizes& sizes, Loss loss, bool readout_is_trained)
      : cell(std::move(new_cell)),
        scratch(cell->scratch()),
        recurrence(Parameters<T>::Role::recurrence, cell->blocks(), cell->n_weights(), scratch),
        readout(sizes, loss, scratch),
        window(sizes.n_inputs, sizes.n_outputs, sizes.capacity),
        capacity(sizes.capacity),
        trained{&recurrence} {
    if (readout_is_trained) trained.push_back(&readout.parameters());
  }
  Network(const Network&) = delete;

  std::unique_ptr<Cell<T>> cell;
  ScratchPlan scratch;  // of all parts, that of the cell first
  Parameters<T> recurrence;
  Readout<T> readout;
  Window<T> window;
  const int capacity;                   // largest number of samples that a pass covers
  std::vector<Parameters<T>*> trained;  // what a training changes
  std::int64_t clock = 0;               // samples of the stream before the window

  // Must be called whenever a training has changed weights.
  void refresh() { cell->refresh(recurrence.weights.data()); }

  // Runs the network over rows [first, size) of the window.
  void forward(int first) { forward(recurrence.weights, first); }
  void forward(const Buffer<T>& weights, int first) {
    scratch.reserve();
    cell->forward(weights.data(), window.inputs(), first, window.size(), clock);
  }

  // The model's answer to the newest sample.
  void answer(T* out) { readout.answer(cell->hidden(window.size()), window.input(window.size() - 1), out); }

  // The oldest sample leaves the window. A forward pass must follow.
  void drop_first() {
    cell->drop_first();
    window.pop_front();
    ++clock;
  }

  // The loss of all samples.
  void differentiate_window(int first) {
    scratch.reserve();
    readout.differentiate(cell->hidden(first + 1), window.input(first), window.targets() + first,
                          window.target_step(), window.size() - first);
    back_propagate(first);
  }

  // The summed loss of all samples.
  double loss_of_window(int first) {
    return readout.loss_of(cell->hidden(first + 1), window.input(first), window.targets() + first,
                           window.target_step(), window.size() - first);
  }

  // What a product with the Gauss-Newton matrix works on.
  struct Curving {
    explicit Curving(const Network& network)
        : hidden(std::size_t(network.capacity) * network.cell->hidden_stride()),
          scratch(network.cell->along_scratch()),
          forces(std::size_t(network.capacity) + kLanes<T>) {}
    Buffer<T> hidden, scratch, forces;
  };

  // The product of the Gauss-Newton matrix of the summed loss, Σ J^T (d²L/dz²) J over the samples with J =
  // dz/dweights, with a direction; `readout_direction` is null if the readout stands still. To the loss is
  // added `structural` / 2 times the squared change of the hidden vectors.
  void curve_window(const T* direction, const T* readout_direction, T structural, int first, Curving& work) {
    scratch.reserve();
    const int n = window.size() - first;
    cell->differentiate_along(direction, recurrence.weights.data(), window.inputs(), first, window.size(),
                              clock, work.hidden.data(), work.scratch.data());
    readout.curve(readout_direction, work.hidden.data(), cell->hidden(first + 1), window.input(first),
                  window.targets() + first, window.target_step(), n, work.forces.data());
    add(readout.dLdh(), structural, work.hidden.data(), std::size_t(n) * cell->hidden_stride());
    back_propagate(first);
  }

  // The loss of the newest sample.
  void differentiate_last(int first) {
    scratch.reserve();
    const int last = window.size() - 1;
    readout.silence(last - first);
    readout.differentiate(cell->hidden(last + 1), window.input(last), window.targets() + last,
                          window.target_step(), 1, last - first);
    back_propagate(first);
  }

  // The readout z_k of the newest sample, before the sigmoid.
  void differentiate_output(int first, int k) {
    scratch.reserve();
    const int last = window.size() - 1;
    readout.silence(last - first);
    readout.differentiate_output(cell->hidden(last + 1), window.input(last), k, last - first);
    back_propagate(first);
  }

 private:
  void back_propagate(int first) {
    std::fill(recurrence.gradient.begin(), recurrence.gradient.end(), T(0));
    cell->backward(recurrence.weights.data(), readout.dLdh(), first, window.size(), clock);
    cell->gradient(window.inputs(), first, window.size(), recurrence.gradient.data());
  }
};

}  // namespace elman
