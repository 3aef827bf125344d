// SPDX-License-Identifier: Apache-2.0
// What makes each traffic; see the table in topologies/traffics.cpp.
#pragma once

#include <string>
#include <vector>

#include "topologies/traffic.h"

namespace rdmameter {

TrafficPlan make_pairs(const Graph& graph, const std::vector<std::uint64_t>&);
TrafficPlan make_token(const Graph& graph, const std::vector<std::uint64_t>&);
TrafficPlan make_neighbours(const Graph& graph, const std::vector<std::uint64_t>&);
TrafficPlan make_alltoall(const Graph& graph, const std::vector<std::uint64_t>&);
TrafficPlan make_bisection(const Graph& graph, const std::vector<std::uint64_t>&);

std::string why_no_incast(const std::vector<std::uint64_t>& arguments, Rank ranks);
TrafficPlan make_incast(const Graph& graph, const std::vector<std::uint64_t>& arguments);

}  // namespace rdmameter
