// SPDX-License-Identifier: Apache-2.0
#include "core/control/connect_end.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "core/cm/failure.h"
#include "core/control/control_call.h"
#include "core/error.h"
#include "core/probe.h"
#include "core/session/auth.h"
#include "core/session/fields.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;
constexpr int kBacklog = 16;

bool goes_by_cm(const Case& one_case) {
  return one_case.by_cm() || one_case.calls() != Verb::connect;
}

}  // namespace

ConnectEnd::ConnectEnd(OpenDevice& device, const Case& one_case, Role role, CmWatch watch)
    : case_(one_case),
      role_(role),
      where_(device.port.where()),
      gid_(device.gid),
      path_(path_to_itself(device)),
      pd_(check_pointer(ibv_alloc_pd(device.context.get()), "ibv_alloc_pd", where_)),
      cq_(check_pointer(ibv_create_cq(device.context.get(), 1, nullptr, nullptr, 0),
                        "ibv_create_cq", where_)) {
  require_objects(case_, "QPs", device.limits.max_qp, where_);
  info_ = endpoint_info_of(device);
  if (!goes_by_cm(case_)) return;
  info_.qkey = kCmQkey;
  cm_end_ = {.transport = case_.service(),
             .address = IpAddress::of(gid_, gid_.netdev, 0, where_),
             .device = device.port.device,
             .path = path_};
  channel_.emplace(watch);
  if (role_ == Role::initiator) return;
  nonce_ = make_nonce();
  listener_ = make_cm_id(*channel_, cm_end_, nullptr);
  check_minus_one(rdma_listen(listener_.get(), kBacklog), "rdma_listen", cm_end_.text());
  port_ = be16toh(rdma_get_src_port(listener_.get()));
}

nlohmann::json ConnectEnd::introduction() const {
  nlohmann::json made = {{"endpoint", endpoint_info_to_wire(info_)}};
  if (port_ != 0) {
    made["cm_port"] = port_;
    made["cm_nonce"] = nonce_;
  }
  return made;
}

void ConnectEnd::learn(const nlohmann::json& peer) {
  const EndpointInfo theirs = endpoint_info_from_wire(require_object(peer, "endpoint"), 0);
  require_match(info_, theirs, where_);
  path_.mtu = *mtu_from_bytes(std::min(info_.mtu_bytes, theirs.mtu_bytes));
  path_.remote_lid = theirs.lid;
  path_.remote_gid = theirs.gid.value;
  path_.global =
      path_.global || gid_.value.global.subnet_prefix != theirs.gid.value.global.subnet_prefix;
  const auto least = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint8_t>(std::clamp<std::uint32_t>(std::min(a, b), 1, 255));
  };
  path_.outstanding_reads =
      least(std::min(info_.reads_in, info_.reads_out), std::min(theirs.reads_in, theirs.reads_out));
  cm_end_.path = path_;
  cm_end_.reads_in = cm_end_.reads_out = path_.outstanding_reads;
  if (!channel_ || role_ == Role::responder) return;
  nonce_ = require_string(peer, "cm_nonce", kNonceChars, kNonceChars);
  there_ = IpAddress::of(theirs.gid, gid_.netdev,
                         require_uint_as<std::uint16_t>(peer, "cm_port", 1), "the peer");
}

void ConnectEnd::make() {
  current_.id.reset();
  current_.ah.reset();
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq_.get();
  attributes.cap = {.max_send_wr = static_cast<std::uint32_t>(case_.depth),
                    .max_recv_wr = static_cast<std::uint32_t>(case_.rx_depth),
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  attributes.qp_type = qp_type(case_.service());
  current_.qp.reset(
      check_pointer(ibv_create_qp(pd_.get(), &attributes), "ibv_create_qp", "QP on " + where_));
  to_init(*current_.qp, case_.service(), path_.port_num, 0, IBV_ACCESS_REMOTE_WRITE, info_.qkey,
          where_);
  psn_ = (psn_ + 0x10001) & kPsnMask;
}

void ConnectEnd::require_qp() const {
  if (!current_.qp) throw MeasurementError("there is no QP yet that could be connected");
}

void ConnectEnd::keep() {
  require_qp();
  if (kept_.size() == case_.objects)
    throw MeasurementError("more connections than the case's objects are to be kept");
  kept_.push_back(std::move(current_));
  current_ = {};
}

void ConnectEnd::part() noexcept {
  current_.id.reset();
}

void ConnectEnd::join(std::uint32_t qpn, std::uint32_t psn) {
  require_qp();
  to_rtr(*current_.qp, case_.service(), path_, qpn, psn, where_);
  to_rts(*current_.qp, case_.service(), path_, psn_, where_);
  if (case_.service() == Transport::ud) take_address(ah_attributes(path_));
}

void ConnectEnd::take_address(ibv_ah_attr attributes) {
  current_.ah.reset(check_pointer(ibv_create_ah(pd_.get(), &attributes), "ibv_create_ah", where_));
}

void ConnectEnd::await(rdma_cm_event_type expected, const char* what) {
  const std::string between = fmt::format("from {} to {}", cm_end_.text(), there_->text());
  const CmEvent event = channel_->next(channel_->deadline(), fmt::format("{} {}", what, between));
  if (event->event != expected) throw_cm_event(*event, between);
  if (expected == RDMA_CM_EVENT_ADDR_RESOLVED) require_device(*current_.id, cm_end_);
  if (expected == RDMA_CM_EVENT_ESTABLISHED)
    take_address(path_attributes(event->param.ud.ah_attr, cm_end_));
}

void ConnectEnd::make_id() {
  current_.id = make_cm_id(*channel_, cm_end_, nullptr);
}

void ConnectEnd::resolve_address() {
  rdmameter::resolve_address(*current_.id, cm_end_, *there_);
  await(RDMA_CM_EVENT_ADDR_RESOLVED, "the address");
}

void ConnectEnd::resolve_route() {
  rdmameter::resolve_route(*current_.id, cm_end_);
  await(RDMA_CM_EVENT_ROUTE_RESOLVED, "the route");
}

void ConnectEnd::request() {
  request_connection(*current_.id, cm_end_, {.nonce = nonce_, .index = 0, .qpn = qpn()});
  if (case_.service() == Transport::ud) {
    await(RDMA_CM_EVENT_ESTABLISHED, "an answer");
    to_rts_unconnected(*current_.qp, cm_end_);
  } else {
    await(RDMA_CM_EVENT_CONNECT_RESPONSE, "an answer");
    establish(*current_.id, cm_end_, *current_.qp);
  }
}

Waited ConnectEnd::wait(Deadline deadline) const {
  return channel_ ? channel_->wait(deadline) : Waited::woken;
}

void ConnectEnd::take_event() {
  CmEvent event = channel_->take();
  if (!event || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) return;
  CmId id{event->id};
  const auto request = request_of(*event, case_.service());
  event.reset();  // an id goes only after its events
  if (!request || request->nonce != nonce_ || !current_.qp || current_.id) {
    reject_connection(*id, kNotOurs);
    return;
  }
  if (case_.service() == Transport::ud) to_rts_unconnected(*current_.qp, cm_end_);
  accept_connection(*id, cm_end_, *current_.qp);
  current_.id = std::move(id);
}

}  // namespace rdmameter
