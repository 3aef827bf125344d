// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <system_error>

#include "core/base/error.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

// Reasons of a REJ (IBTA vol. 1, table 107; the kernel's ib_cm.h) that need a remedy of their own.
constexpr int kNoResources = 3, kTimeout = 4, kInvalidServiceId = 8, kStaleConnection = 10,
              kConsumer = 28;

constexpr std::array<std::string_view, 34> kRejectReasons{
    "unknown",
    "no QP available",
    "no EEC available",
    "no resources available",
    "timeout",
    "unsupported request",
    "invalid communication ID",
    "invalid communication instance",
    "invalid service ID",
    "invalid transport service type",
    "stale connection",
    "RDC does not exist",
    "GID rejected",
    "LID rejected",
    "invalid service level",
    "invalid traffic class",
    "invalid hop limit",
    "invalid packet rate",
    "alternate GID rejected",
    "alternate LID rejected",
    "invalid alternate service level",
    "invalid alternate traffic class",
    "invalid alternate hop limit",
    "invalid alternate packet rate",
    "port and CM redirection",
    "port redirection",
    "invalid path MTU",
    "insufficient responder resources",
    "the consumer's own",
    "invalid RNR retry count",
    "duplicate local communication ID",
    "unsupported class version",
    "invalid flow label",
    "invalid alternate flow label",
};

/// Of a datagram's request.
constexpr std::array<std::string_view, 6> kDatagramStatuses{
    "success",    "service ID not supported", "rejected", "no QP available",
    "redirected", "unsupported class version"};

std::string meaning(rdma_cm_event_type event, int status) {
  if (status < 0) return std::generic_category().message(-status);
  std::span<const std::string_view> meanings;
  if (event == RDMA_CM_EVENT_REJECTED) meanings = kRejectReasons;
  if (event == RDMA_CM_EVENT_UNREACHABLE) meanings = kDatagramStatuses;
  if (meanings.empty()) return {};
  const auto number = static_cast<std::size_t>(status);
  return std::string(number < meanings.size() ? meanings[number] : "unknown");
}

std::string_view reject_remedy(int reason) {
  switch (reason) {
    case kNoResources:
      return "The peer's machine has no room for more connections: use fewer --qps.";
    case kTimeout:
      return "An answer was lost on the way: is the network between the two devices congested?";
    case kInvalidServiceId:
      return "No program listens there: the responder has ended, or its address belongs to another "
             "machine, too.";
    case kStaleConnection:
      return "A QP of the same number was connected a moment ago: try again in a few seconds.";
    case kConsumer:
      return "The peer rejected it: is that the responder of this session?";
    default:
      return "The peer's connection manager rejected it.";
  }
}

std::string_view event_remedy(rdma_cm_event_type event, int status) {
  switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return "There is no route to the address: look at `ip route get` and `ip neigh` for it, or "
             "choose --gid-index and --peer-gid-index of one network.";
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return "No route between the two ports was found: on InfiniBand, is a subnet "
             "manager running?";
    case RDMA_CM_EVENT_REJECTED:
      return reject_remedy(status);
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return status < 0
                 ? "Is the peer alive, and does the network between the two devices let its "
                   "packets through (RoCE v2: UDP port 4791)?"
                 : "The responder has ended, or its address belongs to another machine, too.";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "The peer has ended the connection, or died.";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "The device was removed.";
    case RDMA_CM_EVENT_ADDR_CHANGE:
      return "The network interface changed its hardware address.";
    case RDMA_CM_EVENT_MULTICAST_ERROR:
      return "The group cannot be joined: is the address a multicast one, and the network "
             "interface up and able to multicast (`ip link`)?";
    default:
      return "";
  }
}

/// A peer's words, as far as they are printable.
std::string printable(const void* data, std::size_t bytes) {
  const std::string_view words{static_cast<const char*>(data), bytes};
  std::string text{words.substr(0, words.find('\0'))};
  std::erase_if(text, [](char c) { return c < ' ' || c > '~'; });
  return text;
}

}  // namespace

std::string cm_event_text(rdma_cm_event_type event, int status, std::string_view object,
                          std::string_view words) {
  std::string text{rdma_event_str(event)};
  if (const std::string why = meaning(event, status); !why.empty())
    text += fmt::format(" (status {}: {})", status, why);
  text += fmt::format(" {}", object);
  if (!words.empty()) text += fmt::format(", which says \"{}\"", words);
  const std::string_view remedy = event_remedy(event, status);
  return remedy.empty() ? text : fmt::format("{}. {}", text, remedy);
}

