// SPDX-License-Identifier: Apache-2.0
// What a server and the process of one of its sessions say to each other, over a socket pair. The
// server believes nothing of what a session says, which serves a stranger.
//
//   server                                        session
//   session {peer, greeting, seal,            ->
//            clock, sandbox, own, gpus,
//            shown}
//   then, for each case:
//                                             <-  begin {memory_bytes, threads}
//   granted {}, or failed {kind, reason}      ->
//                                             <-  is_shared {}
//   shared {value}                            ->
//                                             <-  end {}
//   and at any time:
//                                             <-  log {text, event}
//                                             <-  row {row}
//                                             <-  connected {connected}, if they are shown
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/instrument/clock.h"
#include "core/server/sandbox.h"
#include "core/session/handshake.h"
#include "core/session/responder.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// The descriptors that a session's process is started with.
inline constexpr int kClientDescriptor = 3, kServerDescriptor = 4;
/// The longest message on the pair.
inline constexpr std::size_t kPipeMessageBytes = 64 * 1024;
/// The longest message where connected cases are shown, with the numbers of all their QPs.
inline constexpr std::size_t kShownPipeMessageBytes = kProvedMessageBytes;
/// The longest line for the log; the server cuts it shorter.
inline constexpr std::size_t kLogTextBytes = 4096;

/// The data that a session needs, the keys of its seal included, but not the token.
struct SessionStart {
  std::string peer = {};
  Greeting greeting = {};
  ClockChoice clock = {};
  SandboxOptions sandbox = {};
  std::optional<OwnEnd> own = {};  ///< see serve_session()
  bool gpus = false;               ///< may clients have GPUs opened?
  bool shown = false;              ///< has the server a listener for connected cases and rows?
  pid_t server = getpid();         ///< the session's parent
};

void list_fields(auto& fields, Is<SealKeys> auto& keys) {
  fields("send", keys.send);
  fields("receive", keys.receive);
}

void list_fields(auto& fields, Is<ClockChoice> auto& clock) {
  fields("kind", clock.kind, {.max = static_cast<std::uint64_t>(ClockChoice::Kind::kernel)});
  fields("multiplier", clock.counter.scale.multiplier, {.min = 1});
  fields("ticks_per_ns", clock.ticks_per_ns);
  fields("error_ppm", clock.error_ppm);
  fields("read_ns", clock.read_ns);
  fields("reason", clock.reason);
}

/// The message "session".
void list_fields(auto& fields, Is<SessionStart> auto& start) {
  fields("peer", start.peer);
  fields("initiator_version", start.greeting.initiator_version);
  fields("welcome_proof", start.greeting.welcome_proof);
  fields("seal", start.greeting.seal_keys);
  fields("clock", start.clock);
  fields("sandbox", start.sandbox.mode, {.max = static_cast<std::uint64_t>(Sandboxing::required)});
  fields("sandbox_allowed", start.sandbox.allowed);
  fields("own", start.own);
  fields("gpus", start.gpus);
  fields("shown", start.shown);
  fields("server", start.server, {.min = 1});
}

/// Takes one message of a session's and answers it. A session sends each message at once and awaits
/// the answer to each question, so only one that misbehaves makes this wait.
/// @param deadline  of both
/// @throws ChannelError      the session has ended (`closed`), what it sent is no message, or it
///                           has not sent or taken one in time
/// @throws MeasurementError  it sent what no session says
/// @throws Interrupted
void answer_session(Channel& pipe, SessionHost& host, Deadline deadline);

/// The server, as its session sees it.
class PipeHost final : public SessionHost {
 public:
  /// @param pipe   borrowed
  /// @param shown  see SessionStart
  explicit PipeHost(Channel& pipe, bool shown = false) : pipe_(pipe), shown_(shown) {}
  void log(std::string_view text, ClientEvent event = ClientEvent::note) noexcept override;
  void begin_case(const CaseNeeds& needs) override;
  bool case_is_shared() override;
  void end_case() noexcept override;
  bool shows_connected() const override { return shown_; }
  /// A case with too many QPs for one message is not shown.
  void show_connected(const ConnectedCase& connected) override;
  void show_row(const Json& row) override;

 private:
  void say(const Json& message);
  Json ask(const Json& message, std::string_view answer);

  Channel& pipe_;
  const bool shown_;
  std::mutex sending_;  ///< lines of the log come from several threads
};

}  // namespace rdmameter
