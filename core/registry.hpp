// Every cell, training and readout by name: what is listed here exists.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cell/clockwork.hpp"
#include "cell/gru.hpp"
#include "cell/linear.hpp"
#include "cell/lstm.hpp"
#include "cell/narx.hpp"
#include "cell/srnn.hpp"
#include "options.hpp"
#include "readout/least_squares.hpp"
#include "training/adam.hpp"
#include "training/ekf.hpp"
#include "training/hessian_free.hpp"
#include "training/rmsprop.hpp"
#include "training/sgd.hpp"
#include "training/wogd.hpp"

namespace elman {

// Names, each with what makes the thing of that name.
template <class Make>
using Named = std::vector<std::pair<std::string, Make>>;

template <class T>
using MakeCell = std::unique_ptr<Cell<T>> (*)(const CellSizes&, const Options&);
template <class T>
using MakeTraining = std::unique_ptr<Training<T>> (*)(const Options&, Network<T>&);

// A constructor as a function; a cell that has no options need not take any.
template <class T, class C>
std::unique_ptr<Cell<T>> make_cell(const CellSizes& sizes, const Options& options) {
  if constexpr (std::is_constructible_v<C, CellSizes, const Options&>)
    return std::make_unique<C>(sizes, options);
  else
    return std::make_unique<C>(sizes);
}
template <class T, class C>
std::unique_ptr<Training<T>> make_training(const Options& options, Network<T>& network) {
  return std::make_unique<C>(options, network);
}

template <class T>
const Named<MakeCell<T>>& cells() {
  static const Named<MakeCell<T>> all = {
      {"SRNN", make_cell<T, SRNN<T>>}, {"LSTM", make_cell<T, LSTM<T>>},
      {"GRU", make_cell<T, GRU<T>>},   {"Clockwork", make_cell<T, Clockwork<T>>},
      {"NARX", make_cell<T, NARX<T>>}, {"Linear", make_cell<T, Linear<T>>},
  };
  return all;
}

template <class T>
const Named<MakeTraining<T>>& trainings() {
  static const Named<MakeTraining<T>> all = {
      {"WOGD", make_training<T, WOGD<T>>},
      {"SGD", make_training<T, SGD<T>>},
      {"RMSprop", make_training<T, RMSprop<T>>},
      {"Adam", make_training<T, Adam<T>>},
      {"EKF", make_training<T, EKF<T>>},
      {"HalfEKF", make_training<T, EKF<T, Half>>},
      {"HessianFree", make_training<T, HessianFree<T>>},
  };
  return all;
}

// Readouts, and whether they learn by least squares instead of by the training. Those of simple
// members have no network.
inline const Named<bool>& readouts() {
  static const Named<bool> all = {{"Gradient", false},      {"RLS", true},   {"LastValue", false},
                                  {"RecentMean", false},    {"Mean", false}, {"Seasonal", false},
                                  {"Autoregression", false}};
  return all;
}

template <class Make>
const Make& find(const Named<Make>& all, const std::string& name) {
  for (const auto& [known, make] : all)
    if (known == name) return make;
  throw std::invalid_argument("there is no '" + name + "' in this core");
}

}  // namespace elman
