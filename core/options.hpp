// The named numbers that configure a cell or a training, as they come from outside.
#pragma once

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace elman {

class Options {
 public:
  explicit Options(std::map<std::string, std::vector<double>> values) : values_(std::move(values)) {}

  const std::vector<double>& numbers(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument("option '" + name + "' is missing");
    return found->second;
  }
  double number(const std::string& name) const { return numbers(name).at(0); }
  int integer(const std::string& name) const {
    const double value = number(name);
    if (!(std::abs(value) <= 1e9)) throw std::invalid_argument("option '" + name + "' is out of range");
    return int(value);
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

}  // namespace elman
