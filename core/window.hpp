// The last samples of a stream, oldest first and contiguous, as the passes over a window read them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "rescale.hpp"
#include "simd/buffer.hpp"
#include "simd/lane.hpp"

namespace elman {

template <class T>
class Window {
 public:
  Window(int n_inputs, int n_outputs, int capacity)
      : n_inputs_(n_inputs),
        n_outputs_(n_outputs),
        rows_(std::size_t(capacity) + std::size_t(capacity < kLong ? 1 : capacity)),
        inputs_(rows_ * n_inputs + kLanes<T>),
        targets_(rows_ * n_outputs) {}

  int size() const { return size_; }
  T* inputs() { return inputs_.data() + begin_ * n_inputs_; }  // [size][n_inputs]
  T* input(int i) { return inputs() + std::size_t(i) * n_inputs_; }
  T* targets() { return targets_.data() + begin_; }  // output k of sample i at [k * target_step + i]
  std::size_t target_step() const { return rows_; }  // NaN where unknown

  // Appends a sample. The rows slide through a buffer twice as long as needed and move back only when they
  // reach its end, so that a push costs the same whatever the window. The few of a short one move at once.
  void push(const T* x, const T* y) {
    if (begin_ + size_ == rows_) {
      std::copy_n(inputs(), std::size_t(size_) * n_inputs_, inputs_.data());
      for (std::size_t k = 0; k < n_outputs_; ++k)
        std::copy_n(targets() + k * rows_, std::size_t(size_), targets_.data() + k * rows_);
      begin_ = 0;
    }
    std::copy_n(x, n_inputs_, inputs() + std::size_t(size_) * n_inputs_);
    ++size_;
    set_targets(size_ - 1, y);
  }

  // Replaces the targets of row i.
  void relabel(int i, const T* y) {
    labelled_ -= is_labelled(i);
    set_targets(i, y);
  }

  // Everything in other units.
  void rescale(const UnitChanges& changes) {
    for (int i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j + 1 < n_inputs_; ++j) input(i)[j] = T(changes.input(j).now(input(i)[j]));
      for (std::size_t k = 0; k < n_outputs_; ++k) {
        T& y = targets()[k * rows_ + i];
        if (!std::isnan(y)) y = T(changes.outputs[k].now(y));
      }
    }
  }

  void clear() {
    begin_ = 0;
    size_ = labelled_ = 0;
  }

  void pop_back() {
    labelled_ -= is_labelled(size_ - 1);
    --size_;
  }

  void pop_front() {
    labelled_ -= is_labelled(0);
    ++begin_;
    --size_;
  }

  // Samples of rows [first, size) that have at least one known target.
  int labelled(int first) {
    int n = labelled_;
    for (int i = 0; i < first; ++i) n -= is_labelled(i);
    return n;
  }

  // Makes room for n samples, of which nothing is known until it is written in place; `recount` must follow.
  void resize(int n) {
    if (n == size_) return;
    begin_ = 0;
    size_ = n;
    std::fill_n(inputs(), std::size_t(n) * n_inputs_, T(0));
    for (std::size_t k = 0; k < n_outputs_; ++k)
      std::fill_n(targets() + k * rows_, n, std::numeric_limits<T>::quiet_NaN());
  }
  void recount() {
    labelled_ = 0;
    for (int i = 0; i < size_; ++i) labelled_ += is_labelled(i);
  }

 private:
  void set_targets(int i, const T* y) {
    for (std::size_t k = 0; k < n_outputs_; ++k) targets()[k * rows_ + i] = y[k];
    labelled_ += is_labelled(i);
  }

  bool is_labelled(int row) {
    for (std::size_t k = 0; k < n_outputs_; ++k)
      if (!std::isnan(targets()[k * rows_ + row])) return true;
    return false;
  }

  static constexpr int kLong = 16;

  std::size_t n_inputs_, n_outputs_;  // of a row
  std::size_t rows_, begin_ = 0;
  int size_ = 0, labelled_ = 0;
  Buffer<T> inputs_;  // with room behind the last row, so that a vector may begin anywhere in it
  Buffer<T> targets_;
};

}  // namespace elman
