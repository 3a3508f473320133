// Normally distributed random numbers, bit for bit those of NumPy:
//
//   NormalStream stream(entropy);       rng = np.random.default_rng(entropy)
//   stream.next(0.0, 0.1) n times       rng.normal(0, 0.1, n)
//
// A network thus starts from the same weights whether they are drawn here or by NumPy, as they are in the
// oracle that the tests compare with. It takes three steps, each in NumPy's own order of operations:
// SeedSequence spreads the entropy over 256 bits, PCG64 (XSL-RR 128/64) makes a stream of random bits of
// them, and a ziggurat of 256 levels turns these into normal numbers. To be compiled with -ffp-contract=off.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace elman {
namespace numpy {

__extension__ typedef unsigned __int128 Uint128;

// The hash of SeedSequence, which treats no two words alike.
struct SeedHash {
  std::uint32_t multiplier, factor;

  std::uint32_t operator()(std::uint32_t word) {
    word ^= multiplier;
    multiplier *= factor;
    word *= multiplier;
    return word ^ word >> 16;
  }
};

// SeedSequence(entropy).generate_state(4, np.uint64)
inline std::array<std::uint64_t, 4> seed_sequence(const std::vector<std::uint64_t>& entropy) {
  std::vector<std::uint32_t> words;
  words.reserve(2 * entropy.size() + 4);
  for (const std::uint64_t number : entropy) {
    words.push_back(static_cast<std::uint32_t>(number));
    if (number >> 32) words.push_back(static_cast<std::uint32_t>(number >> 32));
  }
  if (words.size() < 4) words.resize(4);

  std::array<std::uint32_t, 4> pool;
  SeedHash absorb{0x43b0d7e5, 0x931e8875};
  const auto mix = [&absorb](std::uint32_t& into, std::uint32_t word) {
    into = 0xca01f9dd * into - 0x4973f715 * absorb(word);
    into ^= into >> 16;
  };
  for (std::size_t i = 0; i < 4; ++i) pool[i] = absorb(words[i]);
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      if (from != to) mix(pool[to], pool[from]);
    }
  }
  for (std::size_t i = 4; i < words.size(); ++i) {
    for (std::uint32_t& into : pool) mix(into, words[i]);
  }

  std::array<std::uint64_t, 4> state;
  SeedHash squeeze{0x8b51f9dd, 0x58f38ded};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint64_t low = squeeze(pool[2 * i % 4]), high = squeeze(pool[2 * i % 4 + 1]);
    state[i] = high << 32 | low;
  }
  return state;
}

// The generator behind default_rng.
class PCG64 {
 public:
  explicit PCG64(const std::array<std::uint64_t, 4>& seed)
      : increment_((Uint128{seed[2]} << 64 | seed[3]) << 1 | 1),
        state_(increment_ + (Uint128{seed[0]} << 64 | seed[1])) {
    advance();
  }

  std::uint64_t bits() {
    advance();
    const auto high = static_cast<std::uint64_t>(state_ >> 64), low = static_cast<std::uint64_t>(state_);
    return std::rotr(high ^ low, static_cast<int>(high >> 58));
  }

  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  void advance() { state_ = state_ * (Uint128{0x2360ed051fc65da4} << 64 | 0x4385df649fccf645) + increment_; }

  Uint128 increment_, state_;
};

// The levels of the ziggurat, all of the same area, from the top (1) to the one with the tail (0). NumPy
// ships them as constants, once computed in double precision as here: each rounding counts. exp and log are
// taken in long double, so that the result is the double next to the truth whatever the mathematical library.
struct Ziggurat {
  static constexpr double tail = 3.6541528853610088, area = 0.0049286732339746519;

  std::array<std::uint64_t, 256> inner;  // positions below are under the curve (NumPy's ki)
  std::array<double, 256> width;         // of one of the 2^52 positions (wi)
  std::array<double, 256> height;        // of the curve at the right end (fi)

  Ziggurat() {
    double x = tail;
    for (std::size_t i = 255; i > 0; --i) {
      width[i] = x * 0x1p-52;
      height[i] = static_cast<double>(std::exp(static_cast<long double>(-0.5 * x * x)));
      if (i == 38) height[i] = std::nextafter(height[i], 1.0);  // a near tie that NumPy has the other way
      const long double above = height[i] + area / x;
      const double next = i > 1 ? std::sqrt(-2.0 * static_cast<double>(std::log(above))) : 0.0;
      inner[i] = static_cast<std::uint64_t>(std::nearbyint(next / x * 0x1p52));
      x = next;
    }
    inner[0] = static_cast<std::uint64_t>(std::nearbyint(tail * height[255] / area * 0x1p52));
    width[0] = area / height[255] * 0x1p-52;
    height[0] = 1.0;
  }
};

}  // namespace numpy

class NormalStream {
 public:
  explicit NormalStream(const std::vector<std::uint64_t>& entropy) : random_(numpy::seed_sequence(entropy)) {}

  // A number of the standard normal distribution.
  double next() {
    static const numpy::Ziggurat ziggurat;
    for (;;) {
      const std::uint64_t bits = random_.bits();
      const std::size_t level = bits & 0xff;
      const std::uint64_t position = bits >> 9 & 0xfffffffffffff;
      const double distance = static_cast<double>(position) * ziggurat.width[level];
      const double x = bits & 0x100 ? -distance : distance;
      if (position < ziggurat.inner[level]) return x;
      if (level == 0) return position & 0x100 ? -tail() : tail();
      const double below = ziggurat.height[level], above = ziggurat.height[level - 1];
      if ((above - below) * random_.uniform() + below < std::exp(-0.5 * x * x)) return x;
    }
  }

  double next(double mean, double deviation) { return mean + deviation * next(); }

 private:
  // A number beyond the widest level, by Marsaglia's method.
  double tail() {
    constexpr double r = numpy::Ziggurat::tail;
    for (;;) {
      const double x = -(1.0 / r) * std::log1p(-random_.uniform());
      const double y = -std::log1p(-random_.uniform());
      if (y + y > x * x) return r + x;
    }
  }

  numpy::PCG64 random_;
};

}  // namespace elman
