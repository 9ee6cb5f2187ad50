#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cadenza {

/// FNV-1a, 64 bits: for comparing what ranks hold, not for defence against forgery.
inline uint64_t hash_bytes(std::string_view bytes, uint64_t state = 0xcbf29ce484222325ull) {
  for (const char c : bytes) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return state;
}

/// 16 hexadecimal digits.
inline std::string hash_text(uint64_t hash) {
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4)
    text[static_cast<size_t>(i)] = "0123456789abcdef"[hash & 15];
  return text;
}

}  // namespace cadenza
