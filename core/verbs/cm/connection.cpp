// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/connection.h"

#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/base/error.h"
#include "core/verbs/check.h"
#include "core/verbs/device.h"

namespace rdmameter {
namespace {

/// The peer may say that it is done before the last event has reached this end.
constexpr std::chrono::milliseconds kGrace{1000};

/// A device without ECE says EOPNOTSUPP, and nothing has failed.
Ece without(const char* verb, int error) {
  return {.failed = is_unsupported(error) ? "" : verb};
}

/// Sets what both ends have in common. Of two vendors that is nothing (cma.c, init_ece()).
Ece set_common(ibv_qp& qp, std::uint32_t vendor_id, const ibv_ece& peer) {
  ibv_ece chosen{};
  chosen.vendor_id = vendor_id;
  chosen.options = peer.vendor_id == vendor_id ? peer.options : 0;
  if (const int error = ibv_set_ece(&qp, &chosen); error != 0) return without("ibv_set_ece", error);
  if (chosen.options == 0) return {};
  return {.vendor_id = chosen.vendor_id, .options = chosen.options};
}

/// The initiator, before its request, with the QP in INIT: offers what the device can.
/// @return the offer
Ece offer_ece(rdma_cm_id& id, ibv_qp& qp) noexcept {
  ibv_ece own{};
  if (const int error = ibv_query_ece(&qp, &own); error != 0)
    return without("ibv_query_ece", error);
  if (own.vendor_id == 0) return {};
  if (rdma_set_local_ece(&id, &own) != 0) return without("rdma_set_local_ece", errno);
  return {.vendor_id = own.vendor_id, .options = own.options};
}

/// The initiator, with the answer and before RTR: takes what the responder has chosen.
/// @param offered  by offer_ece()
Ece take_ece(rdma_cm_id& id, ibv_qp& qp, const Ece& offered) noexcept {
  if (offered.vendor_id == 0) return offered;
  ibv_ece peer{};
  if (rdma_get_remote_ece(&id, &peer) != 0) return without("rdma_get_remote_ece", errno);
  return set_common(qp, offered.vendor_id, peer);
}

/// The responder, with the request and before RTR: takes of the offer what its device can.
/// @return what to answer by answer_ece()
Ece accept_ece(rdma_cm_id& id, ibv_qp& qp) noexcept {
  ibv_ece peer{}, own{};
  if (rdma_get_remote_ece(&id, &peer) != 0) return without("rdma_get_remote_ece", errno);
  if (peer.vendor_id == 0) return {};
  if (const int error = ibv_query_ece(&qp, &own); error != 0)
    return without("ibv_query_ece", error);
  return set_common(qp, own.vendor_id, peer);
}

/// The initiator, in RTS: what the device has made of it, which mlx5 knows by the step to RTR
/// (rdma-core, providers/mlx5/verbs.c).
/// @param taken  by take_ece(); what holds if the device does not say
Ece ece_in_force(ibv_qp& qp, const Ece& taken) noexcept {
  ibv_ece own{};
  if (taken.vendor_id == 0 || ibv_query_ece(&qp, &own) != 0) return taken;
  if (own.options == 0) return {};
  return {.vendor_id = own.vendor_id, .options = own.options};
}

/// The responder, in RTS and before it accepts: answers with what the device has made of it.
void answer_ece(rdma_cm_id& id, ibv_qp& qp, const Ece& accepted) noexcept {
  ibv_ece own{};
  if (accepted.vendor_id == 0 || ibv_query_ece(&qp, &own) != 0) return;
  rdma_set_local_ece(&id, &own);
}

}  // namespace

CmChannel::CmChannel(CmWatch watch)
    : watch_(watch),
      channel_(check_pointer([&] { return rdma_create_event_channel(); },
                             "rdma_create_event_channel", "of this machine")) {
  const int flags = fcntl(channel_->fd, F_GETFL);
  check_minus_one(fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK), "fcntl", "rdma_cm's channel");
}

CmEvent CmChannel::take() {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel_.get(), &event) == 0) return CmEvent{event};
  if (errno != EAGAIN && errno != EINTR)
    throw_failure("rdma_get_cm_event", "of this machine", errno);
  return nullptr;
}

