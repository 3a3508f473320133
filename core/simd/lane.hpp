// The SIMD vector that everything else is written in: a fixed number of lanes, one hidden unit each.
//
// Built on the vector extensions of GCC and Clang, so the same source serves SSE2, AVX2, AVX-512 and NEON;
// the build chooses the width with ELMAN_LANE_BYTES and the instruction set with compiler flags.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#ifndef ELMAN_LANE_BYTES
#define ELMAN_LANE_BYTES 16
#endif

#define ELMAN_INLINE inline __attribute__((always_inline))

namespace elman {

template <class T>
struct LaneTypes {
  typedef T Register __attribute__((vector_size(ELMAN_LANE_BYTES)));
  typedef T Memory __attribute__((vector_size(ELMAN_LANE_BYTES), may_alias, aligned(alignof(T))));
};

template <class T>
using Vec = typename LaneTypes<T>::Register;

template <class T>
inline constexpr int kLanes = ELMAN_LANE_BYTES / sizeof(T);

// The smallest multiple of the vector width that holds n elements.
template <class T>
constexpr int padded(int n) {
  return (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

template <class T>
ELMAN_INLINE Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename LaneTypes<T>::Memory*>(p);
}

template <class T>
ELMAN_INLINE void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename LaneTypes<T>::Memory*>(p) = v;
}

template <class T>
ELMAN_INLINE Vec<T> splat(T x) {
  return x - Vec<T>{};
}

namespace detail {
template <class T>
struct PortableOps {
  ELMAN_INLINE static Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) { return a * b + c; }
  ELMAN_INLINE static Vec<T> min(Vec<T> a, Vec<T> b) { return a < b ? a : b; }
  ELMAN_INLINE static Vec<T> max(Vec<T> a, Vec<T> b) { return a > b ? a : b; }
  ELMAN_INLINE static Vec<T> sqrt(Vec<T> a) {
    for (int i = 0; i < kLanes<T>; ++i) a[i] = std::sqrt(a[i]);
    return a;
  }
};
template <class T>
struct Ops : PortableOps<T> {};

#define ELMAN_NATIVE_OPS(T, MIN, MAX, SQRT, FMA)                                 \
  template <>                                                                    \
  struct Ops<T> {                                                                \
    ELMAN_INLINE static Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) { return FMA; } \
    ELMAN_INLINE static Vec<T> min(Vec<T> a, Vec<T> b) { return MIN(a, b); }     \
    ELMAN_INLINE static Vec<T> max(Vec<T> a, Vec<T> b) { return MAX(a, b); }     \
    ELMAN_INLINE static Vec<T> sqrt(Vec<T> a) { return SQRT(a); }                \
  };
#if defined(__AVX512F__) && ELMAN_LANE_BYTES == 64
ELMAN_NATIVE_OPS(float, _mm512_min_ps, _mm512_max_ps, _mm512_sqrt_ps, _mm512_fmadd_ps(a, b, c))
ELMAN_NATIVE_OPS(double, _mm512_min_pd, _mm512_max_pd, _mm512_sqrt_pd, _mm512_fmadd_pd(a, b, c))
#elif defined(__FMA__) && ELMAN_LANE_BYTES == 32
ELMAN_NATIVE_OPS(float, _mm256_min_ps, _mm256_max_ps, _mm256_sqrt_ps, _mm256_fmadd_ps(a, b, c))
ELMAN_NATIVE_OPS(double, _mm256_min_pd, _mm256_max_pd, _mm256_sqrt_pd, _mm256_fmadd_pd(a, b, c))
#elif defined(__SSE2__) && ELMAN_LANE_BYTES == 16
ELMAN_NATIVE_OPS(float, _mm_min_ps, _mm_max_ps, _mm_sqrt_ps, a* b + c)
ELMAN_NATIVE_OPS(double, _mm_min_pd, _mm_max_pd, _mm_sqrt_pd, a* b + c)
#elif defined(__aarch64__) && ELMAN_LANE_BYTES == 16
ELMAN_NATIVE_OPS(float, vminq_f32, vmaxq_f32, vsqrtq_f32, vfmaq_f32(c, a, b))
ELMAN_NATIVE_OPS(double, vminq_f64, vmaxq_f64, vsqrtq_f64, vfmaq_f64(c, a, b))
#endif
#undef ELMAN_NATIVE_OPS

