// SPDX-License-Identifier: Apache-2.0
#include "core/work.h"

#include <fmt/format.h>

#include <numeric>

#include "core/check.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kLongestRecvList = 16;
constexpr std::uint32_t kLongestSendChain = 4096;

ibv_wr_opcode wr_opcode(Opcode opcode) {
  switch (opcode) {
    case Opcode::send:
      return IBV_WR_SEND;
    case Opcode::rdma_write:
      return IBV_WR_RDMA_WRITE;
    case Opcode::rdma_read:
      return IBV_WR_RDMA_READ;
  }
  return IBV_WR_SEND;
}

std::uint64_t address(const std::byte* base, std::uint64_t offset) {
  return reinterpret_cast<std::uint64_t>(base) + offset;
}

/// A send WR without its place in a list: what to do with slot `slot` of QP `qp`.
ibv_send_wr send_wr(const Case& one_case, const Area& remote, const EndpointView& view,
                    std::uint32_t qp, std::uint64_t slot, ibv_sge* sge) {
  ibv_send_wr wr{};
  wr.sg_list = sge;
  wr.num_sge = 1;
  wr.opcode = wr_opcode(one_case.op());
  if (one_case.one_sided()) {
    wr.wr.rdma.remote_addr = view.remote_address + remote.payload(qp, slot);
    wr.wr.rdma.rkey = view.remote_key;
  } else if (one_case.service() == Transport::ud) {
    wr.wr.ud.ah = view.ah;
    wr.wr.ud.remote_qpn = view.remote_qpns[qp];
    wr.wr.ud.remote_qkey = view.remote_qkey;
  }
  return wr;
}

}  // namespace

std::uint32_t receive_list_length(std::uint32_t rx_depth) {
  for (std::uint32_t length = std::min(kLongestRecvList, rx_depth); length > 1; --length)
    if (rx_depth % length == 0) return length;
  return 1;
}

std::uint32_t send_chain_length(std::uint32_t signal_every, std::uint32_t post_list,
                                std::uint32_t depth, std::uint64_t slots) {
  const std::uint32_t period = std::lcm(signal_every, post_list);
  const std::uint64_t whole = std::lcm<std::uint64_t>(period, slots);
  const std::uint64_t unit = whole <= kLongestSendChain ? whole : period;
  return static_cast<std::uint32_t>((depth + unit - 1) / unit * unit);
}

Work::Work(const Case& one_case, Role role, const Layout& layout, const EndpointView& view) {
  traffic_.lane_count = static_cast<std::uint32_t>(view.qps.size());
  traffic_.send_cq = view.send_cq;
  traffic_.recv_cq = view.recv_cq;
  lanes_ = std::make_unique<Lane[]>(view.qps.size());
  for (std::size_t qp = 0; qp < view.qps.size(); ++qp) lanes_[qp].qp = view.qps[qp];
  traffic_.lanes = lanes_.get();
  const bool ping_pong = one_case.shape() == Pattern::ping_pong;
  if (role == Role::initiator || ping_pong) build_sends(one_case, layout, view);
  if (!one_case.one_sided() && (role == Role::responder || ping_pong))
    build_receives(one_case, layout, view);
  if (ping_pong) {
    const std::uint64_t last = one_case.size_bytes - 1;
    traffic_.departure = reinterpret_cast<std::uint8_t*>(view.source) + last;
    traffic_.arrival = reinterpret_cast<std::uint8_t*>(view.target) + last;
  }
}

