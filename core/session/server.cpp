// SPDX-License-Identifier: Apache-2.0
#include "core/session/server.h"

#include <atomic>
#include <list>
#include <mutex>
#include <thread>

#include "core/session/auth.h"
#include "core/session/responder.h"

namespace rdmameter {

struct Server::State {
  struct Client {
    std::thread thread;
    std::atomic<bool> ended{false};
  };

  State(ServerOptions given, const ClockChoice& clock, const InterruptSource& outer)
      : options(std::move(given)), interrupt(outer), listener(options.bind) {
    shared.clock = clock;
    if (options.choose_token) shared.token = options.choose_token(listener.loopback_only());
    shared.log = [this](const std::string& line) {
      const std::lock_guard lock{log_mutex};
      if (options.log) options.log(line);
    };
  }

  void start(Connection connection) {
    Client& client = clients.emplace_back();
    client.thread =
        std::thread([this, &client, held = std::make_shared<Connection>(std::move(connection))] {
          serve_client(std::move(*held), shared, interrupt_all);
          client.ended = true;
          wake.raise();  // the accepting thread joins it
        });
  }

  void reap() {
    clients.remove_if([](Client& client) {
      if (!client.ended) return false;
      client.thread.join();
      return true;
    });
  }

  void end_all() {
    interrupt_all.raise();
    for (Client& client : clients) client.thread.join();
    clients.clear();
  }

  ServerOptions options;
  const InterruptSource& interrupt;
  InterruptSource interrupt_all;  ///< ends every session: the server stops, for whatever reason
  Wake wake;                      ///< a client has gone, or stop() was called
  std::atomic<bool> stopping{false};
  std::mutex log_mutex;
  Listener listener;
  ResponderShared shared;
  std::list<Client> clients;
};

Server::Server(ServerOptions options, const ClockChoice& clock, const InterruptSource& interrupt)
    : state_(std::make_unique<State>(std::move(options), clock, interrupt)) {}

Server::~Server() {
  state_->end_all();
}

std::uint16_t Server::port() const {
  return state_->listener.port();
}
const std::string& Server::token() const {
  return state_->shared.token;
}
bool Server::loopback_only() const {
  return state_->listener.loopback_only();
}

void Server::serve() {
  while (!state_->stopping && !state_->interrupt.requested()) {
    // With all places taken, newcomers wait in the backlog until a client goes and raises the wake.
    std::optional<Connection> connection;
    if (state_->clients.size() < state_->options.most_clients)
      connection = state_->listener.accept(Deadline::never(), state_->interrupt, &state_->wake);
    else
      wait_for(-1, 0, Deadline::never(), state_->interrupt, &state_->wake);
    state_->wake.clear();
    state_->reap();
    if (connection) state_->start(std::move(*connection));
  }
  state_->end_all();
}

void Server::stop() noexcept {
  state_->stopping = true;
  state_->wake.raise();
}

struct LoopbackServer::State {
  State(const ClockChoice& clock, const InterruptSource& interrupt)
      : token(make_token()),
        server(
            {.bind = {"127.0.0.1", 0}, .choose_token = [this](bool) { return token; }, .log = {}},
            clock, interrupt) {
    thread = std::thread([this] { server.serve(); });
  }
  ~State() {
    server.stop();
    thread.join();
  }
  const std::string token;
  Server server;
  std::thread thread;
};

LoopbackServer::LoopbackServer(const ClockChoice& clock, const InterruptSource& interrupt)
    : state_(std::make_unique<State>(clock, interrupt)) {}
LoopbackServer::~LoopbackServer() = default;
Address LoopbackServer::address() const {
  return {"127.0.0.1", state_->server.port()};
}
const std::string& LoopbackServer::token() const {
  return state_->token;
}

}  // namespace rdmameter
