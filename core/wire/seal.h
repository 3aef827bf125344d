// SPDX-License-Identifier: Apache-2.0
// Sealed messages: encrypted and authenticated, each with its place in the order of its direction
// (libsodium's crypto_secretstream: XChaCha20-Poly1305). Pure functions of keys and bytes; which
// messages are sealed is not decided here.
#pragma once

#include <sodium/crypto_secretstream_xchacha20poly1305.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rdmameter {

/// Everything of libsodium comes after this; it may be called often and by several threads.
/// @throws VerbsError  libsodium does not work here
void prepare_sodium();

using SealKey = std::array<unsigned char, crypto_secretstream_xchacha20poly1305_KEYBYTES>;

/// The keys of one end of a session. Make them for one connection and never use them again.
struct SealKeys {
  SealKey send, receive;
};

/// The state of one direction between two messages; erased with its owner.
struct SealState {
  SealState() = default;
  SealState(const SealState&) = default;
  SealState& operator=(const SealState&) = default;
  ~SealState();

  crypto_secretstream_xchacha20poly1305_state stream{};
};

/// The sender's end of one direction. A copy continues where the original was: send what only one
/// of both has sealed.
class Sealer {
 public:
  explicit Sealer(const SealKey& key);

  /// @param last  no message follows this one
  /// @return what goes over the wire
  std::string seal(std::string_view message, bool last);

 private:
  SealState state_;
  std::string header_;  ///< goes before the first message; empty: it has gone
};

/// The receiver's end of one direction.
class Opener {
 public:
  explicit Opener(const SealKey& key) : key_(key) {}
  Opener(const Opener&) = default;
  Opener& operator=(const Opener&) = default;
  ~Opener();

  /// The bytes by which the next sealed message exceeds its text.
  std::size_t overhead() const noexcept;

  /// The text of the next message. Nothing: this is not what the sender sealed next. After that
  /// nothing else is taken.
  std::optional<std::string> open(std::string_view sealed);

  /// Takes nothing any more: what came cannot be a message at all.
  void refuse() noexcept { stage_ = Stage::broken; }

  /// Has the sender's last message come?
  bool ended() const noexcept { return stage_ == Stage::ended; }

 private:
  enum class Stage : unsigned char { begins, goes_on, ended, broken };

  SealKey key_;
  SealState state_;
  Stage stage_ = Stage::begins;
};

}  // namespace rdmameter