void Work::build_sends(const Case& one_case, const Layout& layout, const EndpointView& view) {
  const bool bandwidth = one_case.shape() == Pattern::bandwidth;
  const auto signal_every = static_cast<std::uint32_t>(
      one_case.shape() == Pattern::completion_latency ? 1 : one_case.signal_every);
  const auto post_list = static_cast<std::uint32_t>(bandwidth ? one_case.post_list : 1);
  const bool read = one_case.op() == Opcode::rdma_read;
  const Area& local = read ? layout.target : layout.source;
  std::byte* const base = read ? view.target : view.source;
  inlined_ = !read && one_case.inline_bytes != 0 && one_case.size_bytes <= view.inline_bytes;

  traffic_.signal_every = signal_every;
  traffic_.post_list = post_list;
  traffic_.depth = static_cast<std::uint32_t>(bandwidth ? one_case.depth : signal_every + 1);

  const std::uint32_t chain =
      send_chain_length(signal_every, post_list, traffic_.depth, local.slots);
  const std::uint32_t lists = chain / post_list;
  const std::uint32_t qps = traffic_.lane_count;
  send_wrs_ = std::make_unique<ibv_send_wr[]>(std::size_t{chain} * qps);
  send_sges_ = std::make_unique<ibv_sge[]>(std::size_t{chain} * qps);
  send_lists_ = std::make_unique<SendList[]>(std::size_t{lists} * qps);
  closing_wrs_ = std::make_unique<ibv_send_wr[]>(qps);

  for (std::uint32_t qp = 0; qp < qps; ++qp) {
    ibv_send_wr* const wrs = &send_wrs_[std::size_t{chain} * qp];
    ibv_sge* const sges = &send_sges_[std::size_t{chain} * qp];
    SendList* const ring = &send_lists_[std::size_t{lists} * qp];
    for (std::uint32_t i = 0; i < chain; ++i) {
      const std::uint64_t slot = i % local.slots;
      sges[i] = {.addr = address(base, local.payload(qp, slot)),
                 .length = static_cast<std::uint32_t>(one_case.size_bytes),
                 .lkey = view.lkey};
      // One-sided: both areas have the same slots, and heads are only in receives.
      wrs[i] = send_wr(one_case, local, view, qp, slot, &sges[i]);
      wrs[i].next = (i + 1) % post_list == 0 ? nullptr : &wrs[i + 1];
      if (inlined_) wrs[i].send_flags |= IBV_SEND_INLINE;
      SendList& list = ring[i / post_list];
      wrs[i].wr_id = reinterpret_cast<std::uint64_t>(&list);
      if ((i + 1) % signal_every == 0) {
        wrs[i].send_flags |= IBV_SEND_SIGNALED;
        ++list.signaled;
      }
      list.head = &wrs[i / post_list * post_list];
      list.lane = &lanes_[qp];
      list.next = &ring[(i / post_list + 1) % lists];
    }
    closing_wrs_[qp] = wrs[0];
    closing_wrs_[qp].next = nullptr;
    closing_wrs_[qp].send_flags |= IBV_SEND_SIGNALED;
    closing_wrs_[qp].wr_id = kClosing;
    Lane& lane = lanes_[qp];
    lane.send = ring;
    lane.closing = &closing_wrs_[qp];
  }
}

void Work::build_receives(const Case& one_case, const Layout& layout, const EndpointView& view) {
  receives_per_qp_ = static_cast<std::uint32_t>(one_case.rx_depth);
  const std::uint32_t per_list = receive_list_length(receives_per_qp_);
  const std::uint32_t lists = receives_per_qp_ / per_list;
  const std::uint32_t qps = traffic_.lane_count;
  const bool ping_pong = one_case.shape() == Pattern::ping_pong;
  const Area& area = layout.target;
  traffic_.recv_list = per_list;
  recv_wrs_ = std::make_unique<ibv_recv_wr[]>(std::size_t{receives_per_qp_} * qps);
  recv_sges_ = std::make_unique<ibv_sge[]>(std::size_t{receives_per_qp_} * qps);
  recv_lists_ = std::make_unique<RecvList[]>(std::size_t{lists} * qps);

  for (std::uint32_t qp = 0; qp < qps; ++qp) {
    ibv_recv_wr* const wrs = &recv_wrs_[std::size_t{receives_per_qp_} * qp];
    ibv_sge* const sges = &recv_sges_[std::size_t{receives_per_qp_} * qp];
    RecvList* const ring = &recv_lists_[std::size_t{lists} * qp];
    for (std::uint32_t i = 0; i < receives_per_qp_; ++i) {
      const std::uint64_t slot = i % area.slots;
      sges[i] = {.addr = address(view.target, area.slot(qp, slot)),
                 .length = static_cast<std::uint32_t>(area.head_bytes + area.payload_bytes),
                 .lkey = view.lkey};
      wrs[i] = {.wr_id = ping_pong
                             ? address(view.target, area.payload(qp, slot) + area.payload_bytes - 1)
                             : qp,
                .next = (i + 1) % per_list == 0 ? nullptr : &wrs[i + 1],
                .sg_list = &sges[i],
                .num_sge = 1};
      ring[i / per_list] = {.head = &wrs[i / per_list * per_list],
                            .next = &ring[(i / per_list + 1) % lists]};
    }
    lanes_[qp].receive = ring;
  }
}

void Work::post_receives() {
  for (std::uint32_t qp = 0; qp < traffic_.lane_count; ++qp) {
    Lane& lane = lanes_[qp];
    for (std::uint32_t posted = 0; posted < receives_per_qp_; posted += traffic_.recv_list) {
      ibv_recv_wr* bad = nullptr;
      check_errno_value(
          ibv_post_recv(lane.qp, lane.receive->head, &bad), "ibv_post_recv",
          fmt::format("receive {} of {} on QP {:#x}", posted, receives_per_qp_, lane.qp->qp_num));
      lane.receive = lane.receive->next;
    }
  }
}

}  // namespace rdmameter
