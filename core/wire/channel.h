// SPDX-License-Identifier: Apache-2.0
// Messages of the session. A frame is a 4-byte big-endian length and that many bytes of UTF-8 JSON,
// an object, or of one that is sealed. What the objects mean is not decided here.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/result/json_text.h"
#include "core/wire/seal.h"
#include "core/wire/socket.h"

namespace rdmameter {

inline constexpr std::size_t kUnprovedMessageBytes = 1024;  ///< until the peer proved its token
inline constexpr std::size_t kProvedMessageBytes = 1024 * 1024;  ///< afterwards
inline constexpr unsigned kMessageDepth = 16;                    ///< nested arrays and objects
inline constexpr std::size_t kMessageMembers = 1024;  ///< of one object: it is searched in a row
/// The memory that a parsed message's values may take, beyond their text. The longest list of QPNs
/// that fits into a message takes 6 MiB.
inline constexpr std::size_t kParsedMessageBytes = 8 * 1024 * 1024;

/// The connection cannot be used any further. The text names the peer and says what went wrong.
struct ChannelError : MeasurementError {
  enum class Cause {
    closed,    ///< an end between two messages or within one; if sealed, after the last one only
    reset,     ///< the connection broke
    deadline,  ///< the peer was silent or slow
    protocol,  ///< what came is no message, or not what the peer had sealed
  };
  ChannelError(Cause cause, const std::string& text) : MeasurementError(text), cause(cause) {}
  /// Has the peer ended the connection, in good order or not?
  bool hung_up() const noexcept { return cause == Cause::closed || cause == Cause::reset; }
  Cause cause;
};

/// One end of a session. Not for several threads at once. It never reads beyond the message it
/// returns, so poll() on fd() (watch_loop()) tells whether the peer has said more.
class Channel {
 public:
  /// @param interrupt  ends every wait; must outlive the channel
  Channel(Connection connection, const InterruptSource& interrupt,
          std::size_t max_message_bytes = kUnprovedMessageBytes);

  /// Sends one message, whole. An interrupt only ends it where it would have to wait, so a last
  /// word can still be said after one. Text that is not UTF-8 goes with U+FFFD in its place.
  /// @throws ChannelError, Interrupted
  void send(const Json& message, Deadline deadline) { transmit(message, deadline, false); }

  /// Sends the last message of this end.
  void send_last(const Json& message, Deadline deadline) { transmit(message, deadline, true); }

  /// Receives one message, an object. The deadline is for the whole of it. Memory grows with what
  /// arrives, not with what the length claims.
  /// @throws ChannelError, Interrupted
  Json receive(Deadline deadline);

  /// Receives without waiting. Nothing: the message is not whole yet; the next call goes
  /// on with it.
  /// @throws ChannelError
  std::optional<Json> try_receive();

  /// Waits for the next message, or the end of the connection, without taking it.
  Waited wait_readable(Deadline deadline, const EventFd* wake = nullptr) const noexcept;

  /// The connection, for another channel or process. This one is of no use any more.
  Connection release() noexcept {
    usable_ = false;
    return std::move(connection_);
  }

  /// Seals all later messages of both directions. Both ends call this between the
  /// same two messages.
  void seal(const SealKeys& keys);

  /// Another one ends every wait from here on. @param interrupt  as the constructor's
  void set_interrupt(const InterruptSource& interrupt) noexcept { interrupt_ = &interrupt; }

  /// Limits a message's text, in both directions.
  void set_max_message_bytes(std::size_t bytes) noexcept { max_message_bytes_ = bytes; }

  /// False once a send or receive failed, or was interrupted in the middle of a message.
  bool usable() const noexcept { return usable_; }
  int fd() const noexcept { return connection_.socket.get(); }
  const std::string& peer() const noexcept { return connection_.peer; }

 private:
  struct Progress;
  /// A message that has come in part.
  struct Incoming {
    std::array<char, 4> header{};
    std::size_t header_bytes = 0, length = 0, body_bytes = 0;  ///< the length, with the header
    std::string body;
  };
  void transmit(const Json& message, Deadline deadline, bool last);
  void await(short events, Deadline deadline, const Progress& progress);
  Progress received() const noexcept;
  bool read_to_end(char* to, std::size_t bytes, std::size_t& got);
  void check_length(std::size_t length);
  bool read_frame();
  [[noreturn]] void fail(ChannelError::Cause cause, const std::string& what);
  [[noreturn]] void fail_errno(int error, const Progress& progress);
  [[noreturn]] void fail_closed(const Progress& progress);
  [[noreturn]] void fail_seal();

  Connection connection_;
  const InterruptSource* interrupt_;
  std::size_t max_message_bytes_;
  std::optional<Sealer> sealer_;  ///< nothing: messages are plain
  std::optional<Opener> opener_;
  Incoming incoming_;
  bool usable_ = true;
};

/// Parses the JSON of one message: an object, nested at most kMessageDepth deep, none of more than
/// kMessageMembers members, whose values take at most so many bytes; all is known before anything is
/// allocated. No object of it has a key twice. No byte of it is repeated in the error's text, which
/// may end up on a terminal or in a result file.
/// @throws ChannelError (protocol) naming `peer`
Json parse_message(std::string_view text, const std::string& peer,
                   std::size_t max_parsed_bytes = kParsedMessageBytes);

}  // namespace rdmameter
