// SPDX-License-Identifier: Apache-2.0
// rdma_cm's objects of this process.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <vector>

#include "tests/software_device/cm/cm_exchange.h"

namespace rdmameter::software {

struct CmChannel : rdma_event_channel {
  Offset<CmMailbox> mailbox{};
};

struct CmId : rdma_cm_id {
  std::uint32_t number = 0;
  CmAddress address;           ///< its own
  std::uint8_t gid_index = 0;  ///< of its device
  bool bound = false;
  std::uint32_t peer = 0;  ///< the other end's id
  CmAddress peer_address;
  ibv_sa_path_rec path{};  ///< once its route is resolved
  std::uint32_t peer_qpn = 0, psn = 0, peer_psn = 0;
  bool asked = false;  ///< a request that has not been answered
  bool connected = false;
  std::uint32_t own_qpn = 0;  ///< iWARP's, which the driver connects
  std::uint8_t tos = 0;       ///< by rdma_set_option(); what a listener has, its children have
  ibv_ece local_ece{}, remote_ece{};
  bool owns_channel = false;  ///< it was made by rdma_create_ep()
};

struct CmEvent : rdma_cm_event {
  std::vector<std::byte> data;  ///< private data
};

inline CmId& to_ours(rdma_cm_id* id) {
  return *static_cast<CmId*>(id);
}
inline CmChannel& to_ours(rdma_event_channel* channel) {
  return *static_cast<CmChannel*>(channel);
}

/// Ids by their numbers: a message may be for one that is gone.
void know_id(CmId& id);
void forget_id(const CmId& id);
CmId* known_id(std::uint32_t number);

/// The context that all of rdma_cm's ids on a device share.
ibv_context* cm_context(std::uint32_t device);

/// A new id with a number, its messages into the channel's mailbox.
/// @return null: errno says why
CmId* new_cm_id(CmChannel& channel, void* context, rdma_port_space space);

/// The id is bound to a device's port from now on.
void bind_to(CmId& id, const CmAddress& address, std::uint32_t device, std::uint8_t gid_index);

/// The address of a path from an id's port to a GID, as the kernel tells it: on InfiniBand without
/// a GRH, but for multicasts.
ibv_ah_attr path_to(const ibv_gid& gid, const CmId& from);

/// Brings an iWARP QP to RTS, as its driver does. @param tos  of the id
void connect_iwarp_qp(std::uint32_t qpn, std::uint32_t peer_qpn, std::uint8_t tos);

/// Turns a message into the event of the id that it is for; null: nobody wants it.
CmEvent* event_of(const CmMessage& message);

/// Says no to a request, with a reason of the standard's.
void refuse_request(const CmMessage& request, int reason);

// Reasons and lengths: IBTA vol. 1, 12.6.7.2 and 12.11.2; include/rdma/ib_cm.h.
inline constexpr int kInvalidService = 8, kConsumerDefined = 28;
inline constexpr int kSidrUnsupported = 1, kSidrReject = 2;
inline constexpr std::uint8_t kTcpData = 56, kIbData = 92, kUdpData = 180;

inline std::uint8_t request_bytes(rdma_port_space space) {
  return space == RDMA_PS_UDP ? kUdpData : space == RDMA_PS_TCP ? kTcpData : kIbData;
}

}  // namespace rdmameter::software
