// One weight matrix inside a cell's array of weights.
#pragma once

#include <cstddef>

namespace elman {

struct Block {
  const char* name;    // "U", "W" as in the paper; with the gate's name behind it where there are several
  std::size_t offset;  // of its first element
  int stride;          // from one column to the next
  int rows, columns;
};

}  // namespace elman
