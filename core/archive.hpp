// How a learner's state leaves it and comes back: one list of named arrays, walked in both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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

// Another archive under names that begin with a prefix: the state of a part inside the state of the whole.
class PrefixedArchive final : public Archive {
 public:
  PrefixedArchive(Archive& whole, std::string prefix) : whole_(whole), prefix_(std::move(prefix)) {}
  void array(const char* name, float* data, std::size_t outer, std::size_t inner,
             std::size_t stride) override {
    whole_.array((prefix_ + name).c_str(), data, outer, inner, stride);
  }
  void array(const char* name, double* data, std::size_t outer, std::size_t inner,
             std::size_t stride) override {
    whole_.array((prefix_ + name).c_str(), data, outer, inner, stride);
  }
  void array(const char* name, std::int64_t* data, std::size_t outer, std::size_t inner,
             std::size_t stride) override {
    whole_.array((prefix_ + name).c_str(), data, outer, inner, stride);
  }

 private:
  Archive& whole_;
  std::string prefix_;
};

}  // namespace elman
