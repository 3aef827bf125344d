// SPDX-License-Identifier: Apache-2.0
#include "core/server/open_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/base/error.h"
#include "core/server/server.h"
#include "core/wire/waiting_room.h"

namespace rdmameter {
namespace {

/// The server itself: streams, listener, events, libraries' own.
constexpr rlim_t kOfServer = 32;
/// Connections that wait, and those that have proved nothing: socket, its duplicate, the event
/// of its place.
constexpr rlim_t kOfStrangers = WaitingRoom::kMaxWaiting + 3 * WaitingRoom::kMaxPlaces;
/// The event of a client's place, and the connection to its session's process, which has a limit of
/// its own, and that one's stderr; and while it is started, the client's socket and five more.
constexpr rlim_t kOfClient = 9;

}  // namespace

void allow_open_files(std::uint32_t max_clients) {
  const rlim_t always = kOfServer + kOfStrangers;
  const rlim_t needed = always + max_clients * kOfClient;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  if (limit.rlim_max >= needed) {
    limit.rlim_cur = needed;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  }
  const rlim_t fit = limit.rlim_max > always ? (limit.rlim_max - always) / kOfClient : 0;
  throw UsageError(fmt::format(
      "--max-clients {} takes {} open files, and this process may open {}: raise the limit "
      "(`ulimit -n {}`){}",
      max_clients, needed, limit.rlim_max, needed,
      fit == 0 ? "" : fmt::format(", or use --max-clients {}", fit)));
}

}  // namespace rdmameter
