// SPDX-License-Identifier: Apache-2.0
// The mix of an open loop's requests: which operations, of which sizes, how often each.
#pragma once

#include <array>
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
  Opcode opcode = Opcode::rdma_read;  ///< one of kMixed
  std::uint64_t size_bytes = 0;       ///< 0: the case's --size, or the one that an atomic has
  std::uint64_t weight = 1;           ///< its share is weight / sum of all weights

  bool operator==(const MixPart&) const = default;
};

/// The opcodes that a mix may have. Sends have one size, since their answers have it, too.
inline constexpr std::array kMixed{Opcode::rdma_read, Opcode::rdma_write, Opcode::send,
                                   Opcode::fetch_add, Opcode::cmp_swap};
inline constexpr std::size_t kMaxMixParts = 16;
inline constexpr std::uint64_t kMaxMixWeight = 1'000'000;
inline constexpr std::uint64_t kMaxMixSize = 1ULL << 31;

/// The parts of a --mix: "read:70,write:30", or with sizes "read:4K:50,read:64:20,write:8:30". A
/// '+' separates parts as well, as in the names of cases, where a comma would end a value.
/// @return nothing where it is no mix: an unknown operation, a weight of 0, a part twice, sends of
///         two sizes, a size of an atomic, more than kMaxMixParts parts
std::optional<std::vector<MixPart>> parse_mix(std::string_view text);

/// The mix as names and results have it: "read:4096:50+write:30".
std::string mix_text(std::span<const MixPart> parts);

}  // namespace rdmameter
