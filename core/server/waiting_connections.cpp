// SPDX-License-Identifier: Apache-2.0
#include "core/server/waiting_connections.h"

#include <algorithm>
#include <map>

#include "core/log/log_limit.h"

namespace rdmameter {

void WaitingConnections::add(Connection connection) {
  waiting_.push_back(std::move(connection));
  if (waiting_.size() > kMax) drop_one();
}

void WaitingConnections::drop_one() {
  std::map<std::string_view, std::size_t> counts;
  for (const Connection& each : waiting_) ++counts[source_of(each.peer)];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  waiting_.erase(std::ranges::find_if(waiting_, [source = most->first](const Connection& each) {
    return source_of(each.peer) == source;
  }));
}

std::optional<Connection> WaitingConnections::take(
    const std::function<bool(std::string_view)>& may_go_on) {
  const auto found = std::ranges::find_if(
      waiting_, [&](const Connection& each) { return may_go_on(source_of(each.peer)); });
  if (found == waiting_.end()) return std::nullopt;
  std::optional<Connection> taken{std::move(*found)};
  waiting_.erase(found);
  return taken;
}

bool WaitingConnections::any_of(std::string_view source) const noexcept {
  return std::ranges::any_of(
      waiting_, [&](const Connection& each) { return source_of(each.peer) == source; });
}

}  // namespace rdmameter
