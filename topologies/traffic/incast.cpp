// SPDX-License-Identifier: Apache-2.0
// Many to one.
#include <fmt/format.h>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

std::string why_no_incast(const std::vector<std::uint64_t>& arguments, Rank ranks) {
  if (arguments[0] >= 1 && arguments[0] < ranks) return {};
  return fmt::format("incast:{} among {} ranks: K is from 1 to {}, the number of other ranks",
                     arguments[0], ranks, ranks - 1);
}

TrafficPlan make_incast(const Graph&, const std::vector<std::uint64_t>& arguments) {
  TrafficPlan plan;
  for (Rank from = 1; from <= arguments[0]; ++from) plan.flows.push_back({from, 0});
  return plan;
}

}  // namespace rdmameter
