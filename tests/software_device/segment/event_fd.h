// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rdmameter::software {

/// An eventfd of a channel, of this process or another one.
struct EventFd {
  std::uint32_t process = 0;
  int fd = -1;                   ///< in that process
  std::uint32_t channel_id = 0;  ///< never used again; 0: there is no channel
};

std::uint32_t new_channel_id();

/// Adds one to it. If its process has ended nobody is left to wait for it.
void signal_event(const EventFd& event);

}  // namespace rdmameter::software
