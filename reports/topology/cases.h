// SPDX-License-Identifier: Apache-2.0
// The topology cases of a result, and what the tables and pictures show of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "reports/summary/metric.h"
#include "reports/summary/summary.h"
#include "reports/topology/model/model.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {

/// A case and its medians over the repetitions. Borrows the rows.
struct TopologyCase {
  CaseSummary summary;
  const TopologyData* topology = nullptr;  ///< of the first repetition
  std::uint64_t size_bytes = 0;
  RankPlaces places;          ///< of its ranks, in the first repetition; empty: not known
  std::size_t model = 0;      ///< which of the models its rows went into
  std::uint64_t qps_max = 0;  ///< of the rank with most; 0: not known

  Number p50_ns, p99_ns;             ///< half round trips where those are
  Number connect_ns;                 ///< of all verbs
  Number memory_bytes, relay_bytes;  ///< of connections; of relayed messages
  Number barrier_ns;
  Number gbps, rank_gbps;  ///< of all ranks; of a rank, on average
  Number jain;
  Number share;  ///< of the model; the row's own, or by the fitted model
};

using TopologyCases = std::span<const TopologyCase>;

/// The cases in order of traffic, size, ranks, then shapes as they appear.
/// @param context  of the result: which ranks are on one host
std::vector<TopologyCase> topology_cases(std::span<const Row> rows, TopologyModels models,
                                         const Json& context = {});

/// The cases of one model.
std::vector<TopologyCase> cases_of_model(TopologyCases cases, std::size_t model);

/// The cases of other traffics than collectives, by which graphs are chosen.
std::vector<TopologyCase> without_collectives(TopologyCases cases);

/// The cases whose matrix is worth a picture: for each shape that of most ranks and the least size,
/// and each with a straggler or a failed pair; or all that have one.
/// @param judge_shared  as straggler_of()
std::vector<const TopologyCase*> pictured_cases(TopologyCases cases, bool all,
                                                bool judge_shared = false);

/// How the numbers of a matrix are read: times as they are, those of a stream's messages as the
/// bandwidth that they make.
struct PairNumbers {
  double message_bits = 0;  ///< 0: times

  bool bandwidths() const { return message_bits > 0; }
  /// The unit for all numbers of a matrix whose least time is this.
  Unit unit(double min_ns) const;
  double value(double ns, const Unit& unit) const {
    return (bandwidths() ? message_bits / ns : ns) / unit.size;
  }
  std::string text(double ns) const;  ///< with its unit
};
PairNumbers pair_numbers(const TopologyCase& one);

/// The matrix over the repetitions; empty: it has none.
Matrix matrix_of(const TopologyCase& one);

/// Have ranks shared cores in any repetition?
bool ranks_shared_cores(const TopologyCase& one);

/// The straggler: the verdict of most repetitions where they have one; else what the matrix tells,
/// but not where ranks shared cores: who waits for a core looks slow, and another one does the next
/// time; nor where it is not known which ranks share a host.
/// @param matrix_ns     of the case
/// @param judge_shared  judge there, too
/// @return              Verdict::node, path or direction; nothing: nothing is slow
std::optional<Straggler> straggler_of(const TopologyCase& one, const Matrix& matrix_ns,
                                      bool judge_shared = false);

/// "rank 5 (beta)": with its host, where the context has it.
std::string rank_text(const Json& context, std::uint64_t rank);

/// "rank 5 (beta) takes 3.0 times as long as the others": empty where nothing is slow.
/// @param context  of the result, for the name of the host
std::string straggler_text(const std::optional<Straggler>& straggler, const Json& context);

/// "ring"; with the axes of its QPs, where they are not those of a plain graph: "mesh inflate:64
/// active:1", "ring qps_per_edge:4"
std::string shape_label(const TopologyCase& one);

/// "ring, 8 ranks, 64 B"
std::string case_title(const TopologyCase& one);

}  // namespace rdmameter
