// The extended Kalman filter: the weights are its state, and the targets measure them through the network.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "options.hpp"
#include "plausible.hpp"
#include "shared.hpp"
#include "simd/scratch.hpp"
#include "simd/vector.hpp"
#include "training/covariance.hpp"
#include "training/training.hpp"

namespace elman {

// With theta all weights that exist, J the Jacobian of the answers to the newest sample and R their noise:
//   S = J P J^T + R,  K = P J^T S^-1,  theta <- theta + K (y - answer),  P <- P - K J P + q I.
// R is diagonal, so the outputs are taken one after the other, each given those before it, which is the same
// in exact arithmetic: with u = P J_k^T / sqrt(S_k) a scalar measurement changes P by - u u^T. These changes
// wait until the next sample, whose product P J^T needs the same pass over P. An error of more than c =
// surprise times what is expected, e^2 > c^2 S, is a surprise, and noise is the likelier reason the larger it
// is: S = |e| sqrt(S) / c in its place, so that the weights move as if the error were c sqrt(S) (a Huber
// filter). `Kept` is what an entry of P is kept as: T, or Half where memory is scarce.
template <class T, class Kept = T>
class EKF final : public Training<T> {
 public:
  EKF(const Options& options, Network<T>& network)
      : initial_variance_(T(options.number("initial_variance"))),
        process_noise_(T(options.number("process_noise"))),
        measurement_noise_(T(options.number("measurement_noise"))),
        surprise_(network.readout.loss() == Loss::logistic ? T(0) : T(options.number("surprise"))),
        places_(shared(places(network))) {
    for (const auto& group : *places_) n_ += int(group.size());
    rounding_ = std::numeric_limits<T>::epsilon() * std::sqrt(T(n_)) * initial_variance_;
    process_noise_ = std::max(process_noise_, rounding_);
    covariance_ = Covariance<T, Kept>(n_, initial_variance_, std::min(process_noise_, initial_variance_),
                                      kLargestVariance * std::max(initial_variance_, process_noise_));
    const std::size_t n_outputs = network.readout.n_outputs(), size = n_outputs * covariance_.stride();
    U_ = Buffer<T>(size);
    ScratchPlan& scratch = network.scratch;
    J_ = scratch.place<T>(size);
    V_ = scratch.place<T>(size);
    moved_ = scratch.place<T>(std::size_t(covariance_.stride()));
    spare_ = scratch.place<T>(2 * std::size_t(covariance_.stride()));
    for (Scratch<T>* each : {&answer_, &error_, &noise_, &gain_}) *each = scratch.place<T>(n_outputs);
  }

  void update(Network<T>& network, int first, std::int64_t) override {
    network.scratch.reserve();
    const int known = measure(network, first);
    covariance_.step(U_.data(), pending_, pending_ > 0 ? process_noise_ : T(0), J_.data(), known, V_.data(),
                     spare_.data());
    pending_ = 0;
    if (!correct(network, known)) return;
    std::copy_n(V_.data(), U_.size(), U_.data());
    pending_ = known;
    network.refresh();
  }

  // P of weights that are T w + t in other units is T P T^T.
  void rescale(const UnitChanges& changes, Network<T>& network) override {
    make_pending_changes(network);
    const double largest = double(covariance_.largest_variance());
    for (std::size_t g = 0; g < places_->size(); ++g)
      for (const Block& each : network.trained[g]->blocks) {
        const RescaledBlock block(each);
        block.each_input(changes, [&](std::size_t at, std::size_t constant, const UnitChange& change) {
          if (change.shift != 0)
            add_row(covariance_, n_, index(g, constant), index(g, at), change.shift, largest);
          multiply_row(covariance_, n_, index(g, at), change.scale, largest);
        });
        block.each_output(changes, [&](std::size_t at, const UnitChange& change, bool) {
          multiply_row(covariance_, n_, index(g, at), 1 / change.scale, largest);
        });
      }
  }

