// SPDX-License-Identifier: Apache-2.0
// What the messages of a rank hold, and whether one has come as it left. Part of the measured path
// where --verify asks for it.
#pragma once

#include <cstdint>
#include <cstring>

namespace rdmameter {

/// A rank's messages all hold the same bytes, another rank's others.
struct MessagePattern {
  std::uint64_t seed = 0;
  bool zero = false;
  std::uint32_t length = 0;    ///< bytes of a message
  std::uint32_t compared = 0;  ///< of them: the last may be a number
};

inline constexpr std::uint8_t kEmptied = 0xa5;  ///< what a buffer holds before the next message

/// Eight bytes of a rank's message: SplitMix64 (Steele, Lea, Flood 2014).
inline std::uint64_t message_word(const MessagePattern& pattern, std::uint32_t rank,
                                  std::uint64_t at) noexcept {
  if (pattern.zero) return 0;
  std::uint64_t z = (pattern.seed ^ (std::uint64_t{rank} << 40)) + (at + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

inline void fill_message(std::uint8_t* bytes, const MessagePattern& pattern,
                         std::uint32_t rank) noexcept {
  for (std::uint32_t at = 0; at < pattern.length; at += 8) {
    const std::uint64_t word = message_word(pattern, rank, at / 8);
    std::memcpy(bytes + at, &word, pattern.length - at < 8 ? pattern.length - at : 8);
  }
}

/// Compares a message, then wipes it, so that its buffer cannot pass for the next one's.
/// @return  bytes that are not as they left
inline std::uint64_t check_message(std::uint8_t* bytes, const MessagePattern& pattern,
                                   std::uint32_t rank) noexcept {
  std::uint64_t wrong = 0;
  for (std::uint32_t at = 0; at < pattern.compared; at += 8) {
    const std::uint64_t word = message_word(pattern, rank, at / 8);
    const std::uint32_t length = pattern.compared - at < 8 ? pattern.compared - at : 8;
    if (std::memcmp(bytes + at, &word, length) == 0) continue;
    const auto* const want = reinterpret_cast<const std::uint8_t*>(&word);
    for (std::uint32_t i = 0; i < length; ++i) wrong += bytes[at + i] != want[i];
  }
  return wrong;
}

}  // namespace rdmameter
