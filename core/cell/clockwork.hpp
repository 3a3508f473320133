// The Clockwork RNN (Koutnik, Greff, Gomez and Schmidhuber, 2014): the hidden units are split into modules,
// each with a period. At sample number s the modules whose period divides s take the step of an Elman
// network, the others keep their value; a module reads itself and the slower ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "cell/along.hpp"
#include "cell/cell.hpp"
#include "cell/masked_recursion.hpp"
#include "cell/modules.hpp"
#include "options.hpp"
#include "simd/buffer.hpp"
#include "simd/product.hpp"
#include "simd/transpose.hpp"
#include "simd/unrolled.hpp"

namespace elman {

// The weights are the columns of U and then those of W, each of `stride` elements, units in the order fastest
// to slowest: W is block upper triangular, and the entries below its blocks are held at zero.
//
// Because no module reads a faster one, the passes need not go sample by sample. The modules are put into
// groups of neighbours, and each group runs over the samples at which it ticks before the next faster one
// does; backward it is the other way round. Only what a group does to itself is a recursion. What it gives to
// the faster groups changes only when it ticks, so that it is one product for each tick rather than for each
// sample; backward, the deltas of the faster groups are summed from tick to tick first. A group ticks at the
// samples divisible by the greatest common divisor of its modules' periods, and a mask holds the units that
// are not due: for small modules that is cheaper than a recursion each.
template <class T>
class Clockwork final : public Cell<T> {
 public:
  Clockwork(CellSizes sizes, const Options& options) : Clockwork(sizes, options.numbers("periods")) {}

  Clockwork(CellSizes sizes, const std::vector<double>& periods)
      : Cell<T>(
            sizes, layout(sizes),
            std::size_t(sizes.n_inputs + sizes.n_hidden + Unrolled<T>::kSpare) * padded<T>(sizes.n_hidden)),
        n_inputs_(sizes.n_inputs),
        n_hidden_(sizes.n_hidden),
        stride_(padded<T>(sizes.n_hidden)),
        modules_(split_modules(n_hidden_, periods)),
        states_((std::size_t(sizes.capacity) + 2) * stride_),
        row_(2 * std::size_t(stride_)) {
    for (const auto& [first, last] : cheapest_groups<T>(modules_, n_inputs_))
      groups_.push_back(make_group(first, last));
    link_groups();
    alone_ = groups_.size() == 1 && groups_[0].period == 1;
    std::size_t largest = 0;
    for (const Group& g : groups_)
      largest = std::max(largest,
                         std::size_t(g.rows) * std::max(n_inputs_, g.size) + std::size_t(g.above) * g.size);
    scratch_ = Buffer<T>(largest);
  }

  T* hidden(int i) override { return states_.data() + std::size_t(i) * stride_; }

  void refresh(T* weights) override {
    T* W = recurrent(weights);
    erase_missing(W);
    if (alone_)
      return transpose<T>(W, stride_, n_hidden_, n_hidden_, groups_[0].own_transposed.data(), stride_);
    for (Group& g : groups_) {
      for (int k = 0; k < n_inputs_; ++k)
        take(g, weights + std::size_t(k) * stride_, g.input.data() + std::size_t(k) * g.rows);
      for (int c = 0; c < g.size; ++c) {
        const T* column = W + std::size_t(g.begin + c) * stride_;
        take(g, column, g.own.data() + std::size_t(c) * g.rows);
        for (const Group* f = groups_.data(); f != &g; ++f)
          take(*f, column, g.given.data() + std::size_t(c) * g.above + f->above);
      }
      transpose<T>(g.own.data(), g.rows, g.size, g.size, g.own_transposed.data(), g.rows);
      transpose<T>(g.given.data(), g.above, g.above, g.size, g.given_transposed.data(), g.rows);
    }
  }

  void forward(const T* weights, const T* X, int first, int last, std::int64_t clock) override {
    if (alone_) return forward_alone(weights, X + std::size_t(first) * n_inputs_, first, last, clock);
    for (std::size_t j = groups_.size(); j-- > 0;) {
      Group& g = groups_[j];
      const Ticks ticks = g.ticks = ticks_of(g, first, last, clock);
      product<T>(g.input.data(), g.rows, n_inputs_, {X + ticks.first * n_inputs_, ticks.step * n_inputs_, 1},
                 ticks.count, g.drive.data());
      for (const Source& source : g.sources) receive(g, *source.group);
      take(g, hidden(first), g.states.data());
      recur(g, {g.own.data(), g.drive.data(), g.rows, nullptr, nullptr, 0, g.states.data(), ticks.count},
            clock + ticks.first);
      product<T>(g.given.data(), g.above, g.size, {g.states.data(), g.rows, 1}, ticks.count + 1,
                 g.exchanged.data());
      for (const Source& source : g.sources)
        if (source.passed_on) pass_on(g, *source.group);
    }
    scatter_states(first, last);
  }

