// SPDX-License-Identifier: Apache-2.0
#include "core/wire/seal.h"

#include <sodium.h>

#include <utility>

#include "core/base/error.h"

namespace rdmameter {
namespace {

constexpr std::size_t kSealBytes = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t kSealHeaderBytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;

unsigned char* bytes_in(std::string& text) noexcept {
  return reinterpret_cast<unsigned char*>(text.data());
}

const unsigned char* bytes_in(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

void prepare_sodium() {
  if (sodium_init() < 0) throw VerbsError("libsodium cannot be initialised (sodium_init)");
}

SealState::~SealState() {
  sodium_memzero(&stream, sizeof stream);
}

Sealer::Sealer(const SealKey& key) : header_(kSealHeaderBytes, '\0') {
  prepare_sodium();  // the header is random
  crypto_secretstream_xchacha20poly1305_init_push(&state_.stream, bytes_in(header_), key.data());
}

std::string Sealer::seal(std::string_view message, bool last) {
  std::string sealed = std::move(header_);
  header_.clear();
  const std::size_t begin = sealed.size();
  sealed.resize(begin + message.size() + kSealBytes);
  const unsigned char tag = last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL
                                 : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE;
  crypto_secretstream_xchacha20poly1305_push(&state_.stream, bytes_in(sealed) + begin, nullptr,
                                             bytes_in(message), message.size(), nullptr, 0, tag);
  return sealed;
}

Opener::~Opener() {
  sodium_memzero(key_.data(), key_.size());
}

std::size_t Opener::overhead() const noexcept {
  return kSealBytes + (stage_ == Stage::begins ? kSealHeaderBytes : 0);
}

std::optional<std::string> Opener::open(std::string_view sealed) {
  const bool too_short = sealed.size() < overhead();
  const Stage before = std::exchange(stage_, Stage::broken);
  if (too_short || before == Stage::ended || before == Stage::broken) return std::nullopt;
  if (before == Stage::begins) {
    crypto_secretstream_xchacha20poly1305_init_pull(&state_.stream, bytes_in(sealed), key_.data());
    sealed.remove_prefix(kSealHeaderBytes);
  }
  std::string message(sealed.size() - kSealBytes, '\0');
  unsigned char tag = 0;
  if (crypto_secretstream_xchacha20poly1305_pull(&state_.stream, bytes_in(message), nullptr, &tag,
                                                 bytes_in(sealed), sealed.size(), nullptr, 0) != 0)
    return std::nullopt;
  stage_ = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL ? Stage::ended : Stage::goes_on;
  return message;
}

}  // namespace rdmameter
