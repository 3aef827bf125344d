// SPDX-License-Identifier: Apache-2.0
// Checking payloads: sources are filled with a pattern, targets with a poison that the pattern must
// have replaced, and nothing else. Both happen off the measured path, before and after the traffic,
// and throw what their CancelCheck throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/cancel_check.h"
#include "core/engine/layout/layout.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// The result of checking a target area after the traffic.
struct Verdict {
  std::uint64_t checked_bytes = 0;    ///< payload bytes compared with the pattern
  std::uint64_t missing_bytes = 0;    ///< still poison: nothing arrived there
  std::uint64_t wrong_bytes = 0;      ///< neither pattern nor poison
  std::uint64_t guard_bytes_hit = 0;  ///< bytes changed outside of every payload
  std::uint64_t whole_slots = 0;      ///< that hold a message without a fault
  std::string first_fault;            ///< where and what; empty: none
};

/// Adds up what several areas held. @param where  in which `more` was found, for people
void add(Verdict& sum, const Verdict& more, std::string_view where);

/// The parameters of a payload's bytes, which distinguish it from others.
struct PayloadPattern {
  std::uint64_t seed = 0;  ///< of the end that sends
  bool zero = false;
  std::string repeated;  ///< not empty: every message is this, over and over
  /// Slots of one QP differ: the peer's one-sided operations put slot i into slot i, while a send
  /// lands in whatever receive is next.
  bool by_slot = false;
  /// QPs differ: not where they share their receives.
  bool by_qp = true;
};

/// The pattern of what `sender` sends.
PayloadPattern pattern_of(const TestCase& test_case, std::uint64_t case_seed, Role sender);

/// Fills every slot's payload with its pattern.
void fill_source(std::span<std::byte> bytes, const Area& area, const PayloadPattern& pattern,
                 const CancelCheck& cancel_check = {});

/// Fills all of the area with poison.
void poison_target(std::span<std::byte> bytes, const CancelCheck& cancel_check = {});

/// Bytes of a payload that carry a number instead of the pattern, and are not compared.
struct Skip {
  std::uint64_t first = 0, last = 0;
};

/// Compares every slot with the peer's pattern, and what lies between and behind its pieces with
/// the poison. A slot used many times is checked as its last message left it.
/// @param min_slots  the first so many slots of each QP must have been written; a later one may
///                     be untouched altogether
Verdict check_target(std::span<const std::byte> bytes, const Area& area,
                     const PayloadPattern& pattern, Skip skip, std::uint64_t min_slots,
                     const CancelCheck& cancel_check = {});

/// Checks what an end has of atomics. The responder: the words that they worked on, each 0 at
/// first. The initiator: what they returned; each QP's additions found different values, the
/// greatest of which tells how many there were, each swap the value that its place in the chain
/// looks for.
/// @param total  additions or swaps that were made, over all QPs
/// @param chain  swaps after which a word is 0 again
Verdict check_atomics(std::span<const std::byte> bytes, const Layout& layout, Role role,
                      Opcode opcode, std::uint64_t total, std::uint64_t chain);

}  // namespace rdmameter
