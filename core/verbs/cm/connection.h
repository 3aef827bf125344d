// SPDX-License-Identifier: Apache-2.0
// The steps of one connection by rdma_cm, of a QP that is not rdma_cm's own: created elsewhere, it
// has every attribute that its creator chose, and takes only its path from here.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/test_case/test_case.h"
#include "core/verbs/cm/cm_address.h"
#include "core/verbs/handles.h"
#include "core/verbs/qp_state.h"
#include "core/wire/wait.h"

namespace rdmameter {

// Enhanced connection establishment: what two devices of one vendor agree on beyond the standard
// while rdma_cm connects them (rdma_set_local_ece(3)). rdma_cm does it by itself only for QPs that
// it has created (rdma-core, librdmacm/cma.c, init_ece()).

/// The result of the negotiation. Without a vendor the connection is as the standard has it.
struct Ece {
  std::uint32_t vendor_id = 0, options = 0;
  std::string failed;  ///< the call that failed; empty: none, or the device has no ECE
};

// How rdma_cm's events are awaited: in poll(), until a deadline, never past an interrupt, and not
// long past the moment at which the session's peer gives up.

// Owners, as core/verbs/handles.h has those of verbs: an id before its channel, and every event
// acknowledged before its id goes, or rdma_destroy_id() waits for ever.
using CmEventChannel = std::unique_ptr<rdma_event_channel, Destroyer<rdma_destroy_event_channel>>;
/// Destroying a connected one disconnects it.
using CmId = std::unique_ptr<rdma_cm_id, Destroyer<rdma_destroy_id>>;
using CmEvent = std::unique_ptr<rdma_cm_event, Destroyer<rdma_ack_cm_event>>;

/// How long a step of rdma_cm may take. The kernel sends a lost request again after 4.3 s.
inline constexpr std::chrono::seconds kCmTimeout{12};

/// The conditions that end a wait for an event.
struct CmWatch {
  const InterruptSource* interrupt = nullptr;  ///< borrowed
  int session = -1;  ///< the session's socket, borrowed: readable once the peer speaks or hangs up
  std::chrono::milliseconds patience = kCmTimeout;
};

class CmChannel {
 public:
  /// @throws VerbsError  the kernel's rdma_ucm is not there
  explicit CmChannel(CmWatch watch);

  rdma_event_channel* get() const noexcept { return channel_.get(); }

  /// The deadline of a wait that begins now.
  Deadline deadline() const noexcept { return Deadline::in(watch_.patience); }

  /// Until an event is there (ready), or the session's peer speaks or hangs up (woken).
  Waited wait(Deadline deadline) const noexcept;

  /// The next event, whatever it is.
  /// @param awaited  for the text: "an answer of 10.9.0.2:4711"
  /// @throws MeasurementError  none came until the deadline, or the session's peer has given up
  /// @throws Interrupted
  CmEvent next(Deadline deadline, const std::string& awaited);

  /// One that is there already; null: none is.
  /// @throws VerbsError
  CmEvent take();

 private:
  Waited wait_for_any(Deadline deadline, int session) const noexcept;

  const CmWatch watch_;
  const CmEventChannel channel_;
};

// What an initiator's request says of itself: of which case it is, and which of its QPs.

struct CmRequest {
  std::string nonce;        ///< the case's, which the responder gave over the session: kNonceChars
  std::uint32_t index = 0;  ///< of the QP
  std::uint32_t qpn = 0;    ///< the initiator's, which a datagram's request does not carry
};

/// Zeros, 256 bits and two numbers: rdma_cm leaves 56 bytes to a connection's request
/// (rdma_connect(3)). With AF_IB the kernel (since 4.3, drivers/infiniband/core/cma.c) takes the
/// first two for a header of its own, and only zeros for one that names no IP addresses.
inline constexpr std::size_t kCmRequestBytes = 44;

/// @param request  its nonce is kNonceChars of hexadecimal
std::array<std::uint8_t, kCmRequestBytes> cm_request_bytes(const CmRequest& request);

/// @param data  what came, with padding
/// @return nullopt: too short to be one of ours
std::optional<CmRequest> cm_request_from(std::span<const std::uint8_t> data);

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
  bool ethernet = false;  ///< the kernel chooses the service level by the traffic class
  bool iwarp = false;     ///< the driver brings the QP to RTS while rdma_cm connects it

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
ibv_ah_attr path_attributes(ibv_ah_attr resolved, const CmEndpoint& end);

}  // namespace rdmameter