  // The lower triangle of P, row by row.
  void exchange(Archive& archive, Network<T>& network) override {
    make_pending_changes(network);
    Buffer<Kept> triangle(std::size_t(n_) * (n_ + 1) / 2);
    Kept* entry = triangle.data();
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j <= i; ++j) *entry++ = covariance_.kept(i, j);
    archive.triangle("covariance", triangle.data(), axis(network));
    archive.require(is_covariance(triangle.data(), std::size_t(n_), covariance_.smallest() / 2,
                                  2 * covariance_.largest()),
                    "the covariance of the weights is none");
    entry = triangle.data();
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j <= i; ++j) covariance_.keep_entry(i, j, *entry++);
  }

 private:
  void make_pending_changes(Network<T>& network) {
    network.scratch.reserve();
    covariance_.step(U_.data(), pending_, pending_ > 0 ? process_noise_ : T(0), nullptr, 0, nullptr,
                     spare_.data());
    pending_ = 0;
  }

  // Of a weight in P, by its place in the array of a group.
  int index(std::size_t g, std::size_t place) const {
    int before = 0;
    for (std::size_t other = 0; other < g; ++other) before += int((*places_)[other].size());
    const auto& places = (*places_)[g];
    return before + int(std::find(places.begin(), places.end(), std::uint32_t(place)) - places.begin());
  }

  static constexpr T kSmallestLogisticNoise = T(1e-3);
  // A weight that no sample says anything about gains process noise for ever; its variance stops here.
  static constexpr T kLargestVariance = 2;  // in units of the initial variance

  // Calls f(group, number of the matrix, outer, inner) for every weight that is trained, in the order of P.
  // Weights that the cell does not have are those that it sets to zero.
  template <class F>
  static void each_weight(Network<T>& network, F f) {
    for (std::size_t g = 0; g < network.trained.size(); ++g) {
      const Parameters<T>& group = *network.trained[g];
      Buffer<T> exists(group.weights.size());
      std::fill(exists.begin(), exists.end(), T(1));
      if (group.role == Parameters<T>::Role::recurrence) network.cell->refresh(exists.data());
      for (std::size_t b = 0; b < group.blocks.size(); ++b)
        for (std::size_t i = 0; i < group.blocks[b].outer.size(); ++i)
          for (std::size_t j = 0; j < group.blocks[b].inner.size(); ++j)
            if (exists[group.blocks[b].place(i, j)] != 0) f(g, b, i, j);
    }
    network.refresh();
  }

  using Places = std::vector<std::vector<std::uint32_t>>;
  static Places places(Network<T>& network) {
    Places found(network.trained.size());
    each_weight(network, [&](std::size_t g, std::size_t b, std::size_t i, std::size_t j) {
      found[g].push_back(std::uint32_t(network.trained[g]->blocks[b].place(i, j)));
    });
    return found;
  }

  static Axis axis(Network<T>& network) {
    std::vector<Label> labels;
    each_weight(network, [&](std::size_t g, std::size_t b, std::size_t i, std::size_t j) {
      const Block& block = network.trained[g]->blocks[b];
      labels.push_back({std::uint64_t(g) << 32 | b, block.outer.label(i)[0], block.inner.label(j)[0]});
    });
    return {"weight", std::move(labels)};
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
      T* J = row(J_.data(), known++);
      for (std::size_t g = 0; g < places_->size(); ++g) {
        const T* gradient = network.trained[g]->gradient.data();
        for (const std::size_t place : (*places_)[g]) *J++ = slope * gradient[place];
      }
      std::fill(J, row(J_.data(), known), T(0));
    }
    return known;
  }

  // Turns the rows of V = J P into the changes u of P and moves the weights. False, and no weight moved, if
  // anything would not be finite.
  bool correct(Network<T>& network, int known) {
    T* const next = moved_.data();
    gather(network, next);
    const std::size_t n = std::size_t(covariance_.stride());
    Vec<T> check = {};  // stays 0 unless something is infinite or NaN
    for (int k = 0; k < known; ++k) {
      const T* J = row(J_.data(), k);
      T* v = row(V_.data(), k);
      for (int before = 0; before < k; ++before) {
        const T* u = row(V_.data(), before);
        const T overlap = dot<T, 2>(J, u, n);
        add(v, -overlap, u, n);
        error_[k] -= overlap * gain_[before];
      }
      T S = std::max(dot<T, 2>(J, v, n), T(0)) + rounding_ * dot<T, 2>(J, J, n) + noise_[k];
      const T expected = surprise_ * std::sqrt(S), size = std::abs(error_[k]);
      if (surprise_ > 0 && size > expected) S *= size / expected;
      const T scale = T(1) / std::sqrt(S);
      gain_[k] = error_[k] * scale;
      check = fma<T>(splat(S), Vec<T>{}, check);
      for (std::size_t i = 0; i < n; i += kLanes<T>) {
        const Vec<T> u = splat(scale) * load<T>(v + i);
        const Vec<T> moved = fma<T>(splat(gain_[k]), u, load<T>(next + i));
        check = fma<T>(u * u, Vec<T>{}, checked<T>(moved, check));
        store<T>(v + i, u);
        store<T>(next + i, moved);
      }
    }
    if (sum<T>(check) != 0) return false;
    scatter(network, next);
    return true;
  }

  void gather(const Network<T>& network, T* out) const {
    T* const end = out + covariance_.stride();
    for (std::size_t g = 0; g < places_->size(); ++g)
      for (const std::size_t place : (*places_)[g]) *out++ = network.trained[g]->weights[place];
    std::fill(out, end, T(0));
  }
  void scatter(Network<T>& network, const T* in) const {
    for (std::size_t g = 0; g < places_->size(); ++g)
      for (const std::size_t place : (*places_)[g]) network.trained[g]->weights[place] = *in++;
  }

  T* row(T* matrix, int k) const { return matrix + std::size_t(k) * covariance_.stride(); }

  T initial_variance_, process_noise_, measurement_noise_;
  T surprise_;  // 0: nothing is
  // The size of the error that rounding makes in P at one update: a noise, too, and one that would in time
  // make P indefinite if it were not counted in S and in the process noise.
  T rounding_ = 0;
  std::shared_ptr<const Places> places_;  // of the weights in the array of each group
  int n_ = 0;                             // weights in all
  Covariance<T, Kept> covariance_;
  Buffer<T> U_;       // [n_outputs][stride]: changes of P still to be made
  int pending_ = 0;   // rows of U
  Scratch<T> J_, V_;  // [n_outputs][stride]: Jacobian, J P
  Scratch<T> moved_;  // weights after the update
  Scratch<T> spare_;  // see Covariance::step
  Scratch<T> answer_, error_, noise_, gain_;
};

}  // namespace elman
