// SPDX-License-Identifier: Apache-2.0
#include "reports/text/environment_ends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// "ranks 0, 2, 4", "ranks 0, 2, 4, 6 ... 62 (32 ranks)"
std::string ranks_text(const std::vector<std::string>& ranks) {
  constexpr std::size_t kMaxNamed = 8, kFirst = 4;
  if (ranks.size() == 1) return "rank " + ranks.front();
  if (ranks.size() <= kMaxNamed) return fmt::format("ranks {}", fmt::join(ranks, ", "));
  return fmt::format("ranks {} ... {} ({} ranks)",
                     fmt::join(ranks.begin(), ranks.begin() + kFirst, ", "), ranks.back(),
                     ranks.size());
}

/// Those of a run with several hosts.
void add_responders(std::vector<EnvironmentEnd>& ends, const Json& ours) {
  const auto all = ours.find("responders");
  if (all == ours.end() || !all->is_array()) return;
  for (Json one : *all) {
    if (!one.is_object()) continue;
    const Json host = one.value("host", Json());
    one.erase("host");
    ends.push_back(
        {"responder " + (host.is_string() ? host.get<std::string>() : "?"), std::move(one)});
  }
}

}  // namespace

std::vector<EnvironmentEnd> two_ends(const Json& ours) {
  std::vector<EnvironmentEnd> ends;
  for (const char* role : {"initiator", "responder"})
    if (const auto found = ours.find(role); found != ours.end() && found->is_object())
      ends.push_back({role, *found});
  add_responders(ends, ours);
  return ends;
}

std::vector<EnvironmentEnd> environment_ends(const Json& ours) {
  std::vector<EnvironmentEnd> ends = two_ends(ours);
  const auto all = ours.find("ranks");
  if (all == ours.end() || !all->is_array()) return ends;
  std::vector<std::pair<Json, std::vector<std::string>>> groups;
  for (Json one : *all) {
    if (!one.is_object()) continue;
    const Json rank = one.value("rank", Json());
    one.erase("rank");
    // Of each process its own, and none of what tells machines apart.
    if (const auto clock = one.find("clock"); clock != one.end() && clock->is_object())
      for (const char* key : {"error_ppm", "ticks_per_ns", "resolution_ns", "reason"})
        clock->erase(key);
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&one](const auto& group) { return group.first == one; });
    if (same == groups.end())
      same = groups.emplace(groups.end(), std::move(one), std::vector<std::string>());
    same->second.push_back(rank.is_number_unsigned() ? rank.dump() : "?");
  }
  for (auto& [environment, ranks] : groups)
    ends.push_back({ranks_text(ranks), std::move(environment)});
  return ends;
}

}  // namespace rdmameter
