// SPDX-License-Identifier: Apache-2.0
// Checking payloads: sources are filled with a pattern, targets with a poison that the pattern must
// have replaced, and nothing else. Both happen off the measured path, before and after the traffic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/layout.h"

namespace rdmameter {

/// What a target area held after the traffic.
struct Verdict {
  std::uint64_t checked_bytes = 0;    ///< payload bytes compared with the pattern
  std::uint64_t missing_bytes = 0;    ///< still poison: nothing arrived there
  std::uint64_t wrong_bytes = 0;      ///< neither pattern nor poison
  std::uint64_t guard_bytes_hit = 0;  ///< bytes changed outside of every payload
  std::string first_fault;            ///< where and what; empty: none
};

/// Fills every slot's payload with its pattern. Slots of one QP differ where `by_slot`: the peer's
/// one-sided operations put slot i into slot i, while a send lands in whatever receive is next.
void fill_source(std::span<std::byte> bytes, const Area& area, std::uint64_t seed, bool by_slot);

/// Fills all of the area with poison.
void poison_target(std::span<std::byte> bytes);

/// Compares every slot with the peer's pattern. A slot used many times is checked as its last
/// message left it.
/// @param least_slots  the first so many slots of each QP must have been written; a later one may
/// be
///                     untouched altogether
/// @param skip_last    the payload's last byte carries a ping-pong's number: not compared
Verdict check_target(std::span<const std::byte> bytes, const Area& area, std::uint64_t seed,
                     bool by_slot, bool skip_last, std::uint64_t least_slots);

/// The seed of what an end sends, from the case's.
std::uint64_t source_seed(std::uint64_t case_seed, Role sender);

}  // namespace rdmameter
