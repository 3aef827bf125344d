// SPDX-License-Identifier: Apache-2.0
// The topology cases of a result, and what the tables and pictures tell of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/result_file.h"
#include "reports/summary.h"
#include "reports/topology/model.h"
#include "reports/topology/straggler.h"

namespace rdmameter {

/// A case and its medians over the repetitions. Borrows the rows.
struct TopologyCase {
  std::string name;
  CaseSummary summary;
  const TopologyData* topology = nullptr;  ///< of the first repetition
  std::uint64_t size_bytes = 0;
  std::size_t model = 0;       ///< which of the models its rows went into
  std::uint64_t qps_most = 0;  ///< of the rank with most; 0: not known

  std::optional<double> p50_ns, p99_ns;          ///< half round trips where those are
  std::optional<double> setup_ns, memory_bytes;  ///< all steps; all kinds
  std::optional<double> barrier_ns;
  std::optional<double> gbps, rank_gbps;  ///< of all ranks; of a rank, on average
  std::optional<double> jain;
  std::optional<double> share;  ///< of the model; the row's own, or by the fitted model
};

/// In order of traffic, size, ranks, then shapes as they appear.
std::vector<TopologyCase> topology_cases(std::span<const Row> rows,
                                         std::span<const TopologyModel> models);

/// Those whose matrix is worth a picture: for each shape that of most ranks and the least size, and
/// each with a straggler; or all that have one.
std::vector<const TopologyCase*> pictured_cases(std::span<const TopologyCase> cases, bool all);

/// The matrix over the repetitions; empty: it has none.
Matrix matrix_of(const TopologyCase& one);

/// "rank 5 (beta) takes 3.0 times as long as the others": empty where none does.
/// @param context  of the result, for the name of the host
std::string straggler_text(const TopologyCase& one, const Matrix& matrix_ns,
                           const nlohmann::ordered_json& context);

/// What the kernel counts by that name, "qps" or "pinned_bytes"; nothing: it does not tell.
std::optional<double> kernel_count(const TopologyCase& one, std::string_view name);

/// "ring, 8 ranks, 64 B"
std::string case_title(const TopologyCase& one);

}  // namespace rdmameter