Waited CmChannel::wait_for_any(Deadline deadline, int session) const noexcept {
  std::array<pollfd, 3> watched{
      {{watch_.interrupt != nullptr ? watch_.interrupt->fd() : -1, POLLIN, 0},
       {channel_->fd, POLLIN, 0},
       {session, POLLIN | POLLRDHUP, 0}}};
  for (;;) {
    if (poll(watched.data(), watched.size(), deadline.remaining_ms()) > 0) {
      if (watched[0].revents != 0) return Waited::interrupted;
      return watched[1].revents != 0 ? Waited::ready : Waited::woken;
    }
    if (deadline.passed()) return Waited::deadline;
  }
}

Waited CmChannel::wait(Deadline deadline) const noexcept {
  return wait_for_any(deadline, watch_.session);
}

CmEvent CmChannel::next(Deadline deadline, const std::string& awaited) {
  bool spoken = false;
  for (;;) {
    if (CmEvent event = take()) return event;
    const Waited waited = wait_for_any(deadline, spoken ? -1 : watch_.session);
    if (waited == Waited::interrupted) throw Interrupted("interrupted");
    if (waited == Waited::deadline)
      throw MeasurementError(
          spoken
              ? fmt::format("the peer gave up while rdma_cm waited for {}", awaited)
              : fmt::format("rdma_cm did not get {} in time: is the peer alive, and does the "
                            "network between the two devices let its packets through (RoCE v2: UDP "
                            "port 4791)?",
                            awaited));
    if (waited != Waited::woken) continue;
    spoken = true;
    deadline = deadline.within(kGrace);
  }
}

namespace {

constexpr std::size_t kNonceAt = 4, kNonceBytes = 32, kIndexAt = kNonceAt + kNonceBytes;
static_assert(kIndexAt + 2 * sizeof(std::uint32_t) == kCmRequestBytes);

}  // namespace

std::array<std::uint8_t, kCmRequestBytes> cm_request_bytes(const CmRequest& request) {
  std::array<std::uint8_t, kCmRequestBytes> bytes{};
  for (std::size_t i = 0; i < kNonceBytes; ++i)
    std::from_chars(&request.nonce[2 * i], &request.nonce[2 * i] + 2, bytes[kNonceAt + i], 16);
  const std::array numbers{htobe32(request.index), htobe32(request.qpn)};
  std::memcpy(&bytes[kIndexAt], numbers.data(), sizeof numbers);
  return bytes;
}

std::optional<CmRequest> cm_request_from(std::span<const std::uint8_t> data) {
  if (data.size() < kCmRequestBytes) return std::nullopt;
  CmRequest request;
  for (std::size_t i = 0; i < kNonceBytes; ++i)
    request.nonce += fmt::format("{:02x}", data[kNonceAt + i]);
  std::array<std::uint32_t, 2> numbers;
  std::memcpy(numbers.data(), &data[kIndexAt], sizeof numbers);
  request.index = be32toh(numbers[0]);
  request.qpn = be32toh(numbers[1]);
  return request;
}

namespace {

/// Of the kernel's address and route resolution [ms].
constexpr int kResolve_ms = 2000;

/// rdma_create_id() makes ids of RC and UD alone; what it lacks comes from rdma_create_ep(), which
/// of a passive one only binds the address.
CmId make_uc_id(const CmChannel& channel, const CmEndpoint& end, void* context) {
  rdma_addrinfo info{};
  info.ai_flags = RAI_PASSIVE;
  info.ai_family = end.address.family();
  info.ai_qp_type = IBV_QPT_UC;
  info.ai_port_space = RDMA_PS_IB;
  info.ai_src_addr = end.address.get();
  info.ai_src_len = end.address.length();
  rdma_cm_id* result = nullptr;
  check_minus_one(rdma_create_ep(&result, &info, nullptr, nullptr), "rdma_create_ep", end.text());
  CmId id{result};
  id->context = context;
  check_minus_one(rdma_migrate_id(id.get(), channel.get()), "rdma_migrate_id", end.text());
  return id;
}

/// What the connection says of its path, asked of the kernel for a step of a QP.
ibv_qp_attr resolved(rdma_cm_id& id, ibv_qp_state state, const CmEndpoint& end) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  check_minus_one(rdma_init_qp_attr(&id, &attributes, &mask), "rdma_init_qp_attr", end.text());
  return attributes;
}

