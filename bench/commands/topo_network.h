// SPDX-License-Identifier: Apache-2.0
// rdmameter topo --simulate from:FILE: the network that a result's measurements identify, and how
// far simulations on it are from what was measured.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "core/base/stop.h"
#include "core/result/result_file.h"
#include "reports/text/text.h"
#include "reports/topology/model/path_costs.h"

namespace rdmameter {

/// The network that ranks are simulated on.
struct NetworkChoice {
  std::string text;                       ///< as read_network() takes it, without from:FILE
  std::optional<ResultFile> source = {};  ///< where it was taken from
  PathCosts costs = {};                   ///< of the source
};

/// @param typed  --simulate: see kNetworkForm. What is typed beside from:FILE counts, not what the
///               file has for it
/// @param ranks  of the run
/// @throws UsageError  no such network; the file cannot be read, or does not tell what is needed
NetworkChoice choose_network(const std::string& typed, std::uint64_t ranks);

/// The time of a message in a case of the source, as measured and as simulated.
struct NetworkCheck {
  std::string graph, traffic;
  std::uint64_t ranks = 0, size_bytes = 0;
  double measured_ns = 0,
         simulated_ns = 0;  ///< `pairs`: mean latency; else from message to message
};

/// Numbers of ranks in the source at which such a check takes no time to speak of, ascending.
std::vector<std::uint64_t> checked_ranks(const NetworkChoice& network);

/// Simulates each of the cases that the source has measured.
/// @param cases  simulated ones, at checked_ranks()
/// @throws Interrupted  `stop` was requested meanwhile
std::vector<NetworkCheck> check_network(const NetworkChoice& network,
                                        std::span<const PlannedCase> cases, const StopFlag& stop);

/// The network as a text for people. @pre it has a source
std::string network_text(const NetworkChoice& network, std::span<const NetworkCheck> checks,
                         const TextStyle& style);

/// The value of context.rdmameter.simulated_from.
nlohmann::ordered_json network_json(const NetworkChoice& network,
                                    std::span<const NetworkCheck> checks);

}  // namespace rdmameter
