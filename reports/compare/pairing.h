// SPDX-License-Identifier: Apache-2.0
// Which case of the one file is which of the other?
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reports/compare/comparable.h"
#include "reports/stats/batch_change.h"

namespace rdmameter {

/// Two cases that are compared. Borrows them.
struct Pair {
  const ComparableCase* base;
  const ComparableCase* other;
};

struct Pairing {
  std::vector<Pair> pairs;
  std::vector<std::string> only_base, only_other;  ///< names
};

/// Pairs cases by identity, and the rest by name, if one case of each file has it: that says what
/// was asked for, and the rest the program has found (an MTU, a size of inline data) or has another
/// default of. A case without a measurement does not know what was found.
Pairing pair_cases(const Comparable& base, const Comparable& other);

/// The axes that differ within pairs of cases that were measured: "inline_bytes is 0 in BASE and 64
/// in NEW (send_lat/rc, write_lat/rc)".
std::vector<std::string> axis_differences(const std::vector<Pair>& pairs);

// ---- How the rows of a file become replicates.

enum class Replication {
  runs,    ///< two files: a run is a replicate, or a batch where there are enough of them
  blocks,  ///< both sides in one measuring run, in turns: each block has a value of either side
};

/// Where replicates come from: if NEW and BASE are two files, the batch of each of their runs.
struct Batches {
  Replication replication = Replication::runs;
  std::size_t looks = 1;  ///< at which a measuring run could have ended; they share the error rates
  std::vector<std::size_t> base, other;  ///< of each run; a run beyond them is of batch 0
};

/// What runs have, as one value each, batch by batch.
/// @param batch_of_run  one of Batches
template <class OfRun>
BatchValues by_batch(const std::map<std::uint64_t, OfRun>& runs,
                     const std::vector<std::size_t>& batch_of_run, const auto& value_of) {
  BatchValues batches;
  for (const auto& [run, one] : runs) {
    const std::size_t batch = run < batch_of_run.size() ? batch_of_run[run] : 0;
    if (batches.size() <= batch) batches.resize(batch + 1);
    batches[batch].push_back(value_of(one));
  }
  return batches;
}

/// Which replicate a row belongs to.
template <class RowOfCase>
std::uint64_t replicate_of(const RowOfCase& row, Replication replication) {
  return replication == Replication::blocks ? row.repetition : row.run;
}

}  // namespace rdmameter
