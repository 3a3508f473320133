// What the rest of the core knows of a recurrence.
#pragma once

#include <cstdint>
#include <vector>

#include "archive.hpp"
#include "parameters.hpp"
#include "simd/lane.hpp"
#include "simd/scratch.hpp"

namespace elman {

// Of a unit: the memory of an LSTM grows by at most 1 at a sample, and by nothing where that is rounded away.
constexpr double kLargestState = 0x1p53;

struct CellSizes {
  Axis inputs;  // with the constant
  int n_hidden;
  int capacity;  // largest number of samples that a pass covers
  int n_inputs = int(inputs.size());

  Axis hidden() const { return {"hidden", std::size_t(n_hidden)}; }
};

// A recurrence and its trajectory over the samples of a window. Slot i of the trajectory is the state before
// sample i, so slot 0 is the state before the window and slot n the newest. The weights belong to the caller:
// one array of n_weights elements, of which `blocks` describes the matrices. Every pass runs over samples
// [first, last); row i of X is sample i, and `clock` counts the samples of the stream before sample 0.
template <class T>
class Cell {
 public:
  virtual ~Cell() = default;

  int n_hidden() const { return sizes_.n_hidden; }
  int hidden_stride() const { return padded<T>(sizes_.n_hidden); }
  std::size_t n_weights() const { return n_weights_; }
  const Blocks& blocks() const { return blocks_; }
  // What it needs only within a call.
  const ScratchPlan& scratch() const { return scratch_; }

  // The hidden vector in slot i; successive slots are hidden_stride() apart.
  virtual T* hidden(int i) = 0;
  // Must be called whenever the weights have changed. Sets weights that the recurrence does not have back to
  // zero.
  virtual void refresh(T* weights) = 0;
  // Fills slots first+1 to last from slot `first`. The result does not depend on how a range is cut into
  // passes.
  virtual void forward(const T* weights, const T* X, int first, int last, std::int64_t clock) = 0;
  // Back-propagates dL/dh, which is what the readout alone exerts (row 0 is sample `first`), through the
  // samples. The trajectory is that of the weights.
  virtual void backward(const T* weights, const T* dLdh, int first, int last, std::int64_t clock) = 0;
  // dL/dweights from the last backward pass.
  virtual void gradient(const T* X, int first, int last, T* out) = 0;
  // The derivatives of the hidden vectors in slots first+1 to last when the weights move in a `direction`
  // (laid out like the weights) and the state in slot `first` stands still, [last - first][hidden_stride()].
  // The trajectory is that of the weights.
  virtual void differentiate_along(const T* direction, const T* weights, const T* X, int first, int last,
                                   std::int64_t clock, T* out, T* scratch) = 0;
  // How many elements of scratch that takes.
  virtual std::size_t along_scratch() const { return 0; }
  // Forgets sample 0: slot 1 becomes slot 0. The other slots are invalid until the next forward pass.
  virtual void drop_first() = 0;
  // Walks the state in slot 0.
  virtual void exchange_state(Archive& archive) = 0;

 protected:
  Cell(CellSizes sizes, std::vector<Block> blocks, std::size_t n_weights)
      : sizes_(sizes), blocks_(std::move(blocks)), n_weights_(n_weights) {}

  static constexpr Limits kSquashed = {-1.001, 1.001};  // what tanh gives, and means of it, with rounding

  const CellSizes sizes_;
  ScratchPlan scratch_;

 private:
  Blocks blocks_;
  std::size_t n_weights_;
};

}  // namespace elman
