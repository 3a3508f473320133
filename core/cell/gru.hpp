// The gated recurrent unit: r, z = sigmoid(W h + U x), n = tanh(U x + r W h), each gate with a W and a U of
// its own, then h' = (1 - z) n + z h.
#pragma once

#include "cell/gated.hpp"

namespace elman {

// In the padding lanes h stays zero, because n is tanh(0) there; so does everything back-propagated.
template <class T>
class GRU final : public Gated<T, 3> {
 public:
  explicit GRU(CellSizes sizes)
      : Gated<T, 3>(sizes, {"U.r", "W.r", "U.z", "W.z", "U.n", "W.n"}),
        recurrent_(std::size_t(sizes.capacity) * this->stride_),
        carried_(this->stride_),
        recurrent_delta_(std::size_t(sizes.capacity) * this->column_) {}

  void forward(const T* weights, const T* X, int first, int last, std::int64_t) override {
    this->drive(weights, X, first, last);
    this->recur(Forward{this->stride_, this->gates(first), recurrent(first), this->hidden(first)}, first,
                last - first);
  }

  void backward(const T*, const T* dLdh, int first, int last, std::int64_t) override {
    std::fill(carried_.begin(), carried_.end(), T(0));
    this->recur_back(Backward{this->stride_, this->gates(first), recurrent(first), this->hidden(first), dLdh,
                              carried_.data(), this->delta_.data(), recurrent_delta_.data()},
                     last - first);
  }

  void differentiate_along(const T* direction, const T* weights, const T* X, int first, int last,
                           std::int64_t, T* out, T* scratch) override {
    this->recur_along(
        AlongDirection{this->stride_, this->gates(first), recurrent(first), this->hidden(first)}, direction,
        weights, X, first, last - first, out, scratch);
  }

  void gradient(const T* X, int first, int last, T* out) override {
    this->sum_gradient(this->delta_.data(), recurrent_delta_.data(), X, first, last, out);
  }

 private:
  // Pointers are to the first sample of the pass.
  struct Forward {
    int stride;
    T* gates;      // U x, overwritten by r, z, n
    T* recurrent;  // W h of the gate n
    T* hidden;     // h before the sample

    ELMAN_INLINE void begin(int i, int u, Vec<T>* a) const {
      const T* drive = gates + std::size_t(i) * 3 * stride + u * kLanes<T>;
      a[0] = load<T>(drive);
      a[1] = load<T>(drive + stride);
      a[2] = Vec<T>{};
    }

    ELMAN_INLINE void open(int i, int u, Vec<T>* a) const {
      T* gate = gates + std::size_t(i) * 3 * stride + u * kLanes<T>;
      for (int g = 0; g < 2; ++g) {
        a[g] = sigmoid<T>(a[g]);
        store<T>(gate + g * stride, a[g]);
      }
      store<T>(recurrent + std::size_t(i) * stride + u * kLanes<T>, a[2]);
    }

    ELMAN_INLINE Vec<T> finish(int i, int u, const Vec<T>* a) const {
      const std::size_t at = std::size_t(i) * stride + u * kLanes<T>;
      T* gate = gates + std::size_t(i) * 3 * stride + 2 * stride + u * kLanes<T>;
      const Vec<T> value = tanh(fma<T>(a[0], a[2], load<T>(gate)));
      const Vec<T> h = fma<T>(a[1], load<T>(hidden + at) - value, value);
      store<T>(gate, value);
      store<T>(hidden + at + stride, h);
      return h;
    }
  };

  struct Backward {
    int stride;
    const T* gates;
    const T* recurrent;
    const T* hidden;
    const T* dLdh;
    T* carried;  // the part of dL/dh that comes through z h of the sample after it
    T* delta;
    T* recurrent_delta;

    ELMAN_INLINE void differentiate(int i, int u, Vec<T> force, Vec<T>* d) const {
      const std::size_t at = std::size_t(i) * stride + u * kLanes<T>;
      const std::size_t column = std::size_t(i) * 3 * stride + u * kLanes<T>;
      const T* gate = gates + column;
      const Vec<T> reset = load<T>(gate), keep = load<T>(gate + stride), value = load<T>(gate + 2 * stride);
      const Vec<T> dh = force + (load<T>(dLdh + at) + load<T>(carried + u * kLanes<T>));
      store<T>(carried + u * kLanes<T>, dh * keep);
      const Vec<T> dn = dh * ((T(1) - keep) * (T(1) - value * value));
      d[0] = dn * (load<T>(recurrent + at) * (reset * (T(1) - reset)));
      d[1] = dh * ((load<T>(hidden + at) - value) * (keep * (T(1) - keep)));
      d[2] = dn * reset;
      store<T>(delta + column, d[0]);
      store<T>(delta + column + stride, d[1]);
      store<T>(delta + column + 2 * stride, dn);
      for (int g = 0; g < 3; ++g) store<T>(recurrent_delta + column + g * stride, d[g]);
    }
  };

  struct AlongDirection {
    int stride;
    const T* gates;
    const T* recurrent;
    const T* hidden;

    // dn = (1 - n²) (d(U x) + dr (W h) + r d(W h)) and dh' = dz (h - n) + (1 - z) dn + z dh.
    ELMAN_INLINE Vec<T> differentiate(int i, int u, const T* inputs, const T* products,
                                      const T* before) const {
      const std::size_t at = std::size_t(i) * stride + u;
      const T* gate = gates + std::size_t(i) * 3 * stride + u;
      const Vec<T> reset = load<T>(gate), keep = load<T>(gate + stride), value = load<T>(gate + 2 * stride);
      const Vec<T> dr = (load<T>(inputs) + load<T>(products)) * (reset * (T(1) - reset));
      const Vec<T> dz = (load<T>(inputs + stride) + load<T>(products + stride)) * (keep * (T(1) - keep));
      const Vec<T> inside = load<T>(inputs + 2 * stride) + dr * load<T>(recurrent + at) +
                            reset * load<T>(products + 2 * stride);
      const Vec<T> dn = (T(1) - value * value) * inside;
      const Vec<T> changed = dz * (load<T>(hidden + at) - value) + (T(1) - keep) * dn;
      return before == nullptr ? changed : changed + keep * load<T>(before);
    }
  };

  T* recurrent(int i) { return recurrent_.data() + std::size_t(i) * this->stride_; }

  Buffer<T> recurrent_;        // [capacity][stride], W h of the gate n
  Buffer<T> carried_;          // [stride]
  Buffer<T> recurrent_delta_;  // [capacity][column], dL/d(W h), where delta_ is dL/d(U x)
};

}  // namespace elman
