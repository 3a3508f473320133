// Long short-term memory without peepholes: i, f, o = sigmoid(W h + U x) and g = tanh(W h + U x), each gate
// with a W and a U of its own, then c' = f c + i g and h' = o tanh(c').
#pragma once

#include "cell/gated.hpp"

namespace elman {

// In the padding lanes c and h stay zero, because the gate g is tanh(0) there; so does everything
// back-propagated.
template <class T>
class LSTM final : public Gated<T, 4> {
 public:
  explicit LSTM(CellSizes sizes)
      : Gated<T, 4>(sizes, {"U.i", "W.i", "U.f", "W.f", "U.g", "W.g", "U.o", "W.o"}),
        cells_((std::size_t(sizes.capacity) + 1) * this->stride_),
        squashed_(std::size_t(sizes.capacity) * this->stride_),
        carried_(this->stride_) {}

  void forward(const T* weights, const T* X, int first, int last, std::int64_t) override {
    this->drive(weights, X, first, last);
    this->recur(
        Forward{this->stride_, this->gates(first), cell(first), squashed(first), this->hidden(first + 1)},
        first, last - first);
  }

  void backward(const T*, const T* dLdh, int first, int last, std::int64_t) override {
    std::fill(carried_.begin(), carried_.end(), T(0));
    this->recur_back(Backward{this->stride_, this->gates(first), cell(first), squashed(first), dLdh,
                              carried_.data(), this->delta_.data()},
                     last - first);
  }

  void gradient(const T* X, int first, int last, T* out) override {
    this->sum_gradient(this->delta_.data(), this->delta_.data(), X, first, last, out);
  }

  void differentiate_along(const T* direction, const T* weights, const T* X, int first, int last,
                           std::int64_t, T* out, T* scratch) override {
    std::fill(carried_.begin(), carried_.end(), T(0));
    this->recur_along(
        AlongDirection{this->stride_, this->gates(first), cell(first), squashed(first), carried_.data()},
        direction, weights, X, first, last - first, out, scratch);
  }

  void drop_first() override {
    Gated<T, 4>::drop_first();
    std::copy_n(cell(1), std::size_t(this->stride_), cell(0));
  }

  void exchange_state(Archive& archive) override {
    Gated<T, 4>::exchange_state(archive);
    archive.vector("cell_state", cell(0), this->sizes_.hidden(), Limits::within(kLargestState));
  }

 private:
  // Pointers are to the first sample of the pass.
  struct Forward {
    int stride;
    T* gates;     // U x, overwritten by i, f, g, o
    T* cells;     // c before the sample
    T* squashed;  // tanh(c')
    T* hidden;    // h'

    ELMAN_INLINE void begin(int i, int u, Vec<T>* a) const {
      const T* drive = gates + std::size_t(i) * 4 * stride + u * kLanes<T>;
      for (int g = 0; g < 4; ++g) a[g] = load<T>(drive + g * stride);
    }

    ELMAN_INLINE void open(int i, int u, Vec<T>* a) const {
      T* gate = gates + std::size_t(i) * 4 * stride + u * kLanes<T>;
      for (int g = 0; g < 4; ++g) {
        a[g] = g == 2 ? tanh(a[g]) : sigmoid<T>(a[g]);
        store<T>(gate + g * stride, a[g]);
      }
    }

    ELMAN_INLINE Vec<T> finish(int i, int u, const Vec<T>* gate) const {
      const std::size_t at = std::size_t(i) * stride + u * kLanes<T>;
      const Vec<T> c = fma<T>(gate[1], load<T>(cells + at), gate[0] * gate[2]), s = tanh(c), h = gate[3] * s;
      store<T>(cells + at + stride, c);
      store<T>(squashed + at, s);
      store<T>(hidden + at, h);
      return h;
    }
  };

  struct Backward {
    int stride;
    const T* gates;
    const T* cells;
    const T* squashed;
    const T* dLdh;
    T* carried;  // the part of dL/dc that comes through the cell after it
    T* delta;

    // dL/dc' = carried + dL/dh' o (1 - tanh(c')²), of which f dL/dc' is carried on to c.
    ELMAN_INLINE void differentiate(int i, int u, Vec<T> force, Vec<T>* d) const {
      const std::size_t at = std::size_t(i) * stride + u * kLanes<T>;
      const T* gate = gates + std::size_t(i) * 4 * stride + u * kLanes<T>;
      const Vec<T> in = load<T>(gate), forget = load<T>(gate + stride), value = load<T>(gate + 2 * stride),
                   out = load<T>(gate + 3 * stride), s = load<T>(squashed + at);
      const Vec<T> dh = force + load<T>(dLdh + at);
      const Vec<T> dc = fma<T>(dh, out * (T(1) - s * s), load<T>(carried + u * kLanes<T>));
      store<T>(carried + u * kLanes<T>, dc * forget);
      d[0] = dc * (value * (in * (T(1) - in)));
      d[1] = dc * (load<T>(cells + at) * (forget * (T(1) - forget)));
      d[2] = dc * (in * (T(1) - value * value));
      d[3] = dh * (s * (out * (T(1) - out)));
      T* deltas = delta + std::size_t(i) * 4 * stride + u * kLanes<T>;
      for (int g = 0; g < 4; ++g) store<T>(deltas + g * stride, d[g]);
    }
  };

  struct AlongDirection {
    int stride;
    const T* gates;
    const T* cells;
    const T* squashed;
    T* carried;  // dc of the sample before

    // dc' = df c + f dc + di g + i dg and dh' = do tanh(c') + o (1 - tanh(c')²) dc'.
    ELMAN_INLINE Vec<T> differentiate(int i, int u, const T* inputs, const T* recurrent, const T*) const {
      const std::size_t at = std::size_t(i) * stride + u;
      const T* gate = gates + std::size_t(i) * 4 * stride + u;
      const Vec<T> in = load<T>(gate), forget = load<T>(gate + stride), value = load<T>(gate + 2 * stride),
                   open = load<T>(gate + 3 * stride), s = load<T>(squashed + at);
      Vec<T> a[4];
      for (int g = 0; g < 4; ++g) a[g] = load<T>(inputs + g * stride) + load<T>(recurrent + g * stride);
      Vec<T> dc = a[1] * (forget * (T(1) - forget)) * load<T>(cells + at) + forget * load<T>(carried + u);
      dc += a[0] * (in * (T(1) - in)) * value + a[2] * (in * (T(1) - value * value));
      store<T>(carried + u, dc);
      return a[3] * (open * (T(1) - open)) * s + open * (T(1) - s * s) * dc;
    }
  };

  T* cell(int i) { return cells_.data() + std::size_t(i) * this->stride_; }
  T* squashed(int i) { return squashed_.data() + std::size_t(i) * this->stride_; }

  Buffer<T> cells_;     // [capacity + 1][stride], c in the slots of the trajectory
  Buffer<T> squashed_;  // [capacity][stride], tanh(c')
  Buffer<T> carried_;   // [stride]
};

}  // namespace elman
