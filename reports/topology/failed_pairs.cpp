// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/failed_pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/printable.h"

namespace rdmameter {
namespace {

constexpr std::size_t kTold = 8;

struct Failure {
  std::set<bool> upwards;  ///< from the lower rank to the higher one, or back
  std::set<const Row*> rows;
  std::string reason;  ///< the first
};

/// By the lower and the higher rank.
std::map<std::pair<std::uint64_t, std::uint64_t>, Failure> failures_of(const TopologyCase& one) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Failure> failures;
  for (const Row* row : one.summary.repetitions)
    for (const auto& [from, to, reason] : row->topology->failed_pairs) {
      Failure& failure = failures[std::minmax(from, to)];
      failure.upwards.insert(from < to);
      failure.rows.insert(row);
      if (failure.reason.empty()) failure.reason = reason.substr(0, reason.find(". "));
    }
  return failures;
}

}  // namespace

RankCells failed_cells(const TopologyCase& one) {
  RankCells cells;
  for (const Row* row : one.summary.repetitions)
    for (const auto& [from, to, reason] : row->topology->failed_pairs) cells.emplace(from, to);
  return cells;
}

std::vector<std::string> failed_pairs_text(const TopologyCase& one,
                                           const nlohmann::ordered_json& context) {
  const auto failures = failures_of(one);
  const std::size_t repetitions = one.summary.repetitions.size();
  std::vector<std::string> sentences;
  for (const auto& [ranks, failure] : failures) {
    if (sentences.size() == kTold) {
      sentences.push_back(fmt::format("{} more pairs failed", failures.size() - kTold));
      break;
    }
    const bool one_way = failure.upwards.size() == 1, down = !failure.upwards.contains(true);
    const auto name = [&](std::uint64_t rank) {
      return rank_text(context, static_cast<std::uint32_t>(rank));
    };
    const std::string often = repetitions == 1 ? ""
                                               : fmt::format(" in {} of {} repetitions",
                                                             failure.rows.size(), repetitions);
    sentences.push_back(fmt::format("{} {} {} {} failed{}: {}", one_way ? "from" : "between",
                                    name(down ? ranks.second : ranks.first), one_way ? "to" : "and",
                                    name(down ? ranks.first : ranks.second), often,
                                    printable(failure.reason)));
  }
  return sentences;
}

}  // namespace rdmameter
