// SPDX-License-Identifier: Apache-2.0
// What a device tells while it is measured with: events, and its ports' counters.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/json_text.h"

namespace rdmameter {

// What a device says of itself: that a port went down, a QP broke, the device is
// gone (ibv_get_async_event(3)).

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

// A port's counters as the kernel shows them: retransmissions and RNR NAKs explain tails.

/// Counters by the driver's names. Two of one name (counters/ and hw_counters/) keep the latter.
using Counters = std::map<std::string, std::uint64_t>;

/// Every readable number under SYSFS/class/infiniband/DEVICE/ports/PORT/{counters,hw_counters} and
/// DEVICE/hw_counters; empty where the driver has none. One system call or two per counter: set-up
/// only. hw_counters are as old as the kernel's cache of them, by default up to 10 ms (`lifespan`).
/// (`lifespan` itself is not there: it is a setting.)
/// @param sysfs  another tree, for tests
Counters read_counters(std::string_view device, unsigned port_num,
                       const std::filesystem::path& sysfs = "/sys");

/// The changes between two readings: {"duplicate_request": 3, ...}, by name, without those that
/// stayed; an object even when nothing changed; null when there are no counters at all. A counter
/// that went down was reset, or stuck at its maximum: it is left out, for its difference
/// is not known.
Json counter_differences(const Counters& before, const Counters& after);

}  // namespace rdmameter
