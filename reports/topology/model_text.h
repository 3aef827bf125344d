// SPDX-License-Identifier: Apache-2.0
// The fitted model in words: costs, remarks, predictions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reports/text/environment_text.h"
#include "reports/text/table.h"
#include "reports/topology/model/model.h"

namespace rdmameter {

/// The costs of a message: "alpha", "2.01 µs". @pre they are known
Facts cost_facts(const TopologyModel& model);

/// Sentences about the limits of the model.
/// @param judge_shared  are ranks that shared cores judged? @see straggler_of()
std::vector<std::string> model_remarks(const TopologyModel& model, bool judge_shared = false);

/// How to read the predictions.
std::string prediction_remark(const TopologyModel& model);

/// "2.01 µs": three digits.
std::string time_value(double ns);

/// A line for each number of ranks, graph and size.
/// @param unknown  what nothing is predicted for is added to it: "hypercube at 100"
Table prediction_table(const TopologyModel& model, std::span<const std::uint64_t> ranks,
                       std::string& unknown);

/// Everything of it.
/// @param predict  numbers of ranks to predict for
std::string model_text(const TopologyModel& model, const std::vector<std::uint64_t>& predict,
                       const TextStyle& style, bool judge_shared = false);

}  // namespace rdmameter
