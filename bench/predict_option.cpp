// SPDX-License-Identifier: Apache-2.0
#include "bench/predict_option.h"

#include <fmt/core.h>

#include <set>
#include <string_view>

#include "bench/help_text.h"
#include "core/error.h"
#include "core/parse_value.h"
#include "reports/topology/shape.h"

namespace rdmameter {

void add_predict_option(CLI::App& app, std::string& list) {
  app.add_option("--predict", list,
                 help_text("topologies: extrapolate to these numbers of ranks, e.g. "
                           "64,1024,16384, by the model fitted to what was measured"))
      ->type_name("LIST");
}

std::vector<std::uint64_t> predicted_ranks(const std::string& list) {
  constexpr std::size_t kMost = 32;
  std::set<std::uint64_t> ranks;
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const auto count = parse_count(part);
    const bool ends_in_comma = comma + 1 == rest.size();
    if (!count || *count < 2 || *count > kMostPredictedRanks || ends_in_comma)
      throw UsageError(
          fmt::format("--predict '{}': takes numbers of ranks from 2 to {}, separated "
                      "by commas, as 64,1024,16384",
                      list, kMostPredictedRanks));
    ranks.insert(*count);
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
  }
  if (ranks.size() > kMost)
    throw UsageError(fmt::format("--predict: at most {} numbers of ranks", kMost));
  return {ranks.begin(), ranks.end()};
}

}  // namespace rdmameter
