// The two losses: half the squared error, and cross-entropy after a sigmoid (Appendix A of the paper).
#pragma once

#include <cmath>

#include "lane.hpp"

namespace elman {

enum class Loss { squared, logistic };

// What the model answers when the readout gives z.
template <class T>
inline T output(Loss loss, T z) {
  return loss == Loss::squared ? z : sigmoid<T>(splat(z))[0];
}

// d loss / d z, the same for both losses; an unknown target (NaN) exerts no force.
template <class T>
inline T output_error(Loss loss, T z, T target) {
  return std::isnan(target) ? T(0) : output(loss, z) - target;
}

}  // namespace elman
