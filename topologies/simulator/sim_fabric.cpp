// SPDX-License-Identifier: Apache-2.0
#include "topologies/simulator/sim_fabric.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "topologies/ranks/loop/message_buffer.h"

namespace rdmameter {
namespace {

thread_local const SimFabric* running_fabric = nullptr;

// A cast is safe where the struct that verbs.h knows is the first member.
SimQp& sim_qp(ibv_qp* qp) {
  return *reinterpret_cast<SimQp*>(qp);
}
SimCq& sim_cq(ibv_cq* cq) {
  return *reinterpret_cast<SimCq*>(cq);
}

}  // namespace

std::uint64_t VirtualClock::now() const noexcept {
  return running_fabric->now_ps();
}

SimFabric::SimFabric(const SimNetwork& network, Rank ranks, bool moves_payload)
    : network_(network), moves_payload_(moves_payload), ports_(ranks), is_ready_(ranks) {
  context_.ops.post_send = post_send;
  context_.ops.post_recv = post_recv;
  context_.ops.poll_cq = poll_cq;
}

ibv_cq* SimFabric::make_cq() {
  SimCq& cq = cqs_.emplace_back();
  cq.cq.context = &context_;
  return &cq.cq;
}

ibv_qp* SimFabric::make_qp(Rank rank, ibv_cq* cq) {
  SimQp& qp = qps_.emplace_back();
  qp.qp.context = &context_;
  qp.qp.qp_num = static_cast<std::uint32_t>(qps_.size());
  qp.fabric = this;
  qp.cq = &sim_cq(cq);
  qp.rank = rank;
  return &qp.qp;
}

void SimFabric::connect(ibv_qp* one, ibv_qp* other) {
  sim_qp(one).peer = &sim_qp(other);
  sim_qp(other).peer = &sim_qp(one);
}

int SimFabric::post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  SimQp& own = sim_qp(qp);
  for (; wr != nullptr; wr = wr->next) {
    if (wr->opcode != IBV_WR_SEND_WITH_IMM && wr->opcode != IBV_WR_RDMA_WRITE) {
      *bad = wr;
      return EINVAL;
    }
    own.fabric->send(own, *wr);
  }
  return 0;
}

int SimFabric::post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr**) {
  for (; wr != nullptr; wr = wr->next) sim_qp(qp).receives.push_back(wr->wr_id);
  return 0;
}

int SimFabric::poll_cq(ibv_cq* cq, int max, ibv_wc* wcs) {
  auto& completions = sim_cq(cq).completions;
  int polled = 0;
  for (; polled < max && !completions.empty(); ++polled) {
    wcs[polled] = completions.front();
    completions.pop_front();
  }
  return polled;
}

