// The cell that remembers nothing: no hidden units. With a readout that skips it, the model is linear.
#pragma once

#include "cell/cell.hpp"

namespace elman {

template <class T>
class Linear final : public Cell<T> {
 public:
  explicit Linear(CellSizes sizes) : Cell<T>({sizes.inputs, 0, sizes.capacity}, {}, 0) {}

  T* hidden(int) override { return nullptr; }
  void refresh(T*) override {}
  void forward(const T*, const T*, int, int, std::int64_t) override {}
  void backward(const T*, const T*, int, int, std::int64_t) override {}
  void gradient(const T*, int, int, T*) override {}
  void differentiate_along(const T*, const T*, const T*, int, int, std::int64_t, T*, T*) override {}
  void drop_first() override {}
  void exchange_state(Archive&) override {}
};

}  // namespace elman