std::string cm_event_text(const rdma_cm_event& event, std::string_view object) {
  // Of datagrams another member of the union holds; they say nothing with a refusal.
  const bool said =
      event.event == RDMA_CM_EVENT_REJECTED && event.param.conn.private_data != nullptr;
  return cm_event_text(
      event.event, event.status, object,
      said ? printable(event.param.conn.private_data, event.param.conn.private_data_len) : "");
}

void throw_cm_event(const rdma_cm_event& event, std::string_view object) {
  throw MeasurementError(cm_event_text(event, object));
}

namespace {

/// Calls under way at a time: fewer than the backlog of any listener.
constexpr std::size_t kAtATime = 64;
/// The kernel takes no more than net.rdma_ucm.max_backlog, 1024 by default.
constexpr std::size_t kLeastBacklog = 128, kMostBacklog = 1 << 20;

}  // namespace

/// One of the initiator's connections on its way.
struct CmConnector::Call {
  CmRequest request;
  ibv_qp* qp = nullptr;
  CmService service;
  Ece offered;
  bool done = false;
};

std::uint16_t CmConnector::listen(const CmEndpoint& end, std::size_t expected) {
  listener_ = make_cm_id(channel_, end, nullptr);
  // All may come before one is taken, of several callers: iWARP rejects those beyond the backlog.
  const auto backlog = static_cast<int>(std::clamp(expected, kLeastBacklog, kMostBacklog));
  check_minus_one(rdma_listen(listener_.get(), backlog), "rdma_listen", end.text());
  between_ = fmt::format("at {}", end.text());
  ids_.resize(expected);
  return be16toh(rdma_get_src_port(listener_.get()));
}

/// @return does it count as a connection that stands?
bool CmConnector::take_request(CmEvent event, const CmEndpoint& end, const std::string& nonce,
                               std::span<ibv_qp* const> qps) {
  CmId id{event->id};
  const auto request = request_of(*event, end.transport);
  const bool known =
      request && request->nonce == nonce && request->index < ids_.size() && !ids_[request->index];
  event.reset();  // an id goes only after its events
  if (!known) {
    reject_connection(*id, kNotOurs);
    return false;
  }
  try {
    require_device(*id, end);
    accept_connection(*id, end, *qps[request->index % qps.size()]);
  } catch (const std::exception&) {
    reject_connection(*id, "the responder cannot take it");
    throw;
  }
  ids_[request->index] = std::move(id);
  return end.transport == Transport::ud;
}

void CmConnector::accept(const CmEndpoint& end, const std::string& nonce,
                         std::span<ibv_qp* const> qps) {
  std::size_t standing = 0;
  Deadline deadline = channel_.deadline();
  while (standing != ids_.size()) {
    CmEvent event =
        channel_.next(deadline, fmt::format("the initiator's connections {} ({} of {} are there)",
                                            between_, standing, ids_.size()));
    bool counts = event->event == RDMA_CM_EVENT_ESTABLISHED;
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
      counts = take_request(std::move(event), end, nonce, qps);
    else if (!counts)
      throw_cm_event(*event, between_);
    if (!counts) continue;  // a stranger's request gives no more time
    ++standing;
    deadline = channel_.deadline();
  }
  listener_.reset();  // the kernel refuses all further connections
}

void CmConnector::take_answer(Call& call, const rdma_cm_event& event, const CmEndpoint& end) {
  if (end.transport == Transport::ud) {
    call.service = {.way = path_attributes(event.param.ud.ah_attr, end),
                    .qpn = event.param.ud.qp_num,
                    .qkey = event.param.ud.qkey};
    route_ = route_of(call.service.way);
    route_->mtu_bytes = resolved_mtu(*event.id);
  } else {
    route_ = establish(*event.id, end, *call.qp, call.offered);
  }
  call.done = true;
}

/// What an event makes due for its connection.
void CmConnector::step(Call& call, const rdma_cm_event& event, const CmEndpoint& end) {
  if (event.event == answer_event(end)) return take_answer(call, event, end);
  if (event.event == RDMA_CM_EVENT_ADDR_RESOLVED) {
    require_device(*event.id, end);
    return resolve_route(*event.id, end);
  }
  if (event.event != RDMA_CM_EVENT_ROUTE_RESOLVED) throw_cm_event(event, between_);
  call.offered = request_connection(*event.id, end, call.request, *call.qp);
}

