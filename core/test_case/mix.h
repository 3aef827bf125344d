// SPDX-License-Identifier: Apache-2.0
// The mix of an open loop's requests: which operations, of which sizes, how often each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/test_case/opcode.h"

namespace rdmameter {

/// Requests of one operation and one size.
struct MixPart {
  Opcode opcode = Opcode::rdma_read;  ///< rdma_read or rdma_write
  std::uint64_t size_bytes = 0;       ///< 0: the case's --size
  std::uint64_t weight = 1;           ///< its share is weight / sum of all weights

  bool operator==(const MixPart&) const = default;
};

inline constexpr std::size_t kMaxMixParts = 16;
inline constexpr std::uint64_t kMaxMixWeight = 1'000'000;
inline constexpr std::uint64_t kMaxMixSize = 1ULL << 31;

/// What --mix says: "read:70,write:30", or with sizes "read:4K:50,read:64:20,write:8:30". A '+'
/// separates parts as well, as in the names of cases, where a comma would end a value.
/// @return nothing where it is no mix: an unknown operation, a weight of 0, a part twice, more than
///         kMaxMixParts parts
std::optional<std::vector<MixPart>> parse_mix(std::string_view text);

/// As names and results have it: "read:4096:50+write:30".
std::string mix_text(std::span<const MixPart> parts);

}  // namespace rdmameter
