// SPDX-License-Identifier: Apache-2.0
#include "core/control/connect_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/control/control_call.h"
#include "core/engine/device/device_terms.h"
#include "core/verbs/check.h"
#include "core/verbs/cm/connector.h"
#include "core/verbs/device.h"
#include "core/verbs/probe.h"
#include "core/wire/auth.h"

namespace rdmameter {

ConnectEndpoint::ConnectEndpoint(OpenDevice& device, const DeviceCase& test_case, CmWatch watch)
    : device_(device),
      case_(test_case),
      role_(test_case.role()),
      where_(device.port.where()),
      path_(path_to_itself(device)),
      pkey_(choose_pkey(*device.context, device.port, case_.path)),
      pd_(make_pd(device)),
      cq_(make_cq(device)) {
  require_link_has(device, case_);
  require_objects(case_, "QPs", device.limits.max_qp, where_);
  require_depths(case_, device.limits, where_);
  info_ = endpoint_info_of(device);
  if (!case_.by_cm()) return;
  info_.qkey = kCmQkey;
  cm_endpoint_ = {.transport = case_.transport,
                  .address = cm_address_of(info_.gid, info_.link_layer, cm_terms(0), where_),
                  .device = device.port.device,
                  .path = path_,
                  .mtu_of_route = info_.link_layer == IBV_LINK_LAYER_INFINIBAND,
                  .ethernet = info_.link_layer == IBV_LINK_LAYER_ETHERNET,
                  .iwarp = is_iwarp(*device.context)};
  channel_.emplace(watch);
  if (role_ == Role::initiator) return;
  constexpr int kBacklog = 16;
  nonce_ = make_nonce();
  listener_ = make_cm_id(*channel_, cm_endpoint_, nullptr);
  check_minus_one(rdma_listen(listener_.get(), kBacklog), "rdma_listen", cm_endpoint_.text());
  port_ = be16toh(rdma_get_src_port(listener_.get()));
}

CmAddressTerms ConnectEndpoint::cm_terms(std::uint16_t port) const {
  return {
      .transport = case_.transport, .port = port, .pkey = pkey_.value, .netdev = info_.gid.netdev};
}

Introduction ConnectEndpoint::introduction() const {
  Introduction end{
      .endpoint = info_, .device = device_.port.device, .port_num = device_.port.number};
  if (port_ != 0) end.listening = {.port = port_, .nonce = nonce_};
  return end;
}

void ConnectEndpoint::negotiate(const Introduction& peer) {
  const EndpointInfo& theirs = peer.endpoint_of(0);
  if (const auto pair = choose_gid_pair(info_.gids, theirs.gids)) info_.gid = pair->mine;
  require_match(info_, theirs, where_);
  path_ = path_between(
      info_, path_.port_num, case_, theirs,
      {.mtu_bytes = std::min(info_.mtu_bytes, theirs.mtu_bytes), .outstanding_reads = kMostReads});
  cm_endpoint_.path = path_;
  if (!channel_ || role_ == Role::responder) return;
  cm_endpoint_.address = cm_address_of(info_.gid, info_.link_layer, cm_terms(0), where_);
  nonce_ = peer.where_listening().nonce;
  there_ = cm_address_of(theirs.gid, theirs.link_layer, cm_terms(peer.listening->port), "the peer");
}

void ConnectEndpoint::make() {
  current_.id.reset();
  current_.ah.reset();
  ibv_qp_init_attr attributes =
      plain_qp(*cq_, case_.transport, case_.queues.depth, case_.queues.rx_depth);
  errno = 0;
  Qp made(ibv_create_qp(pd_.get(), &attributes));
  if (!made) {
    const int error = errno_of_null();
    require_transport(device_, case_);
    throw_failure("ibv_create_qp", "QP on " + where_, error);
  }
  current_.qp = std::move(made);
  to_init(*current_.qp, case_.transport, path_.port_num, pkey_.index, IBV_ACCESS_REMOTE_WRITE,
          info_.qkey, where_);
  psn_ = (psn_ + 0x10001) & k24Bits;
}

void ConnectEndpoint::require_qp() const {
  if (!current_.qp) throw MeasurementError("there is no QP yet that could be connected");
}

void ConnectEndpoint::keep() {
  require_qp();
  if (kept_.size() == case_.objects)
    throw MeasurementError(
        "protocol error: the peer asked to keep more connections than --objects");
  kept_.push_back(std::move(current_));
}

void ConnectEndpoint::part() noexcept {
  current_.id.reset();
}

void ConnectEndpoint::join(std::uint32_t qpn, std::uint32_t psn) {
  require_qp();
  to_rts(*current_.qp, case_.transport, path_, qpn, psn, psn_, where_);
  if (case_.transport == Transport::ud) take_address(ah_attributes(path_));
}

void ConnectEndpoint::take_address(ibv_ah_attr attributes) {
  current_.ah.reset(check_pointer([&] { return ibv_create_ah(pd_.get(), &attributes); },
                                  "ibv_create_ah", where_));
}

void ConnectEndpoint::await(rdma_cm_event_type expected, const char* what) {
  const std::string between = fmt::format("from {} to {}", cm_endpoint_.text(), there_->text());
  const CmEvent event = channel_->next(channel_->deadline(), fmt::format("{} {}", what, between));
  if (event->event != expected) throw_cm_event(*event, between);
  if (expected == RDMA_CM_EVENT_ADDR_RESOLVED) require_device(*current_.id, cm_endpoint_);
  if (expected == RDMA_CM_EVENT_ESTABLISHED && case_.transport == Transport::ud)
    take_address(path_attributes(event->param.ud.ah_attr, cm_endpoint_));
}

void ConnectEndpoint::make_id() {
  current_.id = make_cm_id(*channel_, cm_endpoint_, nullptr);
}

void ConnectEndpoint::resolve_address() {
  rdmameter::resolve_address(*current_.id, cm_endpoint_, *there_);
  await(RDMA_CM_EVENT_ADDR_RESOLVED, "the address");
}

void ConnectEndpoint::resolve_route() {
  rdmameter::resolve_route(*current_.id, cm_endpoint_);
  await(RDMA_CM_EVENT_ROUTE_RESOLVED, "the route");
}

void ConnectEndpoint::request() {
  const Ece offered = request_connection(*current_.id, cm_endpoint_,
                                         {.nonce = nonce_, .index = 0, .qpn = qpn()}, *current_.qp);
  if (case_.transport == Transport::ud) {
    await(RDMA_CM_EVENT_ESTABLISHED, "an answer");
    to_rts_unconnected(*current_.qp, cm_endpoint_);
  } else {
    await(answer_event(cm_endpoint_), "an answer");
    establish(*current_.id, cm_endpoint_, *current_.qp, offered);
  }
}

Waited ConnectEndpoint::wait(Deadline deadline) const {
  return channel_ ? channel_->wait(deadline) : Waited::woken;
}

void ConnectEndpoint::take_event() {
  CmEvent event = channel_->take();
  if (!event || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) return;
  CmId id{event->id};
  const auto request = request_of(*event, case_.transport);
  event.reset();  // an id goes only after its events
  if (!request || request->nonce != nonce_ || !current_.qp || current_.id) {
    reject_connection(*id, kNotOurs);
    return;
  }
  if (case_.transport == Transport::ud) to_rts_unconnected(*current_.qp, cm_endpoint_);
  accept_connection(*id, cm_endpoint_, *current_.qp);
  current_.id = std::move(id);
}

}  // namespace rdmameter
