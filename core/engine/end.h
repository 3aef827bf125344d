// SPDX-License-Identifier: Apache-2.0
// One end of a case: data, which one function makes for each kind of network, and sums over it.
#pragma once

#include "core/engine/endpoint.h"
#include "core/engine/placement/placement.h"
#include "core/engine/side.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

struct End {
  Side forward;        ///< of the direction in which the initiator sends
  Side backward = {};  ///< empty: the responder sends no messages of its own

  /// The introductions of both directions, for the peer.
  Introductions introductions() const;
  /// @param peer  its introductions. @throws as EndpointRunner::connect()
  void connect(const Introductions& peer);
  /// See EndpointRunner::establish(): in the same order at both ends.
  void establish();
  /// Where the loops of both directions were when they ended.
  std::vector<LoopPlace> places() const;
};

/// An end of a case on verbs devices. What each device needs is made on the CPU of its first loop,
/// so that its memory is on that CPU's node.
/// @param devices    as many as the case has; borrowed
/// @param role       the end's; its backward side has the other one
/// @param watch      what ends a wait for rdma_cm
/// @param placement  where the loops run
End make_verbs_end(std::span<OpenDevice* const> devices, const TestCase& test_case, Role role,
                   std::uint64_t seed, CmWatch watch, const Placement& placement);

}  // namespace rdmameter
