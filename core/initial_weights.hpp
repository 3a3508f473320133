// The weights that a network begins with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parameters.hpp"
#include "prepare/columns.hpp"
#include "random.hpp"

namespace elman {

// Weights ~ N(0, 0.1²), section IV of the paper; D, what a readout makes of the inputs alone, stays 0. Each
// column has a random stream of its own.
template <class T>
void draw_weights(Parameters<T>& group, std::vector<std::uint64_t> seed) {
  const std::size_t n_seed = seed.size();
  for (const Block& block : group.blocks) {
    const std::string name = block.name;
    if (name == "D") continue;
    seed.resize(n_seed + 1);
    seed.insert(seed.end(), name.begin(), name.end());
    for (std::size_t i = 0; i < block.outer.size(); ++i) {
      // The constant is the last input; its stream has the number that no feature has.
      seed[n_seed] = block.outer.label(i) == Columns::kConstant ? 0 : i + 1;
      NormalStream stream(seed);
      for (std::size_t j = 0; j < block.inner.size(); ++j)
        group.weights[block.place(i, j)] = T(stream.next(0, 0.1));
    }
  }
}

}  // namespace elman
