// SPDX-License-Identifier: Apache-2.0
#include "core/server/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "core/base/error_text.h"
#include "core/base/thread.h"
#include "core/log/log_limit.h"
#include "core/server/session_process.h"
#include "core/server/waiting_connections.h"
#include "core/session/protocol.h"
#include "core/session/responder.h"
#include "core/wire/auth.h"

namespace rdmameter {

namespace {

/// Where others wait for its place, the oldest unproved connection that has not said a word in this
/// long gives way. A client speaks at once; those that do speak have kProofTimeout.
constexpr std::chrono::milliseconds kSilenceInCrowd{500};
/// Clients that have proved themselves and find every place taken.
constexpr std::size_t kMaxWaiting = 64;

}  // namespace

class Server::State {
 public:
  State(ServerOptions given, const ClockChoice& clock, const InterruptSource& outer);
  void serve(const std::function<void()>& at_connection);
  void end_all();
  std::uint32_t clients() const;

  std::atomic<bool> stopping{false};
  std::atomic<std::uint64_t> let_in{0};  ///< clients, ever, that had a session
  EventFd wake;                          ///< the accepting thread has something to look at
  ServerOptions options;
  Listener listener;
  ResponderShared shared;

 private:
  enum class Standing : std::uint8_t { silent, speaking, waiting, served, leaving, ended };

  struct Client final : Admission {
    Client(State& state, std::string_view peer) : state(state), source(source_of(peer)) {}
    void spoken() noexcept override { state.spoken(*this); }
    void enter(const Channel& channel) override { state.enter(*this, channel); }

    /// One of those that stand outside the limit on clients and have limits of their own.
    bool unproved() const { return standing == Standing::silent || standing == Standing::speaking; }

    State& state;
    const std::string source;  ///< its address
    const Deadline::Clock::time_point since = Deadline::Clock::now();
    Standing standing = Standing::silent;
    Descriptor silent_socket;  ///< a duplicate, to hang up on it; held while it is silent
    EventFd place;             ///< it has become `served`
    std::thread thread;
  };

  void start(Connection connection);
  void serve_client(Connection connection, Client& client) noexcept;
  void spoken(Client& client) noexcept;
  void enter(Client& client, const Channel& channel);
  void leave(Client& client);
  void reap();
  bool crowded(std::string_view source) const;
  void begin_waiting();
  Deadline hang_up_at();

