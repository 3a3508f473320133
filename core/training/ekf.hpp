// The extended Kalman filter: the weights are its state, and the targets measure them through the network.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "options.hpp"
#include "training/covariance.hpp"
#include "training/training.hpp"

namespace elman {

// With theta all weights that exist, J the Jacobian of the answers to the newest sample and R their noise:
//   S = J P J^T + R,  K = P J^T S^-1,  theta <- theta + K (y - answer),  P <- P - K J P + q I.
// R is diagonal, so the outputs are taken one after the other, each given those before it, which is the same
// in exact arithmetic: with u = P J_k^T / sqrt(S_k) a scalar measurement changes P by - u u^T. These changes
// wait until the next sample, whose product P J^T needs the same pass over P.
template <class T>
class EKF final : public Training<T> {
 public:
  explicit EKF(const Options& options)
      : initial_variance_(T(options.number("initial_variance"))),
        process_noise_(T(options.number("process_noise"))),
        measurement_noise_(T(options.number("measurement_noise"))) {}

  void update(Network<T>& network, int first, std::int64_t, double*) override {
    begin(network);
    const int known = measure(network, first);
    covariance_.step(U_.data(), pending_, pending_ > 0 ? process_noise_ : T(0), J_.data(), known, V_.data());
    pending_ = 0;
    if (!correct(network, known)) return;
    std::swap(U_, V_);
    pending_ = known;
    network.cell->refresh(network.weights.data());
  }

  // The lower triangle of P, row by row, over all weights: the blocks of the cell in their order and then C
  // and D, a matrix of the cell column by column and of the readout output by output. Weights that are not
  // filtered are listed, too, so that the order can be told from the shapes alone.
  void exchange(Archive& archive, Network<T>& network) override {
    begin(network);
    covariance_.step(U_.data(), pending_, pending_ > 0 ? process_noise_ : T(0), nullptr, 0, nullptr);
    pending_ = 0;
    const std::size_t n = filtered_.size();
    Buffer<T> triangle(n * (n + 1) / 2);
    each_entry([&](std::size_t at, int i, int j, bool on_diagonal) {
      triangle[at] = i >= 0 && j >= 0 ? covariance_.get(i, j) : on_diagonal ? initial_variance_ : T(0);
    });
    archive.array("covariance", triangle.data(), 1, triangle.size(), triangle.size());
    each_entry([&](std::size_t at, int i, int j, bool) {
      if (i >= 0 && j >= 0) covariance_.set(i, j, triangle[at]);
    });
  }

 private:
  static constexpr T kSmallestLogisticNoise = T(1e-3);
  // A weight that no sample says anything about gains process noise for ever; its variance stops here.
  static constexpr T kLargestVariance = 2;  // in units of the initial variance

  // Lists the weights and makes everything of their number. Weights that the cell does not have are those
  // that it sets to zero.
  void begin(Network<T>& network) {
    if (!filtered_.empty()) return;
    Buffer<T> exists(network.weights.size());
    std::fill(exists.begin(), exists.end(), T(1));
    network.cell->refresh(exists.data());
    network.cell->refresh(network.weights.data());
    for (const Block& block : network.cell->blocks())
      for (int j = 0; j < block.columns; ++j)
        for (int i = 0; i < block.rows; ++i) {
          const std::size_t place = block.offset + std::size_t(j) * block.stride + i;
          filtered_.push_back(exists[place] != 0 ? int(cell_places_.size()) : -1);
          if (exists[place] != 0) cell_places_.push_back(place);
        }
    list_readout(network, 0, network.readout.n_hidden());
    list_readout(network, network.readout.skip_offset(), network.readout.n_skipped());
    const int n = int(cell_places_.size() + readout_places_.size());
    rounding_ = std::numeric_limits<T>::epsilon() * std::sqrt(T(n)) * initial_variance_;
    process_noise_ = std::max(process_noise_, rounding_);
    covariance_ = Covariance<T>(n, initial_variance_, std::min(process_noise_, initial_variance_),
                                kLargestVariance * std::max(initial_variance_, process_noise_));
    const std::size_t n_outputs = network.readout.n_outputs(), size = n_outputs * covariance_.stride();
    J_ = U_ = V_ = Buffer<T>(size);
    moved_ = Buffer<T>(covariance_.stride());
    answer_ = Buffer<T>(n_outputs);
    error_ = noise_ = gain_ = answer_;
  }

  // Lists `columns` weights from `offset` on of every row of the readout.
  void list_readout(Network<T>& network, int offset, int columns) {
    for (int k = 0; k < network.readout.n_outputs(); ++k)
      for (int i = 0; i < columns; ++i) {
        filtered_.push_back(network.readout_is_trained ? int(cell_places_.size() + readout_places_.size())
                                                       : -1);
        if (network.readout_is_trained)
          readout_places_.push_back(std::size_t(k) * network.readout.stride() + offset + i);
      }
  }

