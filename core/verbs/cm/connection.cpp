// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/verbs/check.h"
#include "core/verbs/device.h"

namespace rdmameter {
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
  // Elsewhere the QP has it from ibv_modify_qp(). What a listener has, its connections have.
  if (std::uint8_t tos = end.path.traffic_class; end.iwarp && tos != 0)
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
      fmt::format("rdma_cm takes {} for an address of {}: use --connect tcp, or choose the device "
                  "by --device or --peer-device",
                  end.text(),
                  id.verbs == nullptr
                      ? "no RDMA device"
                      : fmt::format("{}/{}", ibv_get_device_name(id.verbs->device), id.port_num)));
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
  to_rtr(qp, Transport::ud, end.path, 0, 0, end.text());
  to_rts(qp, Transport::ud, end.path, 0, end.text());
}

CmRoute route_of(const ibv_ah_attr& way) {
  CmRoute route{.service_level = way.sl,
                .rate_gbps = std::nullopt,
                .mtu_bytes = std::nullopt,
                .qp_mtu_bytes = 0,
                .ece = {}};
  const int mbps = ibv_rate_to_mbps(static_cast<ibv_rate>(way.static_rate));
  if (way.static_rate != IBV_RATE_MAX && mbps > 0) route.rate_gbps = mbps / 1000.0;
  return route;
}

ibv_ah_attr path_attributes(const ibv_ah_attr& resolved, const CmEndpoint& end) {
  if (resolved.is_global != 0 && resolved.grh.sgid_index != end.path.gid_index)
    throw Unsupported(
        fmt::format("rdma_cm sends from GID {} of {}, not from GID {}: use --connect tcp, or "
                    "choose that GID by --gid-index or --peer-gid-index (which RoCE version "
                    "rdma_cm takes is set by default_roce_mode in /sys/kernel/config/rdma_cm)",
                    resolved.grh.sgid_index, end.text(), end.path.gid_index));
  ibv_ah_attr result = resolved;
  // A path record knows of no GRH that the ports need within their subnet.
  if (resolved.is_global == 0 && end.path.global) {
    const ibv_ah_attr own = ah_attributes(end.path);
    result.is_global = 1;
    result.grh = own.grh;
  }
  if (end.path.service_level != 0) result.sl = end.path.service_level;
  if (end.path.traffic_class != 0) result.grh.traffic_class = end.path.traffic_class;
  if (end.path.flow_label != 0) result.grh.flow_label = end.path.flow_label;
  return result;
}

}  // namespace rdmameter
