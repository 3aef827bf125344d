// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/connector.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/verbs/check.h"
#include "core/verbs/cm/failure.h"

namespace rdmameter {
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
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      require_device(*event.id, end);
      return resolve_route(*event.id, end);
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      call.offered = request_connection(*event.id, end, call.request, *call.qp);
      return;
    default:
      break;
  }
  throw_cm_event(event, between_);
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

}  // namespace rdmameter
