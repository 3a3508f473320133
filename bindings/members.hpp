// Members of a committee and kinds of features as Python describes them.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "committee.hpp"
#include "plain.hpp"

// Of a cell, a training or a readout: its name and its numbers.
using NamedPart = std::pair<std::string, std::map<std::string, std::vector<double>>>;
// Number, window, cell, training, readout, whether it sees the last targets and the features, and whether it
// is absolute.
using NamedMember = std::tuple<int, int, NamedPart, NamedPart, NamedPart, bool, bool, bool>;

inline std::vector<elman::MemberOptions> member_options(nb::handle listed) {
  const auto members = plain<std::vector<NamedMember>>(listed);
  const auto part = [](const NamedPart& named) {
    return elman::Part{named.first, elman::Options(named.second)};
  };
  std::vector<elman::MemberOptions> options;
  for (const auto& [number, window, cell, training, readout, lagged, featured, absolute] : members) {
    require(number >= 0 && window > 0, "a window is out of range");
    options.push_back(
        {number, window, part(cell), part(training), part(readout), lagged, featured, absolute});
  }
  return options;
}

inline constexpr const char* kFeatureKinds[] = {"number", "date", "datetime", "category"};

// What the features of a row hold, by their names.
inline std::vector<elman::FeatureKind> feature_kinds(nb::handle listed) {
  std::vector<elman::FeatureKind> kinds;
  for (const std::string& each : plain<std::vector<std::string>>(listed)) {
    const auto found = std::find(std::begin(kFeatureKinds), std::end(kFeatureKinds), each);
    require(found != std::end(kFeatureKinds), "there is no such kind of features");
    kinds.push_back(elman::FeatureKind(found - std::begin(kFeatureKinds)));
  }
  return kinds;
}
