// SPDX-License-Identifier: Apache-2.0
// How rdma_cm's events are awaited: in poll(), until a deadline, never past an interrupt, and not
// long past the moment at which the session's peer gives up.
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>
#include <string>

#include "core/verbs/handles.h"
#include "core/wire/wait.h"

namespace rdmameter {

// Owners, as core/verbs/handles.h has those of verbs: an id before its channel, and every event
// acknowledged before its id goes, or rdma_destroy_id() waits for ever.
inline int destroy_event_channel(rdma_event_channel* channel) {
  return rdma_destroy_event_channel(channel), 0;
}

using CmEventChannel = std::unique_ptr<rdma_event_channel, Destroyer<destroy_event_channel>>;
/// Destroying a connected one disconnects it.
using CmId = std::unique_ptr<rdma_cm_id, Destroyer<rdma_destroy_id>>;
using CmEvent = std::unique_ptr<rdma_cm_event, Destroyer<rdma_ack_cm_event>>;

/// How long a step of rdma_cm may take. The kernel sends a lost request again after 4.3 s.
inline constexpr std::chrono::seconds kCmTimeout{12};

/// The conditions that end a wait for an event.
struct CmWatch {
  const InterruptSource* interrupt = nullptr;  ///< borrowed
  int session = -1;  ///< the session's socket, borrowed: readable once the peer speaks or hangs up
  std::chrono::milliseconds patience = kCmTimeout;
};

class CmChannel {
 public:
  /// @throws VerbsError  the kernel's rdma_ucm is not there
  explicit CmChannel(CmWatch watch);

  rdma_event_channel* get() const noexcept { return channel_.get(); }
  int fd() const noexcept { return channel_->fd; }

  /// The deadline of a wait that begins now.
  Deadline deadline() const noexcept { return Deadline::in(watch_.patience); }

  /// Until an event is there (ready), or the session's peer speaks or hangs up (woken).
  Waited wait(Deadline deadline) const noexcept;

  /// The next event, whatever it is.
  /// @param awaited  for the text: "an answer of 10.9.0.2:4711"
  /// @throws MeasurementError  none came until the deadline, or the session's peer has given up
  /// @throws Interrupted
  CmEvent next(Deadline deadline, const std::string& awaited);

  /// One that is there already; null: none is.
  /// @throws VerbsError
  CmEvent take();

 private:
  Waited wait_for_any(Deadline deadline, int session) const noexcept;

  const CmWatch watch_;
  const CmEventChannel channel_;
};

}  // namespace rdmameter
