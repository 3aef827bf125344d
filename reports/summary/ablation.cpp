// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/instrument/histogram_data.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

std::vector<AblationAxis> axes_in(const Json& context) {
  static const Json::json_pointer kFactors("/rdmameter/ablation/factors");
  std::vector<AblationAxis> axes;
  if (!context.contains(kFactors) || !context.at(kFactors).is_array()) return axes;
  for (const Json& factor : context.at(kFactors)) {
    const bool good = factor.is_object() && factor.contains("axis") &&
                      factor.at("axis").is_string() && factor.contains("levels") &&
                      factor.at("levels").is_array() && factor.at("levels").size() == 2 &&
                      factor.at("levels").at(0).is_string() &&
                      factor.at("levels").at(1).is_string();
    if (!good || axes.size() == kMaxFactors) return {};
    axes.push_back({factor.at("axis"), {factor.at("levels").at(0), factor.at("levels").at(1)}});
  }
  return axes;
}

/// A row's levels, and what its name is without them.
struct FactorPlace {
  std::string name;
  FactorSet has = 0, levels = 0;  ///< bits of the axes
};

/// "/option:level", and not the beginning of a longer one.
std::size_t find_part(const std::string& name, const std::string& part) {
  for (std::size_t at = name.find(part); at != name.npos; at = name.find(part, at + 1))
    if (at + part.size() == name.size() || name[at + part.size()] == '/') return at;
  return name.npos;
}

FactorPlace place_of(const Row& row, const std::vector<AblationAxis>& axes) {
  FactorPlace place{.name = row.name};
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (const std::size_t level : {0U, 1U}) {
      const std::string part = fmt::format("/{}:{}", axes[i].option, axes[i].levels[level]);
      const std::size_t at = find_part(place.name, part);
      if (at == place.name.npos) continue;
      place.name.erase(at, part.size());
      place.has |= 1U << i;
      place.levels |= static_cast<FactorSet>(level) << i;
      break;
    }
  return place;
}

/// Its p50, half of a round trip's, as tables have it.
std::optional<double> p50_of(const Row& row) {
  if (row.bandwidth || !row.latency) return std::nullopt;
  return summarize(row.latency->histogram, latency_divisor(row)).p50;
}

/// The bits of the axes that the rows have, moved together.
FactorSet packed(FactorSet levels, FactorSet has) {
  FactorSet result = 0;
  for (std::size_t i = 0, to = 0; i < kMaxFactors; ++i)
    if ((has >> i & 1) != 0) result |= (levels >> i & 1) << to++;
  return result;
}

}  // namespace

std::vector<Ablation> ablations_of(const Json& context, std::span<const Row> rows) {
  const std::vector<AblationAxis> axes = axes_in(context);
  struct Member {
    const Row* row;
    FactorPlace place;
  };
  std::vector<std::vector<Member>> experiments;
  for (const Row& row : rows) {
    FactorPlace place = place_of(row, axes);
    if (place.has == 0) continue;
    auto same = std::ranges::find_if(experiments, [&](const auto& members) {
      return members.front().place.name == place.name && members.front().place.has == place.has;
    });
    if (same == experiments.end())
      same = experiments.insert(experiments.end(), std::vector<Member>());
    same->push_back({&row, std::move(place)});
  }
  std::vector<Ablation> found;
  for (const auto& members : experiments) {
    Ablation& ablation = found.emplace_back();
    const FactorSet has = members.front().place.has;
    ablation.name = members.front().place.name;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if ((has >> i & 1) != 0) ablation.axes.push_back(axes[i]);
    const auto measured = [](const Member& member) {
      return member.row->status == Row::Status::ok && !member.row->interrupted;
    };
    const bool by_p50 = std::ranges::all_of(
        members, [&](const Member& member) { return !measured(member) || p50_of(*member.row); });
    const bool rate = std::ranges::any_of(
        members, [](const Member& member) { return member.row->bandwidth.has_value(); });
    ablation.of = rate ? "time per message" : by_p50 ? "p50" : "mean";
    std::vector<FactorialRun> runs;
    std::set<std::uint64_t> repetitions;
    for (const Member& member : members) {
      repetitions.insert(member.row->repetition);
      if (!measured(member)) continue;
      const double value = by_p50 && !rate ? *p50_of(*member.row) : member.row->real_time_ns;
      runs.push_back({packed(member.place.levels, has), member.row->repetition, value});
    }
    ablation.repetitions = repetitions.size();
    ablation.analysis = analyse_factorial(runs, ablation.axes.size());
  }
  return found;
}

}  // namespace rdmameter
