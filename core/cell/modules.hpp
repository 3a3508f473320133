// The modules of a clockwork: which units belong to one, and which modules are best computed together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "simd/lane.hpp"

namespace elman {

inline constexpr int kLongestCycle = 1024;  // ticks after which the mask of a group must repeat

struct Module {
  int begin, size;
  std::int64_t period;
  int end() const { return begin + size; }
};

// As equal as possible, the earlier modules taking the extra units.
inline std::vector<Module> split_modules(int n_hidden, const std::vector<double>& periods) {
  const int n = int(periods.size());
  std::vector<Module> modules;
  for (int i = 0, begin = 0; i < n; ++i) {
    const int size = n_hidden / n + (i < n_hidden % n ? 1 : 0);
    modules.push_back({begin, size, std::int64_t(std::min(periods[i], 0x1p52))});
    begin += size;
  }
  return modules;
}

// Processor cycles per sample, roughly, that the group of modules [first, last) costs: per tick the two
// recursions, whose products wait for their latency or for the multipliers, and the products outside of
// them.
template <class T>
double cost_of_group(const std::vector<Module>& modules, int first, int last, std::int64_t period,
                     int n_inputs) {
  const bool alone = first == 0 && last == int(modules.size()) && period == 1;
  const int begin = modules[first].begin, size = modules[last - 1].end() - begin;
  const double vectors = padded<T>(size) / kLanes<T>, above = double(padded<T>(begin)) / kLanes<T>;
  const double chained = vectors <= 2 ? size + 8 : vectors <= 4 ? 2 * size + 4 : 4 * size;
  const double recursion = 60 + 2 * std::max(chained, 0.5 * size * vectors);
  const double products = 0.8 * (vectors * (size + 2 * n_inputs) + 3 * above * size);
  return alone ? recursion + products : (recursion + products + 40) / double(period) + 12;
}

// The partition of the modules into groups of neighbours that costs least.
template <class T>
std::vector<std::pair<int, int>> cheapest_groups(const std::vector<Module>& modules, int n_inputs) {
  const int n = int(modules.size());
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<int> begin(n + 1, 0);
  best[0] = 0;
  for (int last = 1; last <= n; ++last) {
    std::int64_t period = 0, common = 1;
    for (int first = last - 1; first >= 0; --first) {
      const std::int64_t next = modules[first].period, factor = common / std::gcd(common, next);
      period = std::gcd(period, next);
      if (factor > kLongestCycle * period / next) break;
      common = factor * next;
      const double total = best[first] + cost_of_group<T>(modules, first, last, period, n_inputs);
      if (total < best[last]) best[last] = total, begin[last] = first;
    }
  }
  std::vector<std::pair<int, int>> groups;
  for (int last = n; last > 0; last = begin[last]) groups.insert(groups.begin(), {begin[last], last});
  return groups;
}

}  // namespace elman
