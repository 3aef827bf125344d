// SPDX-License-Identifier: Apache-2.0
// Who took part in a measurement, and in what environment.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rdmameter {

struct EnvironmentEnd {
  std::string name;  ///< "initiator", "responder", "responder node7", "rank 3", "ranks 0, 2, 4"
  nlohmann::ordered_json environment;
};

/// The initiator and the responder, of several hosts each by its name, where they are known.
/// @param ours  `context.rdmameter` of a result
std::vector<EnvironmentEnd> two_ends(const nlohmann::ordered_json& ours);

/// The same, and of topologies the ranks, those of one environment together, as ranks of one host
/// mostly are.
/// @param ours  `context.rdmameter` of a result
std::vector<EnvironmentEnd> environment_ends(const nlohmann::ordered_json& ours);

}  // namespace rdmameter
