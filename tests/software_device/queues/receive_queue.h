// SPDX-License-Identifier: Apache-2.0
// The receive queue of a QP, or the one that QPs share (SRQ), as it lies in the segment: its owner
// posts to it, whoever executes a sender's request takes from it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

#include "tests/software_device/segment/ring.h"
#include "tests/software_device/segment/segment.h"

namespace rdmameter::software {

/// Its scatter list follows it.
struct Rqe {
  std::uint64_t wr_id;
  std::uint32_t sge_count;
  std::uint32_t total_bytes;

  std::span<ibv_sge> sges() { return {reinterpret_cast<ibv_sge*>(this + 1), sge_count}; }
};

struct SharedRq {
  Ring ring;
  std::uint32_t max_sge = 0, stride = 0, process = 0, pd = 0;
  bool is_shared = false;
  std::uint64_t entries = 0;

  Rqe& at(std::uint32_t position) {
    return *reinterpret_cast<Rqe*>(segment_at(entries) +
                                   std::uint64_t{ring.slot_of(position)} * stride);
  }
  /// With the consumers' lock held: the oldest entry, whose place is free now.
  Rqe take() {
    const Rqe taken = at(ring.tail());
    ring.pop();
    return taken;
  }
};

/// @return nowhere: the segment is full
Offset<SharedRq> make_rq(std::uint32_t max_wr, std::uint32_t max_sge, std::uint32_t pd);
void destroy_rq(Offset<SharedRq> rq);

/// @return an errno value; `bad` is then the first one that was not posted
int post_receives(SharedRq& rq, ibv_recv_wr* wr, ibv_recv_wr*& bad);

}  // namespace rdmameter::software
