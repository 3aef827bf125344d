// SPDX-License-Identifier: Apache-2.0
// The cases of `topo connections`: an opcode over so many active connections of a kind.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/cases.h"

namespace rdmameter {

/// A kind of connection: which opcodes it carries, how many there may be, and how many
/// threads share each.
struct ConnectionKind {
  std::string name;  ///< as people type it: "rc", "shared:2"
  std::string_view description;
  std::uint64_t max;          ///< of them at all
  bool sends_alone = false;   ///< else it carries any opcode
  std::uint64_t sharers = 1;  ///< threads that use each together

  bool carries(Opcode opcode) const { return !sends_alone || opcode == Opcode::send; }
};

/// rc, srq, ud, shared:2: what is measured by default.
std::span<const ConnectionKind> connection_kinds();

/// The kind of this name, which may be "shared:T" with any T, and "shared" for "shared:2".
std::optional<ConnectionKind> connection_kind(std::string_view name);

/// Opcodes by the names that people type: "send", "write", "read".
struct ConnectionOpcode {
  std::string_view name, rate_test, latency_test;
  std::string_view sharers_latency_test;  ///< of QPs that threads share
  Opcode opcode;
};
std::span<const ConnectionOpcode> connection_opcodes();

/// The settings that all cases of a run share.
struct ConnectionSettings {
  std::uint64_t window = 256;      ///< messages outstanding in all; at least one on each connection
  std::string duration = "200ms";  ///< of a rate, as --duration takes it
  std::uint64_t iterations = 2000;  ///< of a latency; 0: there is none
  std::vector<GivenAxis> given;     ///< one value each
};

/// One number of connections, with its place in the curves.
struct ConnectionCase {
  PlannedCase planned;
  std::string kind;
  std::string_view opcode;
  std::uint64_t active = 0;
  bool rate = false;  ///< else it is the latency
};

/// @param active  1 or more
ConnectionCase connection_case(const ConnectionKind& kind, const ConnectionOpcode& opcode,
                               std::uint64_t active, bool rate, const ConnectionSettings& settings);

/// The most connections, up to `max`, with which neither end of the case takes more memory.
/// 0: not even one fits.
std::uint64_t most_within(std::uint64_t budget_bytes, std::uint64_t max, const ConnectionKind& kind,
                          const ConnectionOpcode& opcode, const ConnectionSettings& settings);

/// 1, 2, 4... and `most`.
std::vector<std::uint64_t> doubling_to(std::uint64_t most);

/// Up to `count` numbers between two, in equal ratios; without both ends.
std::vector<std::uint64_t> between(std::uint64_t low, std::uint64_t high, unsigned count);

}  // namespace rdmameter
