// SPDX-License-Identifier: Apache-2.0
// A case of a topology, which a test makes its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "topologies/axes/rank_axes.h"

namespace rdmameter {

/// All else is as by default.
inline TestCase topology_case(const std::string& graph, std::string_view traffic,
                              std::uint64_t ranks) {
  TestCase test_case = default_topology_case();
  test_case.graph = graph;
  test_case.traffic = traffic;
  test_case.ranks = ranks;
  return test_case;
}

}  // namespace rdmameter
