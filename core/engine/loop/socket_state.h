// SPDX-License-Identifier: Apache-2.0
// What a measured loop over a socket works on. Plain data; core/session/socket_runner.h owns it.
#pragma once

#include <cstddef>

namespace rdmameter {

/// Places of messages, used in turn.
struct SlotRing {
  std::byte *first = nullptr, *end = nullptr, *next = nullptr;
  std::size_t stride_bytes = 0;

  /// The next message's place.
  std::byte* take() noexcept {
    std::byte* const taken = next;
    next += stride_bytes;
    if (next == end) next = first;
    return taken;
  }
};

struct SocketState {
  int socket = -1;
  std::size_t size_bytes = 0;  ///< of a message
  SlotRing source, target;
};

}  // namespace rdmameter
