// SPDX-License-Identifier: Apache-2.0
#include "core/wire/waiting_room.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>

#include "core/base/ip_address.h"

namespace rdmameter {

void WaitingRoom::add(Connection connection) {
  const std::lock_guard lock{mutex_};
  waiting_.push_back(std::move(connection));
  if (waiting_.size() > kMaxWaiting) drop_one();
}

void WaitingRoom::drop_one() {
  std::map<std::string_view, std::size_t> counts;
  for (const Connection& each : waiting_) ++counts[source_of(each.peer)];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  waiting_.erase(std::ranges::find_if(waiting_, [source = most->first](const Connection& each) {
    return source_of(each.peer) == source;
  }));
}

bool WaitingRoom::has_place_for(std::string_view source) const {
  return places_.size() < kMaxPlaces && std::ranges::count(places_, source, &Place::source) <
                                            static_cast<std::ptrdiff_t>(kMaxPlacesOfSource);
}

bool WaitingRoom::anybody_waits_of(std::string_view source) const {
  return std::ranges::any_of(
      waiting_, [&](const Connection& each) { return source_of(each.peer) == source; });
}

std::optional<WaitingRoom::Guest> WaitingRoom::enter() {
  const std::lock_guard lock{mutex_};
  const auto found = std::ranges::find_if(
      waiting_, [&](const Connection& each) { return has_place_for(source_of(each.peer)); });
  if (found == waiting_.end()) return std::nullopt;
  places_.push_back({.number = next_++,
                     .source = std::string(source_of(found->peer)),
                     .since = Deadline::Clock::now(),
                     .silent_socket = Descriptor{fcntl(found->socket.get(), F_DUPFD_CLOEXEC, 0)}});
  std::optional<Guest> guest{Guest{places_.back().number, std::move(*found)}};
  waiting_.erase(found);
  return guest;
}

void WaitingRoom::spoken(std::uint64_t place) noexcept {
  const std::lock_guard lock{mutex_};
  const auto found = std::ranges::find(places_, place, &Place::number);
  if (found == places_.end()) return;
  found->silent = false;
  found->silent_socket.reset();
}

void WaitingRoom::leave(std::uint64_t place) noexcept {
  const std::lock_guard lock{mutex_};
  std::erase_if(places_, [place](const Place& each) { return each.number == place; });
}

Deadline WaitingRoom::hang_up() {
  const std::lock_guard lock{mutex_};
  if (waiting_.empty()) return Deadline::never();  // each ends by its own deadline
  const bool full = places_.size() >= kMaxPlaces;
  const auto oldest = std::ranges::find_if(places_, [&](const Place& place) {
    return place.silent && (full || anybody_waits_of(place.source));
  });
  if (oldest == places_.end()) return Deadline::never();
  const Deadline until = Deadline::at(oldest->since + kSilenceInCrowd);
  if (!until.passed()) return until;
  shutdown(oldest->silent_socket.get(), SHUT_RDWR);
  places_.erase(oldest);
  return Deadline::in({});
}

}  // namespace rdmameter
