// SPDX-License-Identifier: Apache-2.0
// In which order a rank sends to the others, and what it waits for in between.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "topologies/traffic.h"

namespace rdmameter {

/// What a rank sends, in this order, and whose messages it then awaits, before its next round.
struct Round {
  std::vector<Rank> to, from;
  bool operator==(const Round&) const = default;
};

/// Adding one: its file under schedule/ and its row in schedules.cpp.
struct Schedule {
  std::string_view name;
  std::string_view description;
  /// Which of an exchange's rounds a flow belongs to, and its place in the round.
  std::uint32_t (*round)(Flow flow, Rank ranks);
  std::uint32_t (*place)(Flow flow, Rank ranks);
};

std::span<const Schedule> schedules();

/// @throws UsageError  there is no such schedule; the text lists them
const Schedule& find_schedule(std::string_view name);

/// A rank's rounds of one exchange; those in which it has no part are left out.
std::vector<Round> rounds_of(Rank rank, std::span<const Flow> flows, Rank ranks,
                             const Schedule& schedule);

}  // namespace rdmameter
