// SPDX-License-Identifier: Apache-2.0
// Attributes late samples: from what both ends noted to a cause for each late sample. A pure function;
// docs/measuring.md defines the causes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

// Of an open loop, whose requests wait for each other: for how long each end was away so that a
// late sample took longer, in the whole of its busy period. A pure function, too.

/// A late sample, and for how long each end was away in its busy period until it was seen.
struct AwayTimes {
  WatchData::Sample sample;
  std::uint64_t local_ns = 0, peer_ns = 0;
};

/// A busy period is a chain of late samples: each fell due before one before it was seen.
/// @param limit_ns    samples of this length or more are late
/// @param local_gaps  of the initiator
/// @param peer_gaps   of the responder; its messages are counted as the initiator's samples are
/// @param stalls      takes the initiator's gaps that made a sample late
std::vector<AwayTimes> times_away(const WatchData& own, std::uint64_t limit_ns,
                                  std::vector<WatchData::Gap> local_gaps,
                                  std::vector<WatchData::Gap> peer_gaps,
                                  std::vector<WatchData::Gap>& stalls);

}  // namespace rdmameter
