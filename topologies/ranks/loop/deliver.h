// SPDX-License-Identifier: Apache-2.0
// What becomes of a message that has reached its rank. Part of the measured path.
#pragma once

#include "topologies/ranks/loop/payload.h"
#include "topologies/ranks/loop/relay.h"

namespace rdmameter {

/// @param origin  whose bytes it holds
[[gnu::noinline]] inline void check_message(Relay& relay, MessageBuffer& buffer,
                                            std::uint32_t origin, bool wipe) noexcept {
  const auto& pattern = *static_cast<const MessagePattern*>(relay.checker);
  count_checked(relay, check_message(buffer.data, pattern, origin), pattern.compared, origin);
  if (wipe) std::memset(buffer.data, kEmptied, pattern.length);
}

/// Exchanges and streams: it is counted, and its buffer emptied.
template <bool kCheck>
bool count_message(Relay& relay, MessageBuffer& buffer, std::uint32_t arrived) noexcept {
  const std::uint32_t from = source_of(arrived);
  // A buffer that is still being sent on is not wiped; the rank that it goes to wipes its own.
  if constexpr (kCheck) check_message(relay, buffer, from, buffer.leaving == 0);
  ++relay.arrived;
  ++relay.received[from];
  relay.missing -= relay.awaited[from];
  relay.awaited[from] = 0;
  return false;
}

/// A round trip's stop: it goes on, out of the buffer that it came in.
template <ReceiveMode kReceive>
bool send_on(Relay& relay, MessageBuffer& buffer, std::uint32_t arrived) noexcept {
  const std::uint32_t to = relay.reply_to[source_of(arrived)];
  Hop& hop = buffer.hops[0];
  buffer.leaving = 1;
  pass_on<kReceive>(relay, hop, *relay.routes[to].edges[0], label(relay.me, to));
  return true;
}

/// A round trip's end. What gives its buffer back (a receive, a credit) is no part of its sample.
/// @tparam kNumbered  one of an earlier round, which was given up, is passed over
template <bool kNumbered, bool kCheck>
bool come_back(Relay& relay, MessageBuffer& buffer, std::uint32_t) noexcept {
  const bool awaited = !relay.back && (!kNumbered || buffer.data[relay.last_byte] == relay.number);
  if constexpr (kCheck) check_message(relay, buffer, relay.me, true);
  if (!awaited) return false;
  relay.back = true;
  relay.held = &buffer;
  return true;
}

}  // namespace rdmameter
