// SPDX-License-Identifier: Apache-2.0
// What initiator and responder say to each other over TCP, and how long each waits. Messages are
// JSON objects with a "type"; docs/architecture.md draws a whole session.
//
//   initiator                                     responder
//   hello {protocol, version, nonce}          ->
//                                             <-  challenge {protocol, version,
//                                             nonce, token_required}
//   proof {proof}                             ->
//                                             <-  welcome {proof}
//   from here on sealed (core/wire/seal.h), where a token is required:
//   list_ports {end}                          -> (what the user has fixed of the responder's)
//                                             <-  ports {ports}: what it knows of each, by which
//                                             the initiator chooses for both ends
//   describe {end}                            -> (the responder's; without it no device is opened)
//                                             <-  environment {environment}
//   then for each repetition of a case:
//   prepare {case, seed, devices, same_host, cpus}             ->
//                                             <-  ready {forward, backward, only_cpu}
//   connect {forward, backward, wait}         ->
//                                             <-  running {}
//   (the measured traffic; meanwhile: alive {} every few seconds)
//   (only where both ends send: end_now {}, when the user has interrupted the measurement)
//   finish {sent by each thread}              ->
//                                             <-  done {forward, backward,
//                                             placement, shared_responder}
//   Where both ends send, "ready", "connect" and "done" hold the same of the other direction, as
//   "backward", and either end says gate {step} while the traffic runs: all its loops are warm, or
//   their windows closed.
//   or, at any time, from the responder: failed {kind, reason}, which ends the case; and from the
//   initiator: abandon {} -> abandoned {}. bye {} ends the session. Between two cases the initiator
//   may say list_ports again; row {row}: a row of the result, which the responder
//   may show; or examine
//   {} -> examination {examination}: what spoils measurements on the responder's machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rdmameter {

/// Both ends must have the same number, whatever their releases. A change to any message or to its
/// meaning raises it by one (CONTRIBUTING.md).
inline constexpr std::uint32_t kProtocolVersion = 29;

/// A step of the set-up: creating thousands of QPs takes seconds on some devices.
inline constexpr std::chrono::seconds kSetupTimeout{30};
/// Until the peer has proved its token.
inline constexpr std::chrono::seconds kProofTimeout{2};
/// The initiator shows that it lives, and looks whether its loop makes progress, this often. Rare
/// enough not to be seen in a measurement.
inline constexpr std::chrono::seconds kTick{2};
/// The responder looks this often for what its device says of itself.
inline constexpr std::chrono::seconds kEventTick{1};
/// No sign of life (the responder's view), or no progress of the loop (the initiator's), for this
/// long: the run has failed. Long, because moving messages of 1 MiB in bulk, rxe's tasklets can
/// keep every thread of a small emulated machine waiting for more than ten seconds.
inline constexpr std::chrono::seconds kSilence{20};
/// Between two cases.
inline constexpr std::chrono::seconds kIdle{120};

/// A client that finds every place taken is told so after this long, before it gives up waiting for
/// the welcome by itself.
inline constexpr std::chrono::seconds kPlaceTimeout{20};
/// The connection that a test over TCP makes for itself; and who has it, to show its number.
inline constexpr std::chrono::seconds kTestConnectionTimeout{10};
inline constexpr std::chrono::milliseconds kNonceTimeout{500};
static_assert(kTestConnectionTimeout < kSetupTimeout);

static_assert(kPlaceTimeout + kProofTimeout < kSetupTimeout);

/// Text of an error on the wire.
inline constexpr std::size_t kMaxReasonBytes = 2000;
inline constexpr std::size_t kMaxVersionBytes = 64;

}  // namespace rdmameter
