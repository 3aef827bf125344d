// SPDX-License-Identifier: Apache-2.0
// rdmameter topo --simulate: what makes planned cases simulated ones, and what simulates them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "core/base/stop.h"
#include "core/engine/measurer.h"
#include "core/result/json_text.h"
#include "core/result/result_file.h"
#include "reports/text/text.h"
#include "reports/topology/model/path_costs.h"

namespace rdmameter {

/// Simulates each case in this process; the rows' path is "simulated".
/// @param network  see kNetworkForm
/// @param stop     ends a simulation; borrowed
/// @throws UsageError  no such network
std::unique_ptr<Measurer> make_simulated_measurer(const std::string& network, const StopFlag& stop);

/// Gives the cases another name and device, so that no row is taken for one that was measured, and
/// as many iterations as a simulation needs. Adds why one of them cannot be simulated.
/// @param given  what was typed: counts among it stay as they are
/// @throws UsageError  no such network; an axis of which it knows nothing
void make_simulated(std::vector<PlannedCase>& cases, const std::string& network,
                    std::span<const GivenAxis> given);

// rdmameter topo --simulate from:FILE: the network that a result's measurements identify, and how
// far simulations on it are from what was measured.

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
/// @pre  there is a source
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
Json network_json(const NetworkChoice& network, std::span<const NetworkCheck> checks);

}  // namespace rdmameter
