// SPDX-License-Identifier: Apache-2.0
// Asynchronous events, which the settings raise: of the port, in every context that this process
// has open.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmameter::software {

/// "LID_CHANGE", "GID_CHANGE"...: as in enum ibv_event_type, without "IBV_EVENT_".
std::optional<ibv_event_type> event_named(std::string_view name);

/// A context gets an async_fd, and loses it.
/// @return the descriptor
int open_events();
void close_events(int async_fd);

/// Of port 1, in every context. A LID_CHANGE gives the port another LID.
void raise_event(ibv_event_type type);

/// Waits for one, unless the descriptor does not block.
/// @return nothing, with errno: there is none
std::optional<ibv_event_type> take_event(int async_fd);

/// What is added to the LIDs of both devices.
std::uint16_t lid_moved_by();

}  // namespace rdmameter::software
