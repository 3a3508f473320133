// Numbers as they are kept where memory is scarce: IEEE half precision, 16 bits. Arithmetic is done in float.
#pragma once

#include <bit>
#include <cstdint>

#include "simd/lane.hpp"

namespace elman {

// 11 bits of precision, from 2^-14 to 65504; what is larger becomes that, what is smaller 0, whatever the
// machine.
struct Half {
  static constexpr float kLargest = 65504, kSmallest = 0x1p-14f;

  std::uint16_t bits = 0;

  Half() = default;
  Half(float value) {
    std::uint32_t b = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = b >> 16 & 0x8000;
    float size = std::bit_cast<float>(b & 0x7fffffff);
    size = size < kLargest ? size : kLargest;
    b = std::bit_cast<std::uint32_t>(size < kSmallest ? 0 : size * 0x1p-112f);
    bits = std::uint16_t((b + 0xfff + (b >> 13 & 1)) >> 13 | sign);
  }
  operator float() const {
    const std::uint32_t rest = std::uint32_t(bits & 0x7fff) << 13, sign = std::uint32_t(bits & 0x8000) << 16;
    // All ones in the exponent, which no number here has, are infinity or NaN there, too.
    const float size = std::bit_cast<float>(rest) * 0x1p112f;
    if ((bits & 0x7c00) == 0x7c00) return std::bit_cast<float>(rest | 0x7f800000 | sign);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
  }
};

namespace detail {
typedef std::uint16_t Halves __attribute__((vector_size(ELMAN_LANE_BYTES / 2)));
typedef std::uint16_t HalvesInMemory
    __attribute__((vector_size(ELMAN_LANE_BYTES / 2), may_alias, aligned(alignof(std::uint16_t))));
typedef std::uint32_t Words __attribute__((vector_size(ELMAN_LANE_BYTES)));

ELMAN_INLINE Vec<float> widened(Halves bits) {
#if defined(__AVX512F__) && ELMAN_LANE_BYTES == 64
  return _mm512_cvtph_ps(__m256i(bits));
#else
  const Words wide = __builtin_convertvector(bits, Words);
  const Vec<float> size = Vec<float>((wide & 0x7fff) << 13) * 0x1p112f;
  return Vec<float>(Words(size) | (wide & 0x8000) << 16);
#endif
}

ELMAN_INLINE Halves narrowed(Vec<float> v) {
#if defined(__AVX512F__) && ELMAN_LANE_BYTES == 64
  v = _mm512_range_ps(v, _mm512_set1_ps(Half::kLargest), 0b0010);  // the smaller size, the sign of v
  const __mmask16 large = _mm512_cmp_ps_mask(_mm512_abs_ps(v), _mm512_set1_ps(Half::kSmallest), _CMP_GE_OQ);
  return Halves(_mm512_maskz_cvtps_ph(large, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  const Words sign = Words(v) & 0x80000000u;
  Vec<float> size = min<float>(Vec<float>(Words(v) & 0x7fffffffu), splat(Half::kLargest));
  size = Vec<float>(Words(size) & Words(size >= splat(Half::kSmallest)));
  const Words b = Words(size * 0x1p-112f);
  return __builtin_convertvector((b + 0xfff + (b >> 13 & 1)) >> 13 | sign >> 16, Halves);
#endif
}
}  // namespace detail

// A vector of T from numbers that are kept as T or in half precision.
template <class T>
ELMAN_INLINE Vec<T> load_kept(const T* p) {
  return load<T>(p);
}
template <class T>
ELMAN_INLINE Vec<T> load_kept(const Half* p) {
  if constexpr (sizeof(T) == 4) {
    return detail::widened(*reinterpret_cast<const detail::HalvesInMemory*>(p));
  } else {
    Vec<T> v;
    for (int i = 0; i < kLanes<T>; ++i) v[i] = T(float(p[i]));
    return v;
  }
}

// Keeps a vector, and returns it as it will be loaded.
template <class T>
ELMAN_INLINE Vec<T> keep(T* p, Vec<T> v) {
  store<T>(p, v);
  return v;
}
template <class T>
ELMAN_INLINE Vec<T> keep(Half* p, Vec<T> v) {
  if constexpr (sizeof(T) == 4) {
    const detail::Halves bits = detail::narrowed(v);
    *reinterpret_cast<detail::HalvesInMemory*>(p) = bits;
    return detail::widened(bits);
  } else {
    for (int i = 0; i < kLanes<T>; ++i) v[i] = T(float(p[i] = Half(float(v[i]))));
    return v;
  }
}

// The same where only the lower half of a vector is kept; the other lanes are 0.
namespace detail {
typedef std::uint16_t LowHalvesInMemory
    __attribute__((vector_size(ELMAN_LANE_BYTES / 4), may_alias, aligned(alignof(std::uint16_t))));
typedef float LowInMemory
    __attribute__((vector_size(ELMAN_LANE_BYTES / 2), may_alias, aligned(alignof(float))));

template <class Low, int... I>
ELMAN_INLINE auto with_zeros(Low low, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(low, low - low, I...);
}
template <class All, int... I>
ELMAN_INLINE auto lower(All all, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(all, all, I...);
}
using Lanes = std::make_integer_sequence<int, kLanes<float>>;
using LowLanes = std::make_integer_sequence<int, kLanes<float> / 2>;
}  // namespace detail

ELMAN_INLINE Vec<float> load_low(const float* p) {
  const detail::LowInMemory low = *reinterpret_cast<const detail::LowInMemory*>(p);
  return detail::with_zeros(low, detail::Lanes{});
}
ELMAN_INLINE Vec<float> load_low(const Half* p) {
  const detail::LowHalvesInMemory low = *reinterpret_cast<const detail::LowHalvesInMemory*>(p);
  return detail::widened(detail::with_zeros(low, detail::Lanes{}));
}
ELMAN_INLINE Vec<float> keep_low(float* p, Vec<float> v) {
  *reinterpret_cast<detail::LowInMemory*>(p) = detail::lower(v, detail::LowLanes{});
  return load_low(p);
}
ELMAN_INLINE Vec<float> keep_low(Half* p, Vec<float> v) {
  const auto low = detail::lower(detail::narrowed(v), detail::LowLanes{});
  *reinterpret_cast<detail::LowHalvesInMemory*>(p) = low;
  return detail::widened(detail::with_zeros(low, detail::Lanes{}));
}

}  // namespace elman
