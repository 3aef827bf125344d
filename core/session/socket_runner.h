// SPDX-License-Identifier: Apache-2.0
// An end whose messages go over a TCP connection of its own, between the same two addresses as the
// session's: the baseline that verbs are held against. And the choice between the two.
#pragma once

#include <span>

#include "core/engine/end.h"
#include "core/engine/loop/socket_state.h"
#include "core/verbs/memory/memory.h"
#include "core/wire/socket.h"

namespace rdmameter {

class SocketRunner final : public EndpointRunner {
 public:
  /// The responder listens from here on, on the session's address; the kernel chooses the port.
  /// @param session    the session's socket; borrowed
  /// @param interrupt  borrowed
  /// @throws VerbsError        no memory for so large a message
  /// @throws MeasurementError  no socket; the peer has gone
  SocketRunner(int session, const InterruptSource& interrupt, const DeviceCase& test_case,
               std::uint64_t seed);

  /// The responder's: port, and the number that shows whose connection it is.
  Introduction introduction() const override;
  /// The initiator connects and shows the number; the responder accepts no other connection.
  Agreed connect(const Introduction& peer) override;
  std::string take_fatal_event() override { return {}; }
  void abort_traffic() noexcept override;
  std::optional<Verdict> verify(std::uint64_t peer_total) const override;
  Json counters() const override { return nullptr; }
  Json resources() const override;
  Json facts() const override;
  std::string where() const override;

 private:
  Loop loop(Wait wait, ClockChoice::Kind clock) override;
  void call(const ListeningAt& peer);
  void let_in();
  bool shows_nonce(int socket, Deadline deadline) const;

  const InterruptSource& interrupt_;
  const std::string host_;  ///< of the session: the peer's at the initiator, else this end's
  const std::string nonce_;
  const CancelCheck cancel_check_;
  const Layout layout_;
  Buffer source_pages_, target_pages_;
  const std::span<std::byte> source_, target_;
  std::optional<Listener> listener_;  ///< the responder's, until the connection is there
  Connection connection_;
  SocketState loop_state_;
  bool busy_poll_ = false;
};

/// An end of a case: make_verbs_end() with its devices, or without any over TCP, by a SocketRunner.
/// Arguments and errors as of these two.
End make_end(std::span<OpenDevice* const> devices, const DeviceCase& test_case, std::uint64_t seed,
             CmWatch watch, const Placement& placement);

}  // namespace rdmameter
