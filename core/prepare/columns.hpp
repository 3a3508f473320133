// The columns of a row as networks see them: past targets, features, and behind them a constant 1.
#pragma once

#include <cstdint>
#include <vector>

#include "archive.hpp"

namespace elman {

// The last `lags` targets of each of `outputs` outputs, the newest first, and then the features.
struct Columns {
  int outputs, lags, features;

  int lagged() const { return outputs * lags; }
  int count() const { return lagged() + features; }

  Axis axis() const { return {"column", labels()}; }

  // With the constant.
  Axis inputs() const {
    std::vector<Label> all = labels();
    all.push_back(kConstant);
    return {"input", std::move(all)};
  }

  static constexpr Label kConstant = {std::uint64_t(3) << 60};

 private:
  std::vector<Label> labels() const {
    std::vector<Label> all;
    for (std::uint64_t k = 0; k < std::uint64_t(outputs); ++k)
      for (std::uint64_t lag = 0; lag < std::uint64_t(lags); ++lag)
        all.push_back({std::uint64_t(1) << 60 | k << 30 | lag});
    for (std::uint64_t j = 0; j < std::uint64_t(features); ++j) all.push_back({std::uint64_t(2) << 60 | j});
    return all;
  }
};

}  // namespace elman
