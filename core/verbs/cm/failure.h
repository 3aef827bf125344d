// SPDX-License-Identifier: Apache-2.0
// What an rdma_cm event that ends a connection, or never lets it begin, means and what to do.
#pragma once

#include <rdma/rdma_cma.h>

#include <string>
#include <string_view>

namespace rdmameter {

/// "RDMA_CM_EVENT_REJECTED (status 8: invalid service ID) OBJECT. What to do."
/// @param status   the event's: an errno value, negated; of a rejection the reason (IBTA vol. 1,
///                 12.6.7.2); of a datagram service that is not given its status (12.11.1.2)
/// @param object   "from 10.9.0.1 on rxe0/1 to 10.9.0.2:4711"
/// @param words    what the peer said with a rejection; empty: nothing
std::string cm_event_text(rdma_cm_event_type event, int status, std::string_view object,
                          std::string_view words = {});

/// The text of an event that reports a failure.
std::string cm_event_text(const rdma_cm_event& event, std::string_view object);

/// @throws MeasurementError with that text
[[noreturn]] void throw_cm_event(const rdma_cm_event& event, std::string_view object);

}  // namespace rdmameter
