// SPDX-License-Identifier: Apache-2.0
// One end of a case: data, which one function makes for each kind of network, and sums over it. The
// way in for a reader of core/, since each end of a case takes these steps:
//
//   TestCase asked                                  as the plan has it, its devices chosen
//   DeviceCase mine{asked, devices, role}           settled at this device: settle.h
//   Placement placement = place_end(mine...)        on which CPUs its loops run
//   End made = make_end(devices, mine...)           session/socket_runner.h: over TCP a runner,
//                                                   else make_verbs_end(): an Endpoint and its
//                                                   runners for each device and thread: QPs, CQs,
//                                                   buffers laid out (Layout)
//   made.introductions()                            to the peer, and its Introductions come back
//   ConnectedEnd end = connect_end(made, mine...)   the case is settled with the peer (AgreedCase);
//                                                   WRs are built (Work), receives posted, and
//                                                   QPs connected,
//   end.establish()                                 unless rdma_cm or a multicast does that here
//   end.forward.run(wait, clock, stop)              a thread for each runner (side.cpp), whose run()
//                                                   (endpoint_runner.cpp) calls the loop that its
//                                                   loop() has chosen (verbs_runner.cpp by
//                                                   loop/table.h): a LoopState and a LoopPlan go in,
//                                                   and a LoopTally comes out
//   SideTally{end.forward}, end.forward.verify()    sums; what arrived; what the peer counted
//   Outcome                                         measurer.h: one repetition, which becomes a Row
//
// Repetition (core/session/repetition.h) takes them at the initiator, ClientSession (responder.cpp)
// at the responder.
#pragma once

#include "core/engine/endpoint.h"
#include "core/engine/placement/placement.h"
#include "core/engine/side.h"

namespace rdmameter {

struct End {
  Side forward;        ///< of the direction in which the initiator sends
  Side backward = {};  ///< empty: the responder sends no messages of its own

  /// The introductions of both directions, for the peer.
  Introductions introductions() const;
  /// Where the loops of both directions were when they ended.
  std::vector<LoopPlace> places() const;
};

/// An end that knows its peer, and the case as the two have settled it.
struct ConnectedEnd : End {
  AgreedCase test_case;
  std::optional<std::uint32_t> route_mtu_bytes = {};

  /// See EndpointRunner::establish(): in the same order at both ends.
  void establish();
  /// Once it is established.
  TestCase case_as_measured() const { return as_measured(test_case, route_mtu_bytes); }
  ConnectedCase connected_case(const Introductions& peer) const;
};

/// @param mine  the case that the end was made for
/// @param peer  its introductions
/// @param wait  as AgreedCase(). @throws as that, and as EndpointRunner::connect()
ConnectedEnd connect_end(End end, const DeviceCase& mine, const Introductions& peer, Wait wait);

/// An end of a case on verbs devices. What each device needs is made on the CPU of its first loop,
/// so that its memory is on that CPU's node.
/// @param devices    as many as the case has; borrowed
/// @param test_case  its forward side's role is the end's; the backward side has the other one
/// @param watch      what ends a wait for rdma_cm
/// @param placement  where the loops run
End make_verbs_end(std::span<OpenDevice* const> devices, const DeviceCase& test_case,
                   std::uint64_t seed, CmWatch watch, const Placement& placement);

}  // namespace rdmameter
