// SPDX-License-Identifier: Apache-2.0
// The steps of one connection by rdma_cm, of a QP that is not rdma_cm's own: created elsewhere, it
// has every attribute that its creator chose, and takes only its path from here.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/test_case/test_case.h"
#include "core/verbs/cm/cm_address.h"
#include "core/verbs/cm/ece.h"
#include "core/verbs/cm/event_channel.h"
#include "core/verbs/cm/private_data.h"
#include "core/verbs/qp_state.h"

namespace rdmameter {

/// The route to a peer beside its address: on InfiniBand the subnet manager chooses.
struct CmRoute {
  std::uint8_t service_level = 0;
  std::optional<double> rate_gbps;  ///< the most that its slowest link takes; nullopt: not limited
  std::optional<std::uint32_t> mtu_bytes;  ///< nullopt: nothing says it
  std::uint32_t qp_mtu_bytes = 0;          ///< that its QP has got; 0: as without rdma_cm
  Ece ece;                                 ///< RC and UC
};
CmRoute route_of(const ibv_ah_attr& way);

/// Where a datagram's request led.
struct CmService {
  ibv_ah_attr way{};
  std::uint32_t qpn = 0, qkey = 0;
};

/// One end of a case's connections.
struct CmEndpoint {
  Transport transport = Transport::rc;
  CmAddress address;   ///< this end's, with port 0
  std::string device;  ///< whose address that is
  QpPath path;         ///< what both have agreed and the axes say; its GIDs and LIDs are not used
  bool mtu_of_route = false;  ///< where the route's MTU is less than the path's, it is the QP's
  bool shared_receives = false;
  bool iwarp = false;  ///< the driver brings the QP to RTS while rdma_cm connects it

  /// "10.9.0.1 on rxe0/1"
  std::string text() const;
};

/// An id of this end, bound to its address. RC: RDMA_PS_TCP; UD: RDMA_PS_UDP; UC: RDMA_PS_IB.
/// @param context  what its events show as theirs
/// @throws VerbsError
CmId make_cm_id(const CmChannel& channel, const CmEndpoint& end, void* context);

/// Step 1; ends by RDMA_CM_EVENT_ADDR_RESOLVED.
/// @throws VerbsError
void resolve_address(rdma_cm_id& id, const CmEndpoint& end, const CmAddress& peer);

/// Has the address led to the end's own device and port?
/// @throws Unsupported
void require_device(const rdma_cm_id& id, const CmEndpoint& end);

/// Step 2; ends by RDMA_CM_EVENT_ROUTE_RESOLVED.
void resolve_route(rdma_cm_id& id, const CmEndpoint& end);

/// The path's MTU, if step 2 has found it. For datagrams it is known from nothing else.
std::optional<std::uint32_t> resolved_mtu(const rdma_cm_id& id) noexcept;

/// The event that ends step 3.
rdma_cm_event_type answer_event(const CmEndpoint& end);

/// Step 3; ends by answer_event().
/// @return what was offered beyond the standard: RC and UC
Ece request_connection(rdma_cm_id& id, const CmEndpoint& end, const CmRequest& request, ibv_qp& qp);

/// Step 4, of RC and UC: brings the QP from INIT to RTS, and tells the peer that it is. Of iWARP
/// nothing is left to do.
/// @param offered  by request_connection()
/// @return         what the route has chosen
CmRoute establish(rdma_cm_id& id, const CmEndpoint& end, ibv_qp& qp, const Ece& offered);

/// The responder's answer: brings the QP to RTS and takes the connection. Of UD: tells its number.
void accept_connection(rdma_cm_id& id, const CmEndpoint& end, ibv_qp& qp);

/// The content of a RDMA_CM_EVENT_CONNECT_REQUEST; nullopt: it is not rdmameter's.
std::optional<CmRequest> request_of(const rdma_cm_event& event, Transport transport);

/// The refusal of a request that has another case's nonce, or none.
inline constexpr std::string_view kNotOurs = "not a connection of this session";

/// @param words  for the peer's error text
void reject_connection(rdma_cm_id& id, std::string_view words) noexcept;

/// Sends the QP of UD on its way to RTS: it needs to know no peer.
void to_rts_unconnected(ibv_qp& qp, const CmEndpoint& end);

/// The address that an event's datagram service has, with the axes that the path has.
/// @throws Unsupported  see require_device()
ibv_ah_attr path_attributes(const ibv_ah_attr& resolved, const CmEndpoint& end);

}  // namespace rdmameter