  void backward(const T* dLdh, int first, int last, std::int64_t clock) override {
    if (alone_) return recur_back(groups_[0], dLdh, hidden(first), last - first, clock + first);
    for (Group& g : groups_) {
      g.ticks = ticks_of(g, first, last, clock);
      std::fill_n(g.exchanged.data(), std::size_t(g.ticks.count + 1) * g.above, T(0));
    }
    std::copy_n(dLdh + std::size_t(last - 1 - first) * stride_, stride_, row_.data());
    for (Group& g : groups_) {
      take(g, hidden(first), g.states.data());
      for (int tick = 0; tick < g.ticks.count; ++tick)
        take(g, hidden(int(g.ticks.first + tick * g.ticks.step) + 1),
             g.states.data() + std::size_t(tick + 1) * g.rows);
      product<T>(g.given_transposed.data(), g.rows, g.above, {g.exchanged.data() + g.above, g.above, 1},
                 g.ticks.count, g.drive.data());
      add_forces(g, dLdh, first, last);
      recur_back(g, g.drive.data(), g.states.data(), g.ticks.count, clock + g.ticks.first);
      for (const Source& source : g.sources) {
        send_back(g, *source.group);
        if (source.passed_on) send_all_back(g, *source.group);
      }
    }
  }

  // dL/dU and dL/dW as for an Elman network, over the ticks; of what a group gives to faster ones, over its
  // intervals.
  void gradient(const T* X, int first, int last, T* out) override {
    T* W = recurrent(out);
    if (alone_) {
      const T* delta = groups_[0].delta.data();
      const int n = last - first;
      product<T>(delta, stride_, n, {X + std::size_t(first) * n_inputs_, 1, n_inputs_}, n_inputs_, out);
      product<T>(delta, stride_, n, {hidden(first), 1, stride_}, n_hidden_, W);
      return erase_missing(W);
    }
    for (const Group& g : groups_) {
      const Ticks& ticks = g.ticks;
      product<T>(g.delta.data(), g.rows, ticks.count,
                 {X + ticks.first * n_inputs_, 1, ticks.step * n_inputs_}, n_inputs_, scratch_.data());
      for (int k = 0; k < n_inputs_; ++k)
        put(g, scratch_.data() + std::size_t(k) * g.rows, out + std::size_t(k) * stride_);
      T* given = scratch_.data() + std::size_t(g.size) * g.rows;
      product<T>(g.delta.data(), g.rows, ticks.count, {g.states.data(), 1, g.rows}, g.size, scratch_.data());
      product<T>(g.exchanged.data(), g.above, ticks.count + 1, {g.states.data(), 1, g.rows}, g.size, given);
      for (int c = 0; c < g.size; ++c) {
        T* column = W + std::size_t(g.begin + c) * stride_;
        put(g, scratch_.data() + std::size_t(c) * g.rows, column);
        for (const Group* f = groups_.data(); f != &g; ++f)
          put(*f, given + std::size_t(c) * g.above + f->above, column);
      }
    }
    erase_missing(W);
    for (int k = 0; k < n_inputs_; ++k)
      for (int i = n_hidden_; i < stride_; ++i) out[std::size_t(k) * stride_ + i] = 0;
  }

  // dh_i = (1 - h_i²) (W dh_{i-1} + dW h_{i-1} + dU x_i) for the units that are due; the others keep theirs.
  void differentiate_along(const T* direction, const T* weights, const T* X, int first, int last,
                           std::int64_t clock, T* out, T* scratch) override {
    const int n = last - first;
    Along<T>{direction, stride_, n_inputs_, n_hidden_}.drive(X + std::size_t(first) * n_inputs_,
                                                             hidden(first), stride_, n, out, scratch);
    for (int i = 0; i < n; ++i) {
      T* row = out + std::size_t(i) * stride_;
      const T* before = i > 0 ? row - stride_ : nullptr;
      if (i > 0) multiply_add<T>(recurrent(weights), stride_, n_hidden_, before, row, i % 2 == 1);
      through_tanh<T>(hidden(first + i + 1), stride_, row);
      for (const Module& module : modules_)
        if ((clock + first + i) % module.period != 0)
          for (int u = module.begin; u < module.end(); ++u) row[u] = i > 0 ? before[u] : T(0);
    }
  }

