// SPDX-License-Identifier: Apache-2.0
// Owners of rdma_cm's objects, as core/handles.h has those of verbs: an id before its channel, and
// every event acknowledged before its id goes, or rdma_destroy_id() waits for ever.
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>

#include "core/handles.h"

namespace rdmameter {

inline int destroy_event_channel(rdma_event_channel* channel) {
  return rdma_destroy_event_channel(channel), 0;
}

using CmEventChannel = std::unique_ptr<rdma_event_channel, Destroyer<destroy_event_channel>>;
/// Destroying a connected one disconnects it.
using CmId = std::unique_ptr<rdma_cm_id, Destroyer<rdma_destroy_id>>;
using CmEvent = std::unique_ptr<rdma_cm_event, Destroyer<rdma_ack_cm_event>>;

}  // namespace rdmameter