// Index of the source lane for destination lane I: the chosen 128-bit quarter everywhere, then the chosen
// lane of it. Two short shuffles beat one long one: a shuffle inside 128 bits takes one cycle, across them at
// least three.
template <class T>
inline constexpr int kQuad = 16 / sizeof(T);

template <class T, int Quarter, int... I>
ELMAN_INLINE Vec<T> spread_quarter(Vec<T> v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (Quarter * kQuad<T> + I % kQuad<T>)...);
}
template <class T, int Lane, int... I>
ELMAN_INLINE Vec<T> spread_lane(Vec<T> v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I / kQuad<T> * kQuad<T> + Lane)...);
}
}  // namespace detail

// Every 128-bit quarter of the result is quarter `Quarter` of v.
template <class T, int Quarter>
ELMAN_INLINE Vec<T> spread_quarter(Vec<T> v) {
#if defined(__AVX__) && ELMAN_LANE_BYTES == 32
  // One cycle instead of the three of the general shuffle, at the head of the recursion's dependency chain.
  if constexpr (Quarter == 0 && sizeof(T) == 4)
    return _mm256_insertf128_ps(v, _mm256_castps256_ps128(v), 1);
  else if constexpr (Quarter == 0)
    return _mm256_insertf128_pd(v, _mm256_castpd256_pd128(v), 1);
  else
#endif
    return detail::spread_quarter<T, Quarter>(v, std::make_integer_sequence<int, kLanes<T>>{});
}

// Every lane of the result is lane `Lane` of its own 128-bit quarter of v.
template <class T, int Lane>
ELMAN_INLINE Vec<T> spread_lane(Vec<T> v) {
  return detail::spread_lane<T, Lane>(v, std::make_integer_sequence<int, kLanes<T>>{});
}

// a b + c, min, max and square root in one instruction where the target has one. The compiler may not
// contract or reorder anything else (-ffp-contract=off), so a result depends on the instruction set and never
// on what a call was inlined into.
template <class T>
ELMAN_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  return detail::Ops<T>::fma(a, b, c);
}
template <class T>
ELMAN_INLINE Vec<T> min(Vec<T> a, Vec<T> b) {
  return detail::Ops<T>::min(a, b);
}
template <class T>
ELMAN_INLINE Vec<T> max(Vec<T> a, Vec<T> b) {
  return detail::Ops<T>::max(a, b);
}
template <class T>
ELMAN_INLINE Vec<T> sqrt(Vec<T> a) {
  return detail::Ops<T>::sqrt(a);
}

namespace detail {
template <class T, int Width, int... I>
ELMAN_INLINE Vec<T> fold(Vec<T> v, std::integer_sequence<int, I...> lanes) {
  v += __builtin_shufflevector(v, v, (I ^ Width)...);
  if constexpr (Width > 1)
    return fold<T, Width / 2>(v, lanes);
  else
    return v;
}
}  // namespace detail

// The sum of all lanes, halves first.
template <class T>
ELMAN_INLINE T sum(Vec<T> v) {
  return detail::fold<T, kLanes<T> / 2>(v, std::make_integer_sequence<int, kLanes<T>>{})[0];
}

