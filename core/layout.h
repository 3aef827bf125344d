// SPDX-License-Identifier: Apache-2.0
// Where messages lie in an end's buffer. Both ends compute the same layout from the same case, so
// only base addresses cross the wire.
#pragma once

#include <cstdint>

#include "core/case.h"
#include "core/loop/table.h"

namespace rdmameter {

/// The Global Routing Header that precedes every UD receive (IBTA vol. 1, 11.4.1.2: the first 40
/// bytes).
inline constexpr std::uint64_t kGrhBytes = 40;

/// One area of an end's buffer: for each QP `slots` slots of `slot_bytes`, each followed by a guard
/// up to its stride.
struct Area {
  std::uint64_t slots = 0;         ///< per QP; 0: this end has no such area
  std::uint64_t stride_bytes = 0;  ///< slot to slot
  std::uint64_t head_bytes = 0;    ///< before the payload: 40 in UD receives
  std::uint64_t payload_bytes = 0;
  std::uint64_t qps = 0;

  std::uint64_t total_bytes() const { return qps * slots * stride_bytes; }
  /// Offset of a slot from the area's begin.
  std::uint64_t slot(std::uint64_t qp, std::uint64_t index) const {
    return (qp * slots + index) * stride_bytes;
  }
  std::uint64_t payload(std::uint64_t qp, std::uint64_t index) const {
    return slot(qp, index) + head_bytes;
  }
};

struct Layout {
  Area source;  ///< what leaves this end: sends, writes, and what the peer reads
  Area target;  ///< what arrives at this end: receives, the peer's writes, and reads' results
};

/// Queue sizes of one end.
struct QueueDepths {
  std::uint32_t send = 1, receive = 1;  ///< WRs per QP
};

/// A slot for each WR in flight, as far as a QP's share of memory goes (1 MiB, less with very many
/// QPs, never less than one slot); beyond that slots are used in turn.
Layout layout_of(const Case& one_case, Role role);

QueueDepths queue_depths_of(const Case& one_case, Role role);

/// QPs of the case: one for everything but bandwidth.
std::uint32_t qp_count(const Case& one_case);

}  // namespace rdmameter
