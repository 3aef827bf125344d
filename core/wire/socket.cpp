// SPDX-License-Identifier: Apache-2.0
#include "core/wire/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/ip_address.h"
#include "core/log/print.h"

namespace rdmameter {
namespace {

using namespace std::chrono_literals;

constexpr auto kRetryPause = 50ms;  ///< between attempts while no server is listening yet
constexpr int kBacklog = 128;       ///< what a burst of clients may queue up; the kernel caps it

constexpr const char* kLocalhost = "localhost";
constexpr const char* kLoopbackHosts[]{"127.0.0.1", "::1"};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  bool operator==(const SocketAddress& other) const {
    return bytes == other.bytes && std::memcmp(&storage, &other.storage, bytes) == 0;
  }
};
using SocketAddresses = std::vector<SocketAddress>;

/// Adds the addresses that a host has here.
/// @return  0, or an error of getaddrinfo()
int look_up(const std::string& host, std::uint16_t port, int flags, SocketAddresses& addresses) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return error;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list{found, &freeaddrinfo};
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress address{.storage = {}, .bytes = each->ai_addrlen};
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  return 0;
}

/// %INTERFACE of a link-local address.
void check_scope(const std::string& host) {
  const std::size_t percent = host.find('%');
  if (percent == host.npos) return;
  const std::string name = host.substr(percent + 1);
  if (if_nametoindex(name.c_str()) == 0 && name.find_first_not_of("0123456789") != name.npos)
    throw UsageError("{}: this machine has no network interface {} (`ip link` lists them)", host,
                     name);
}

/// A machine's list of hosts may give localhost one of the two addresses that it can have, and not
/// the one that is there: both are tried, as RFC 6761 says of that name.
SocketAddresses resolve(const Address& address, int flags) {
  SocketAddresses addresses;
  const int error = look_up(address.host, address.port, flags, addresses);
  const int system_error = errno;
  if (address.host == kLocalhost) {
    for (const char* host : kLoopbackHosts)
      look_up(host, address.port, flags | AI_NUMERICHOST, addresses);
  } else if (error != 0) {
    check_scope(address.host);
    const char* const reason =
        error == EAI_SYSTEM ? std::strerror(system_error) : gai_strerror(error);
    throw UnknownHost(
        fmt::format("cannot look up `{}`: {}. Give a name that this machine knows (`getent hosts "
                    "{}`), or a numeric address.",
                    address.host, reason, address.host),
        reason);
  }
  return addresses;
}