std::uint32_t SimFabric::new_message() {
  if (free_messages_.empty()) {
    messages_.emplace_back();
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  const std::uint32_t number = free_messages_.back();
  free_messages_.pop_back();
  return number;
}

void SimFabric::send(SimQp& qp, const ibv_send_wr& wr) {
  const std::uint32_t number = new_message();
  Message& message = messages_[number];
  message.from = &qp;
  message.wr_id = wr.wr_id;
  message.data = reinterpret_cast<const void*>(wr.sg_list[0].addr);
  message.bytes = wr.sg_list[0].length;
  message.write = wr.opcode == IBV_WR_RDMA_WRITE;
  message.immediate = message.write ? 0 : wr.imm_data;
  message.remote_address = message.write ? wr.wr.rdma.remote_addr : 0;
  message.signaled = (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  if (message.write) {
    const auto* const bytes = static_cast<const std::uint8_t*>(message.data);
    message.words.assign(bytes, bytes + message.bytes);
  }
  const SimPath& path = network_.path(network_.kind(qp.rank, qp.peer->rank));
  Port& out = port(qp.rank, qp.peer->rank);
  const std::uint64_t leaves_ps = std::max(now_ps_, out.out_free_ps);
  out.out_free_ps = leaves_ps + path.bytes_ps(message.bytes);
  const bool relayed = class_of(ntohl(message.immediate)) > 0;  // a WRITE's is 0
  schedule(leaves_ps + (relayed ? path.relay_delay_ps : path.delay_ps), number, Step::head);
}

void SimFabric::wake(Rank rank) {
  if (is_ready_[rank]) return;
  is_ready_[rank] = true;
  ready_.push_back(rank);
}

void SimFabric::complete(SimQp& qp, std::uint64_t wr_id, ibv_wc_opcode opcode,
                         std::uint32_t immediate) {
  ibv_wc& wc = qp.cq->completions.emplace_back();
  wc.wr_id = wr_id;
  wc.status = IBV_WC_SUCCESS;
  wc.opcode = opcode;
  wc.qp_num = qp.qp.qp_num;
  wc.imm_data = immediate;
  wake(qp.rank);
}

void SimFabric::deliver(Message& message) {
  SimQp& peer = *message.from->peer;
  if (message.write) {
    std::memcpy(reinterpret_cast<void*>(message.remote_address), message.words.data(),
                message.words.size());
    wake(peer.rank);
    return;
  }
  if (peer.receives.empty()) {
    ++not_ready_;
    return;
  }
  const std::uint64_t wr_id = peer.receives.front();
  peer.receives.pop_front();
  if (moves_payload_)
    std::memcpy(reinterpret_cast<MessageBuffer*>(wr_id)->data, message.data, message.bytes);
  complete(peer, wr_id, IBV_WC_RECV, message.immediate);
}

void SimFabric::handle(const Event& event) {
  Message& message = messages_[event.message];
  SimQp& from = *message.from;
  const SimPath& path = network_.path(network_.kind(from.rank, from.peer->rank));
  switch (event.step) {
    case Step::head: {
      Port& in = port(from.peer->rank, from.rank);
      in.in_free_ps = std::max(now_ps_, in.in_free_ps) + path.bytes_ps(message.bytes);
      schedule(in.in_free_ps, event.message, Step::arrival);
      return;
    }
    case Step::arrival:
      deliver(message);
      if (message.signaled) {
        schedule(now_ps_ + path.delay_ps, event.message, Step::acknowledged);
        return;
      }
      break;
    case Step::acknowledged:
      complete(from, message.wr_id, message.write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
      break;
  }
  free_messages_.push_back(event.message);
}

void SimFabric::resume_ready() {
  std::vector<Rank> now;
  now.swap(ready_);
  for (const Rank rank : now) {
    is_ready_[rank] = false;
    if (!fibers_[rank]->ended()) fibers_[rank]->resume();
  }
}

/// Until nothing is under way.
void SimFabric::pass_time(const StopFlag& stop) {
  while (!events_.empty() && !stop.requested()) {
    // All that comes at one time comes before any rank looks.
    now_ps_ = events_.top().at_ps;
    while (!events_.empty() && events_.top().at_ps == now_ps_) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
    resume_ready();
  }
}

/// Lets each rank see that it is to end, so that what lives on its stack is destroyed. It looks
/// once all that has come is taken.
void SimFabric::end_all() {
  constexpr int kLooks = 100;
  for (const auto& fiber : fibers_)
    for (int i = 0; i < kLooks && !fiber->ended(); ++i) fiber->resume();
}

void SimFabric::run(const std::function<void(Rank)>& body, const StopFlag& stop) {
  const SimFabric* const outer = std::exchange(running_fabric, this);
  for (Rank rank = 0; rank < ports_.size(); ++rank) {
    fibers_.push_back(std::make_unique<Fiber>([&body, rank] { body(rank); }));
    wake(rank);
  }
  resume_ready();
  pass_time(stop);
  if (stop.requested()) end_all();
  running_fabric = outer;
  const auto waiting =
      std::ranges::count_if(fibers_, [](const auto& one) { return !one->ended(); });
  fibers_.clear();
  if (stop.requested()) throw Interrupted("interrupted");
  if (waiting != 0)
    throw MeasurementError("{} of {} simulated ranks wait for what never comes", waiting,
                           ports_.size());
}

}  // namespace rdmameter
