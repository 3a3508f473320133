// How a learner's state leaves it and comes back: one list of named arrays, walked in both directions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elman {

// An implementation either copies each array out or fills it in. Arrays are [outer][inner], the inner index
// contiguous and successive outer indices `stride` elements apart: padding does not leave the core, so a
// state does not depend on the vector width it was made with.
class Archive {
 public:
  virtual ~Archive() = default;
  virtual void array(const char* name, float* data, std::size_t outer, std::size_t inner,
                     std::size_t stride) = 0;
  virtual void array(const char* name, double* data, std::size_t outer, std::size_t inner,
                     std::size_t stride) = 0;
  virtual void array(const char* name, std::int64_t* data, std::size_t outer, std::size_t inner,
                     std::size_t stride) = 0;

  template <class T>
  void value(const char* name, T& data) {
    array(name, &data, 1, 1, 1);
  }
};

}  // namespace elman
