// SPDX-License-Identifier: Apache-2.0
// Connections that have not proved anything yet, at a server or at a rank: so many are listened to,
// the others wait, and those from one address keep out none from others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/wire/socket.h"

namespace rdmameter {

/// The connections that have not proved themselves. Several threads may call its functions at once.
class WaitingRoom {
 public:
  static constexpr std::size_t kMaxPlaces = 64;          ///< connections that are listened to
  static constexpr std::size_t kMaxPlacesOfSource = 16;  ///< of them from one address
  static constexpr std::size_t kMaxWaiting = 64;         ///< for a place
  /// Where others wait for its place, the oldest connection that has not said a word in this long
  /// gives way. Who belongs here speaks at once.
  static constexpr std::chrono::milliseconds kSilenceInCrowd{500};

  /// A connection that has a place, until leave().
  struct Guest {
    std::uint64_t place = 0;
    Connection connection;
  };

  /// One that was accepted, and waits. Where kMaxWaiting wait already, the oldest of the address
  /// that has most of them is closed: its other end may have been there for long, and tries again.
  void add(Connection connection);

  /// The oldest of those that wait for which there is a place; nothing: there is none.
  std::optional<Guest> enter();

  /// Notes that the connection has sent something: it is no longer silent.
  void spoken(std::uint64_t place) noexcept;
  /// Frees the place: the connection has proved itself, or has gone. May be called again.
  void leave(std::uint64_t place) noexcept;

  /// Shuts the oldest silent connection for which another one waits, if it has had its time. Its
  /// place is free then.
  /// @return  when the next one has: call it again then
  Deadline hang_up();

 private:
  struct Place {
    std::uint64_t number;
    std::string source;  ///< its address
    Deadline::Clock::time_point since;
    Descriptor silent_socket;  ///< a duplicate, to hang up on it; held while it is silent
    bool silent = true;
  };

  bool has_place_for(std::string_view source) const;
  bool anybody_waits_of(std::string_view source) const;
  void drop_one();

  std::mutex mutex_;
  std::list<Connection> waiting_;  ///< oldest first
  std::list<Place> places_;        ///< oldest first
  std::uint64_t next_ = 1;
};

}  // namespace rdmameter
