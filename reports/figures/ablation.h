// SPDX-License-Identifier: Apache-2.0
// What the rows of run --ablate say of each axis and pair of axes.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/row.h"
#include "reports/stats/factorial.h"
#include "reports/summary/facts.h"
#include "reports/text/table.h"

namespace rdmameter {

struct AblationAxis {
  std::string option;                 ///< "signal-every"
  std::array<std::string, 2> levels;  ///< as they stand in names of cases
};

/// Rows whose names differ in the ablated axes alone.
struct Ablation {
  std::string name;                ///< theirs, without these axes
  std::vector<AblationAxis> axes;  ///< those that the rows have
  std::string of;                  ///< what the effects [ns] are of: "p50", "time per message"
  std::size_t repetitions = 0;     ///< that the rows are of; the whole ones are the replicates
  std::optional<FactorialAnalysis> analysis;  ///< nothing: no repetition is whole
};

/// @param context  of the result
/// @return         empty: it was no run --ablate
std::vector<Ablation> ablations_of(const Json& context, std::span<const Row> rows);

// ---- What run --ablate has found, as tables.

/// A line for each axis and each pair, the largest effect first. @param ablation  has an analysis
Table ablation_table(const Ablation& ablation);

/// "read_lat/rc: p50 [ns], 10 repetitions, 16 runs each"
std::string ablation_title(const Ablation& ablation);

/// How the table is to be read, with what is mixed in it.
std::string ablation_remark(const Ablation& ablation);

/// All of them. Empty: it was no run --ablate.
/// @param context  of the result
std::string ablation_text(const Json& context, std::span<const Row> rows, const TextStyle& style);

}  // namespace rdmameter
