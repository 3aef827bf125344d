// SPDX-License-Identifier: Apache-2.0
// Who was late: from what both ends noted to a cause for each late sample. A pure function;
// docs/measuring.md defines the causes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/engine/blame/watch_log.h"
#include "core/instrument/histogram_data.h"
#include "core/result/row.h"

namespace rdmameter {

/// The most stalls that a row names.
inline constexpr std::size_t kMaxStalls = 16;

/// The records by which late samples are judged: all are of one run.
struct Evidence {
  const HistogramData& samples;     ///< of the measured part
  std::uint64_t late_ns = kAuto;    ///< the limit that was asked for; kAuto: beyond p99
  std::uint64_t warmup = 0;         ///< messages before the measured ones
  const WatchData& own;             ///< the initiator's
  const WatchData* peer = nullptr;  ///< the responder's; null: it has no loop
  bool open_loop = false;           ///< a sample may wait for others
};

BlameData judge_late_samples(const Evidence& evidence);

}  // namespace rdmameter
