// SPDX-License-Identifier: Apache-2.0
#include "core/session/socket_side.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "core/error.h"
#include "core/loop/table_socket.h"
#include "core/session/auth.h"
#include "core/session/fields.h"
#include "core/session/protocol.h"

namespace rdmameter {
namespace {

/// What the kernel's documentation of net.core.busy_read recommends [us].
constexpr int kBusyPoll_us = 50;

int socket_option(int socket, int option) {
  int value = 0;
  socklen_t bytes = sizeof value;
  getsockopt(socket, SOL_SOCKET, option, &value, &bytes);
  return value;
}

std::vector<std::byte> memory_of(const Area& area) {
  try {
    return std::vector<std::byte>(area.total_bytes());
  } catch (const std::bad_alloc&) {
    throw MeasurementError(fmt::format("no memory for messages of {} bytes: use a smaller --size",
                                       area.payload_bytes));
  }
}

SlotRing ring_of(std::vector<std::byte>& bytes, const Area& area) {
  std::byte* const first = bytes.data();
  return {first, first + bytes.size(), first, area.stride_bytes};
}

}  // namespace

SocketSide::SocketSide(int session, const InterruptSource& interrupt, const Case& one_case,
                       Role role, std::uint64_t seed)
    : Side(one_case, role, seed),
      interrupt_(interrupt),
      host_(role == Role::initiator ? peer_host(session) : own_host(session)),
      nonce_(make_nonce()),
      layout_(layout_of(one_case, role)),
      source_(memory_of(layout_.source)),
      target_(memory_of(layout_.target)) {
  if (layout_.source.slots != 0)
    fill_source(source_, layout_.source, pattern_of(case_, seed_, role_));
  if (layout_.target.slots != 0) poison_target(target_);
  traffic_ = {.size_bytes = case_.size_bytes,
              .source = ring_of(source_, layout_.source),
              .target = ring_of(target_, layout_.target)};
  if (role == Role::responder) listener_.emplace(Address{host_, 0});
}

nlohmann::json SocketSide::introduction() const {
  if (!listener_) return nlohmann::json::object();
  return {{"tcp_port", listener_->port()}, {"tcp_nonce", nonce_}};
}

void SocketSide::connect(const nlohmann::json& peer) {
  if (role_ == Role::initiator)
    call(peer);
  else
    let_in();
  traffic_.socket = connection_.socket.get();
}

/// The number goes into the socket's empty buffer at once, so it is there before the responder is
/// told that we are.
void SocketSide::call(const nlohmann::json& peer) {
  const Address address{host_, require_uint_as<std::uint16_t>(peer, "tcp_port", 1)};
  const std::string nonce = require_string(peer, "tcp_nonce", kNonceChars, kNonceChars);
  try {
    connection_ = connect_to(address, Deadline::in(kTestConnectionTimeout), interrupt_);
  } catch (const MeasurementError&) {
    throw MeasurementError(fmt::format(
        "cannot connect to {}, which the responder opened for this test: does a firewall or a "
        "tunnel between the two ends let no other port than the session's through?",
        address.text()));
  }
  if (::send(connection_.socket.get(), nonce.data(), nonce.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(nonce.size()))
    throw MeasurementError(
        fmt::format("the connection to {} was lost at once: {}", address.text(), strerror(errno)));
}

/// Strangers may find the port as well: they are hung up on.
void SocketSide::let_in() {
  const Deadline deadline = Deadline::in(kTestConnectionTimeout);
  while (!connection_.socket) {
    std::optional<Connection> next = listener_->accept(deadline, interrupt_);
    if (interrupt_.requested()) throw Interrupted("the server ends");
    if (!next)
      throw MeasurementError("the initiator did not connect to the port opened for this test");
    if (shows_nonce(next->socket.get(), deadline.within(kNonceTimeout)))
      connection_ = std::move(*next);
  }
  listener_.reset();
}

bool SocketSide::shows_nonce(int socket, Deadline deadline) const {
  std::string shown(nonce_.size(), '\0');
  std::size_t have = 0;
  while (have != shown.size()) {
    if (wait_for(socket, POLLIN, deadline, interrupt_) != Waited::ready) return false;
    const ssize_t more = ::recv(socket, &shown[have], shown.size() - have, MSG_DONTWAIT);
    if (more == 0 || (more < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (more > 0) have += static_cast<std::size_t>(more);
  }
  return shown == nonce_;
}

Side::Loop SocketSide::loop(Wait wait, ClockChoice::Kind clock) {
  // A sleeping end is to sleep.
  if (wait != Wait::event) {
    setsockopt(traffic_.socket, SOL_SOCKET, SO_BUSY_POLL, &kBusyPoll_us, sizeof kBusyPoll_us);
    busy_poll_ = socket_option(traffic_.socket, SO_BUSY_POLL) >= kBusyPoll_us;
  }
  const SocketLoop chosen = choose_socket_loop(case_.shape(), role_, wait, clock);
  if (case_.shape() == Pattern::bandwidth) latency_.reset();  // nothing tells when one has arrived
  return [this, chosen](const LoopPlan& plan, const ClockChoice& choice, const StopWord& stop,
                        LoopTally& tally) { return chosen(traffic_, plan, choice, stop, tally); };
}

void SocketSide::silence() noexcept {
  shutdown(traffic_.socket, SHUT_RDWR);
}

std::optional<Verdict> SocketSide::verify(const std::vector<std::uint64_t>& peer_totals) const {
  if (layout_.target.slots == 0) return std::nullopt;
  const Role sender = role_ == Role::initiator ? Role::responder : Role::initiator;
  return check_target(target_, layout_.target, pattern_of(case_, seed_, sender), {},
                      peer_totals.front());
}

nlohmann::ordered_json SocketSide::resources() const {
  return {{"buffer_bytes", source_.size() + target_.size()},
          {"socket_send_buffer_bytes", socket_option(traffic_.socket, SO_SNDBUF)},
          {"socket_receive_buffer_bytes", socket_option(traffic_.socket, SO_RCVBUF)}};
}

nlohmann::ordered_json SocketSide::facts() const {
  return {{"busy_poll", busy_poll_}};
}

std::string SocketSide::where() const {
  return "the test's TCP connection to " + connection_.peer;
}

}  // namespace rdmameter
