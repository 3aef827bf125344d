// SPDX-License-Identifier: Apache-2.0
// One end of a case: data, which one function makes for each kind of network, and sums over it.
#pragma once

#include "core/engine/endpoint.h"
#include "core/engine/side.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

struct End {
  Side forward;        ///< of the direction in which the initiator sends
  Side backward = {};  ///< empty: the responder sends no messages of its own

  /// Of both, for the peer.
  Introductions introductions() const;
  /// @param peer  its introductions. @throws as EndpointRunner::connect()
  void connect(const Introductions& peer);
  /// See EndpointRunner::establish(): in the same order at both ends.
  void establish();
  /// Where the loops of both directions were when they ended.
  std::vector<LoopPlace> places() const;
};

/// An end of a case on a verbs device.
/// @param role   the end's; its backward side has the other one
/// @param watch  what ends a wait for rdma_cm
End make_verbs_end(OpenDevice& device, const TestCase& test_case, Role role, std::uint64_t seed,
                   CmWatch watch);

}  // namespace rdmameter
