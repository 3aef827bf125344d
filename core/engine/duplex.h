// SPDX-License-Identifier: Apache-2.0
// One end's sides of a case: of the direction in which the initiator sends, and, where the
// responder sends as well, of the other.
#pragma once

#include <memory>

#include "core/engine/endpoint.h"
#include "core/engine/endpoint_runner.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

struct Duplex {
  std::unique_ptr<EndpointRunner> forward;
  std::unique_ptr<EndpointRunner> backward;  ///< null: one way only

  /// Of both, for the peer.
  Introductions introductions() const;
  /// @param peer  its introductions. @throws as EndpointRunner::connect()
  void connect(const Introductions& peer);
  /// See EndpointRunner::establish(): in the same order at both ends.
  void establish();
  /// Where the loops of both directions were when they ended.
  std::vector<LoopPlace> places() const;
};

/// An end of a case on a verbs device, on one thread or several.
/// @param role   the end's; its backward side has the other one
/// @param watch  what ends a wait for rdma_cm
Duplex make_verbs_duplex(OpenDevice& device, const TestCase& test_case, Role role,
                         std::uint64_t seed, CmWatch watch);

}  // namespace rdmameter
