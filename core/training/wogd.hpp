// Windowed Online Gradient Descent: Algorithm 1 of the paper, and the variant of its experiments (equation 15).
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "../block.hpp"
#include "../buffer.hpp"
#include "../lane.hpp"
#include "../projection.hpp"

namespace elman {

struct WOGDOptions {
  int window;
  double rate;
  double spectral_limit;        // lambda
  double projection_threshold;  // alpha: a matrix is projected when its Frobenius norm exceeds this; 0: always
  double readout_rate;          // the readout's step at time t is this over sqrt(t)
  double readout_limit;         // largest norm of a row of the readout
};

template <class T>
class WOGD {
 public:
  WOGD(const WOGDOptions& options, std::vector<Block> blocks, std::size_t n_weights)
      : options_(options), blocks_(std::move(blocks)), candidate_(n_weights) {}

  // Sum over all steps of the squared norm of the projected gradient, equation (7).
  double local_regret = 0;

  // theta <- Pi(theta - rate gradient/samples). False, and nothing changed, if the result is not finite.
  bool step(Buffer<T>& weights, const Buffer<T>& gradient, int samples) {
    const Vec<T> rate = splat(T(-options_.rate / samples));
    Vec<T> check = {};  // stays 0 unless a weight is infinite or NaN
    for (std::size_t i = 0; i < weights.size(); i += kLanes<T>) {
      const Vec<T> next = fma<T>(rate, load<T>(&gradient[i]), load<T>(&weights[i]));
      check = fma<T>(next, Vec<T>{}, check);
      store<T>(&candidate_[i], next);
    }
    if (sum<T>(check) != 0) return false;
    for (const Block& block : blocks_) {
      if (project(candidate_.data(), block))
        local_regret += squared_norm(block, [&](std::size_t i) {
                          return load<T>(&weights[i]) - load<T>(&candidate_[i]);
                        }) / (options_.rate * options_.rate);
      else
        local_regret += squared_norm(block, [&](std::size_t i) { return load<T>(&gradient[i]); }) / (double(samples) * samples);
    }
    std::copy(candidate_.begin(), candidate_.end(), weights.begin());
    return true;
  }

  // Brings initial weights into the sets that the steps keep them in.
  void project(Buffer<T>& weights, Buffer<T>& readout, int readout_stride) const {
    for (const Block& block : blocks_) project(weights.data(), block);
    for (std::size_t i = 0; i < readout.size(); i += readout_stride)
      clip_norm(readout.data() + i, readout_stride, options_.readout_limit);
  }

  // c <- Pi(c - readout_rate/sqrt(t) gradient/samples), row by row.
  void step_readout(T* weights, const T* gradient, int rows, int stride, int samples, std::int64_t t) const {
    const T rate = T(options_.readout_rate / std::sqrt(double(t)) / samples);
    for (int k = 0; k < rows; ++k) {
      T* c = weights + std::size_t(k) * stride;
      for (int i = 0; i < stride; ++i) c[i] -= rate * gradient[std::size_t(k) * stride + i];
      clip_norm(c, stride, options_.readout_limit);
    }
  }

 private:
  // Clipping can leave a Frobenius norm of up to lambda sqrt(min(rows, columns)), so the threshold never lies below that
  // root: otherwise a large network would be decomposed at every step for nothing.
  bool project(T* weights, const Block& block) const {
    const double norm = squared_norm(block, [&](std::size_t i) { return load<T>(weights + i); });
    if (norm <= options_.spectral_limit * options_.spectral_limit) return false;
    const double threshold = options_.projection_threshold;
    const double reachable = std::min(block.rows, block.columns);
    if (threshold > 0 && norm <= std::max(threshold * threshold, reachable)) return false;
    return clip_spectrum(weights + block.offset, block.stride, block.rows, block.columns, options_.spectral_limit);
  }

  // Over whole vectors of rows: padding is zero.
  template <class Value>
  static double squared_norm(const Block& block, Value value) {
    double total = 0;
    for (int j = 0; j < block.columns; ++j) {
      Vec<T> column = {};
      for (int i = 0; i < block.rows; i += kLanes<T>) {
        const Vec<T> x = value(block.offset + std::size_t(j) * block.stride + i);
        column = fma<T>(x, x, column);
      }
      total += sum<T>(column);
    }
    return total;
  }

  WOGDOptions options_;
  std::vector<Block> blocks_;
  Buffer<T> candidate_;
};

}  // namespace elman
