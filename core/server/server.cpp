// SPDX-License-Identifier: Apache-2.0
#include "core/server/server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <memory>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/thread.h"
#include "core/session/failure.h"
#include "core/session/protocol.h"
#include "core/session/responder.h"
#include "core/wire/auth.h"

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

/// Clients that have proved themselves and find every place taken.
constexpr std::size_t kMaxWaiting = 64;

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
  throw UsageError(
      "--max-clients {} takes {} open files, and this process may open {}: raise the limit "
      "(`ulimit -n {}`){}",
      max_clients, needed, limit.rlim_max, needed,
      fit == 0 ? "" : fmt::format(", or use --max-clients {}", fit));
}

Server::Server(ServerOptions options, const InterruptSource& interrupt)
    : options_(std::move(options)),
      listener_(options_.bind),
      account_(options_.limits),
      interrupt_(interrupt) {
  assert(options_.serve);
}

void Server::start(WaitingRoom::Guest guest) {
  // std::thread copies what it runs, and a connection cannot be copied.
  const auto held = std::make_shared<Connection>(std::move(guest.connection));
  try {
    std::list<Client> all;  // outside the list until it has its thread
    Client& client = all.emplace_back(guest.place);
    client.thread = start_thread([this, &client, held] {
      serve_client(std::move(*held), client);
      leave(client);
    });
    const std::lock_guard lock{mutex_};
    clients_.splice(clients_.end(), all);
  } catch (const std::exception& error) {  // no descriptor or thread to be had: the others go on
    unproved_.leave(guest.place);
    options_.log({held->peer, fmt::format("dropped: {}", error_text(error)), ClientEvent::dropped});
    refuse(std::move(*held),
           fmt::format("the server cannot serve this client: {}", error_text(error)));
  }
}

void Server::serve_client(Connection connection, Client& client) noexcept {
  ServerHost host{options_, account_, connection.peer};
  try {
    Channel channel{std::move(connection), interrupt_all_};
    Greeting greeting;
    or_tell(channel, [&] {
      const Deadline deadline = Deadline::in(kProofTimeout);
      if (channel.wait_readable(deadline) == Waited::ready) unproved_.spoken(client.unproved_place);
      greeting = greet_initiator(channel, options_.token, deadline);
      enter(client, channel);
    });
    options_.serve(std::move(channel), greeting, host, interrupt_all_);
  } catch (const std::exception& error) {
    host.log(fmt::format("dropped: {}", error_text(error)), event_of(error));
  }
}

/// Waits for a place among the clients.
/// @throws MeasurementError  there is none
/// @throws Interrupted       the server ends
void Server::enter(Client& client, const Channel& channel) {
  unproved_.leave(client.unproved_place);
  {
    const std::lock_guard lock{mutex_};
    wake_.raise();  // there is room among the unproved
    if (served_ < options_.max_clients) {
      ++served_;
      client.state = ClientState::served;
      return;
    }
    if (waiting_.size() >= kMaxWaiting)
      throw MeasurementError("{} clients wait for a place here already: try again later",
                             kMaxWaiting);
    waiting_.push_back(&client);
  }
  options_.log({channel.peer(), "waits for a place"});
  const Waited waited = channel.wait_readable(Deadline::in(kPlaceTimeout), &client.place);
  const std::lock_guard lock{mutex_};
  if (client.state == ClientState::served) return;
  std::erase(waiting_, &client);
  if (waited == Waited::interrupted) throw Interrupted("the server ends");
  if (waited == Waited::ready) throw MeasurementError("it did not wait for a place");
  throw MeasurementError(
      "the server is busy: {} served here already, and no slot became free within {} "
      "s; try again later",
      options_.max_clients == 1 ? "another client is"
                                : fmt::format("{} clients are", options_.max_clients),
      kPlaceTimeout.count());
}

void Server::leave(Client& client) {
  unproved_.leave(client.unproved_place);
  const std::lock_guard lock{mutex_};
  if (client.state == ClientState::served) {
    --served_;
    if (options_.one_client) stopping_ = true;
    if (!waiting_.empty() && !stopping_) {
      ++served_;
      waiting_.front()->state = ClientState::served;
      waiting_.front()->place.raise();
      waiting_.pop_front();
    }
  }
  client.state = ClientState::ended;
  wake_.raise();  // the accepting thread joins this one
}

void Server::reap() {
  std::list<Client> ended;
  {
    const std::lock_guard lock{mutex_};
    for (auto next = clients_.begin(); next != clients_.end();) {
      const auto at = next++;
      if (at->state == ClientState::ended) ended.splice(ended.end(), clients_, at);
    }
  }
  for (Client& client : ended) client.thread.join();
}

/// Of one that has no thread yet. @param reason  one with the remedy
void Server::refuse(Connection connection, const std::string& reason) noexcept {
  try {
    // What is unread when a socket is closed resets the connection, and the client would hear that.
    std::array<char, 4096> hello;
    static_cast<void>(recv(connection.socket.get(), hello.data(), hello.size(), MSG_DONTWAIT));
    Channel(std::move(connection), interrupt_all_)
        .send(failure_message(MeasurementError(reason)), Deadline::in(std::chrono::seconds(1)));
  } catch (const std::exception&) {  // the client is gone
  }
}

void Server::serve(const std::function<void()>& at_connection) {
  while (!stopping_ && !interrupt_.requested()) {
    std::optional<Connection> connection =
        listener_.accept(unproved_.hang_up(), interrupt_, &wake_);
    wake_.clear();
    reap();
    if (options_.one_client && clients() > 0)
      listener_.close();  // another server may have the port
    if (connection && connection->lack != 0) {
      const std::string lack = std::strerror(connection->lack);
      options_.log({connection->peer, fmt::format("refused: {}", lack), ClientEvent::dropped});
      refuse(std::move(*connection),
             fmt::format("the server cannot take another client: {}. Raise its limit on open files "
                         "(`ulimit -n`, LimitNOFILE= of a service), or try again later",
                         lack));
    } else if (connection) {
      if (at_connection) at_connection();
      unproved_.add(std::move(*connection));
    }
    while (auto guest = unproved_.enter()) start(std::move(*guest));
  }
  end_all();
}

std::uint32_t Server::clients() const {
  const std::lock_guard lock{mutex_};
  return served_;
}

void Server::end_all() {
  interrupt_all_.raise();
  for (Client& client : clients_) client.thread.join();  // no other thread adds or removes any
  clients_.clear();
}

void Server::stop() noexcept {
  stopping_ = true;
  wake_.raise();
}

LoopbackServer::LoopbackServer(const ClockChoice& clock, const InterruptSource& interrupt)
    : host_(loopback_host()),
      server_({.bind = {host_, 0},
               .token = make_token(),
               .serve =
                   [clock](Channel client, const Greeting& greeting, ServerHost& host,
                           const InterruptSource& all) {
                     serve_session(client.release(), greeting, clock, {}, true, host, all);
                   }},
              interrupt),
      thread_(start_thread([this] { server_.serve(); })) {}

LoopbackServer::~LoopbackServer() {
  server_.stop();
  thread_.join();
}

}  // namespace rdmameter