  // Calls f(place, i, j, whether on the diagonal) for every entry of the triangle that is exchanged, where i
  // and j are the row and column in P or -1.
  template <class F>
  void each_entry(F f) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < filtered_.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) f(at++, filtered_[i], filtered_[j], i == j);
  }

  // Jacobian, error and noise of each known output of the newest sample, one after the other; their number.
  int measure(Network<T>& network, int first) {
    const int last = network.window.size() - 1;
    const T* y = network.window.targets() + last;
    network.answer(answer_.data());
    int known = 0;
    for (int k = 0; k < network.readout.n_outputs(); ++k, y += network.window.target_step()) {
      if (std::isnan(*y)) continue;
      const bool logistic = network.readout.loss() == Loss::logistic;
      const T slope = logistic ? answer_[k] * (1 - answer_[k]) : T(1);
      error_[known] = *y - answer_[k];
      noise_[known] = logistic ? std::max(slope, kSmallestLogisticNoise) : measurement_noise_;
      network.differentiate_output(first, k);
      T* J = row(J_, known++);
      for (const std::size_t place : cell_places_) *J++ = slope * network.gradient[place];
      for (const std::size_t place : readout_places_) *J++ = slope * network.readout_gradient[place];
    }
    return known;
  }

  // Turns the rows of V = J P into the changes u of P and moves the weights. False, and no weight moved, if
  // anything would not be finite.
  bool correct(Network<T>& network, int known) {
    gather(network);
    Vec<T> check = {};  // stays 0 unless something is infinite or NaN
    for (int k = 0; k < known; ++k) {
      const T* J = row(J_, k);
      T* v = row(V_, k);
      for (int before = 0; before < k; ++before) {
        const T* u = row(V_, before);
        const T overlap = dot(J, u);
        add(v, -overlap, u);
        error_[k] -= overlap * gain_[before];
      }
      const T S = std::max(dot(J, v), T(0)) + rounding_ * dot(J, J) + noise_[k];
      const T scale = T(1) / std::sqrt(S);
      gain_[k] = error_[k] * scale;
      check = fma<T>(splat(S), Vec<T>{}, check);
      for (int i = 0; i < covariance_.stride(); i += kLanes<T>) {
        const Vec<T> u = splat(scale) * load<T>(v + i);
        const Vec<T> moved = fma<T>(splat(gain_[k]), u, load<T>(&moved_[i]));
        check = fma<T>(u * u, Vec<T>{}, fma<T>(moved, Vec<T>{}, check));
        store<T>(v + i, u);
        store<T>(&moved_[i], moved);
      }
    }
    if (sum<T>(check) != 0) return false;
    scatter(network);
    return true;
  }

  void gather(Network<T>& network) {
    T* out = moved_.data();
    for (const std::size_t place : cell_places_) *out++ = network.weights[place];
    for (const std::size_t place : readout_places_) *out++ = network.readout.weights()[place];
    std::fill(out, moved_.end(), T(0));
  }
  void scatter(Network<T>& network) const {
    const T* in = moved_.data();
    for (const std::size_t place : cell_places_) network.weights[place] = *in++;
    for (const std::size_t place : readout_places_) network.readout.weights()[place] = *in++;
  }

  T* row(Buffer<T>& matrix, int k) const { return matrix.data() + std::size_t(k) * covariance_.stride(); }

  T dot(const T* a, const T* b) const {
    Vec<T> total[2] = {};
    for (int i = 0; i < covariance_.stride(); i += kLanes<T>)
      total[i / kLanes<T> % 2] = fma<T>(load<T>(a + i), load<T>(b + i), total[i / kLanes<T> % 2]);
    return sum<T>(total[0] + total[1]);
  }
  void add(T* out, T factor, const T* a) const {
    for (int i = 0; i < covariance_.stride(); i += kLanes<T>)
      store<T>(out + i, fma<T>(splat(factor), load<T>(a + i), load<T>(out + i)));
  }

  T initial_variance_, process_noise_, measurement_noise_;
  // The size of the error that rounding makes in P at one update: a noise, too, and one that would in time
  // make P indefinite if it were not counted in S and in the process noise.
  T rounding_ = 0;
  std::vector<std::size_t> cell_places_, readout_places_;  // of those weights in the network's arrays
  std::vector<int> filtered_;                              // for every weight its place in the filter, or -1
  Covariance<T> covariance_;
  Buffer<T> J_, U_, V_;  // [n_outputs][stride]: Jacobian, changes of P still to be made, J P
  int pending_ = 0;      // rows of U
  Buffer<T> moved_, answer_, error_, noise_, gain_;
};

}  // namespace elman
