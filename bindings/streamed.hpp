// A native model as a fleet sees it, whatever it is a model of.
#pragma once

#include <cstddef>

// Not thread-safe, and knows nothing of Python once it is running: a fleet runs many at a time, each in one
// thread.
class Streamed {
 public:
  // Where answers go, a row after the other; `low` and `high`, the ends of intervals, may be null.
  struct Answers {
    double* answers;
    double* low;
    double* high;
    double coverage;
  };

  virtual ~Streamed() = default;
  virtual std::size_t row_size() const = 0;     // numbers of a row
  virtual std::size_t target_size() const = 0;  // of a target
  virtual std::size_t answer_size() const = 0;  // of an answer
  // Answers every row, then learns from its targets, NaN where unknown.
  virtual void run_rows(const double* X, const double* Y, std::size_t rows, const Answers& out) = 0;
};
