// SPDX-License-Identifier: Apache-2.0
// What run --ablate has found, as tables.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/result/row.h"
#include "reports/summary/ablation.h"
#include "reports/text/table.h"

namespace rdmameter {

/// A line for each axis and each pair, the largest effect first. @param ablation  has an analysis
Table ablation_table(const Ablation& ablation);

/// "read_lat/rc: p50 [ns], 10 repetitions, 16 runs each"
std::string ablation_title(const Ablation& ablation);

/// How the table is to be read, with what is mixed in it.
std::string ablation_remark(const Ablation& ablation);

/// All of them. Empty: it was no run --ablate.
/// @param context  of the result
std::string ablation_text(const nlohmann::ordered_json& context, std::span<const Row> rows,
                          const TextStyle& style);

}  // namespace rdmameter
