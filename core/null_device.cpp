// SPDX-License-Identifier: Apache-2.0
#include "core/null_device.h"

#include <bit>
#include <cerrno>
#include <cstring>

namespace rdmameter {
namespace {

// A cast is safe where the struct that verbs.h knows is the first member.
NullCq& null_cq(ibv_cq* cq) {
  return *reinterpret_cast<NullCq*>(cq);
}
NullQp& null_qp(ibv_qp* qp) {
  return *reinterpret_cast<NullQp*>(qp);
}

void complete(NullCq& cq, const NullQp& qp, std::uint64_t wr_id, ibv_wc_opcode opcode,
              ibv_wc_status status = IBV_WC_SUCCESS) {
  ibv_wc& wc = cq.ring[cq.in++ & (cq.ring.size() - 1)];
  wc.wr_id = wr_id;
  wc.status = status;
  wc.opcode = opcode;
  wc.qp_num = qp.qp.qp_num;
}

std::uint8_t& byte_at(std::uint64_t address) {
  return *reinterpret_cast<std::uint8_t*>(address);
}

/// The imaginary peer's answer to one message.
void echo(NullQp& qp, const ibv_send_wr& wr) {
  const ibv_sge& sge = wr.sg_list[0];
  const std::uint8_t last = byte_at(sge.addr + sge.length - 1);
  if (wr.opcode == IBV_WR_RDMA_WRITE) {
    byte_at(wr.wr.rdma.remote_addr + sge.length - 1) = last;
  } else if (wr.opcode == IBV_WR_SEND && qp.receives_in != qp.receives_out) {
    const std::uint64_t wr_id = qp.receives[qp.receives_out++ & (qp.receives.size() - 1)];
    // A ping-pong's wr_id is the address of its message's last byte; a lane's number never is one.
    if (wr_id > 0xffff) byte_at(wr_id) = last;
    complete(*qp.recv_cq, qp, wr_id, IBV_WC_RECV);
  }
}

int post_send(ibv_qp* verbs_qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  NullQp& qp = null_qp(verbs_qp);
  if (++qp.posts == qp.faults.fail_post) {
    *bad = wr;
    return ENOMEM;
  }
  for (; wr != nullptr; wr = wr->next) {
    ++qp.messages;
    if (qp.faults.silent_after != 0 && qp.messages > qp.faults.silent_after) continue;
    if (qp.faults.lose_every == 0 || qp.messages % qp.faults.lose_every != 0) echo(qp, *wr);
    if ((wr->send_flags & IBV_SEND_SIGNALED) == 0) continue;
    const bool fail = ++qp.completions == qp.faults.fail_completion;
    complete(*qp.send_cq, qp, wr->wr_id, IBV_WC_SEND, fail ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
  }
  return 0;
}

int post_recv(ibv_qp* verbs_qp, ibv_recv_wr* wr, ibv_recv_wr**) {
  NullQp& qp = null_qp(verbs_qp);
  for (; wr != nullptr; wr = wr->next) {
    if (qp.source)
      complete(*qp.recv_cq, qp, wr->wr_id, IBV_WC_RECV);
    else
      qp.receives[qp.receives_in++ & (qp.receives.size() - 1)] = wr->wr_id;
  }
  return 0;
}

int poll_cq(ibv_cq* verbs_cq, int most, ibv_wc* wcs) {
  NullCq& cq = null_cq(verbs_cq);
  // A loop looks at its stop word on empty polls only, so there must be one now and then.
  constexpr std::uint32_t kEmptyEvery = 1U << 16;
  if (++cq.polls % kEmptyEvery == 0) return 0;
  int taken = 0;
  for (; taken < most && cq.out != cq.in; ++taken)
    wcs[taken] = cq.ring[cq.out++ & (cq.ring.size() - 1)];
  return taken;
}

}  // namespace

NullEndpoint::NullEndpoint(const Case& one_case, Role role, const NullFaults& faults)
    : layout_(layout_of(one_case, role)),
      qps_(std::make_unique<NullQp[]>(qp_count(one_case))),
      // One-sided operations work on the null device's own memory: a peer's area beside ours.
      buffer_(
          layout_.source.total_bytes() + layout_.target.total_bytes() +
              (one_case.one_sided() ? layout_.source.total_bytes() + layout_.target.total_bytes()
                                    : 0),
          std::nullopt) {
  context_.ops.post_send = post_send;
  context_.ops.post_recv = post_recv;
  context_.ops.poll_cq = poll_cq;
  const QueueDepths depths = queue_depths_of(one_case, role);
  const std::uint32_t count = qp_count(one_case);
  send_cq_.cq.context = recv_cq_.cq.context = &context_;
  send_cq_.ring.resize(std::bit_ceil((std::size_t{depths.send} + 1) * count));
  recv_cq_.ring.resize(std::bit_ceil(std::size_t{depths.receive} * count));
  for (std::uint32_t i = 0; i < count; ++i) {
    NullQp& qp = qps_[i];
    qp.qp.context = &context_;
    qp.qp.qp_num = i + 1;
    qp.send_cq = &send_cq_;
    qp.recv_cq = &recv_cq_;
    qp.receives.resize(std::bit_ceil(depths.receive));
    qp.source = role == Role::responder && one_case.shape() == Pattern::bandwidth;
    qp.faults = faults;
    view_.qps.push_back(&qp.qp);
  }
  view_.send_cq = &send_cq_.cq;
  view_.recv_cq = &recv_cq_.cq;
  view_.source = buffer_.data();
  view_.target = buffer_.data() + layout_.source.total_bytes();
  view_.inline_bytes =
      static_cast<std::uint32_t>(one_case.inline_bytes == kMax ? 4096 : one_case.inline_bytes);
  // A ping-pong's write comes back to our own target; any other works on the area behind both.
  const bool ping_pong = one_case.shape() == Pattern::ping_pong;
  view_.remote_address = reinterpret_cast<std::uint64_t>(
      ping_pong ? view_.target : view_.target + layout_.target.total_bytes());
  view_.remote_qpns.assign(count, 1);
}

}  // namespace rdmameter
