// SPDX-License-Identifier: Apache-2.0
// The table of schedules, and what they make of a rank's flows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.h"
#include "topologies/schedule.h"
#include "topologies/schedule/schedule.h"

namespace rdmameter {
namespace {

constexpr std::array kSchedules{
    Schedule{"simultaneous", "everything at once, every rank to rank 0 first", one_round,
             by_number},
    Schedule{"rounds", "pairwise exchange: a partner a round, the next after its answer",
             pairwise_round, by_number},
    Schedule{"staggered", "everything at once, every rank to its next one first", one_round,
             by_distance},
};

}  // namespace

std::span<const Schedule> schedules() {
  return kSchedules;
}

const Schedule& find_schedule(std::string_view name) {
  const auto found = std::ranges::find(kSchedules, name, &Schedule::name);
  if (found != kSchedules.end()) return *found;
  std::vector<std::string_view> known;
  for (const Schedule& each : kSchedules) known.push_back(each.name);
  throw UsageError(
      fmt::format("--schedule: there is no '{}' (schedules: {})", name, fmt::join(known, ", ")));
}

std::vector<Round> rounds_of(Rank rank, std::span<const Flow> flows, Rank ranks,
                             const Schedule& schedule) {
  struct Part {
    std::vector<Flow> sends;
    std::vector<Rank> from;
  };
  std::map<std::uint32_t, Part> parts;
  for (const Flow& flow : flows) {
    if (flow.from == rank) parts[schedule.round(flow, ranks)].sends.push_back(flow);
    if (flow.to == rank) parts[schedule.round(flow, ranks)].from.push_back(flow.from);
  }
  std::vector<Round> rounds;
  for (auto& [number, part] : parts) {
    std::ranges::stable_sort(part.sends, {},
                             [&](const Flow& flow) { return schedule.place(flow, ranks); });
    Round round{.to = {}, .from = std::move(part.from)};
    for (const Flow& flow : part.sends) round.to.push_back(flow.to);
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace rdmameter
