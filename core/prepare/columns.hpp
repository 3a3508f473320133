// The columns of a row as networks see them: past targets, features, and behind them a constant 1.
#pragma once

#include <cstdint>
#include <vector>

#include "archive.hpp"

namespace elman {

// The last `lags` targets of each of `outputs` outputs, the newest first, and then the features.
struct Columns {
  int outputs, lags, features;
  SharedVector<Label> feature_labels = {};  // of the features, if there are any; empty: by their places

  int lagged() const { return outputs * lags; }
  int count() const { return lagged() + features; }

  Axis axis() const {
    return shared(false, [&] { return Axis("column", labels()); });
  }

  // With the constant.
  Axis inputs() const {
    return shared(true, [&] {
      std::vector<Label> all = labels();
      all.push_back(kConstant);
      return Axis("input", std::move(all));
    });
  }

  bool operator==(const Columns&) const = default;

  static constexpr Label kConstant = {std::uint64_t(3) << 60};

 private:
  // What `make` makes, or what it made for the same columns a short while ago: many models of one kind share
  // their labels.
  template <class Make>
  Axis shared(bool constant, Make make) const {
    struct Known {
      Columns columns;
      bool constant;
      Axis axis;
    };
    constexpr std::size_t most = 8;
    static thread_local std::vector<Known> known;
    static thread_local std::size_t next = 0;
    for (const Known& each : known)
      if (each.columns == *this && each.constant == constant) return each.axis;
    const Known fresh{*this, constant, make()};
    if (known.size() < most)
      known.push_back(fresh);
    else
      known[next++ % most] = fresh;
    return fresh.axis;
  }

  std::vector<Label> labels() const {
    std::vector<Label> all;
    for (std::uint64_t k = 0; k < std::uint64_t(outputs); ++k)
      for (std::uint64_t lag = 0; lag < std::uint64_t(lags); ++lag)
        all.push_back({std::uint64_t(1) << 60 | k << 30 | lag});
    for (std::uint64_t j = 0; j < std::uint64_t(features); ++j)
      all.push_back(feature_labels.empty() ? Label{std::uint64_t(2) << 60 | j} : feature_labels[j]);
    return all;
  }
};

}  // namespace elman
