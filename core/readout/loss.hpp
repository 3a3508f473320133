// The two losses: half the squared error, and cross-entropy after a sigmoid (Appendix A of the paper).
#pragma once

#include "simd/lane.hpp"

namespace elman {

enum class Loss { squared, logistic };

// What the model answers when the readout gives z. The derivative of either loss in z is answer - target.
template <class T>
ELMAN_INLINE Vec<T> output(Loss loss, Vec<T> z) {
  return loss == Loss::squared ? z : sigmoid<T>(z);
}

}  // namespace elman