/// INIT -> RTR -> RTS by what rdma_cm has resolved and exchanged: address, QP number, PSNs, and the
/// route's MTU if that is wanted. All else is as in a connection without it.
CmRoute to_rts_connected(rdma_cm_id& id, const CmEndpoint& end, ibv_qp& qp) {
  const ibv_qp_attr there = resolved(id, IBV_QPS_RTR, end);
  QpPath path = end.path;
  // The path record's, which the request has brought to the responder, too.
  const std::uint32_t of_route = mtu_bytes(there.path_mtu);
  if (end.mtu_of_route && of_route != 0) path.mtu = std::min(path.mtu, there.path_mtu);
  QpStep rtr = rtr_step(end.transport, path, there.dest_qp_num, there.rq_psn);
  rtr.attributes.ah_attr = path_attributes(there.ah_attr, end);
  const std::string object = fmt::format("QP {:#x} of {}", qp.qp_num, end.text());
  check_errno_value(rtr.take(qp), "ibv_modify_qp(INIT->RTR)", object);
  const ibv_qp_attr here = resolved(id, IBV_QPS_RTS, end);
  check_errno_value(rts_step(end.transport, end.path, here.sq_psn).take(qp),
                    "ibv_modify_qp(RTR->RTS)", object);
  CmRoute route = route_of(rtr.attributes.ah_attr);
  if (of_route != 0) route.mtu_bytes = of_route;
  route.qp_mtu_bytes = mtu_bytes(rtr.attributes.path_mtu);
  return route;
}

rdma_conn_param parameters(const CmEndpoint& end) {
  rdma_conn_param result{};
  result.responder_resources = end.path.reads_in;
  result.initiator_depth = end.path.reads_out;
  result.retry_count = end.path.retry_count;
  result.rnr_retry_count = end.path.rnr_retry;
  result.srq = end.shared_receives ? 1 : 0;
  return result;
}

}  // namespace

std::string CmEndpoint::text() const {
  return fmt::format("{} on {}/{}", address.text(), device, path.port_num);
}

CmId make_cm_id(const CmChannel& channel, const CmEndpoint& end, void* context) {
  if (end.transport == Transport::uc) return make_uc_id(channel, end, context);
  rdma_cm_id* result = nullptr;
  check_minus_one(rdma_create_id(channel.get(), &result, context, port_space(end.transport)),
                  "rdma_create_id", end.text());
  CmId id{result};
  check_minus_one(rdma_bind_addr(id.get(), end.address.get()), "rdma_bind_addr", end.text());
  // By it the kernel chooses RoCE's service level, the priority of the VLAN (cma.c,
  // cma_resolve_iboe_route()). What a listener has, its connections have.
  if (std::uint8_t tos = end.path.traffic_class; end.ethernet && tos != 0)
    check_minus_one(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos),
                    "rdma_set_option", end.text());
  return id;
}

void resolve_address(rdma_cm_id& id, const CmEndpoint& end, const CmAddress& peer) {
  check_minus_one(rdma_resolve_addr(&id, nullptr, peer.get(), kResolve_ms), "rdma_resolve_addr",
                  fmt::format("from {} to {}", end.text(), peer.text()));
}

void require_device(const rdma_cm_id& id, const CmEndpoint& end) {
  if (id.verbs != nullptr && ibv_get_device_name(id.verbs->device) == end.device &&
      id.port_num == end.path.port_num)
    return;
  throw Unsupported(
      "rdma_cm takes {} for an address of {}: use --connect tcp, or choose the device "
      "by --device or --peer-device",
      end.text(),
      id.verbs == nullptr
          ? "no RDMA device"
          : fmt::format("{}/{}", ibv_get_device_name(id.verbs->device), id.port_num));
}

void resolve_route(rdma_cm_id& id, const CmEndpoint& end) {
  check_minus_one(rdma_resolve_route(&id, kResolve_ms), "rdma_resolve_route", end.text());
}

