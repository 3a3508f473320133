// Every cell and every training by name.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "cell/gru.hpp"
#include "cell/lstm.hpp"
#include "cell/srnn.hpp"
#include "options.hpp"
#include "training/wogd.hpp"

namespace elman {

template <class T>
std::unique_ptr<Cell<T>> make_cell(const std::string& name, CellSizes sizes, const Options&) {
  if (name == "SRNN") return std::make_unique<SRNN<T>>(sizes);
  if (name == "LSTM") return std::make_unique<LSTM<T>>(sizes);
  if (name == "GRU") return std::make_unique<GRU<T>>(sizes);
  throw std::invalid_argument("there is no cell called '" + name + "'");
}

template <class T>
std::unique_ptr<Training<T>> make_training(const std::string& name, const Options& options) {
  if (name == "WOGD") return std::make_unique<WOGD<T>>(options);
  throw std::invalid_argument("there is no training called '" + name + "'");
}

}  // namespace elman
