// SPDX-License-Identifier: Apache-2.0
// The token challenge: each end proves that it knows the server's token without sending it. Pure
// functions; the messages that carry the values are not decided here.
//
//   initiator -> responder   its nonce
//   responder -> initiator   its nonce
//   initiator -> responder   make_proof(token, Role::initiator, ...)
//   responder -> initiator   make_proof(token, Role::responder, ...), only once the first one holds
//
// A fresh nonce of ours in every proof stops replays, the role stops a proof from being sent back
// to its maker, the version stops a talk into an older protocol. What follows the proofs is sealed
// (core/wire/seal.h) by keys that only those two have who made them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/role.h"
#include "core/wire/seal.h"

namespace rdmameter {

inline constexpr std::size_t kTokenMinChars = 16;
inline constexpr std::size_t kTokenMaxChars = 256;
inline constexpr std::size_t kNonceChars = 64;  ///< 256 bits in hexadecimal
inline constexpr std::size_t kProofChars = 64;  ///< HMAC-SHA-256 in hexadecimal

/// A random token of 192 bits: 32 characters of A-Z, a-z, 0-9, - and _, safe in a
/// shell's command line.
std::string make_token();

/// Why this text cannot be a token; empty: it can. An attacker who records a proof could guess a
/// short one offline, so there is a least length; what it says never repeats the text.
std::string why_bad_token(std::string_view token);

/// A random nonce. Make one per connection and never use it again.
std::string make_nonce();

/// The values on which both ends must agree for a proof to hold.
struct Challenge {
  std::uint32_t version;  ///< of the protocol
  std::string_view initiator_nonce, responder_nonce;
};

/// HMAC-SHA-256, keyed with the token, over purpose, role, version and both nonces.
std::string make_proof(std::string_view token, Role prover, const Challenge& challenge);

/// Does `proof` come from a `prover` that knows the token? Compared in constant time. Never for a
/// token that why_bad_token() refuses, nor where either nonce is not kNonceChars long.
bool proof_holds(std::string_view token, Role prover, const Challenge& challenge,
                 std::string_view proof);

/// The keys that seal a session after both proofs: HMAC-SHA-256, keyed with the token, over another
/// purpose, the sender's role, version and both nonces. They tell nothing of the token that could
/// not be guessed from a proof.
/// @param own  of the end that gets them
SealKeys make_seal_keys(std::string_view token, Role own, const Challenge& challenge);

}  // namespace rdmameter
