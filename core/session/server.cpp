// SPDX-License-Identifier: Apache-2.0
#include "core/session/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "core/session/auth.h"
#include "core/session/protocol.h"
#include "core/session/responder.h"

namespace rdmameter {

namespace {

/// Connections that have proved nothing yet.
constexpr std::ptrdiff_t kMostUnproved = 16;
/// Where there are so many, the oldest that has not said a word in this long gives way. A client
/// speaks at once; those that do speak have kProofTimeout.
constexpr std::chrono::milliseconds kSilenceInCrowd{500};
/// Clients that have proved themselves and find every place taken.
constexpr std::size_t kMostWaiting = 64;

}  // namespace

class Server::State {
 public:
  State(ServerOptions given, const ClockChoice& clock, const InterruptSource& outer);
  void serve();
  void end_all();

  std::atomic<bool> stopping{false};
  Wake wake;  ///< the accepting thread has something to look at
  ServerOptions options;
  Listener listener;
  ResponderShared shared;

 private:
  /// Up to `speaking` a connection is one of the unproved, which stand outside the limit on clients
  /// and have a limit of their own.
  enum class Standing : std::uint8_t { silent, speaking, waiting, served, leaving, ended };

  struct Client final : Admission {
    explicit Client(State& state) : state(state) {}
    void spoken() noexcept override { state.spoken(*this); }
    void enter(const Channel& channel) override { state.enter(*this, channel); }

    State& state;
    const Deadline::Clock::time_point since = Deadline::Clock::now();
    Standing standing = Standing::silent;
    Descriptor silent_socket;  ///< a duplicate, to hang up on it; held while it is silent
    Wake place;                ///< it has become `served`
    std::thread thread;
  };

  void start(Connection connection);
  void spoken(Client& client) noexcept;
  void enter(Client& client, const Channel& channel);
  void leave(Client& client);
  void reap();
  bool crowded() const;
  Deadline hang_up_at();
  void log(const std::string& line);

  const InterruptSource& interrupt_;
  InterruptSource interrupt_all_;  ///< ends every session: the server stops, for whatever reason
  std::mutex log_mutex_;
  mutable std::mutex mutex_;  ///< of what follows
  std::list<Client> clients_;
  std::uint32_t served_ = 0;
  std::deque<Client*> waiting_;  ///< for a place, first come first served
};

Server::State::State(ServerOptions given, const ClockChoice& clock, const InterruptSource& outer)
    : options(std::move(given)), listener(options.bind), interrupt_(outer) {
  shared.clock = clock;
  shared.most_memory_bytes = options.most_memory_bytes;
  if (options.choose_token) shared.token = options.choose_token(listener.loopback_only());
  shared.log = [this](const std::string& line) { log(line); };
}

void Server::State::log(const std::string& line) {
  const std::lock_guard lock{log_mutex_};
  if (options.log) options.log(line);
}

void Server::State::start(Connection connection) {
  const std::string peer = connection.peer;
  try {
    // std::thread copies what it runs, and a connection cannot be copied.
    auto held = std::make_shared<Connection>(std::move(connection));
    std::list<Client> made;  // outside the list until it has its thread
    Client& client = made.emplace_back(*this);
    client.silent_socket = Descriptor{fcntl(held->socket.get(), F_DUPFD_CLOEXEC, 0)};
    client.thread = std::thread([this, &client, held] {
      serve_client(std::move(*held), shared, interrupt_all_, client);
      leave(client);
    });
    const std::lock_guard lock{mutex_};
    clients_.splice(clients_.end(), made);
  } catch (const std::exception& error) {  // no descriptor or thread to be had: the others go on
    log(fmt::format("{}: dropped: {}", peer, error.what()));
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
    if (served_ < options.most_clients) {
      ++served_;
      client.standing = Standing::served;
      return;
    }
    client.standing = Standing::waiting;
    if (waiting_.size() >= kMostWaiting)
      throw MeasurementError(
          fmt::format("{} clients wait for a place here already: try again later", kMostWaiting));
    waiting_.push_back(&client);
  }
  log(fmt::format("{}: waits for a place", channel.peer()));
  const Waited waited = channel.wait_readable(Deadline::in(kPlaceTimeout), &client.place);
  const std::lock_guard lock{mutex_};
  if (client.standing == Standing::served) return;
  std::erase(waiting_, &client);
  if (waited == Waited::interrupted) throw Interrupted("the server ends");
  if (waited == Waited::ready) throw MeasurementError("it did not wait for a place");
  throw MeasurementError(
      fmt::format("{} served here already, and no place came free within {} s: try again later",
                  options.most_clients == 1 ? "another client is"
                                            : fmt::format("{} clients are", options.most_clients),
                  kPlaceTimeout.count()));
}

void Server::State::leave(Client& client) {
  const std::lock_guard lock{mutex_};
  if (client.standing == Standing::served) {
    --served_;
    if (!waiting_.empty()) {
      ++served_;
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

/// Are there as many connections as may be that have proved nothing?
bool Server::State::crowded() const {
  const std::lock_guard lock{mutex_};
  return std::ranges::count_if(clients_, [](const Client& client) {
           return client.standing == Standing::silent || client.standing == Standing::speaking;
         }) >= kMostUnproved;
}

/// Hangs up on the oldest silent connection if it has had its time.
/// @return  when the next one has
Deadline Server::State::hang_up_at() {
  const std::lock_guard lock{mutex_};
  const auto oldest = std::ranges::find(clients_, Standing::silent, &Client::standing);
  if (oldest == clients_.end()) return Deadline::never();  // each ends by its own deadline
  const Deadline until = Deadline::at(oldest->since + kSilenceInCrowd);
  if (!until.passed()) return until;
  shutdown(oldest->silent_socket.get(), SHUT_RDWR);
  oldest->standing = Standing::leaving;
  oldest->silent_socket.reset();
  return Deadline::in({});
}

void Server::State::serve() {
  while (!stopping && !interrupt_.requested()) {
    std::optional<Connection> connection;
    if (!crowded())
      connection = listener.accept(Deadline::never(), interrupt_, &wake);
    else if (const Deadline next = hang_up_at(); !next.passed())
      wait_for(-1, 0, next, interrupt_, &wake);
    wake.clear();
    reap();
    if (connection) start(std::move(*connection));
  }
  end_all();
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
  state_->serve();
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
