// SPDX-License-Identifier: Apache-2.0
// How to connect n machines: for each n a line for each shape and transport, with what it costs and
// what it gives.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/stats/knee.h"
#include "reports/text/table.h"
#include "reports/topology/cases.h"

namespace rdmameter {

struct GivenLimits {
  std::optional<std::uint64_t> max_qp;               ///< of a device, one rank on each
  std::optional<std::uint64_t> memory_budget_bytes;  ///< of a rank, for its connections
};

/// A shape over a transport at a number of ranks, from all its cases of one size. Medians
/// over the repetitions.
struct ShapeChoice {
  std::uint64_t ranks = 0;
  std::string shape, over;   ///< "ring qps_per_edge:4"; "rc", with axes that models differ in
  Number qps, memory_bytes;  ///< of the rank with most
  std::vector<double> connects_ns;      ///< of the repetitions of all traffics
  Number connect_ns;                    ///< over them
  Number p50_ns, p99_ns;                ///< one way, pairs in a quiet network
  Number farthest_ns, farthest_p99_ns;  ///< at the most hops: p50, p99
  Number exchange_ns;                   ///< p50 of an all-to-all
  Number rank_mmsg_per_s;               ///< with all QPs of a rank active: traffic flood
};

/// The choices for one message size, by ranks, then in the order of the cases.
std::vector<ShapeChoice> shape_choices(TopologyCases cases, TopologyModels models,
                                       std::uint64_t size_bytes);

/// With its title; without a column of transports where that tells them.
Table decision_table(std::span<const ShapeChoice> choices, std::uint64_t size_bytes);

/// A table, and what limits rule out.
struct Decision {
  Table table;
  std::vector<std::string> limits;
};

/// One for each size of the cases, ascending.
std::vector<Decision> decisions(TopologyCases cases, TopologyModels models,
                                const GivenLimits& limits);

// ---- From which number of ranks a limit rules a shape out: the device's QPs, a budget of memory,
// or the number of QPs beyond which the device was measured to be slower.

/// The least `max_qp` that the ranks of a result name; nothing: they name none.
/// @param context  of the result
std::optional<std::uint64_t> least_max_qp(const Json& context);

/// The knee of the message rate of a rank over its active QPs: of traffic `flood`, among rows with
/// equal ranks.
/// Ranks that shared cores are left out: their rates are those of the cores.
/// @param model  whose cases are looked at
Knee measured_knee(TopologyCases cases, std::size_t model, std::uint64_t size_bytes);

/// A sentence for each limit that is known, and for each model's knee, in this order: QPs, memory,
/// knee. Numbers of ranks are by the shapes' closed forms, of memory by the fitted model.
/// @param models      of the cases
/// @param size_bytes  of messages
std::vector<std::string> limit_sentences(TopologyCases cases, TopologyModels models,
                                         std::uint64_t size_bytes, const GivenLimits& limits);

}  // namespace rdmameter
