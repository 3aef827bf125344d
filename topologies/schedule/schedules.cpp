// SPDX-License-Identifier: Apache-2.0
// The list of schedules, and what they make of a rank's flows.
#include <algorithm>
#include <array>
#include <map>

#include "topologies/schedule/schedule.h"

namespace rdmameter {

// Each in its own file.
extern const Schedule kSimultaneous, kRounds, kStaggered;

namespace {

constexpr std::array kSchedules{&kSimultaneous, &kRounds, &kStaggered};

}  // namespace

std::span<const Schedule* const> schedules() {
  return kSchedules;
}

const Schedule& find_schedule(std::string_view name) {
  return *read_entry(schedules(), "schedule", name).entry;
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
