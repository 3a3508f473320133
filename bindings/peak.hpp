// What this core can do at most: the measure that the benchmarks hold the kernel against.
#pragma once

#include <algorithm>
#include <chrono>

#include "simd/lane.hpp"

namespace elman {

// 10^9 floating-point operations per second of independent fused multiply-adds in registers, best of many
// short runs.
template <class T>
double peak_gflops() {
  constexpr int kChains = 10, kRounds = 10000, kRuns = 300;
  volatile T seed = T(0.999), addend = T(0.001);
  const Vec<T> b = splat(T(seed)), c = splat(T(addend));
  Vec<T> a[kChains];
  for (int i = 0; i < kChains; ++i) a[i] = splat(T(i + 1));
  double best = 1e30;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < kRounds; ++round)
      for (int i = 0; i < kChains; ++i) a[i] = fma<T>(a[i], b, c);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  Vec<T> total = a[0];
  for (int i = 1; i < kChains; ++i) total += a[i];
  volatile T keep = sum<T>(total);
  static_cast<void>(keep);
  return 2.0 * kChains * kRounds * kLanes<T> / best * 1e-9;
}

}  // namespace elman
