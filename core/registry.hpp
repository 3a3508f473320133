// Every cell and every training by name.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

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
#include "training/rmsprop.hpp"
#include "training/sgd.hpp"
#include "training/wogd.hpp"

namespace elman {

template <class T>
std::unique_ptr<Cell<T>> make_cell(const std::string& name, CellSizes sizes, const Options& options) {
  if (name == "SRNN") return std::make_unique<SRNN<T>>(sizes);
  if (name == "LSTM") return std::make_unique<LSTM<T>>(sizes);
  if (name == "GRU") return std::make_unique<GRU<T>>(sizes);
  if (name == "Clockwork") return std::make_unique<Clockwork<T>>(sizes, options);
  if (name == "NARX") return std::make_unique<NARX<T>>(sizes, options);
  if (name == "Linear") return std::make_unique<Linear<T>>(sizes);
  throw std::invalid_argument("there is no cell called '" + name + "'");
}

template <class T>
std::unique_ptr<Training<T>> make_training(const std::string& name, const Options& options) {
  if (name == "WOGD") return std::make_unique<WOGD<T>>(options);
  if (name == "SGD") return std::make_unique<SGD<T>>(options);
  if (name == "RMSprop") return std::make_unique<RMSprop<T>>(options);
  if (name == "Adam") return std::make_unique<Adam<T>>(options);
  if (name == "EKF") return std::make_unique<EKF<T>>(options);
  throw std::invalid_argument("there is no training called '" + name + "'");
}

// What a readout learns by, or nothing if the training takes care of it.
template <class T>
std::unique_ptr<LeastSquares<T>> make_least_squares(const std::string& name, const Options& options,
                                                    const Readout<T>& readout) {
  if (name == "Gradient") return nullptr;
  if (name == "RLS") return std::make_unique<LeastSquares<T>>(options, readout);
  throw std::invalid_argument("there is no readout called '" + name + "'");
}

}  // namespace elman
