// SPDX-License-Identifier: Apache-2.0
// In which order a rank sends to the others, and what it waits for in between.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

/// The receivers of a rank's messages, in this order, and the senders whose messages it then
/// awaits, before its next round.
struct Round {
  std::vector<Rank> to, from;
  bool operator==(const Round&) const = default;
};

/// All that the program knows of a schedule. Adding one: a file with this entry, and its
/// name in schedules.cpp.
struct Schedule {
  static constexpr std::string_view arguments = "";
  static constexpr std::size_t argument_count = 0;

  std::string_view name;
  std::string_view description;
  /// Which of an exchange's rounds a flow belongs to, and its place in the round.
  Required<std::uint32_t(Flow flow, Rank ranks)> round, place;
};

std::span<const Schedule* const> schedules();

/// @throws UsageError  there is no such schedule; the text lists them
const Schedule& find_schedule(std::string_view name);

/// How many ranks ahead a flow goes.
constexpr std::uint32_t ranks_ahead(Flow flow, Rank ranks) {
  return (flow.to + ranks - flow.from) % ranks;
}

/// A rank's rounds of one exchange; those in which it has no part are left out.
std::vector<Round> rounds_of(Rank rank, std::span<const Flow> flows, Rank ranks,
                             const Schedule& schedule);

}  // namespace rdmameter