std::vector<CmService> CmConnector::connect(const CmEndpoint& end, const CmAddress& peer,
                                            const std::string& nonce, std::span<ibv_qp* const> qps,
                                            std::size_t requests, std::uint32_t first) {
  between_ = fmt::format("from {} to {}", end.text(), peer.text());
  std::vector<Call> calls(requests);
  std::size_t begun = 0, done = 0;
  while (done != requests) {
    for (; begun != requests && begun - done < kAtATime; ++begun) {
      Call& call = calls[begun];
      call.qp = qps[begun % qps.size()];
      call.request = {.nonce = nonce,
                      .index = first + static_cast<std::uint32_t>(begun),
                      .qpn = call.qp->qp_num};
      ids_.push_back(make_cm_id(channel_, end, &call));
      resolve_address(*ids_.back(), end, peer);
    }
    const CmEvent event = channel_.next(
        channel_.deadline(), fmt::format("the responder's answer {} ({} of {} connections stand)",
                                         between_, done, requests));
    auto* const call = static_cast<Call*>(event->id->context);
    if (call == nullptr) throw_cm_event(*event, between_);  // of a connection that stood
    step(*call, *event, end);
    if (call->done) ++done;
  }
  for (const CmId& id : ids_) id->context = nullptr;
  std::vector<CmService> services;
  if (end.transport == Transport::ud)
    std::ranges::transform(calls, std::back_inserter(services), &Call::service);
  return services;
}

std::string CmConnector::take_fatal_event() {
  while (const CmEvent event = channel_.take()) {
    const bool ends = event->event == RDMA_CM_EVENT_DISCONNECTED ||
                      event->event == RDMA_CM_EVENT_DEVICE_REMOVAL ||
                      event->event == RDMA_CM_EVENT_ADDR_CHANGE;
    if (ends) return cm_event_text(*event, between_);
  }
  return {};
}

MulticastGroup::MulticastGroup(CmWatch watch, const CmEndpoint& end, const CmAddress& group)
    : group_(group), channel_(watch), id_(make_cm_id(channel_, end, nullptr)) {
  const std::string object = fmt::format("of {} into the group {}", end.text(), group_.text());
  require_device(*id_, end);
  const int joining = rdma_join_multicast(id_.get(), group_.get(), nullptr);
  if (joining != 0 && errno == kEnotsupp)
    throw Unsupported(
        "the kernel's rdma_cm cannot take {} into the group {}: over RoCE v2 it knows only IPv4 "
        "groups; choose an IPv4 address's GID by --gid-index and --peer-gid-index",
        end.text(), group_.text());
  check_minus_one(joining, "rdma_join_multicast", object);
  const CmEvent event = channel_.next(channel_.deadline(), "the joining " + object);
  if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN) throw_cm_event(*event, object);
  service_ = {.way = path_attributes(event->param.ud.ah_attr, end),
              .qpn = event->param.ud.qp_num,
              .qkey = event->param.ud.qkey};
}

MulticastGroup::~MulticastGroup() {
  for (ibv_qp* const qp : attached_)
    if (const int error = ibv_detach_mcast(qp, &service_.way.grh.dgid, service_.way.dlid);
        error != 0)
      report_leak("ibv_detach_mcast", error);
  if (rdma_leave_multicast(id_.get(), group_.get()) != 0) report_leak("rdma_leave_multicast", -1);
}

void MulticastGroup::attach(ibv_qp& qp) {
  check_errno_value(ibv_attach_mcast(&qp, &service_.way.grh.dgid, service_.way.dlid),
                    "ibv_attach_mcast",
                    fmt::format("QP {:#x} ({} attached before) to the group {}", qp.qp_num,
                                attached_.size(), group_.text()));
  attached_.push_back(&qp);
}

std::string random_group(int family) {
  std::random_device random;
  return family != AF_INET6
             ? fmt::format("239.255.{}.{}", random() % 256, 1 + random() % 254)
             : fmt::format("ff15::{:x}:{:x}", 1 + random() % 0xffff, 1 + random() % 0xffff);
}

}  // namespace rdmameter
