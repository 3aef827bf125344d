// SPDX-License-Identifier: Apache-2.0
#include "bench/options/prediction_options.h"

#include <set>

#include "bench/options/command.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

/// Reads "64,1024,16384".
std::vector<std::uint64_t> read_ranks(const std::string& list) {
  constexpr std::size_t kMax = 32;
  std::set<std::uint64_t> ranks;
  for (const std::string_view part : split(list, ",")) {
    const auto count = parse_count(part);
    if (!count || *count < 2 || *count > kMaxPredictedRanks)
      throw UsageError(
          "--predict '{}': takes numbers of ranks from 2 to {}, separated "
          "by commas, such as 64,1024,16384",
          list, kMaxPredictedRanks);
    ranks.insert(*count);
  }
  if (ranks.size() > kMax) throw UsageError("--predict: at most {} numbers of ranks", kMax);
  return {ranks.begin(), ranks.end()};
}

}  // namespace

void add_predict_option(CLI::App& app, std::vector<std::uint64_t>& ranks) {
  add_option(app, "--predict", ranks, "LIST",
             "topologies: predict for these numbers of ranks, e.g. 64,1024,16384, "
             "by the model that is fitted to the measured rows",
             read_ranks);
}

void add_memory_budget_option(CLI::App& app, std::optional<std::uint64_t>& bytes) {
  add_option(app, "--memory-budget", bytes, "BYTES",
             "topologies: tell from how many ranks on the connections of a rank take more memory "
             "than this, e.g. 64M",
             read_memory_budget);
}

std::uint64_t read_memory_budget(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0)
    throw invalid_value("--memory-budget", text, "bytes from 1 on, such as 64M");
  return *bytes;
}

}  // namespace rdmameter
