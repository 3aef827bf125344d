// SPDX-License-Identifier: Apache-2.0
// The token of a server on loopback, in a file where only clients of the server's user find it,
// by the port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

/// A folder that only this user can reach, for the files of one user's servers.
class TokenFolders {
 public:
  /// $XDG_RUNTIME_DIR/rdmameter, where that is a folder which only this user can
  /// reach, and /tmp/rdmameter-UID.
  static TokenFolders of_this_user();
  /// @param paths  the best first
  explicit TokenFolders(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  /// Writes the token of the server at this port, 0600, in the first folder that can be used, and
  /// removes what an earlier server at the port left in any.
  /// @return the file's path
  /// @throws UsageError  none can be used: why, and what to do
  std::string leave(std::uint16_t port, std::string_view token) const;

  /// Removes what servers at this port have left.
  void remove(std::uint16_t port) const noexcept;

  struct Found {
    std::string token, path;
  };
  /// The newest token that a server at this port has left; of a server that was killed, too.
  /// @throws UsageError  there is a file that holds no token, or that others can reach
  std::optional<Found> find(std::uint16_t port) const;

  /// The paths where a token would be, as a text for people.
  std::string text() const;

 private:
  std::vector<std::string> paths_;
};

}  // namespace rdmameter
