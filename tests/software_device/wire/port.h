// SPDX-License-Identifier: Apache-2.0
// When a message leaves a port and when it arrives, as the settings of the wire say.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "tests/software_device/device/wire_settings.h"

namespace rdmameter::software {

struct SharedQp;

/// A device's only port, in the segment.
struct PortState {
  std::atomic<std::uint64_t> free_ns;  ///< when it can send the next message
  std::array<std::atomic<std::uint32_t>, kMostCachedQps> cached_qps;
  // For tests: what has happened to its messages.
  std::atomic<std::uint64_t> messages, qp_misses, lost, duplicated, overtaken;
};

/// The port is busy with a message of the QP, from now or from when it is free.
/// @param device  whose port: a response leaves from the peer's
/// @return        when the message has left [ns]
std::uint64_t leave_port(SharedQp& qp, std::uint32_t device, const Path& path, std::uint64_t bytes);

/// When a message arrives: after all that the QP sent before it.
std::uint64_t arrival_ns(SharedQp& qp, const Path& path, std::uint64_t left_ns);

/// Is its next message lost on this path?
bool loses(SharedQp& qp, const Path& path);

/// Does chance, as the seed has it, strike a share of events? The QP's next draw.
bool strikes(SharedQp& qp, double share);

}  // namespace rdmameter::software