  std::size_t along_scratch() const override { return std::size_t(this->sizes_.capacity) * stride_; }

  void drop_first() override { std::copy(hidden(1), hidden(2), hidden(0)); }

  void exchange_state(Archive& archive) override {
    archive.vector("state", hidden(0), this->sizes_.hidden(), this->kSquashed);
  }

 private:
  using Recursion = MaskedRecursion<T>;
  using Pass = typename Recursion::Pass;
  using BackwardPass = typename Recursion::BackwardPass;

  // The samples at which a group ticks in a pass, and the intervals between them: interval 0 lasts to the
  // first tick, inclusive, and has the state from before the pass; interval i + 1 follows tick i.
  struct Ticks {
    std::ptrdiff_t first, step;
    int count;
  };

  struct Group;

  // A slower group that a group listens to directly. If it ticks only when the group ticks too, the group
  // passes on to the faster ones what it receives, and they listen to the group alone.
  struct Source {
    Group* group;
    bool passed_on;
  };

  struct Group {
    int begin, size;  // its units
    int rows;         // `size` padded to the vector width
    int above;  // rows of all faster groups, and where this group's rows begin among those of all groups
    std::int64_t period;
    int cycle;                          // ticks after which the mask repeats
    Buffer<T> mask;                     // [cycle][rows], not zero where a unit is due
    Buffer<T> tail;                     // [lanes], not zero where the last vector of rows has a unit
    Buffer<T> input;                    // U, [n_inputs][rows]
    Buffer<T> own, own_transposed;      // W inside the group, [size][rows]
    Buffer<T> given, given_transposed;  // W to the faster groups, [size][above] and [above][rows]
    Buffer<T> drive;                    // [ticks][rows], what the group receives; backward, the force on it
    Buffer<T> states;                   // [ticks + 1][rows]
    Buffer<T> delta;                    // [ticks][rows], dL/d(argument of tanh)
    Buffer<T> held;                     // [rows], dL/dh of the units that were not due
    Buffer<T> exchanged;  // [intervals][above], what faster groups receive; backward, sums of their deltas
    std::vector<Source> sources;
    Ticks ticks;
  };

  static std::vector<Block> layout(CellSizes s) {
    const int stride = padded<T>(s.n_hidden);
    return {{"U", 0, stride, s.inputs, s.hidden()},
            {"W", std::size_t(s.n_inputs) * stride, stride, s.hidden(), s.hidden()}};
  }
  T* recurrent(T* weights) const { return weights + std::size_t(n_inputs_) * stride_; }
  const T* recurrent(const T* weights) const { return weights + std::size_t(n_inputs_) * stride_; }

  // The group of modules [first, last); the faster groups are there already.
  Group make_group(int first, int last) const {
    Group g{};
    g.begin = modules_[first].begin;
    g.size = modules_[last - 1].end() - g.begin;
    g.rows = padded<T>(g.size);
    g.above = groups_.empty() ? 0 : groups_.back().above + groups_.back().rows;
    std::int64_t common = 1;
    for (int i = first; i < last; ++i) {
      g.period = std::gcd(g.period, modules_[i].period);
      common = std::lcm(common, modules_[i].period);
    }
    g.cycle = int(common / g.period);
    g.mask = Buffer<T>(std::size_t(g.cycle) * g.rows);
    for (int i = first; i < last; ++i)
      for (std::int64_t tick = 0; tick < g.cycle; tick += modules_[i].period / g.period)
        std::fill_n(&g.mask[tick * g.rows + modules_[i].begin - g.begin], modules_[i].size, T(1));
    g.tail = Buffer<T>(kLanes<T>);
    std::fill_n(g.tail.data(), g.size - (g.rows - kLanes<T>), T(1));
    const std::size_t rows = g.rows, above = g.above, columns = g.size + Unrolled<T>::kSpare;
    const std::size_t ticks = std::size_t(this->sizes_.capacity / g.period + 1);
    g.input = Buffer<T>(n_inputs_ * rows);
    g.own = Buffer<T>(columns * rows);
    g.own_transposed = Buffer<T>(columns * rows);
    g.given = Buffer<T>(columns * above);
    g.given_transposed = Buffer<T>(above * rows);
    g.drive = Buffer<T>(ticks * rows);
    g.states = Buffer<T>((ticks + 1) * rows);
    g.delta = Buffer<T>(ticks * rows);
    g.held = Buffer<T>(rows);
    g.exchanged = Buffer<T>((ticks + 1) * above);
    return g;
  }

