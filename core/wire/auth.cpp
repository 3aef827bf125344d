// SPDX-License-Identifier: Apache-2.0
#include "core/wire/auth.h"

#include <endian.h>
#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <type_traits>

#include "core/base/error.h"

namespace rdmameter {
namespace {

constexpr std::string_view kProofPurpose = "rdmameter session proof";
constexpr std::string_view kSealPurpose = "rdmameter session seal";
constexpr std::size_t kTokenBytes = 24;  // a multiple of 3: base64 without padding
constexpr std::size_t kNonceBytes = kNonceChars / 2;
using Hmac = std::array<unsigned char, crypto_auth_hmacsha256_BYTES>;
static_assert(kProofChars == 2 * std::tuple_size_v<Hmac>);
static_assert(std::is_same_v<Hmac, SealKey>);

template <std::size_t Bytes>
std::array<unsigned char, Bytes> random_bytes() {
  prepare_sodium();
  std::array<unsigned char, Bytes> random{};
  randombytes_buf(random.data(), random.size());
  return random;
}

template <std::size_t Bytes>
std::string hexadecimal(const std::array<unsigned char, Bytes>& bytes) {
  std::string text(2 * Bytes + 1, '\0');  // libsodium ends it with a NUL
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// Each part goes in behind its length, so that no two lists of parts give the same input.
void add(crypto_auth_hmacsha256_state& state, std::string_view part) noexcept {
  const auto length = std::bit_cast<std::array<unsigned char, 8>>(htole64(part.size()));
  crypto_auth_hmacsha256_update(&state, length.data(), length.size());
  crypto_auth_hmacsha256_update(&state, bytes_of(part), part.size());
}

/// What only those can compute who know the token.
Hmac hmac_of(std::string_view token, std::string_view purpose, Role role,
             const Challenge& challenge) {
  prepare_sodium();
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_of(token), token.size());
  add(state, purpose);
  add(state, role == Role::initiator ? "initiator" : "responder");
  add(state, std::to_string(challenge.version));
  add(state, challenge.initiator_nonce);
  add(state, challenge.responder_nonce);
  Hmac hmac{};
  crypto_auth_hmacsha256_final(&state, hmac.data());
  sodium_memzero(&state, sizeof state);  // it holds the token's key pads
  return hmac;
}

}  // namespace

std::string make_token() {
  const auto random = random_bytes<kTokenBytes>();
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string token(sodium_base64_ENCODED_LEN(kTokenBytes, kVariant), '\0');
  sodium_bin2base64(token.data(), token.size(), random.data(), random.size(), kVariant);
  token.pop_back();  // the NUL
  return token;
}

std::string why_bad_token(std::string_view token) {
  if (token.size() < kTokenMinChars || token.size() > kTokenMaxChars) {
    return fmt::format("a token has {} to {} characters, this one {}", kTokenMinChars,
                       kTokenMaxChars, token.size());
  }
  if (!std::ranges::all_of(token, [](char each) { return each > ' ' && each <= '~'; }))
    return "a token has printable ASCII characters only, and no spaces";
  return {};
}

std::string make_nonce() {
  return hexadecimal(random_bytes<kNonceBytes>());
}

std::string make_proof(std::string_view token, Role prover, const Challenge& challenge) {
  return hexadecimal(hmac_of(token, kProofPurpose, prover, challenge));
}

bool proof_holds(std::string_view token, Role prover, const Challenge& challenge,
                 std::string_view proof) {
  if (!why_bad_token(token).empty()) return false;
  if (challenge.initiator_nonce.size() != kNonceChars ||
      challenge.responder_nonce.size() != kNonceChars) {
    return false;
  }
  const std::string expected = make_proof(token, prover, challenge);
  // Lengths are no secret; the bytes are.
  return proof.size() == expected.size() &&
         sodium_memcmp(proof.data(), expected.data(), expected.size()) == 0;
}

SealKeys make_seal_keys(std::string_view token, Role own, const Challenge& challenge) {
  const Role other = other_end(own);
  return {.send = hmac_of(token, kSealPurpose, own, challenge),
          .receive = hmac_of(token, kSealPurpose, other, challenge)};
}

}  // namespace rdmameter
