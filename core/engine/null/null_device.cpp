// SPDX-License-Identifier: Apache-2.0
#include "core/engine/null/null_device.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/engine/loop/loop_state.h"

namespace rdmameter {
namespace null_verbs {

void complete(NullCq& cq, const NullQp& qp, std::uint64_t wr_id, ibv_wc_opcode opcode,
              ibv_wc_status status, std::uint32_t immediate) {
  ibv_wc& wc = cq.ring[cq.in++ & (cq.ring.size() - 1)];
  wc.wr_id = wr_id;
  wc.status = status;
  wc.opcode = opcode;
  wc.qp_num = qp.qp.qp_base.qp_num;
  wc.imm_data = immediate;
}

namespace {

/// A loop looks at its stop word on empty polls only, so there must be one now and then.
constexpr std::uint32_t kEmptyEvery = 1U << 16;

std::uint8_t& byte_at(std::uint64_t address) {
  return *reinterpret_cast<std::uint8_t*>(address);
}

/// The imaginary peer's answer to one message.
/// @param last_byte  of the message
void echo(NullQp& qp, const ibv_send_wr& wr, std::uint64_t last_byte) {
  const std::uint8_t last = byte_at(last_byte);
  const bool writes = wr.opcode == IBV_WR_RDMA_WRITE || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
                      wr.opcode == IBV_WR_ATOMIC_WRITE;
  if (writes) byte_at(wr.wr.rdma.remote_addr + qp.message_bytes - 1) = last;
  const bool receives = wr.opcode == IBV_WR_SEND || wr.opcode == IBV_WR_SEND_WITH_IMM ||
                        wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (!receives || qp.receives_in == qp.receives_out) return;
  const std::uint64_t wr_id = qp.receives[qp.receives_out++ & (qp.receives.size() - 1)];
  auto* const number = const_cast<std::uint8_t*>(reinterpret_cast<RecvWork*>(wr_id)->number);
  if (number != nullptr) *number = last;
  complete(*qp.recv_cq, qp, wr_id, IBV_WC_RECV, IBV_WC_SUCCESS, wr.imm_data);
}

/// One message, from either interface.
void send(NullQp& qp, const ibv_send_wr& wr, std::uint64_t last_byte) {
  ++qp.messages;
  if (qp.faults.silent_after != 0 && qp.messages > qp.faults.silent_after) return;
  if (qp.faults.lose_every == 0 || qp.messages % qp.faults.lose_every != 0) echo(qp, wr, last_byte);
  if ((wr.send_flags & IBV_SEND_SIGNALED) == 0) return;
  const bool fail = ++qp.completions == qp.faults.fail_completion;
  complete(*qp.send_cq, qp, wr.wr_id, IBV_WC_SEND, fail ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
}

std::uint64_t last_byte_of(const ibv_sge* sges, std::size_t count) {
  return sges[count - 1].addr + sges[count - 1].length - 1;
}

int post_send(ibv_qp* verbs_qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  NullQp& qp = null_qp(verbs_qp);
  if (++qp.posts == qp.faults.fail_post) {
    *bad = wr;
    return ENOMEM;
  }
  for (; wr != nullptr; wr = wr->next)
    send(qp, *wr, last_byte_of(wr->sg_list, static_cast<std::size_t>(wr->num_sge)));
  return 0;
}

// The extended interface: each WR is put together by several calls, and goes out when the next one
// begins or the batch ends.

void wr_flush(NullQp& qp) {
  if (qp.started) send(qp, qp.building, last_byte_of(&qp.first_sge, 1));
  qp.started = false;
}

int wr_complete(ibv_qp_ex* verbs_qp) {
  NullQp& qp = null_qp(verbs_qp);
  if (qp.posts == qp.faults.fail_post) {
    qp.started = false;
    return ENOMEM;
  }
  wr_flush(qp);
  return 0;
}

ibv_send_wr& wr_begin(ibv_qp_ex* verbs_qp, ibv_wr_opcode opcode) {
  NullQp& qp = null_qp(verbs_qp);
  wr_flush(qp);
  qp.started = true;
  qp.building.wr_id = verbs_qp->wr_id;
  qp.building.send_flags = verbs_qp->wr_flags;
  qp.building.opcode = opcode;
  return qp.building;
}

/// Of a request whose values the imaginary peer does not look at.
template <ibv_wr_opcode kOpcode, class... Value>
void wr_any(ibv_qp_ex* qp, Value...) {
  wr_begin(qp, kOpcode);
}
void wr_write_imm(ibv_qp_ex* qp, std::uint32_t, std::uint64_t address, __be32 immediate) {
  ibv_send_wr& wr = wr_begin(qp, IBV_WR_RDMA_WRITE_WITH_IMM);
  wr.wr.rdma.remote_addr = address;
  wr.imm_data = immediate;
}
void wr_atomic_write(ibv_qp_ex* qp, std::uint32_t, std::uint64_t address, const void* value) {
  wr_begin(qp, IBV_WR_ATOMIC_WRITE).wr.rdma.remote_addr = address;
  null_qp(qp).first_sge = {
      .addr = reinterpret_cast<std::uint64_t>(value), .length = kAtomicBytes, .lkey = 0};
}
#ifdef RDMAMETER_IBV_WR_FLUSH
/// Of the write before it: the imaginary peer has both as one.
void wr_flush(ibv_qp_ex* qp, std::uint32_t, std::uint64_t, std::size_t, std::uint8_t,
              std::uint8_t) {
  null_qp(qp).building.send_flags = qp->wr_flags;
}
#endif
void wr_set_inline_data(ibv_qp_ex* qp, void* data, std::size_t length) {
  null_qp(qp).first_sge = {.addr = reinterpret_cast<std::uint64_t>(data),
                           .length = static_cast<std::uint32_t>(length),
                           .lkey = 0};
}

void extend(ibv_qp_ex& qp) {
  qp.wr_start = [](ibv_qp_ex* each) { ++null_qp(each).posts; };
  qp.wr_complete = wr_complete;
  qp.wr_send = wr_any<IBV_WR_SEND>;
  qp.wr_send_imm = [](ibv_qp_ex* each, __be32 immediate) {
    wr_begin(each, IBV_WR_SEND_WITH_IMM).imm_data = immediate;
  };
  qp.wr_rdma_write = [](ibv_qp_ex* each, std::uint32_t, std::uint64_t address) {
    wr_begin(each, IBV_WR_RDMA_WRITE).wr.rdma.remote_addr = address;
  };
  qp.wr_rdma_write_imm = wr_write_imm;
  qp.wr_rdma_read = wr_any<IBV_WR_RDMA_READ>;
  qp.wr_atomic_fetch_add = wr_any<IBV_WR_ATOMIC_FETCH_AND_ADD>;
  qp.wr_atomic_cmp_swp = wr_any<IBV_WR_ATOMIC_CMP_AND_SWP>;
  qp.wr_atomic_write = wr_atomic_write;
#ifdef RDMAMETER_IBV_WR_FLUSH
  qp.wr_flush = wr_flush;
#endif
  qp.wr_set_ud_addr = [](ibv_qp_ex*, ibv_ah*, std::uint32_t, std::uint32_t) {};
  qp.wr_set_sge = [](ibv_qp_ex* each, std::uint32_t, std::uint64_t address, std::uint32_t length) {
    null_qp(each).first_sge = {.addr = address, .length = length, .lkey = 0};
  };
  qp.wr_set_sge_list = [](ibv_qp_ex* each, std::size_t count, const ibv_sge* sges) {
    null_qp(each).first_sge = sges[count - 1];
  };
  qp.wr_set_inline_data = wr_set_inline_data;
  qp.wr_set_inline_data_list = [](ibv_qp_ex* each, std::size_t count, const ibv_data_buf* pieces) {
    wr_set_inline_data(each, pieces[count - 1].addr, pieces[count - 1].length);
  };
}

/// A message for a posted receive, at once.
void supply(NullQp& qp, std::uint64_t wr_id) {
  if (++qp.messages > qp.faults.silent_after && qp.faults.silent_after != 0) return;
  const std::uint32_t number = qp.next_number;
  if (qp.numbers != NumberPlace::none) ++qp.next_number;
  if (qp.numbers == NumberPlace::payload)
    std::memcpy(const_cast<std::uint8_t*>(reinterpret_cast<RecvWork*>(wr_id)->number), &number,
                sizeof number);
  complete(*qp.recv_cq, qp, wr_id, IBV_WC_RECV, IBV_WC_SUCCESS, number);
}

}  // namespace

int post_recv(ibv_qp* verbs_qp, ibv_recv_wr* wr, ibv_recv_wr**) {
  NullQp& qp = null_qp(verbs_qp);
  for (; wr != nullptr; wr = wr->next) {
    if (qp.source)
      supply(qp, wr->wr_id);
    else
      qp.receives[qp.receives_in++ & (qp.receives.size() - 1)] = wr->wr_id;
  }
  return 0;
}

int poll_cq(ibv_cq* verbs_cq, int max, ibv_wc* wcs) {
  NullCq& cq = null_cq(verbs_cq);
  if (++cq.polls % kEmptyEvery == 0) return 0;
  int taken = 0;
  for (; taken < max && cq.out != cq.in; ++taken)
    wcs[taken] = cq.ring[cq.out++ & (cq.ring.size() - 1)];
  return taken;
}

namespace {

// Polling by the extended interface: `out` is the completion that is being read.

const ibv_wc& shown(ibv_cq_ex* verbs_cq) {
  const NullCq& cq = null_cq(verbs_cq);
  return cq.ring[cq.out & (cq.ring.size() - 1)];
}

/// The loops begin and end a poll for each completion: there is no ibv_next_poll().
int start_poll(ibv_cq_ex* verbs_cq, ibv_poll_cq_attr*) {
  NullCq& cq = null_cq(verbs_cq);
  if (++cq.polls % kEmptyEvery == 0 || cq.out == cq.in) return ENOENT;
  verbs_cq->wr_id = shown(verbs_cq).wr_id;
  verbs_cq->status = shown(verbs_cq).status;
  return 0;
}

void extend(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.end_poll = [](ibv_cq_ex* each) { ++null_cq(each).out; };
  cq.read_imm_data = [](ibv_cq_ex* each) { return shown(each).imm_data; };
  cq.read_qp_num = [](ibv_cq_ex* each) { return shown(each).qp_num; };
  cq.read_vendor_err = [](ibv_cq_ex*) { return std::uint32_t{0}; };
  // A clock of one tick for each poll.
  cq.read_completion_ts = [](ibv_cq_ex* each) { return std::uint64_t{null_cq(each).polls}; };
}

}  // namespace
}  // namespace null_verbs

NullEndpoint::NullEndpoint(const TestCase& test_case, Role role, const NullFaults& faults)
    : layout_(layout_of(test_case, role)),
      qps_(std::make_unique<NullQp[]>(test_case.qps)),
      // One-sided operations work on the null device's own memory: a peer's area beside ours.
      buffer_(layout_.source.total_bytes() + layout_.target.total_bytes() +
                  (test_case.one_sided() ? remote_area(test_case, role).total_bytes() : 0),
              std::nullopt) {
  context_.ops.post_send = null_verbs::post_send;
  context_.ops.post_recv = null_verbs::post_recv;
  context_.ops.poll_cq = null_verbs::poll_cq;
  const QueueDepths depths = queue_depths_of(test_case, role);
  const std::uint64_t count = test_case.qps;
  const std::uint64_t cqs = test_case.cq_per_qp() ? count : 1, sharers = count / cqs;
  const auto create_cqs = [&](std::unique_ptr<NullCq[]>& result, std::vector<ibv_cq*>& view,
                              std::size_t entries) {
    result = std::make_unique<NullCq[]>(cqs);
    for (std::uint64_t i = 0; i < cqs; ++i) {
      result[i].cq.context = &context_;
      result[i].ring.resize(std::bit_ceil(entries));
      null_verbs::extend(result[i].cq);
      view.push_back(result[i].plain());
    }
  };
  create_cqs(send_cqs_, view_.send_cqs, (std::size_t{depths.send} + 1) * sharers);
  create_cqs(recv_cqs_, view_.recv_cqs, std::size_t{depths.receive} * sharers);
  for (std::uint32_t i = 0; i < count; ++i) {
    NullQp& qp = qps_[i];
    qp.qp.qp_base.context = &context_;
    qp.qp.qp_base.qp_num = i + 1;
    null_verbs::extend(qp.qp);
    qp.message_bytes = std::ranges::min(mix_of(test_case), {}, &MixPart::size_bytes).size_bytes;
    qp.send_cq = &send_cqs_[cqs == 1 ? 0 : i];
    qp.recv_cq = &recv_cqs_[cqs == 1 ? 0 : i];
    qp.receives.resize(std::bit_ceil(depths.receive));
    qp.source = role == Role::responder && test_case.pattern == Pattern::bandwidth;
    qp.numbers = qp.source ? numbers_read(test_case) : NumberPlace::none;
    qp.next_number = static_cast<std::uint32_t>(std::uint64_t{i} << number_count_bits(test_case));
    qp.faults = faults;
    view_.qps.push_back(&qp.qp.qp_base);
    if (test_case.extended_api()) view_.extended_qps.push_back(&qp.qp);
  }
  const auto area_at = [](std::byte* begin) {
    return AreaView{.address = reinterpret_cast<std::uint64_t>(begin), .host = begin, .lkeys = {0}};
  };
  view_.source = area_at(buffer_.data());
  view_.target = area_at(buffer_.data() + layout_.source.total_bytes());
  const std::uint64_t wanted = test_case.wanted_inline();
  view_.inline_bytes = static_cast<std::uint32_t>(wanted == kDeviceMax ? 4096 : wanted);
  // A ping-pong's write comes back to our own target; any other works on the area behind both.
  const bool ping_pong = test_case.pattern == Pattern::ping_pong;
  view_.remote_address =
      ping_pong ? view_.target.address : view_.target.address + layout_.target.total_bytes();
  view_.remote_keys = {0};
  view_.remote_qpns.assign(count, 1);
  view_.ahs.assign(1, nullptr);
}

}  // namespace rdmameter
