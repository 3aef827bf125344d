// SPDX-License-Identifier: Apache-2.0
// An event-driven simulation of up to 16384 ranks: what they would have measured. Nothing in it
// knows the models of reports/topology; its rows go the same way as measured ones.
#pragma once

#include <cstdint>
#include <string>

#include "core/result/row.h"

namespace rdmameter {

/// Steps of a message, each a mean [ns]. A rank does one step of its own at a time.
struct SimulatedCosts {
  double post_ns = 400;     ///< of the sender
  double receive_ns = 300;  ///< of each rank that it reaches
  double relay_ns = 900;    ///< posting anew what was received, beyond receive_ns
  double wire_ns = 1'300;   ///< nobody's time
  double byte_ns = 0.08;    ///< of the rank that sends, at every hop
  double jitter = 0.10;     ///< of every step: relative, one sigma
  double stalls = 0.002;    ///< of all steps take ten times as long

  double alpha_ns() const { return post_ns + wire_ns + receive_ns; }
  double per_hop_ns() const { return relay_ns + wire_ns + receive_ns; }
};

/// Ping-pong between pairs, one at a time, drawn at random where there are too many: a row of
/// traffic `pairs`. @param graph  "mesh", "ring" or "hypercube"
Row simulate_pairs(const SimulatedCosts& costs, const std::string& graph, std::uint64_t ranks,
                   std::uint64_t size_bytes, std::uint64_t repetition, std::uint64_t repetitions);

}  // namespace rdmameter
