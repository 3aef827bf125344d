// SPDX-License-Identifier: Apache-2.0
// How the rows of a file become replicates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmameter {

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

/// Which replicate a row belongs to.
template <class RowOfCase>
std::uint64_t replicate_of(const RowOfCase& row, Replication replication) {
  return replication == Replication::blocks ? row.repetition : row.run;
}

}  // namespace rdmameter
