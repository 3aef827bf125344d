// SPDX-License-Identifier: Apache-2.0
// What a device says of itself: that a port went down, a QP broke, the device is
// gone (ibv_get_async_event(3)).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

/// The event's name in the man page, and what it means; empty: nothing that ends a run.
std::string_view fatal_event_text(ibv_event_type type);

/// The event's name in the man page, where it changes what paths were made of, and traffic may go
/// on: for the row. Empty: no such event.
std::string_view noted_event_text(ibv_event_type type);

/// Takes every event that waits, without waiting for one.
/// @param port_num  events of other ports are passed over
/// @param noted     gets each noted_event_text() that it does not have yet
/// @return          the first that ends a run: "IBV_EVENT_PORT_ERR: the port went
///                  down"; empty: none
/// For one thread at a time: only the thread that reports events may take them.
std::string take_fatal_event(ibv_context& context, std::uint8_t port_num,
                             std::vector<std::string>& noted);

}  // namespace rdmameter
