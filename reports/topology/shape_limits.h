// SPDX-License-Identifier: Apache-2.0
// From which number of ranks a limit rules a shape out: the device's QPs, a budget of memory, or
// the number of QPs beyond which the device was measured to be slower.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/stats/knee.h"
#include "reports/topology/cases.h"

namespace rdmameter {

struct GivenLimits {
  std::optional<std::uint64_t> max_qp;               ///< of a device, one rank on each
  std::optional<std::uint64_t> memory_budget_bytes;  ///< of a rank, for its connections
};

/// The least `max_qp` that the ranks of a result name; nothing: they name none.
/// @param context  of the result
std::optional<std::uint64_t> least_max_qp(const nlohmann::ordered_json& context);

/// The knee of the message rate of a rank over its active QPs: of traffic `flood`, among rows with
/// equal ranks.
/// Ranks that shared cores are left out: their rates are those of the cores.
/// @param model  whose cases are looked at
Knee measured_knee(std::span<const TopologyCase> cases, std::size_t model,
                   std::uint64_t size_bytes);

/// A sentence for each limit that is known, and for each model's knee, in this order: QPs, memory,
/// knee. Numbers of ranks are by the shapes' closed forms, of memory by the fitted model.
/// @param models      of the cases
/// @param size_bytes  of messages
std::vector<std::string> limit_sentences(std::span<const TopologyCase> cases,
                                         std::span<const TopologyModel> models,
                                         std::uint64_t size_bytes, const GivenLimits& limits);

}  // namespace rdmameter
