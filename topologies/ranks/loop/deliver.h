// SPDX-License-Identifier: Apache-2.0
// What becomes of a message that has reached its rank. Part of the measured path.
#pragma once

#include "topologies/ranks/loop/payload.h"
#include "topologies/ranks/loop/relay.h"

namespace rdmameter {

/// @param origin  whose bytes it holds
[[gnu::noinline]] inline void check_message(RankState& state, MessageBuffer& buffer,
                                            std::uint32_t origin, bool wipe) noexcept {
  const auto& pattern = *static_cast<const MessagePattern*>(state.checker);
  count_checked(state, check_message(buffer.data, pattern, origin), pattern.compared, origin);
  if (wipe) std::memset(buffer.data, kEmptied, pattern.length);
}

/// Exchanges and streams: it is counted, and its buffer emptied.
template <bool kCheck>
bool count_message(RankState& state, MessageBuffer& buffer, std::uint32_t arrived) noexcept {
  const std::uint32_t from = source_of(arrived);
  // A buffer that is still being sent on is not wiped; the rank that it goes to wipes its own.
  if constexpr (kCheck) check_message(state, buffer, from, buffer.leaving == 0);
  ++state.arrived;
  ++state.received[from];
  state.missing -= state.awaited[from];
  state.awaited[from] = 0;
  return false;
}

/// A round trip's stop: it goes on, out of the buffer that it came in.
template <ReceiveMode kReceive>
bool send_on(RankState& state, MessageBuffer& buffer, std::uint32_t arrived) noexcept {
  const std::uint32_t to = state.reply_to[source_of(arrived)];
  Hop& hop = buffer.hops[0];
  buffer.leaving = 1;
  pass_on<kReceive>(state, hop, *state.routes[to].edges[0], label(state.me, to));
  return true;
}

/// A round trip's end. What gives its buffer back (a receive, a credit) is no part of its sample.
/// @tparam kNumbered  one of an earlier round, which was given up, is passed over
template <bool kNumbered, bool kCheck>
bool come_back(RankState& state, MessageBuffer& buffer, std::uint32_t) noexcept {
  const bool awaited = !state.back && (!kNumbered || buffer.data[state.last_byte] == state.number);
  if constexpr (kCheck) check_message(state, buffer, state.me, true);
  if (!awaited) return false;
  state.back = true;
  state.held = &buffer;
  return true;
}

}  // namespace rdmameter
