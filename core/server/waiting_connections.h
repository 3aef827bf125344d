// SPDX-License-Identifier: Apache-2.0
// Accepted connections that nobody looks after yet: those from one address must not keep out those
// from others.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string_view>

#include "core/wire/socket.h"

namespace rdmameter {

/// Not thread-safe.
class WaitingConnections {
 public:
  static constexpr std::size_t kMax = 64;  ///< held at a time

  /// Where there are kMax already, the oldest of the address that has most of them is closed: its
  /// other end may have been there for long, and tries again.
  void add(Connection connection);

  /// The oldest of those whose address may go on; nothing: none may.
  /// @param may_go_on  of an address without its port
  std::optional<Connection> take(const std::function<bool(std::string_view)>& may_go_on);

  bool empty() const noexcept { return waiting_.empty(); }
  bool any_of(std::string_view source) const noexcept;

 private:
  void drop_one();

  std::list<Connection> waiting_;  ///< oldest first
};

}  // namespace rdmameter
