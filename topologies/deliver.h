// SPDX-License-Identifier: Apache-2.0
// What becomes of a message that has reached its rank. Part of the measured path.
#pragma once

#include "topologies/payload.h"
#include "topologies/relay.h"

namespace rdmameter {

/// @param origin  whose bytes it holds
[[gnu::noinline]] inline void check_parcel(Relay& relay, Parcel& parcel, std::uint32_t origin,
                                           bool wipe) noexcept {
  const auto& pattern = *static_cast<const MessagePattern*>(relay.checker);
  relay.wrong_bytes += check_message(parcel.data, pattern, origin);
  relay.checked_bytes += pattern.compared;
  if (wipe) std::memset(parcel.data, kEmptied, pattern.length);
}

/// Exchanges and streams: it is counted, and its buffer emptied.
template <bool kCheck>
bool count_parcel(Relay& relay, Parcel& parcel, std::uint32_t arrived) noexcept {
  const std::uint32_t from = source_of(arrived);
  // A buffer that is still being sent on is not wiped; whoever it goes to wipes its own.
  if constexpr (kCheck) check_parcel(relay, parcel, from, parcel.leaving == 0);
  ++relay.arrived;
  ++relay.received[from];
  relay.missing -= relay.awaited[from];
  relay.awaited[from] = 0;
  return false;
}

/// A walk's stop: it goes on, out of the buffer that it came in.
template <Inbox kInbox>
bool send_on(Relay& relay, Parcel& parcel, std::uint32_t arrived) noexcept {
  const std::uint32_t to = relay.reply_to[source_of(arrived)];
  Leg& leg = parcel.legs[0];
  parcel.leaving = 1;
  pass_on<kInbox>(relay, leg, *relay.ways[to].edges[0], label(relay.me, to));
  return true;
}

/// A walk's end. @tparam kNumbered  one of an earlier round, which was given up, is passed over
template <bool kNumbered, bool kCheck>
bool come_back(Relay& relay, Parcel& parcel, std::uint32_t) noexcept {
  if constexpr (kNumbered) relay.back |= parcel.data[relay.last_byte] == relay.number;
  if constexpr (!kNumbered) relay.back = true;
  if constexpr (kCheck) check_parcel(relay, parcel, relay.me, true);
  return false;
}

}  // namespace rdmameter
