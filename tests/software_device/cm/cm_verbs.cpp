// SPDX-License-Identifier: Apache-2.0
// The calls of rdma_cm: ids of programs that wait for events, and bring their QPs to RTS
// themselves.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/software_device/cm/cm_address.h"
#include "tests/software_device/cm/cm_objects.h"
#include "tests/software_device/device/personality.h"
#include "tests/software_device/segment/process.h"
#include "tests/software_device/verbs/objects.h"

namespace rdmameter::software {
namespace {

constexpr int kEnotsupp = 524;  // the kernel's, which it lets programs see

int fail_cm(int error) {
  errno = error;
  return -1;
}

/// An event of the id's own.
void tell_self(const CmId& id, rdma_cm_event_type event, int status = 0) {
  CmMessage message;
  message.to = id.number;
  message.event = event;
  message.status = status;
  deliver(message);
}

bool take_data(CmMessage& message, const void* data, std::uint8_t length, std::size_t most) {
  if (data == nullptr) return true;
  if (length > most) return false;
  std::memcpy(message.data.data(), data, length);
  message.length = length;
  return true;
}

void take_parameters(CmMessage& message, const rdma_conn_param& wanted) {
  message.qpn = wanted.qp_num;
  message.responder_resources = wanted.responder_resources;
  message.initiator_depth = wanted.initiator_depth;
  message.retry_count = wanted.retry_count;
  message.rnr_retry_count = wanted.rnr_retry_count;
  message.srq = wanted.srq;
}

CmMessage message_from(const CmId& id, rdma_cm_event_type event) {
  CmMessage message;
  message.to = id.peer;
  message.from = id.number;
  message.event = event;
  message.address = id.address;
  message.space = id.ps;
  message.psn = id.psn;
  return message;
}

/// The answer to a request that is not taken.
void refuse(CmId& id, const void* data, std::uint8_t length) {
  const bool datagram = id.ps == RDMA_PS_UDP;
  CmMessage answer =
      message_from(id, datagram ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_REJECTED);
  answer.status = datagram ? kSidrReject : kConsumerDefined;
  if (!datagram) take_data(answer, data, length, answer.data.size());
  deliver(answer);
  id.asked = false;
}

void disconnect(CmId& id) {
  if (id.connected) deliver(message_from(id, RDMA_CM_EVENT_DISCONNECTED));
  id.connected = false;
}

int bind_address(CmId& id, const sockaddr& wanted) {
  const auto address = cm_address_of(wanted);
  if (id.bound) return fail_cm(EINVAL);
  if (!address) return fail_cm(EAFNOSUPPORT);
  if (attach() != 0) return -1;
  CmAddress bound = *address;
  if (bound.port == 0) bound.port = ephemeral_port();
  if (bound.any()) {
    id.address = bound;
    id.bound = true;
    id.route.addr.src_storage = sockaddr_of(bound);
    return 0;
  }
  const auto port = port_of(bound.gid);
  if (!port) return fail_cm(ENODEV);
  bind_to(id, bound, port->device, port->gid_index);
  return 0;
}

bool is_iwarp(const CmId& id) {
  return id.verbs != nullptr && personality(device_of(id.verbs)).iwarp();
}

/// The kernel takes the beginning of what an AF_IB request brings for a header of its own, which
/// must not name IP addresses (drivers/infiniband/core/cma.c, cma_save_ip_info()).
bool hides_request(const CmMessage& request) {
  const auto version = std::to_integer<unsigned>(request.data[0]);
  const auto family = std::to_integer<unsigned>(request.data[1]) >> 4;
  return request.length != 0 && (version != 0 || family == 4 || family == 6);
}

/// The id must be on a device: that of its own address, or of its peer's.
bool choose_port(CmId& id) {
  if (id.verbs != nullptr) return true;
  const auto port = port_of(id.peer_address.gid);
  if (!port) return false;
  const std::uint16_t number = id.address.port != 0 ? id.address.port : ephemeral_port();
  bind_to(id, {id.peer_address.gid, number}, port->device, port->gid_index);
  return true;
}

int init_rtr(const CmId& id, ibv_qp_attr& attributes) {
  attributes.ah_attr = path_to(id.peer_address.gid, id);
  attributes.path_mtu = personality(device_of(id.verbs)).route_mtu;
  attributes.dest_qp_num = id.peer_qpn;
  attributes.rq_psn = id.peer_psn;
  attributes.max_dest_rd_atomic = 1;
  return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
         (id.qp_type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
}
int init_rts(const CmId& id, ibv_qp_attr& attributes) {
  attributes.sq_psn = id.psn;
  attributes.timeout = 18;
  attributes.retry_cnt = attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 1;
  return IBV_QP_STATE | IBV_QP_SQ_PSN |
         (id.qp_type == IBV_QPT_RC
              ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
              : 0);
}
int init_init(const CmId& id, ibv_qp_attr& attributes) {
  attributes.port_num = 1;
  attributes.qkey = RDMA_UDP_QKEY;
  return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
         (id.ps == RDMA_PS_UDP ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
}

}  // namespace
}  // namespace rdmameter::software

using namespace rdmameter::software;

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  if (const int error = attach(); error != 0) return errno = error, nullptr;
  const int fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (fd < 0) return nullptr;
  const auto mailbox = make_mailbox({own_process(), fd, new_channel_id()});
  if (!mailbox) return close(fd), errno = ENOMEM, nullptr;
  auto* const channel = new CmChannel{};
  channel->fd = fd;
  channel->mailbox = mailbox;
  return channel;
}
void rdma_destroy_event_channel(rdma_event_channel* channel) {
  destroy_mailbox(to_ours(channel).mailbox);
  close(channel->fd);
  delete &to_ours(channel);
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space space) {
  if (channel == nullptr) die("it has no rdma_create_id() without a channel");
  CmId* const made = new_cm_id(to_ours(channel), context, space);
  if (made == nullptr) return -1;
  *id = made;
  return 0;
}
/// A passive one alone. It has a channel of its own until rdma_migrate_id().
int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* info, ibv_pd* pd, ibv_qp_init_attr* qp) {
  if ((info->ai_flags & RAI_PASSIVE) == 0 || pd != nullptr || qp != nullptr)
    die("it has no rdma_create_ep() but of a passive id without QP");
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (channel == nullptr) return -1;
  if (rdma_create_id(channel, id, nullptr, static_cast<rdma_port_space>(info->ai_port_space)) != 0)
    return rdma_destroy_event_channel(channel), -1;
  (*id)->qp_type = static_cast<ibv_qp_type>(info->ai_qp_type);
  to_ours(*id).owns_channel = true;
  if (rdma_bind_addr(*id, info->ai_src_addr) == 0) return 0;
  const int error = errno;
  rdma_destroy_id(*id);
  return fail_cm(error);
}
int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  if (channel == nullptr) die("it has no rdma_migrate_id() to no channel");
  CmId& ours = to_ours(id);
  redirect_cm_id(ours.number, to_ours(channel).mailbox);
  if (ours.owns_channel) rdma_destroy_event_channel(id->channel);
  ours.owns_channel = false;
  id->channel = channel;
  return 0;
}
int rdma_destroy_id(rdma_cm_id* id) {
  CmId& ours = to_ours(id);
  if (ours.asked) refuse(ours, nullptr, 0);
  disconnect(ours);
  remove_cm_id(ours.number);
  forget_id(ours);
  if (ours.owns_channel) rdma_destroy_event_channel(id->channel);
  delete &ours;
  return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  return bind_address(to_ours(id), *address);
}
int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int /*timeout_ms*/) {
  CmId& ours = to_ours(id);
  if (source != nullptr && !ours.bound && bind_address(ours, *source) != 0) return -1;
  const auto peer = cm_address_of(*destination);
  if (!peer) return fail_cm(EAFNOSUPPORT);
  ours.peer_address = *peer;
  id->route.addr.dst_storage = sockaddr_of(*peer);
  const bool reachable = port_of(peer->gid).has_value() && choose_port(ours);
  tell_self(ours, reachable ? RDMA_CM_EVENT_ADDR_RESOLVED : RDMA_CM_EVENT_ADDR_ERROR,
            reachable ? 0 : -EHOSTUNREACH);
  return 0;
}
int rdma_resolve_route(rdma_cm_id* id, int /*timeout_ms*/) {
  if (id->verbs == nullptr) return fail_cm(EINVAL);
  CmId& ours = to_ours(id);
  ours.path.mtu = static_cast<std::uint8_t>(personality(device_of(id->verbs)).route_mtu);
  id->route.path_rec = &ours.path;
  id->route.num_paths = 1;
  tell_self(ours, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t length) {
  if (level != RDMA_OPTION_ID || name != RDMA_OPTION_ID_TOS || length != 1)
    die("it has no option of rdma_set_option() but RDMA_OPTION_ID_TOS");
  to_ours(id).tos = *static_cast<std::uint8_t*>(value);
  return 0;
}

int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (ece->vendor_id == 0 || ece->comp_mask != 0) return fail_cm(EINVAL);
  to_ours(id).local_ece = *ece;
  return 0;
}
int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  *ece = to_ours(id).remote_ece;
  return 0;
}

