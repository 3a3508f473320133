// The code of a text: what stands for the name of a category where only numbers go.
#pragma once

#include <cstdint>
#include <string_view>

namespace elman {

// A whole number below 2^52, which a double holds exactly: FNV-1a over the bytes, then mixed so that the bits
// that are kept depend on all of them (the last step of MurmurHash3). The same on every machine, for ever.
inline double level_code(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ std::uint8_t(byte)) * 0x100000001b3;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return double((hash ^ (hash >> 33)) >> 12);
}

}  // namespace elman