  void link_groups() {
    for (std::size_t j = groups_.size() - 1; j-- > 0;) {
      Group& g = groups_[j];
      std::vector<Group*> heard{&groups_[j + 1]};
      for (const Source& source : groups_[j + 1].sources)
        if (!source.passed_on) heard.push_back(source.group);
      for (Group* slower : heard) g.sources.push_back({slower, slower->period % g.period == 0});
    }
  }

  static Ticks ticks_of(const Group& g, int first, int last, std::int64_t clock) {
    const std::int64_t late = (clock + first) % g.period;
    const std::int64_t begin = first + (late == 0 ? 0 : g.period - late);
    if (begin >= last) return {first, 0, 0};
    return {std::ptrdiff_t(begin), std::ptrdiff_t(g.period), int((last - 1 - begin) / g.period + 1)};
  }

  // The elements of a hidden row (or column of weights) that belong to the group, into `rows` elements,
  // padding zero. Reads up to a vector beyond them.
  ELMAN_INLINE static void take(const Group& g, const T* row, T* to) {
    const T* from = row + g.begin;
    const int last = g.rows - kLanes<T>;
    for (int v = 0; v < last; v += kLanes<T>) store<T>(to + v, load<T>(from + v));
    store<T>(to + last, cut_tail(g, load<T>(from + last)));
  }
  ELMAN_INLINE static Vec<T> cut_tail(const Group& g, Vec<T> v) {
    return load<T>(g.tail.data()) != Vec<T>{} ? v : Vec<T>{};
  }

  // The reverse of `take`: writes the group's elements and not one more.
  ELMAN_INLINE static void put(const Group& g, const T* from, T* row) {
    T* to = row + g.begin;
    int n = g.size;
    if (n >= kLanes<T>) {
      for (int v = 0; v + kLanes<T> <= n; v += kLanes<T>) store<T>(to + v, load<T>(from + v));
      return store<T>(to + n - kLanes<T>, load<T>(from + n - kLanes<T>));
    }
#pragma GCC unroll 8
    for (int width = kLanes<T> / 2; width > 0; width /= 2)
      if ((n & width) != 0) {
        std::memcpy(to, from, width * sizeof(T));
        to += width;
        from += width;
      }
  }

  // The units of a module are not read by slower ones.
  void erase_missing(T* W) const {
    for (const Module& module : modules_) {
      const int cut = module.end() / kLanes<T> * kLanes<T>;
      T kept[kLanes<T>];
      for (int i = 0; i < kLanes<T>; ++i) kept[i] = T(cut + i < module.end());
      for (int c = module.begin; c < module.end(); ++c) {
        T* column = W + std::size_t(c) * stride_;
        if (cut < stride_)
          store<T>(column + cut, load<T>(kept) != Vec<T>{} ? load<T>(column + cut) : Vec<T>{});
        for (int v = cut + kLanes<T>; v < stride_; v += kLanes<T>) store<T>(column + v, Vec<T>{});
      }
    }
  }

  // Calls visit(i, interval) for the i-th of `count` samples, `step` apart from `sample` on: the interval of
  // the slower group that each falls into.
  template <class F>
  ELMAN_INLINE static void walk(std::ptrdiff_t sample, std::ptrdiff_t step, int count, const Ticks& slower,
                                F visit) {
    std::ptrdiff_t next = slower.first;
    for (int i = 0, interval = 0; i < count; ++i, sample += step) {
      while (interval < slower.count && sample > next) {
        ++interval;
        next += slower.step;
      }
      visit(i, interval);
    }
  }

  ELMAN_INLINE static void add(const T* from, T* to, int n) {
    for (int v = 0; v < n; v += kLanes<T>) store<T>(to + v, load<T>(to + v) + load<T>(from + v));
  }

  // Adds to the drive of each tick of g what it receives from a slower group.
  static void receive(Group& g, const Group& slower) {
    walk(g.ticks.first, g.ticks.step, g.ticks.count, slower.ticks, [&](int i, int interval) {
      add(slower.exchanged.data() + std::size_t(interval) * slower.above + g.above,
          g.drive.data() + std::size_t(i) * g.rows, g.rows);
    });
  }
  static void send_back(const Group& g, Group& slower) {
    walk(g.ticks.first, g.ticks.step, g.ticks.count, slower.ticks, [&](int i, int interval) {
      add(g.delta.data() + std::size_t(i) * g.rows,
          slower.exchanged.data() + std::size_t(interval) * slower.above + g.above, g.rows);
    });
  }