  const InterruptSource& interrupt_;
  WaitingConnections accepted_;    ///< the accepting thread's
  InterruptSource interrupt_all_;  ///< ends every session: the server stops, for whatever reason
  mutable std::mutex mutex_;       ///< of what follows
  std::list<Client> clients_;
  std::uint32_t served_ = 0;
  std::deque<Client*> waiting_;  ///< for a place, first come first served
};

Server::State::State(ServerOptions given, const ClockChoice& clock, const InterruptSource& outer)
    : options(std::move(given)), listener(options.bind), shared(options.limits), interrupt_(outer) {
  shared.clock = clock;
  shared.token = options.token;
  shared.on_row = options.on_row;
  shared.log =
      options.log ? options.log : [](std::string_view, std::string_view, Speaker) noexcept {};
}

void Server::State::start(Connection connection) {
  const std::string peer = connection.peer;
  try {
    // std::thread copies what it runs, and a connection cannot be copied.
    auto held = std::make_shared<Connection>(std::move(connection));
    std::list<Client> all;  // outside the list until it has its thread
    Client& client = all.emplace_back(*this, peer);
    client.silent_socket = Descriptor{fcntl(held->socket.get(), F_DUPFD_CLOEXEC, 0)};
    client.thread = start_thread([this, &client, held] {
      serve_client(std::move(*held), client);
      leave(client);
    });
    const std::lock_guard lock{mutex_};
    clients_.splice(clients_.end(), all);
  } catch (const std::exception& error) {  // no descriptor or thread to be had: the others go on
    shared.log(peer, fmt::format("dropped: {}", error_text(error)), Speaker::client);
  }
}

void Server::State::serve_client(Connection connection, Client& client) noexcept {
  const std::string peer = connection.peer;
  ServerHost host{shared, peer};
  bool admitted = false;
  try {
    Channel channel{std::move(connection), interrupt_all_};
    const Greeting greeting = admit_client(channel, shared.token, client);
    admitted = true;
    if (options.own_processes)
      run_session_process(std::move(channel),
                          {peer, greeting, shared.clock, options.sandbox, options.own}, host,
                          interrupt_all_);
    else
      serve_session(channel.release(), greeting, shared.clock, options.own, host, interrupt_all_);
  } catch (const std::exception& error) {
    if (admitted) --let_in;  // its session could not begin
    host.log(fmt::format("dropped: {}", error_text(error)));
  }
}

void Server::State::spoken(Client& client) noexcept {
  const std::lock_guard lock{mutex_};
  if (client.standing != Standing::silent) return;
  client.standing = Standing::speaking;
  client.silent_socket.reset();
}

void Server::State::enter(Client& client, const Channel& channel) {
  {
    const std::lock_guard lock{mutex_};
    wake.raise();  // there is room among the unproved
    if (served_ < options.max_clients) {
      ++served_;
      ++let_in;
      client.standing = Standing::served;
      return;
    }
    client.standing = Standing::waiting;
    if (waiting_.size() >= kMaxWaiting)
      throw MeasurementError(
          fmt::format("{} clients wait for a place here already: try again later", kMaxWaiting));
    waiting_.push_back(&client);
  }
  shared.log(channel.peer(), "waits for a place", Speaker::client);
  const Waited waited = channel.wait_readable(Deadline::in(kPlaceTimeout), &client.place);
  const std::lock_guard lock{mutex_};
  if (client.standing == Standing::served) return;
  std::erase(waiting_, &client);
  if (waited == Waited::interrupted) throw Interrupted("the server ends");
  if (waited == Waited::ready) throw MeasurementError("it did not wait for a place");
  throw MeasurementError(
      fmt::format("{} served here already, and no place came free within {} s: try again later",
                  options.max_clients == 1 ? "another client is"
                                           : fmt::format("{} clients are", options.max_clients),
                  kPlaceTimeout.count()));
}

void Server::State::leave(Client& client) {
  const std::lock_guard lock{mutex_};
  if (client.standing == Standing::served) {
    --served_;
    if (options.one_client) stopping = true;
    if (!waiting_.empty() && !stopping) {
      ++served_;
      ++let_in;
      waiting_.front()->standing = Standing::served;
      waiting_.front()->place.raise();
      waiting_.pop_front();
    }
  }
  client.standing = Standing::ended;
  wake.raise();  // the accepting thread joins this one
}

void Server::State::reap() {
  std::list<Client> ended;
  {
    const std::lock_guard lock{mutex_};
    for (auto at = clients_.begin(); at != clients_.end();) {
      const auto next = std::next(at);
      if (at->standing == Standing::ended) ended.splice(ended.end(), clients_, at);
      at = next;
    }
  }
  for (Client& client : ended) client.thread.join();
}

/// Are there as many unproved connections, from this address or from all, as may be?
bool Server::State::crowded(std::string_view source) const {
  const std::lock_guard lock{mutex_};
  std::size_t all = 0, of_source = 0;
  for (const Client& client : clients_)
    if (client.unproved()) {
      ++all;
      of_source += client.source == source ? 1 : 0;
    }
  return all >= kMaxUnproved || of_source >= kMaxUnprovedOfSource;
}

void Server::State::begin_waiting() {
  while (auto next = accepted_.take([this](std::string_view source) { return !crowded(source); }))
    start(std::move(*next));
}

/// Closes the oldest silent connection for which another one waits, if it has had its
/// time.
/// @return  when the next one has
Deadline Server::State::hang_up_at() {
  if (accepted_.empty()) return Deadline::never();  // each ends by its own deadline
  const std::lock_guard lock{mutex_};
  const bool full = std::ranges::count_if(clients_, &Client::unproved) >=
                    static_cast<std::ptrdiff_t>(kMaxUnproved);
  const auto oldest = std::ranges::find_if(clients_, [&](const Client& client) {
    return client.standing == Standing::silent && (full || accepted_.any_of(client.source));
  });
  if (oldest == clients_.end()) return Deadline::never();
  const Deadline until = Deadline::at(oldest->since + kSilenceInCrowd);
  if (!until.passed()) return until;
  shutdown(oldest->silent_socket.get(), SHUT_RDWR);
  oldest->standing = Standing::leaving;
  oldest->silent_socket.reset();
  return Deadline::in({});
}

void Server::State::serve(const std::function<void()>& at_connection) {
  while (!stopping && !interrupt_.requested()) {
    std::optional<Connection> connection = listener.accept(hang_up_at(), interrupt_, &wake);
    wake.clear();
    reap();
    if (connection) {
      if (at_connection) at_connection();
      accepted_.add(std::move(*connection));
    }
    begin_waiting();
  }
  end_all();
}

std::uint32_t Server::State::clients() const {
  const std::lock_guard lock{mutex_};
  return served_;
}

void Server::State::end_all() {
  interrupt_all_.raise();
  for (Client& client : clients_) client.thread.join();  // nobody else adds or takes any
  clients_.clear();
}

Server::Server(ServerOptions options, const ClockChoice& clock, const InterruptSource& interrupt)
    : state_(std::make_unique<State>(std::move(options), clock, interrupt)) {}

Server::~Server() {
  state_->end_all();
}

std::uint64_t Server::served() const {
  return state_->let_in;
}
std::uint32_t Server::clients() const {
  return state_->clients();
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

void Server::serve(const std::function<void()>& at_connection) {
  state_->serve(at_connection);
}

void Server::stop() noexcept {
  state_->stopping = true;
  state_->wake.raise();
}

struct LoopbackServer::State {
  State(const ClockChoice& clock, const InterruptSource& interrupt)
      : token(make_token()),
        server({.bind = {"127.0.0.1", 0}, .token = token, .log = {}}, clock, interrupt) {
    thread = start_thread([this] { server.serve(); });
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