namespace detail {
// Adds neighbouring groups of Width lanes of a, and of b, and puts the sums side by side.
template <class T, int Width, int... I>
ELMAN_INLINE Vec<T> add_pairs(Vec<T> a, Vec<T> b, std::integer_sequence<int, I...>) {
  constexpr auto from = [](int i, int shift) {
    const int within = i % (2 * Width);
    return i - within + shift + (within < Width ? within : kLanes<T> + within - Width);
  };
  return __builtin_shufflevector(a, b, from(I, 0)...) + __builtin_shufflevector(a, b, from(I, Width)...);
}

template <class T, int Width>
ELMAN_INLINE Vec<T> sums(const Vec<T>* v) {
  if constexpr (Width == 0)
    return v[0];
  else
    return add_pairs<T, Width>(sums<T, Width / 2>(v), sums<T, Width / 2>(v + Width),
                               std::make_integer_sequence<int, kLanes<T>>{});
}
}  // namespace detail

// Lane i of the result is the sum of all lanes of v[i].
template <class T>
ELMAN_INLINE Vec<T> sums(const Vec<T> (&v)[kLanes<T>]) {
  return detail::sums<T, kLanes<T> / 2>(v);
}

// tanh(x) = x P(s)/Q(s) with s = x², the best rational function in relative error on |x| ≤ limit (found by
// Remez' exchange). Beyond the limit s stays and x grows, so the final clamp gives ±1, which tanh is to the
// last bit there; it also keeps rounding from passing 1. P and Q are evaluated pairwise, for a short chain of
// dependent operations.
ELMAN_INLINE Vec<float> tanh(Vec<float> x) {
  using V = Vec<float>;
  const auto c = [](float value) { return splat(value); };
  const auto f = [](V a, V b, V d) { return fma<float>(a, b, d); };
  const V one = c(1.0f);
  const V s = min<float>(x * x, c(8.6f * 8.6f)), s2 = s * s;
  const V p0 = x * f(s, c(0.13406874515273117772f), c(0.99999998673772963243f));
  const V p2 =
      f(s2, c(1.4082462920599831249e-8f), f(s, c(0.000021122370841421565199f), c(0.0035264007280485120532f)));
  const V q0 = f(s, c(0.46740196051532522144f), one);
  const V q2 =
      f(s2, c(8.0706320817003507522e-7f), f(s, c(0.00033362690009942670384f), c(0.025993896486052804001f)));
  const V ratio = f(x * s2, p2, p0) / f(s2, q2, q0);
  return max<float>(min<float>(ratio, one), -one);
}

ELMAN_INLINE Vec<double> tanh(Vec<double> x) {
  using V = Vec<double>;
  const auto c = [](double value) { return splat(value); };
  const auto f = [](V a, V b, V d) { return fma<double>(a, b, d); };
  const V one = c(1.0);
  const V s = min<double>(x * x, c(18.5 * 18.5)), s2 = s * s, s4 = s2 * s2;
  const V p01 = f(s, c(0.15187264155044213741), c(0.9999999999999999617));
  const V p23 = f(s, c(0.000093982922732676703699), c(0.0059847787741206131426));
  const V p45 = f(s, c(2.4749930033286000233e-9), c(6.8852177586431492952e-7));
  const V p67 = f(s, c(3.1733499296057602513e-15), c(4.2674145432925996122e-12));
  const V p89 = f(s, c(2.6897435614000523159e-23), c(7.806429726157614377e-19));
  const V q01 = f(s, c(0.48520597488377497702), one);
  const V q23 = f(s, c(0.00083036370716457297439), c(0.034386770402046655936));
  const V q45 = f(s, c(4.5112476750270093652e-8), c(8.8044471783426772836e-6));
  const V q67 = f(s, c(1.3071863944446736642e-13), c(1.1313886968560552732e-10));
  const V q89 = f(s, c(6.6181468316034345797e-21), c(5.8781638987553469217e-17));
  const V p = f(x * s4, f(s4, p89, f(s2, p67, p45)), x * f(s2, p23, p01));
  const V q = f(s4, f(s4, q89, f(s2, q67, q45)), f(s2, q23, q01));
  return max<double>(min<double>(p / q, one), -one);
}

template <class T>
ELMAN_INLINE Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> half = splat(T(0.5));
  return fma<T>(half, tanh(half * x), half);
}

}  // namespace elman
