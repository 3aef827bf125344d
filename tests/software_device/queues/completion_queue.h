// SPDX-License-Identifier: Apache-2.0
// The completion queue as it lies in the segment: every process whose request completes in it
// writes to it, its owner reads it.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "tests/software_device/segment/event_fd.h"
#include "tests/software_device/segment/ring.h"
#include "tests/software_device/segment/segment.h"

namespace rdmameter::software {

struct Cqe {
  std::uint64_t wr_id = 0;
  std::uint64_t timestamp_ns = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  ibv_wc_opcode opcode = IBV_WC_SEND;
  std::uint32_t byte_len = 0, imm_or_key = 0, qpn = 0, src_qp = 0, flags = 0;
  std::uint32_t retires = 0;  ///< of a send queue's completion: how many requests are over with it
  bool copied_by_poll = false;  ///< to an address that is none: see Personality::scatters_to_cqe
};

inline constexpr std::uint32_t kUnarmed = 0, kArmedForSolicited = 1, kArmedForAny = 2;

struct SharedCq {
  Ring ring;
  Offset<Cqe> entries{};
  bool with_timestamps = false;
  EventFd event{};  ///< of its channel
  std::atomic<bool> overrun{false};
  std::atomic<std::uint32_t> armed{kUnarmed};
  std::atomic<std::uint32_t> pending_events{0};
};

/// Takes part of a segment for a CQ of this process.
/// @return nowhere: the segment is full
Offset<SharedCq> make_cq(std::uint32_t entries);
void destroy_cq(Offset<SharedCq> cq);

/// Adds a completion and wakes who waits for it. A full CQ is marked as overrun: the completion is
/// lost, and its owner's next poll ends the program.
void complete(SharedCq& cq, const Cqe& cqe, bool solicited);

/// Takes the next completion, with the consumers' lock held.
bool take(SharedCq& cq, Cqe& cqe);

/// Takes out what belongs to a QP that goes, or begins anew.
void purge_completions(SharedCq& cq, std::uint32_t qpn);

/// A completion from now on raises an event.
void arm(SharedCq& cq, bool solicited_only);

}  // namespace rdmameter::software
