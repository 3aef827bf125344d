// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/cm/cm_objects.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/software_device/cm/cm_address.h"
#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/request_log.h"
#include "tests/software_device/verbs/objects.h"

namespace rdmameter::software {
namespace {

constexpr std::uint32_t kMulticastQp = 0xffffff;

std::mutex ids_mutex;
std::map<std::uint32_t, CmId*>& known_ids() {
  static auto* const all = new std::map<std::uint32_t, CmId*>;
  return *all;
}

void copy_data(CmEvent& event, const CmMessage& message, std::size_t length) {
  event.data.assign(message.data.begin(),
                    message.data.begin() + static_cast<std::ptrdiff_t>(length));
}

void fill_connection(CmEvent& event, const CmMessage& message) {
  event.param.conn = {.private_data = event.data.empty() ? nullptr : event.data.data(),
                      .private_data_len = static_cast<std::uint8_t>(event.data.size()),
                      .responder_resources = message.responder_resources,
                      .initiator_depth = message.initiator_depth,
                      .flow_control = 0,
                      .retry_count = message.retry_count,
                      .rnr_retry_count = message.rnr_retry_count,
                      .srq = message.srq,
                      .qp_num = message.qpn};
}

void fill_datagram(CmEvent& event, const CmId& id, const CmMessage& message) {
  event.param.ud = {.private_data = event.data.empty() ? nullptr : event.data.data(),
                    .private_data_len = static_cast<std::uint8_t>(event.data.size()),
                    .ah_attr = path_to(message.address.gid, id),
                    .qp_num = message.qpn,
                    .qkey = RDMA_UDP_QKEY};
}

/// The id that a listener gets for a request; null: no memory, no number.
CmId* child_of(CmId& listener, const CmMessage& request) {
  CmId* const child = new_cm_id(to_ours(listener.channel), listener.context, listener.ps);
  if (child == nullptr) return nullptr;
  const auto port = port_of(request.called);
  bind_to(*child, {request.called, listener.address.port}, port->device, port->gid_index);
  child->qp_type = listener.qp_type;
  child->peer = request.from;
  child->peer_address = request.address;
  child->peer_qpn = request.qpn;
  child->peer_psn = request.psn;
  child->asked = true;
  child->route.addr.dst_storage = sockaddr_of(request.address);
  return child;
}

CmEvent* request_event(CmId& listener, const CmMessage& message) {
  CmId* const child = child_of(listener, message);
  if (child == nullptr) return refuse_request(message, kInvalidService), nullptr;
  child->tos = listener.tos;
  child->remote_ece = {message.ece_vendor, message.ece_options, 0};
  auto* const event = new CmEvent{};
  event->event = message.event;
  event->id = child;
  event->listen_id = &listener;
  copy_data(*event, message, request_bytes(listener.ps));
  if (listener.ps == RDMA_PS_UDP)
    fill_datagram(*event, *child, message);
  else
    fill_connection(*event, message);
  return event;
}

/// What a message changes about the id that it is for.
void learn(CmId& id, const CmMessage& message) {
  switch (message.event) {
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      id.peer = message.from;
      id.peer_qpn = message.qpn;
      id.peer_psn = message.psn;
      id.remote_ece = {message.ece_vendor, message.ece_options, 0};
      id.connected = true;
      break;
    case RDMA_CM_EVENT_ESTABLISHED:
      id.connected = id.ps != RDMA_PS_UDP;
      if (id.own_qpn == 0) break;  // not iWARP's initiator
      id.peer = message.from;
      connect_iwarp_qp(id.own_qpn, message.qpn, id.tos);
      break;
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_REJECTED:
      id.connected = false;
      id.peer = 0;
      break;
    default:
      break;
  }
}

void fill_parameters(CmEvent& event, const CmId& id, const CmMessage& message) {
  if (message.event == RDMA_CM_EVENT_MULTICAST_JOIN) {
    event.param.ud = {.private_data = nullptr,
                      .private_data_len = 0,
                      .ah_attr = path_to(message.called, id),
                      .qp_num = kMulticastQp,
                      .qkey = RDMA_UDP_QKEY};
    return;
  }
  if (id.ps == RDMA_PS_UDP && message.event == RDMA_CM_EVENT_ESTABLISHED)
    fill_datagram(event, id, message);
  else if (id.ps != RDMA_PS_UDP)
    fill_connection(event, message);
}

}  // namespace

void know_id(CmId& id) {
  const std::lock_guard locked(ids_mutex);
  known_ids()[id.number] = &id;
}
void forget_id(const CmId& id) {
  const std::lock_guard locked(ids_mutex);
  known_ids().erase(id.number);
}
CmId* known_id(std::uint32_t number) {
  const std::lock_guard locked(ids_mutex);
  const auto found = known_ids().find(number);
  return found == known_ids().end() ? nullptr : found->second;
}

ibv_context* cm_context(std::uint32_t device) {
  static std::mutex mutex;
  static std::array<ibv_context*, kDevices> opened{};
  const std::lock_guard locked(mutex);
  if (opened[device] == nullptr) {
    ibv_device** const list = ibv_get_device_list(nullptr);
    opened[device] = ibv_open_device(list[device]);
    ibv_free_device_list(list);
  }
  return opened[device];
}

CmId* new_cm_id(CmChannel& channel, void* context, rdma_port_space space) {
  auto* const id = new CmId{};
  id->number = add_cm_id(channel.mailbox);
  if (id->number == 0) {
    delete id;
    errno = ENOMEM;
    return nullptr;
  }
  id->channel = &channel;
  id->context = context;
  id->ps = space;
  id->qp_type = space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
  id->psn = id->number & 0xffffff;
  know_id(*id);
  return id;
}

void bind_to(CmId& id, const CmAddress& address, std::uint32_t device, std::uint8_t gid_index) {
  id.address = address;
  id.gid_index = gid_index;
  id.bound = true;
  id.verbs = cm_context(device);
  id.port_num = 1;
  id.route.addr.src_storage = sockaddr_of(address);
}

/// Of a VLAN whose priorities are Linux' own (net/ipv4/route.c, ip_tos2prio; cma.c,
/// iboe_tos_to_sl()).
std::uint8_t service_level_of(std::uint8_t tos) {
  constexpr std::uint8_t kPriorities[4] = {0, 2, 6, 4};
  return kPriorities[tos >> 3 & 3];
}

ibv_ah_attr path_to(const ibv_gid& gid, const CmId& from) {
  constexpr std::uint16_t kMulticastLid = 0xc001;
  const Personality& port = personality(device_of(from.verbs));
  const bool multicast = gid.raw[0] == 0xff;
  ibv_ah_attr made{};
  made.port_num = 1;
  if (port.infiniband()) {
    const auto there = port_of(gid);
    made.dlid = multicast ? kMulticastLid : there ? device_lid(there->device) : 0;
    made.sl = port.route_service_level;
    made.static_rate = port.route_rate;
    if (!multicast) return made;
  }
  if (!port.infiniband()) made.sl = service_level_of(from.tos);
  made.is_global = 1;
  made.grh.dgid = gid;
  made.grh.sgid_index = from.gid_index;
  made.grh.hop_limit = 64;
  return made;
}

void connect_iwarp_qp(std::uint32_t qpn, std::uint32_t peer_qpn, std::uint8_t tos) {
  const QpInUse qp(qpn);
  if (!qp || qp->state.load() != IBV_QPS_INIT) return;
  qp->peer_qpn.store(peer_qpn);
  qp->routed.store(true);
  qp->with_grh.store(true);
  qp->timeout.store(14);  // TCP sends again, and its window waits for receives
  qp->retry_count.store(7);
  qp->rnr_retry.store(7);
  qp->min_rnr_timer.store(1);
  if (personality(qp->device).takes_tos) log_request("traffic_class", qpn, tos);
  qp->state.store(IBV_QPS_RTS);
}

CmEvent* event_of(const CmMessage& message) {
  CmId* const id = known_id(message.to);
  if (message.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    if (id == nullptr) return refuse_request(message, kInvalidService), nullptr;
    return request_event(*id, message);
  }
  if (id == nullptr) return nullptr;
  learn(*id, message);
  auto* const event = new CmEvent{};
  event->event = message.event;
  event->id = id;
  event->status = message.status;
  copy_data(*event, message, message.length);
  fill_parameters(*event, *id, message);
  return event;
}

/// Of a datagram's service there is no rejection: it is unreachable.
void refuse_request(const CmMessage& request, int reason) {
  const bool datagram = request.space == RDMA_PS_UDP;
  CmMessage answer;
  answer.to = request.from;
  answer.event = datagram ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_REJECTED;
  answer.status = datagram ? kSidrUnsupported : reason;
  deliver(answer);
}

}  // namespace rdmameter::software