std::optional<std::uint32_t> resolved_mtu(const rdma_cm_id& id) noexcept {
  if (id.route.num_paths == 0) return std::nullopt;
  const std::uint32_t bytes = mtu_bytes(static_cast<ibv_mtu>(id.route.path_rec->mtu));
  return bytes != 0 ? std::optional(bytes) : std::nullopt;
}

Ece request_connection(rdma_cm_id& id, const CmEndpoint& end, const CmRequest& request,
                       ibv_qp& qp) {
  const bool by_program = end.transport != Transport::ud && !end.iwarp;
  Ece offered = by_program ? offer_ece(id, qp) : Ece{};
  const auto bytes = cm_request_bytes(request);
  rdma_conn_param wanted = parameters(end);
  wanted.private_data = bytes.data();
  wanted.private_data_len = bytes.size();
  wanted.qp_num = request.qpn;
  check_minus_one(rdma_connect(&id, &wanted), "rdma_connect", end.text());
  return offered;
}

rdma_cm_event_type answer_event(const CmEndpoint& end) {
  return end.transport == Transport::ud || end.iwarp ? RDMA_CM_EVENT_ESTABLISHED
                                                     : RDMA_CM_EVENT_CONNECT_RESPONSE;
}

CmRoute establish(rdma_cm_id& id, const CmEndpoint& end, ibv_qp& qp, const Ece& offered) {
  if (end.iwarp) return {};
  const Ece taken = take_ece(id, qp, offered);
  CmRoute route = to_rts_connected(id, end, qp);
  route.ece = ece_in_force(qp, taken);
  check_minus_one(rdma_establish(&id), "rdma_establish", end.text());
  return route;
}

void accept_connection(rdma_cm_id& id, const CmEndpoint& end, ibv_qp& qp) {
  if (end.transport != Transport::ud && !end.iwarp) {
    const Ece accepted = accept_ece(id, qp);
    to_rts_connected(id, end, qp);
    answer_ece(id, qp, accepted);
  }
  rdma_conn_param given = parameters(end);
  given.qp_num = qp.qp_num;
  check_minus_one(rdma_accept(&id, &given), "rdma_accept", end.text());
}

std::optional<CmRequest> request_of(const rdma_cm_event& event, Transport transport) {
  const bool datagram = transport == Transport::ud;
  const void* const data = datagram ? event.param.ud.private_data : event.param.conn.private_data;
  const std::size_t bytes =
      datagram ? event.param.ud.private_data_len : event.param.conn.private_data_len;
  return cm_request_from(
      std::span(static_cast<const std::uint8_t*>(data), data == nullptr ? 0 : bytes));
}

void reject_connection(rdma_cm_id& id, std::string_view words) noexcept {
  rdma_reject(&id, words.data(), static_cast<std::uint8_t>(words.size()));
}

void to_rts_unconnected(ibv_qp& qp, const CmEndpoint& end) {
  to_rts(qp, Transport::ud, end.path, 0, 0, 0, end.text());
}

CmRoute route_of(const ibv_ah_attr& way) {
  CmRoute route;
  route.service_level = way.sl;
  const int mbps = ibv_rate_to_mbps(static_cast<ibv_rate>(way.static_rate));
  if (way.static_rate != IBV_RATE_MAX && mbps > 0) route.rate_gbps = mbps / 1000.0;
  return route;
}

ibv_ah_attr path_attributes(ibv_ah_attr resolved, const CmEndpoint& end) {
  if (resolved.is_global != 0 && resolved.grh.sgid_index != end.path.gid_index)
    throw Unsupported(
        "rdma_cm sends from GID {} of {}, not from GID {}: use --connect tcp, or "
        "choose that GID by --gid-index or --peer-gid-index (which RoCE version "
        "rdma_cm takes is set by default_roce_mode in /sys/kernel/config/rdma_cm)",
        resolved.grh.sgid_index, end.text(), end.path.gid_index);
  // A path record knows of no GRH that the ports need within their subnet.
  if (resolved.is_global == 0 && end.path.global) {
    resolved.is_global = 1;
    resolved.grh = ah_attributes(end.path).grh;
  }
  set_asked(resolved, end.path);
  return resolved;
}

}  // namespace rdmameter
