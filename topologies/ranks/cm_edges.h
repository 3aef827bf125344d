// SPDX-License-Identifier: Apache-2.0
// The QPs of a rank where rdma_cm alone can connect them (iWARP). Of two ranks the higher one
// calls, and the lower one listens. A rank calls those below it before it answers those above: so a
// rank that waits for an answer waits for a lower rank, and rank 0 waits for none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/engine/endpoint.h"
#include "core/engine/introduction.h"
#include "core/verbs/cm/connector.h"
#include "core/wire/auth.h"
#include "topologies/ranks/rank_plan.h"

namespace rdmameter {

/// @throws Unsupported  the case's messages cannot go over iWARP
void require_iwarp_carries(const OpenDevice& device, const TopologyPlan& plan);

/// Writes no bytes over a QP that this rank has called for, and waits until that has left. Before
/// the caller has sent, the other end must not (RFC 5044, 7.1.2): that one waits until all ranks
/// have connected.
/// @param peer  whose memory they would be written to
/// @throws MeasurementError, VerbsError
void send_first(ibv_qp& qp, const EndpointInfo& peer, const std::string& where);

/// Where a rank awaits the connections of one below.
struct CmInvitation {
  ListeningAt listening;
  std::uint32_t first = 0;  ///< of its QPs those with that rank begin here
};

void list_fields(auto& fields, Is<CmInvitation> auto& invitation) {
  fields("listening", invitation.listening);
  fields("first", invitation.first);
}

/// Lives as long as the connections: with it they end.
class CmEdges {
 public:
  /// Begins to listen: ranks above can call from now on.
  /// @param qps  in INIT, by the rank at the other end, which has them in the same order
  /// @throws VerbsError, Unsupported
  CmEdges(OpenDevice& device, const TestCase& test_case, Rank rank,
          std::map<Rank, std::vector<ibv_qp*>> qps, CmWatch watch);

  /// The data that a rank above needs to call this one.
  CmInvitation invitation(Rank caller) const;

  /// Brings all QPs to RTS.
  /// @param peers        all others: their devices
  /// @param invitations  of those below
  /// @throws Unsupported, MeasurementError, VerbsError, Interrupted
  void connect(const std::map<Rank, EndpointInfo>& peers,
               const std::map<Rank, CmInvitation>& invitations);

 private:
  CmEndpoint end_towards(const EndpointInfo& peer) const;

  OpenDevice& device_;
  const TestCase case_;
  const Rank rank_;
  const std::string nonce_ = make_nonce();
  std::map<Rank, std::vector<ibv_qp*>> qps_;
  std::vector<ibv_qp*> called_;          ///< with all ranks above
  std::map<Rank, std::uint32_t> first_;  ///< of these, by rank
  std::uint16_t port_ = 0;
  CmConnector above_, below_;
};

}  // namespace rdmameter