  // Adds to what g gives in each interval what faster groups receive from a slower one whose ticks are ticks
  // of g. Interval 0 of g lies in interval 0 of the slower one, and interval i + 1 begins behind tick i.
  static void pass_on(Group& g, const Group& slower) {
    add(slower.exchanged.data(), g.exchanged.data(), g.above);
    walk(g.ticks.first + 1, g.ticks.step, g.ticks.count, slower.ticks, [&](int i, int interval) {
      add(slower.exchanged.data() + std::size_t(interval) * slower.above,
          g.exchanged.data() + std::size_t(i + 1) * g.above, g.above);
    });
  }
  static void send_all_back(const Group& g, Group& slower) {
    add(g.exchanged.data(), slower.exchanged.data(), g.above);
    walk(g.ticks.first + 1, g.ticks.step, g.ticks.count, slower.ticks, [&](int i, int interval) {
      add(g.exchanged.data() + std::size_t(i + 1) * g.above,
          slower.exchanged.data() + std::size_t(interval) * slower.above, g.above);
    });
  }

  void scatter_states(int first, int last) {
    for (Group& g : groups_) {
      const T* state = g.states.data();
      std::ptrdiff_t next = g.ticks.count > 0 ? g.ticks.first : last;
      for (int i = first; i < last; ++i) {
        if (i == next) {
          state += g.rows;
          next += g.ticks.step;
        }
        put(g, state, hidden(i + 1));
      }
    }
  }

  // Adds to row i of the drive the sum of dL/dh over the samples from tick i to the next. The last sample is
  // read from row_, where reading beyond its end is harmless.
  void add_forces(Group& g, const T* dLdh, int first, int last) const {
    for (int tick = 0; tick < g.ticks.count; ++tick) {
      const std::ptrdiff_t begin = g.ticks.first + tick * g.ticks.step;
      const std::ptrdiff_t end = std::min<std::ptrdiff_t>(begin + g.ticks.step, last - 1);
      const T* rows = dLdh + (begin - first) * stride_ + g.begin;
      T* drive = g.drive.data() + std::size_t(tick) * g.rows;
      for (int v = 0; v < g.rows; v += kLanes<T>) {
        Vec<T> sum = {};
        for (std::ptrdiff_t i = 0; i < end - begin; ++i) sum += load<T>(rows + i * stride_ + v);
        if (end - begin < g.ticks.step) sum += load<T>(row_.data() + g.begin + v);
        if (v + kLanes<T> == g.rows) sum = cut_tail(g, sum);
        store<T>(drive + v, load<T>(drive + v) + sum);
      }
    }
  }

  // `sample` is the sample number of the first tick.
  static void recur(const Group& g, Pass pass, std::int64_t sample) {
    pass.mask = g.mask.data() + sample / g.period % g.cycle * g.rows;
    pass.mask_end = g.mask.end();
    pass.cycle_length = int(g.mask.size());
    pass.size = g.size;
    pass.rows = g.rows;
    Recursion::forward(pass);
  }

  static void recur_back(Group& g, const T* force, const T* states, int n, std::int64_t sample) {
    const T* mask = g.mask.data() + (sample / g.period + n + g.cycle - 1) % g.cycle * g.rows;
    const BackwardPass pass{g.own_transposed.data(), force,  states, g.delta.data(),
                            g.held.data(),           n,      mask,   g.mask.data(),
                            int(g.mask.size()),      g.size, g.rows};
    Recursion::backward(pass);
  }

  // One group that ticks at every sample: its states are the slots, its weights those of the caller.
  void forward_alone(const T* weights, const T* X, int first, int last, std::int64_t clock) {
    Group& g = groups_[0];
    Pass pass{recurrent(weights), row_.data(), 0, weights, X, n_inputs_, hidden(first), last - first};
    if (n_inputs_ > kFusedInputs || g.size > Unrolled<T>::kLargest) {
      product<T>(weights, stride_, n_inputs_, {X, n_inputs_, 1}, last - first, g.drive.data());
      pass = {recurrent(weights), g.drive.data(), stride_, nullptr, nullptr, 0, hidden(first), last - first};
    }
    recur(g, pass, clock + first);
  }

  int n_inputs_, n_hidden_, stride_;
  std::vector<Module> modules_;
  std::vector<Group> groups_;  // fastest first
  bool alone_ = false;         // one group that ticks at every sample
  Buffer<T> states_;           // [capacity + 2][stride]: `take` reads behind a slot
  Buffer<T> row_;              // [2][stride]
  Buffer<T> scratch_;          // gradients of a group
};

}  // namespace elman
