// Which inputs matter: how much the answer changes when an input moves by one standard deviation, a running
// mean over some of the rows. Central differences stand for the gradient: members and readouts have none by
// their inputs, and the order and the sizes are the same (benchmarks/importance.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "archive.hpp"
#include "simd/buffer.hpp"

namespace elman {

class Importance {
 public:
  static constexpr std::int64_t kEvery = 128;  // rows from one look to the next: they cost little then

  static bool looks_at(std::int64_t row) { return row % kEvery == 0; }

  Importance(std::size_t outputs, const Axis& columns)
      : outputs_(outputs), columns_(columns), mean_(outputs * columns.size()) {}

  // Begins the next look: what was seen before fades.
  void look() { ++looks_; }

  // The answer of output k moved so far, in units of the target, with column j.
  void learn(std::size_t k, std::size_t j, double change) {
    double& mean = mean_[k * columns_.size() + j];
    mean += (std::min(std::abs(change), kAbsurd) - mean) * std::max(1 / double(looks_), kFade);
  }

  // [output][column]
  const Buffer<double>& mean() const { return mean_; }

  void exchange(Archive& archive) {
    if (!archive.has_part("importance_looks", looks_ > 0)) return;
    archive.value("importance_looks", looks_);
    archive.array("importance", mean_.data(), {"output", outputs_}, columns_, columns_.size());
    if (std::any_of(mean_.begin(), mean_.end(), [](double size) { return size < 0; }))
      throw std::invalid_argument("an importance is negative");
  }

 private:
  static constexpr double kFade = 0.05;  // share of the newest look
  static constexpr double kAbsurd = 1e100;

  std::size_t outputs_;
  Axis columns_;
  std::int64_t looks_ = 0;
  Buffer<double> mean_;
};

}  // namespace elman
