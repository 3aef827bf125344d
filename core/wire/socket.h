// SPDX-License-Identifier: Apache-2.0
// TCP connections of the session: addresses, connecting, listening. Sockets are non-blocking,
// close-on-exec and TCP_NODELAY; every wait goes through wait_for().
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// The host's name is not known here.
struct UnknownHost : UsageError {
  UnknownHost(const std::string& text, std::string reason)
      : UsageError(text), reason(std::move(reason)) {}
  std::string reason;  ///< as getaddrinfo() has it
};

/// Where a server is, as people write it.
struct Address {
  std::string host;  ///< a name, an IPv4 or an IPv6 address (without brackets, with %scope if any)
  std::uint16_t port = 0;
  std::string remedy =
      {};               ///< where no server is listening; empty: to start `rdmameter serve` there
  bool awaited = true;  ///< one that is not up yet is tried again and again
  std::string source = {};  ///< numeric, of this machine: to connect from; empty: the route's

  /// "host:port", an IPv6 address in brackets.
  std::string text() const;
};

/// Reads NAME, 192.0.2.1, 2001:db8::1, or [2001:db8::1], and all but the bare IPv6 one with :PORT.
/// A link-local address has its interface: fe80::1%eth0. The one parser for what is typed.
/// @throws UsageError that says what was wrong and which forms there are
Address parse_address(std::string_view text, std::uint16_t default_port);

/// The address by which programs of this machine reach each other: 127.0.0.1, or ::1 where that
/// one is not.
/// @throws MeasurementError  there is neither: why, and what to do
std::string loopback_host();

/// The numeric addresses that a name has here, an IPv6 one with its scope; none: it is not known.
/// Blocks as the C library's getaddrinfo() does.
std::vector<std::string> addresses_of(const std::string& host);

/// An open TCP connection and how to name its other end in messages.
struct Connection {
  Descriptor socket;
  std::string peer;
  /// Not 0: this process has no descriptor for it [errno value], and can say so by this one, which
  /// was spared for that.
  int lack = 0;
};

/// Connects, trying all addresses of the name in turn. While they refuse and the server is awaited,
/// tries again and again until the deadline: the server may not be up yet. Looking up a name (not a
/// numeric address) is the C library's blocking getaddrinfo() and ends neither by the deadline nor
/// by the interrupt.
/// @throws UnknownHost       there is no such name
/// @throws NotConnected      the text says why and what to do
/// @throws Interrupted
Connection connect_to(const Address& server, Deadline deadline, const InterruptSource& interrupt);

/// A listening TCP socket.
class Listener {
 public:
  /// @param bind  an address of this machine; port 0: any free one. `::` takes IPv4 as well. An
  ///              empty host, with a port: every address, by a socket for each family, so that who
  ///              looks for one of IPv4 (/proc/net/tcp) finds it
  /// @throws UsageError  the address is in use, not ours or not allowed; the text says what to do
  /// @throws VerbsError  any other failure
  explicit Listener(const Address& bind);

  /// The next client; none when the deadline has passed, `wake` was raised or the user interrupts.
  /// Out of descriptors or memory, it waits for some to be freed; the client waits in the backlog,
  /// for want of a descriptor no longer than some seconds: see Connection::lack.
  std::optional<Connection> accept(Deadline deadline, const InterruptSource& interrupt,
                                   const EventFd* wake = nullptr);

  /// Takes no further client, and gives the port back. What was accepted stays.
  void close() noexcept;

  /// Readable when a client waits.
  int fd() const noexcept { return either_ ? either_.get() : socket_.get(); }
  std::uint16_t port() const noexcept { return port_; }
  /// Can only this machine connect?
  bool loopback_only() const noexcept { return loopback_only_; }

 private:
  void listen_on_both(std::uint16_t port);
  Descriptor accept_any() const noexcept;
  static Descriptor spare_descriptor() noexcept;

  Descriptor socket_;
  Descriptor second_, either_;             ///< of the other family, and the epoll of the two
  Descriptor spare_ = spare_descriptor();  ///< given up for a client that is told of the lack
  std::optional<std::chrono::steady_clock::time_point> lacking_since_;
  std::uint16_t port_ = 0;
  bool loopback_only_ = false;
};

/// "192.0.2.1:4711", "[2001:db8::1]:4711"; "a local socket" for a socketpair's end. Never throws
/// for a peer that is gone: then "a vanished peer".
std::string peer_text(int socket);

/// Is the other end on this machine, reached over a loopback address?
bool over_loopback(int socket) noexcept;

/// The address of the other end of a connection, or of this one, as getaddrinfo() reads it, without
/// the port.
/// @throws MeasurementError  the connection is gone, or no TCP connection
std::string peer_host(int socket);
std::string own_host(int socket);

}  // namespace rdmameter
