// One weight matrix inside a cell's array of weights.
#pragma once

#include <cstddef>

namespace elman {

struct Block {
  const char* name;    // as the paper calls it
  std::size_t offset;  // of its first element
  int stride;          // from one column to the next
  int rows, columns;
};

}  // namespace elman
