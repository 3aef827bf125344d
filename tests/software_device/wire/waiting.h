// SPDX-License-Identifier: Apache-2.0
// The requests of a send queue that wait, for their turn or for their answer, as they lie in the
// segment. All of this with the send queue locked.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/wire/execute.h"
#include "tests/software_device/wire/request.h"

namespace rdmameter::software {

/// Its scatter list or its inline bytes follow it.
struct WaitingRequest {
  Request request;
  std::uint64_t due_ns = 0;  ///< when it is executed; once it has been, when its answer comes
  Outcome outcome;
  std::uint32_t sge_count = 0;
  std::uint32_t inline_bytes = 0;

  ibv_sge* sges() { return reinterpret_cast<ibv_sge*>(this + 1); }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  /// What it sends; inline bytes as one piece, which is kept in `room`.
  std::span<const ibv_sge> data(ibv_sge& room);
};

/// @return false: the segment is full
bool have_room(SharedQp& qp);
WaitingRequest& waiting_at(SharedQp& qp, std::uint32_t position);

/// Keeps a request at the end. Inline bytes are taken now.
WaitingRequest& keep_waiting(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges);

/// For whoever destroys the QP.
void free_waiting_requests(SharedQp& qp);

}  // namespace rdmameter::software
