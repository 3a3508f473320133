// What the targets of one output have shown so far: the newest ones, and how far answers may go.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "archive.hpp"
#include "prepare/scaling.hpp"

namespace elman {

struct Shown {
  static constexpr double kRecent = 0.3;  // share of the newest target in the recent mean
  static constexpr double kMargin = 0.5;  // by how much of the range answers may leave it

  double count = 0, lowest = 0, highest = 0;
  double last = 0, row_of_last = 0, recent_mean = 0;

  void observe(double y, std::int64_t row) {
    if (std::isnan(y)) return;
    y = std::clamp(y, -Moments::kAbsurd, Moments::kAbsurd);
    lowest = count > 0 ? std::min(lowest, y) : y;
    highest = count > 0 ? std::max(highest, y) : y;
    if (double(row) >= row_of_last) last = y;
    row_of_last = std::max(row_of_last, double(row));
    count += 1;
    recent_mean += (y - recent_mean) * std::max(1 / count, kRecent);
  }

  // What a state of former versions, which knew the scaling alone, has shown: answers may go as far as then.
  static Shown of(const Moments& moments) {
    const double reach = Moments::kLimit * moments.deviation() / (1 + 2 * kMargin);
    return {moments.count, moments.mean - reach, moments.mean + reach, moments.mean, 0, moments.mean};
  }

  double margin() const { return kMargin * (highest - lowest); }
};

// Walks what the outputs have shown.
inline void exchange_shown(Archive& archive, std::vector<Shown>& shown) {
  constexpr std::size_t n = 6;
  static_assert(sizeof(Shown) == n * sizeof(double));
  archive.array("shown", reinterpret_cast<double*>(shown.data()), {"output", shown.size()}, {"shown", n}, n);
  for (const Shown& each : shown)
    archive.require(each.count >= 0 && each.row_of_last >= 0 && each.lowest <= each.highest &&
                        std::max(std::abs(each.lowest), std::abs(each.highest)) <= 2 * Moments::kAbsurd &&
                        std::abs(each.last) <= Moments::kAbsurd &&
                        std::abs(each.recent_mean) <= Moments::kAbsurd,
                    "what the targets have shown is out of order");
}

}  // namespace elman
