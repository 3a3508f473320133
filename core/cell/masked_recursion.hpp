// The recursion of an Elman network whose units take a step only when a mask says so, and keep their value
// otherwise.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd/product.hpp"
#include "simd/unrolled.hpp"

namespace elman {

template <class T>
struct MaskedRecursion {
  // What a recursion forward works on. The drive of tick i is drive + i * drive_step, plus U x_i of n_inputs
  // inputs.
  struct Pass {
    const T* matrix;  // W of the group
    const T* drive;
    int drive_step;
    const T *U, *X;
    int n_inputs;
    T* states;  // states[0] is the state before the first tick
    int n;
    const T* mask = nullptr;  // of the first tick
    const T* mask_end = nullptr;
    int cycle_length = 0, size = 0, rows = 0;
  };
  struct BackwardPass {
    const T* matrix;  // the transpose of W
    const T* force;   // dL/dh of each tick, without what comes from later ticks
    const T* states;
    T *delta, *held;
    int n;
    const T* mask;  // of the last tick
    const T* mask_begin;
    int cycle_length, size, rows;
  };

  static void forward(const Pass& p) {
    p.size <= Unrolled<T>::kLargest ? kForward[Unrolled<T>::index(p.size)](p) : forward_any(p);
  }
  static void backward(const BackwardPass& p) {
    p.size <= Unrolled<T>::kLargest ? kBackward[Unrolled<T>::index(p.size)](p) : backward_any(p);
  }

 private:
  // h_i = tanh(W h_{i-1} + drive_i) for the units that are due
  template <int Columns>
  static void forward_unrolled(const Pass& p) {
    constexpr int vectors = padded<T>(Columns) / kLanes<T>, rows = vectors * kLanes<T>;
    Vec<T> h[vectors];
    for (int v = 0; v < vectors; ++v) h[v] = load<T>(p.states + v * kLanes<T>);
    const T *mask = p.mask, *drive = p.drive, *x = p.X;
    T* out = p.states + rows;
    for (int i = 0; i < p.n; ++i, drive += p.drive_step, x += p.n_inputs, out += rows) {
      Vec<T> a[vectors];
      multiply_inputs<T, vectors>(p.U, p.n_inputs, x, a);
      for (int v = 0; v < vectors; ++v) a[v] += load<T>(drive + v * kLanes<T>);
      SmallProduct<T, Columns, vectors>::multiply_add(p.matrix, h, a);
      for (int v = 0; v < vectors; ++v) {
        h[v] = load<T>(mask + v * kLanes<T>) != Vec<T>{} ? tanh(a[v]) : h[v];
        store<T>(out + v * kLanes<T>, h[v]);
      }
      mask += rows;
      if (mask == p.mask_end) mask -= p.cycle_length;
    }
  }

  // With g_i = dL/dh_i: delta_i = (1 - h_i²) g_i for the units that are due and 0 for the others, which hold
  // g_i, and g_{i-1} = force_{i-1} + W^T delta_i + (g_i where held).
  template <int Columns>
  static void backward_unrolled(const BackwardPass& p) {
    constexpr int vectors = padded<T>(Columns) / kLanes<T>, rows = vectors * kLanes<T>;
    Vec<T> delta[vectors] = {}, held[vectors] = {};
    const T* mask = p.mask;
    for (int i = p.n - 1; i >= 0; --i) {
      const std::size_t row = std::size_t(i) * rows;
      Vec<T> a[vectors];
      for (int v = 0; v < vectors; ++v) a[v] = load<T>(p.force + row + v * kLanes<T>) + held[v];
      SmallProduct<T, Columns, vectors>::multiply_add(p.matrix, delta, a);
      for (int v = 0; v < vectors; ++v) {
        const auto due = load<T>(mask + v * kLanes<T>) != Vec<T>{};
        const Vec<T> h = load<T>(p.states + row + rows + v * kLanes<T>);
        delta[v] = due ? a[v] * (T(1) - h * h) : Vec<T>{};
        held[v] = due ? Vec<T>{} : a[v];
        store<T>(p.delta + row + v * kLanes<T>, delta[v]);
      }
      if (mask == p.mask_begin) mask += p.cycle_length;
      mask -= rows;
    }
  }

  // The same for any size; the drive is complete.
  static void forward_any(const Pass& p) {
    const T* mask = p.mask;
    for (int i = 0; i < p.n; ++i) {
      const T* before = p.states + std::size_t(i) * p.rows;
      T* h = p.states + std::size_t(i + 1) * p.rows;
      std::copy_n(p.drive + std::size_t(i) * p.drive_step, p.rows, h);
      multiply_add<T>(p.matrix, p.rows, p.size, before, h, i % 2 == 1);
      for (int v = 0; v < p.rows; v += kLanes<T>)
        store<T>(h + v, load<T>(mask + v) != Vec<T>{} ? tanh(load<T>(h + v)) : load<T>(before + v));
      mask += p.rows;
      if (mask == p.mask_end) mask -= p.cycle_length;
    }
  }

  static void backward_any(const BackwardPass& p) {
    std::fill_n(p.held, p.rows, T(0));
    const T* mask = p.mask;
    for (int i = p.n - 1; i >= 0; --i) {
      const T* h = p.states + std::size_t(i + 1) * p.rows;
      const T* force = p.force + std::size_t(i) * p.rows;
      T* delta = p.delta + std::size_t(i) * p.rows;
      for (int v = 0; v < p.rows; v += kLanes<T>)
        store<T>(delta + v, load<T>(force + v) + load<T>(p.held + v));
      if (i + 1 < p.n) multiply_add<T>(p.matrix, p.rows, p.size, delta + p.rows, delta, i % 2 == 1);
      for (int v = 0; v < p.rows; v += kLanes<T>) {
        const auto due = load<T>(mask + v) != Vec<T>{};
        const Vec<T> value = load<T>(h + v), a = load<T>(delta + v);
        store<T>(delta + v, due ? a * (T(1) - value * value) : Vec<T>{});
        store<T>(p.held + v, due ? Vec<T>{} : a);
      }
      if (mask == p.mask_begin) mask += p.cycle_length;
      mask -= p.rows;
    }
  }

  using Forward = void (*)(const Pass&);
  using Backward = void (*)(const BackwardPass&);
  static constexpr auto kForward = Unrolled<T>::table([](auto n) -> Forward { return &forward_unrolled<n>; });
  static constexpr auto kBackward =
      Unrolled<T>::table([](auto n) -> Backward { return &backward_unrolled<n>; });
};

}  // namespace elman