/// Linux, core/ucma.c: ucma_listen() bounds the backlog, ucma_connect_event_handler() takes no
/// request beyond it, and ucma_get_event() makes room. iWARP then rejects the caller (iwcm.c,
/// cm_conn_req_handler()), and InfiniBand's CM lets it ask again (cm.c, cm_destroy_id()).
int rdma_listen(rdma_cm_id* id, int backlog) {
  constexpr int kMost = 1024;  // net.rdma_ucm.max_backlog
  CmId& ours = to_ours(id);
  if (!ours.bound) return fail_cm(EINVAL);
  const int room = is_iwarp(ours) && backlog > 0 && backlog < kMost ? backlog : kMost;
  return listen_at(ours.number, id->ps, ours.address, static_cast<std::uint32_t>(room))
             ? 0
             : fail_cm(EADDRINUSE);
}
int rdma_connect(rdma_cm_id* id, rdma_conn_param* wanted) {
  CmId& ours = to_ours(id);
  CmMessage request = message_from(ours, RDMA_CM_EVENT_CONNECT_REQUEST);
  if (!take_data(request, wanted->private_data, wanted->private_data_len, request_bytes(id->ps)))
    return fail_cm(EINVAL);
  take_parameters(request, *wanted);
  request.ece_vendor = ours.local_ece.vendor_id;
  request.ece_options = ours.local_ece.options;
  request.called = ours.peer_address.gid;
  if (ours.address.infiniband && hides_request(request)) {
    request.from = ours.number;
    refuse_request(request, kConsumerDefined);
    return 0;
  }
  if (is_iwarp(ours)) ours.own_qpn = wanted->qp_num;
  if (!deliver_to_listener(request, id->ps, ours.peer_address)) {
    request.from = ours.number;
    refuse_request(request, kInvalidService);
  }
  return 0;
}
int rdma_accept(rdma_cm_id* id, rdma_conn_param* wanted) {
  CmId& ours = to_ours(id);
  const bool datagram = id->ps == RDMA_PS_UDP;
  // iWARP's initiator has nothing left to do: its driver connects the QP, as this one's does.
  CmMessage answer =
      message_from(ours, datagram || is_iwarp(ours) ? RDMA_CM_EVENT_ESTABLISHED
                                                    : RDMA_CM_EVENT_CONNECT_RESPONSE);
  if (!ours.asked ||
      !take_data(answer, wanted->private_data, wanted->private_data_len, answer.data.size()))
    return fail_cm(EINVAL);
  take_parameters(answer, *wanted);
  // librdmacm/cma.c, ucma_copy_ece_param_to_kern_rep(): the vendor is that of the request
  answer.ece_vendor = ours.remote_ece.vendor_id;
  answer.ece_options = ours.local_ece.options;
  ours.asked = false;
  ours.connected = !datagram;
  if (is_iwarp(ours)) connect_iwarp_qp(wanted->qp_num, ours.peer_qpn, ours.tos);
  deliver(answer);
  if (is_iwarp(ours)) tell_self(ours, RDMA_CM_EVENT_ESTABLISHED);
  return 0;
}
int rdma_establish(rdma_cm_id* id) {
  CmId& ours = to_ours(id);
  if (!ours.connected || is_iwarp(ours)) return fail_cm(EINVAL);
  deliver(message_from(ours, RDMA_CM_EVENT_ESTABLISHED));
  return 0;
}
int rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t length) {
  if (!to_ours(id).asked) return fail_cm(EINVAL);
  refuse(to_ours(id), data, length);
  return 0;
}
int rdma_disconnect(rdma_cm_id* id) {
  if (!to_ours(id).connected) return fail_cm(EINVAL);
  disconnect(to_ours(id));
  tell_self(to_ours(id), RDMA_CM_EVENT_DISCONNECTED);
  return 0;
}

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
  const ibv_qp_state wanted = attributes->qp_state;
  const CmId& ours = to_ours(id);
  if (is_iwarp(ours)) return fail_cm(EINVAL);
  if (wanted == IBV_QPS_INIT) return *mask = init_init(ours, *attributes), 0;
  if (wanted == IBV_QPS_RTR && ours.peer != 0) return *mask = init_rtr(ours, *attributes), 0;
  if (wanted == IBV_QPS_RTS) return *mask = init_rts(ours, *attributes), 0;
  return fail_cm(EINVAL);
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  for (;;) {
    std::uint64_t one = 0;
    if (read(channel->fd, &one, sizeof one) != sizeof one) return -1;
    const auto message = next_message(*to_ours(channel).mailbox);
    if (!message) continue;
    CmEvent* const made = event_of(*message);
    if (made == nullptr) continue;
    *event = made;
    return 0;
  }
}
int rdma_ack_cm_event(rdma_cm_event* event) {
  delete static_cast<CmEvent*>(event);
  return 0;
}

int rdma_join_multicast(rdma_cm_id* id, sockaddr* group, void* /*context*/) {
  CmId& ours = to_ours(id);
  const auto address = cm_address_of(*group);
  if (!address || id->verbs == nullptr) return fail_cm(EINVAL);
  // As the kernel's cma.c: over RoCE v2 there are groups of IPv4 alone; on InfiniBand a group is
  // joined by the parameters of IPoIB's broadcast group, which an id bound to a GID does not know.
  if (personality(device_of(id->verbs)).infiniband()) {
    if (ours.address.infiniband) return fail_cm(EADDRNOTAVAIL);
    if (!address->infiniband) return fail_cm(EINVAL);  // it has no MGIDs of IP groups
  } else {
    if (address->infiniband) return fail_cm(EINVAL);
    if (group->sa_family != AF_INET) return fail_cm(kEnotsupp);
  }
  CmMessage joined;
  joined.to = ours.number;
  joined.event = RDMA_CM_EVENT_MULTICAST_JOIN;
  joined.called = address->gid;
  deliver(joined);
  return 0;
}
int rdma_leave_multicast(rdma_cm_id* /*id*/, sockaddr* /*group*/) {
  return 0;
}

}  // extern "C"
