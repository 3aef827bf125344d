// SPDX-License-Identifier: Apache-2.0
#include "core/session/socket_runner.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/engine/loop/table.h"
#include "core/session/protocol.h"
#include "core/wire/auth.h"

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

Buffer pages_for(const Area& area, const CancelCheck& cancel_check) {
  return {area.total_bytes(), std::nullopt, {}, {.cancel_check = cancel_check}};
}

SlotRing ring_of(std::span<std::byte> bytes, const Area& area) {
  std::byte* const first = bytes.data();
  return {first, first + bytes.size(), first, area.stride_bytes};
}

}  // namespace

SocketRunner::SocketRunner(int session, const InterruptSource& interrupt,
                           const DeviceCase& test_case, std::uint64_t seed)
    : EndpointRunner(test_case, seed),
      interrupt_(interrupt),
      host_(role_ == Role::initiator ? peer_host(session) : own_host(session)),
      nonce_(make_nonce()),
      cancel_check_([session, &interrupt] { require_wanted(session, interrupt); }),
      layout_(layout_of(case_, role_)),
      source_pages_(pages_for(layout_.source, cancel_check_)),
      target_pages_(pages_for(layout_.target, cancel_check_)),
      source_(source_pages_.data(), layout_.source.total_bytes()),
      target_(target_pages_.data(), layout_.target.total_bytes()) {
  if (layout_.source.slots != 0)
    fill_source(source_, layout_.source, pattern_of(case_, seed_, role_), cancel_check_);
  if (layout_.target.slots != 0) poison_target(target_, cancel_check_);
  loop_state_ = {.size_bytes = case_.size_bytes,
                 .source = ring_of(source_, layout_.source),
                 .target = ring_of(target_, layout_.target)};
  if (role_ == Role::responder) listener_.emplace(Address{host_, 0});
}

Introduction SocketRunner::introduction() const {
  Introduction end;
  if (listener_) end.listening = {.port = listener_->port(), .nonce = nonce_};
  return end;
}

Agreed SocketRunner::connect(const Introduction& peer) {
  if (role_ == Role::initiator)
    call(peer.where_listening());
  else
    let_in();
  loop_state_.socket = connection_.socket.get();
  return {};
}

/// The number goes into the socket's empty buffer at once, so it is there before the responder is
/// told that we are.
void SocketRunner::call(const ListeningAt& peer) {
  const Address address{host_, peer.port};
  try {
    connection_ = connect_to(address, Deadline::in(kTestConnectionTimeout), interrupt_);
  } catch (const MeasurementError& error) {
    throw MeasurementError(
        "{} The responder opened that port for this test: does a firewall or a tunnel "
        "between the two ends let only the session's port through?",
        error.what());
  }
  if (::send(connection_.socket.get(), peer.nonce.data(), peer.nonce.size(),
             MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(peer.nonce.size()))
    throw MeasurementError("the connection to {} was lost at once: {}", address.text(),
                           strerror(errno));
}

/// Strangers may find the port as well: they are hung up on.
void SocketRunner::let_in() {
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

bool SocketRunner::shows_nonce(int socket, Deadline deadline) const {
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

EndpointRunner::Loop SocketRunner::loop(Wait wait, ClockChoice::Kind clock) {
  // A sleeping end is to sleep.
  if (wait != Wait::event) {
    setsockopt(loop_state_.socket, SOL_SOCKET, SO_BUSY_POLL, &kBusyPoll_us, sizeof kBusyPoll_us);
    busy_poll_ = socket_option(loop_state_.socket, SO_BUSY_POLL) >= kBusyPoll_us;
  }
  const SocketLoop chosen = choose_socket_loop(case_.pattern, role_, wait, clock);
  if (case_.pattern == Pattern::bandwidth) latency_.reset();  // nothing tells when one has arrived
  return
      [this, chosen](const LoopPlan& plan, const ClockChoice& choice, const StopFlag& stop,
                     LoopTally& tally) { return chosen(loop_state_, plan, choice, stop, tally); };
}

void SocketRunner::abort_traffic() noexcept {
  shutdown(loop_state_.socket, SHUT_RDWR);
}

std::optional<Verdict> SocketRunner::verify(std::uint64_t peer_total) const {
  if (layout_.target.slots == 0) return std::nullopt;
  return check_target(target_, layout_.target, pattern_of(case_, seed_, other_end(role_)), {},
                      peer_total, cancel_check_);
}

Json SocketRunner::resources() const {
  return {{"buffer_bytes", source_.size() + target_.size()},
          {"socket_send_buffer_bytes", socket_option(loop_state_.socket, SO_SNDBUF)},
          {"socket_receive_buffer_bytes", socket_option(loop_state_.socket, SO_RCVBUF)}};
}

Json SocketRunner::facts() const {
  return {{"busy_poll", busy_poll_}};
}

std::string SocketRunner::where() const {
  return "the test's TCP connection to " + connection_.peer;
}

End make_end(std::span<OpenDevice* const> devices, const DeviceCase& test_case, std::uint64_t seed,
             CmWatch watch, const Placement& placement) {
  if (!devices.empty()) return make_verbs_end(devices, test_case, seed, watch, placement);
  End end;
  end.forward.cpus.assign(placement.cpus.begin(), placement.cpus.end());
  end.forward.runners.push_back(
      std::make_unique<SocketRunner>(watch.session, *watch.interrupt, test_case, seed));
  return end;
}

}  // namespace rdmameter
