// What the outside sees of anything that learns a stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "archive.hpp"

namespace elman {

// Rows and answers are double arrays; a NaN feature is a missing one, a NaN target an unknown one. Not
// thread-safe: the caller holds a lock.
class Model {
 public:
  virtual ~Model() = default;

  // The answer for row x; changes nothing that `learn` or `exchange` could see.
  virtual void predict(const double* x, double* answer) = 0;
  // Learns one sample; with no known target it only advances the state.
  virtual void learn(const double* x, const double* y) = 0;
  // predict, then learn, for every row.
  virtual void run(const double* X, const double* Y, std::size_t rows, double* answers) = 0;
  // Samples seen, labelled samples, local regret.
  struct Meters {
    std::int64_t samples, steps;
    double local_regret;
  };
  virtual Meters meters() const = 0;
  // Walks the whole state, see Archive. `restored` must follow if anything was written.
  virtual void exchange(Archive& archive) = 0;
  virtual void restored() = 0;
};

}  // namespace elman