/// The loopback interface of a new network namespace is down.
bool loopback_is_down() noexcept {
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  for (const int family : {AF_INET, AF_INET6}) {
    const Descriptor any{socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (any && ioctl(any.get(), SIOCGIFFLAGS, &request) == 0)
      return (request.ifr_flags & IFF_UP) == 0;
  }
  return false;
}

/// Why programs of this machine cannot reach each other, and what to do.
std::string no_loopback_text() {
  return loopback_is_down() ? "lo is down: ip link set lo up"
                            : "lo has neither 127.0.0.1 nor ::1: ip address add 127.0.0.1/8 dev lo";
}

void set_option(int socket, int level, int option, int value) noexcept {
  // None of ours can fail on a TCP socket, and none is worth losing a connection for.
  setsockopt(socket, level, option, &value, sizeof value);
}

/// Small messages go at once; a peer whose machine vanished is noticed after a minute of silence,
/// even by a server that waits without a deadline.
void tune(int socket) noexcept {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

/// An end of a connection. @tparam GetName  getsockname() or getpeername()
/// @return  nothing: it has failed, with errno set
template <auto GetName>
std::optional<SocketAddress> end_of(int socket) noexcept {
  SocketAddress end{.storage = {}, .bytes = sizeof(sockaddr_storage)};
  if (GetName(socket, reinterpret_cast<sockaddr*>(&end.storage), &end.bytes) != 0) return {};
  return end;
}

/// Trying again and again on one machine, TCP's simultaneous open can connect a socket to itself
/// when the kernel happens to give it the server's own port.
bool connected_to_itself(int socket) noexcept {
  const auto own = end_of<getsockname>(socket);
  return own && own == end_of<getpeername>(socket);
}

/// @param source  numeric; of another family than the target's it is no source for it
/// @return        0, or an errno value
int bind_source(int socket, const std::string& source, int family) {
  if (source.empty()) return 0;
  SocketAddresses own;
  look_up(source, 0, AI_NUMERICHOST, own);
  for (const SocketAddress& each : own)
    if (each.storage.ss_family == family)
      return bind(socket, each.get(), each.bytes) == 0 ? 0 : errno;
  return EAFNOSUPPORT;
}

/// One attempt at one address.
/// @param error  errno value of the failure; ETIMEDOUT at the deadline
/// @return       the socket; empty: it failed
Descriptor try_connect(const SocketAddress& target, const std::string& source, Deadline deadline,
                       const InterruptSource& interrupt, int& error) {
  Descriptor attempt(
      socket(target.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  error = errno;
  if (!attempt) return {};
  tune(attempt.get());
  error = bind_source(attempt.get(), source, target.storage.ss_family);
  if (error != 0) return {};
  error = connect(attempt.get(), target.get(), target.bytes) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) {
    const Waited waited = wait_for(attempt.get(), POLLOUT, deadline, interrupt);
    if (waited == Waited::interrupted) throw Interrupted("interrupted while connecting");
    socklen_t bytes = sizeof error;
    error = ETIMEDOUT;
    if (waited == Waited::ready) getsockopt(attempt.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  }
  if (error == 0 && connected_to_itself(attempt.get())) error = ECONNREFUSED;
  if (error != 0) return {};
  return attempt;
}

/// One attempt at every address, each with its fair share of the time that is left.
/// @param error  refusal before all else: then the host is there, and waiting may help
Descriptor try_all(const SocketAddresses& targets, const std::string& source, Deadline deadline,
                   const InterruptSource& interrupt, int& error) {
  auto left = static_cast<int>(targets.size());
  error = 0;
  for (const SocketAddress& each : targets) {
    const Deadline share =
        deadline.is_never() ? deadline : deadline.within(deadline.remaining() / left--);
    int attempt_error = 0;
    Descriptor attempt = try_connect(each, source, share, interrupt, attempt_error);
    if (attempt) return attempt;
    if (error != ECONNREFUSED) error = attempt_error;
  }
  return {};
}

bool short_of_resources(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool is_loopback_host(const std::string& host) {
  if (host == kLocalhost) return true;
  const auto address = IpAddress::parse(host);
  return address && address->loopback();
}

[[noreturn]] void throw_not_connected(const Address& server, int error) {
  const std::string where = server.text();
  if (error == ECONNREFUSED) {
    const std::string remedy =
        server.remedy.empty() ? fmt::format("start `rdmameter serve --bind {} --port {}` there.",
                                            server.host, server.port)
                              : server.remedy;
    throw NotConnected("no server is listening on {} ({}): {}", where, std::strerror(error),
                       remedy);
  }
  if (error == ETIMEDOUT) {
    throw NotConnected(
        "no answer from {} in time: is the host up, and does its firewall let TCP port {} through?",
        where, server.port);
  }
  if (!server.source.empty() && error == EADDRNOTAVAIL)
    throw NotConnected(
        "cannot connect to {} from {}: no interface of this machine has that address "
        "(`ip address` lists them).",
        where, server.source);
  if (short_of_resources(error)) {
    throw NotConnected("cannot connect to {}: {}, on this machine{}", where, std::strerror(error),
                       error == EMFILE ? ". Raise its limit (`ulimit -n`)." : ".");
  }
  if (is_loopback_host(server.host) && loopback_is_down())
    throw NotConnected("cannot connect to {}: {}", where, no_loopback_text());
  if (error == EHOSTUNREACH || error == EACCES || error == EPERM)
    throw NotConnected(
        "cannot connect to {}: {}. Is the host up, does a firewall reject TCP port {}, and is "
        "there a route (`ip route get {}`)?",
        where, std::strerror(error), server.port, server.host);
  throw NotConnected(
      "cannot connect to {}: {}. Check the address and the route (`ip route get {}`).", where,
      std::strerror(error), server.host);
}

}  // namespace

Connection connect_to(const Address& server, Deadline deadline, const InterruptSource& interrupt) {
  const SocketAddresses targets = resolve(server, 0);
  for (;;) {
    int error = 0;
    if (Descriptor socket = try_all(targets, server.source, deadline, interrupt, error)) {
      return {std::move(socket), server.text()};
    }
    // Only a refusal gets better by waiting for the server to start.
    if (error != ECONNREFUSED || !server.awaited || deadline.passed())
      throw_not_connected(server, error);
    if (wait_for(-1, 0, deadline.within(kRetryPause), interrupt) == Waited::interrupted) {
      throw Interrupted("interrupted while waiting for a server on {}", server.text());
    }
  }
}

namespace {

[[noreturn]] void throw_no_loopback(const Address& bind) {
  throw VerbsError("cannot listen on {}: {}", bind.text(), no_loopback_text());
}

[[noreturn]] void throw_not_bound(const Address& bind, int error) {
  const std::string where = bind.text();
  switch (error) {
    case EADDRINUSE:
      throw UsageError(
          "--bind {}: the port is in use. Choose another with --port (0: any free one), or end the "
          "program that has it (`ss -ltnp 'sport = :{}'`).",
          where, bind.port);
    case EADDRNOTAVAIL:
      if (bind.host == kLocalhost || (is_loopback_host(bind.host) && loopback_is_down()))
        throw_no_loopback(bind);
      throw UsageError(
          "--bind {}: no interface of this machine has that address (`ip address` lists them).",
          where);
    case EACCES:
      throw UsageError(
          "--bind {}: not allowed. Ports below 1024 need root: choose another with --port.", where);
    default:
      throw VerbsError("cannot listen on {}: {}", where, std::strerror(error));
  }
}

/// @param alone  an IPv6 address takes no IPv4
/// @return  a listening socket; empty with `error` set: it failed
Descriptor try_listen(const SocketAddress& local, int& error, bool alone = false) {
  const int family = local.storage.ss_family;
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket) {
    // Or a server cannot be restarted for a minute after it had clients (TIME_WAIT).
    set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, alone);
    if (bind(socket.get(), local.get(), local.bytes) == 0 && listen(socket.get(), kBacklog) == 0) {
      return socket;
    }
  }
  error = errno;
  return {};
}

}  // namespace

/// One family is enough where the kernel has not the other.
void Listener::listen_on_both(std::uint16_t port) {
  int error = 0;
  for (const char* host : {"0.0.0.0", "::"}) {
    SocketAddresses any;
    look_up(host, port, AI_NUMERICHOST, any);
    Descriptor& socket = socket_ ? second_ : socket_;
    if (!any.empty()) socket = try_listen(any.front(), error, true);
    if (!socket && error != 0 && error != EAFNOSUPPORT && error != EADDRNOTAVAIL)
      throw_not_bound({host, port}, error);
  }
  if (!socket_) throw_not_bound({"0.0.0.0", port}, error);
  port_ = port;
  if (!second_) return;
  either_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  for (const int socket : {socket_.get(), second_.get()}) {
    epoll_event readable{.events = EPOLLIN, .data = {}};
    if (!either_ || epoll_ctl(either_.get(), EPOLL_CTL_ADD, socket, &readable) != 0)
      throw VerbsError("epoll: {}", std::strerror(errno));
  }
}

Listener::Listener(const Address& bind) {
  if (bind.host.empty()) {
    listen_on_both(bind.port);
    return;
  }
  int error = 0;
  for (const SocketAddress& each : resolve(bind, AI_PASSIVE)) {
    socket_ = try_listen(each, error);
    // Only an address that is not here gives way to another: at one that is taken, clients would
    // find another server.
    if (socket_ || (error != EADDRNOTAVAIL && error != EAFNOSUPPORT)) break;
  }
  if (!socket_) throw_not_bound(bind, error);
  const IpAddress local{end_of<getsockname>(socket_.get()).value_or(SocketAddress()).storage};
  port_ = local.port();
  loopback_only_ = local.loopback();
  // The kernel takes 127.0.0.1 in a new network namespace, where no client can connect to it.
  if (loopback_only_ && loopback_is_down()) throw_no_loopback(bind);
}

namespace {

/// How long a client is kept waiting for a descriptor.
constexpr auto kLackTold = 3s;

/// At most every ten seconds.
void tell_no_descriptor(int error) noexcept {
  static std::atomic<std::int64_t> next_s{0};
  const std::int64_t now_s = std::chrono::duration_cast<std::chrono::seconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count();
  if (std::int64_t told = next_s; now_s < told || !next_s.compare_exchange_strong(told, now_s + 10))
    return;
  tell(
      "rdmameter: a connection waits, since it cannot be accepted: {}. Raise the limit on open "
      "files (ulimit -n, LimitNOFILE= of a service) and start again\n",
      std::strerror(error));
}

}  // namespace

Descriptor Listener::spare_descriptor() noexcept {
  return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

Descriptor Listener::accept_any() const noexcept {
  constexpr int kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  Descriptor client(accept4(socket_.get(), nullptr, nullptr, kFlags));
  if (!client && errno == EAGAIN && second_)
    client = Descriptor(accept4(second_.get(), nullptr, nullptr, kFlags));
  return client;
}

void Listener::close() noexcept {
  either_.reset();
  second_.reset();
  socket_.reset();
}

std::optional<Connection> Listener::accept(Deadline deadline, const InterruptSource& interrupt,
                                           const EventFd* wake) {
  do {
    if (!spare_) spare_ = spare_descriptor();
    if (wait_for(fd(), POLLIN, deadline, interrupt, wake) != Waited::ready) return {};
    Descriptor socket = accept_any();
    int lack = 0;
    if (!socket && (errno == EMFILE || errno == ENFILE)) {
      lack = errno;
      tell_no_descriptor(lack);
      const auto now = std::chrono::steady_clock::now();
      if (!lacking_since_) lacking_since_ = now;
      if (now - *lacking_since_ >= kLackTold) {
        spare_.reset();
        socket = accept_any();
        lacking_since_.reset();  // the next one has its own time
      }
      errno = lack;
    } else if (socket) {
      lacking_since_.reset();
    }
    if (socket) {
      tune(socket.get());
      std::string peer = peer_text(socket.get());
      return Connection{std::move(socket), std::move(peer), lack};
    }
    // While the client stays in the backlog poll() returns at once: pause instead of spinning.
    if (short_of_resources(errno) &&
        wait_for(-1, 0, deadline.within(kRetryPause), interrupt, wake) != Waited::deadline) {
      return {};
    }
    // Anything else is that one client's network error, or it has gone again (accept(2)).
  } while (!deadline.passed());  // poll() with no time left still says `ready`
  return {};
}

namespace {

/// The address without its port; an IPv4 one of an IPv6 socket as IPv4. Empty: it has no name.
std::string host_text(const SocketAddress& address) {
  char host[NI_MAXHOST];
  if (getnameinfo(address.get(), address.bytes, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view name = host;
  const bool mapped = name.starts_with(kMapped) && name.find('.') != std::string_view::npos;
  return std::string(mapped ? name.substr(kMapped.size()) : name);
}

}  // namespace

std::string loopback_host() {
  std::string why;
  for (const char* host : kLoopbackHosts) {
    SocketAddresses addresses;
    int error = 0;
    if (look_up(host, 0, AI_NUMERICHOST, addresses) == 0 && try_listen(addresses.front(), error) &&
        !loopback_is_down())
      return host;
    if (short_of_resources(error)) {
      why = fmt::format("{}. Raise the limit on open files (`ulimit -n`).", std::strerror(error));
      break;
    }
  }
  if (why.empty()) why = no_loopback_text();
  throw MeasurementError("programs of this machine cannot connect to each other: {}", why);
}

std::vector<std::string> addresses_of(const std::string& host) {
  SocketAddresses addresses;
  std::vector<std::string> texts;
  if (look_up(host, 0, 0, addresses) != 0) return texts;
  for (const SocketAddress& each : addresses) texts.push_back(host_text(each));
  return texts;
}

bool over_loopback(int socket) noexcept {
  const auto peer = end_of<getpeername>(socket);
  return peer && IpAddress(peer->storage).loopback();
}

namespace {

/// @param end  nothing: errno says why
std::string host_of(const std::optional<SocketAddress>& end) {
  if (!end) throw MeasurementError("the connection is gone: {}", std::strerror(errno));
  std::string host = end->storage.ss_family == AF_UNIX ? "" : host_text(*end);
  if (host.empty()) throw MeasurementError("a test over TCP needs a session over TCP");
  return host;
}

}  // namespace

std::string peer_host(int socket) {
  return host_of(end_of<getpeername>(socket));
}

std::string own_host(int socket) {
  return host_of(end_of<getsockname>(socket));
}

std::string peer_text(int socket) {
  const auto peer = end_of<getpeername>(socket);
  if (!peer) return "a vanished peer";
  if (peer->storage.ss_family == AF_UNIX) return "a local socket";
  const std::string host = host_text(*peer);
  if (host.empty()) return "an unnamable peer";
  return Address{host, IpAddress(peer->storage).port()}.text();
}

}  // namespace rdmameter
