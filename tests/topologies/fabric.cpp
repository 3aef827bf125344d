// SPDX-License-Identifier: Apache-2.0
#include "tests/topologies/fabric.h"

#include <algorithm>

namespace rdmameter {

Fabric::Fabric(const TestCase& test_case)
    : case_(test_case),
      plan_(plan_topology(test_case)),
      classes_(std::max<std::uint32_t>(plan_.max_hops, 1)) {
  context_.ops.post_send = null_verbs::post_send;
  context_.ops.post_recv = null_verbs::post_recv;
  context_.ops.poll_cq = null_verbs::poll_cq;
  const CommonPlan common = common_plan(plan_, case_);
  for (std::uint32_t rank = 0; rank < case_.ranks; ++rank) {
    ranks_.push_back(std::make_unique<FakeRank>());
    ranks_.back()->rank = rank;
    build(*ranks_.back(), common);
  }
  connect();
}

void Fabric::build(FakeRank& mine, const CommonPlan& common) {
  const auto& neighbours = plan_.graph.neighbours[mine.rank];
  const std::size_t count = neighbours.size();
  mine.plan = plan_rank(plan_, common, case_, mine.rank);
  null_verbs::prepare(mine.cq, context_);
  mine.links.resize(count);
  mine.edges.resize(count);
  mine.credited.resize(count * classes_);
  mine.freed.resize(count * classes_);
  mine.credit_windows.resize(count * classes_);
  mine.credit_batches.resize(count * classes_);
  mine.credit_sges.resize(count);
  mine.blocked.resize(count);
  mine.listing.resize(count);
  mine.received.resize(case_.ranks);
  mine.awaited.resize(case_.ranks);
  for (std::size_t i = 0; i < count; ++i) {
    NullQp& qp = mine.qps.emplace_back().base;
    qp.qp.qp_base.context = &context_;
    qp.qp.qp_base.qp_num = static_cast<std::uint32_t>(i);
    qp.receives.resize(1 << 10);
    qp.send_cq = qp.recv_cq = &mine.cq;
    Link& link = mine.links[i];
    link.qp = &qp.qp.qp_base;
    link.freed = &mine.freed[i * classes_];
    link.credit_windows = &mine.credit_windows[i * classes_];
    link.credit_batches = &mine.credit_batches[i * classes_];
    for (std::uint32_t k = 0; k < classes_; ++k) {
      link.credit_windows[k].credited = &mine.credited[i * classes_ + k];
      link.credit_windows[k].room =
          static_cast<std::uint32_t>(mine.plan.rooms.out[i * classes_ + k]);
      link.credit_batches[k].size = static_cast<std::uint32_t>(
          std::max<std::uint64_t>((mine.plan.rooms.in[i * classes_ + k] + 1) / 2, 1));
    }
    link.next_of_edge = &link;
    link.max_listed = static_cast<std::uint32_t>((case_.queues.depth + 1) / 2);
    link.peer = neighbours[i];
    mine.edges[i].next = &link;
  }
  mine.route_edges.resize(mine.plan.routes.size());
  for (std::size_t i = 0; i < mine.plan.routes.size(); ++i) {
    for (const std::uint32_t place : mine.plan.routes[i].neighbours)
      mine.route_edges[i].push_back(&mine.edges[place]);
    mine.routes.push_back(route_over(mine.route_edges[i].data(),
                                     static_cast<std::uint32_t>(mine.route_edges[i].size()),
                                     mine.plan.routes[i].here));
  }
  const auto size = static_cast<std::uint32_t>(case_.size_bytes);
  std::vector<Link*> homes;
  for (std::size_t i = 0; i < mine.plan.rooms.in.size(); ++i)
    homes.insert(homes.end(), mine.plan.rooms.in[i], &mine.links[i / classes_]);
  const std::size_t receives = homes.size();
  mine.buffers.resize(receives);
  mine.buffer_sges.resize(receives);
  mine.hops.resize(receives * mine.plan.max_copies);
  mine.bytes.resize(receives * size);
  for (std::size_t i = 0; i < receives; ++i) {
    MessageBuffer& buffer = mine.buffers[i];
    buffer.data = &mine.bytes[i * size];
    buffer.home = homes[i];
    mine.buffer_sges[i] = {
        .addr = reinterpret_cast<std::uint64_t>(buffer.data), .length = size, .lkey = 0};
    buffer.receive = {.wr_id = reinterpret_cast<std::uint64_t>(&buffer),
                      .next = nullptr,
                      .sg_list = &mine.buffer_sges[i],
                      .num_sge = 1};
    buffer.hops = &mine.hops[i * mine.plan.max_copies];
    for (std::uint32_t k = 0; k < mine.plan.max_copies; ++k) {
      Hop& hop = buffer.hops[k];
      hop.buffer = &buffer;
      hop.wr = {};
      hop.wr.sg_list = &mine.buffer_sges[i];
      hop.wr.num_sge = 1;
      hop.wr.opcode = IBV_WR_SEND_WITH_IMM;
    }
    ibv_recv_wr* bad;
    ibv_post_recv(buffer.home->qp, &buffer.receive, &bad);
  }
  mine.pattern = {.seed = 7, .zero = false, .length = size, .compared = size};
  mine.source.resize(size);
  fill_message(mine.source.data(), mine.pattern, mine.rank);
  mine.source_sge = {
      .addr = reinterpret_cast<std::uint64_t>(mine.source.data()), .length = size, .lkey = 0};
  mine.cq_pointer = mine.cq.plain();
  mine.relay.cqs = &mine.cq_pointer;
  mine.relay.cq_count = 1;
  mine.relay.classes = classes_;
  mine.relay.routes = mine.routes.data();
  mine.relay.route_shift = plan_.traffic_mode() == TrafficMode::spread ? kRankBits : 0;
  mine.relay.deliver = case_.verify ? count_message<true> : count_message<false>;
  mine.relay.blocked = mine.blocked.data();
  mine.relay.listing = mine.listing.data();
  mine.relay.received = mine.received.data();
  mine.relay.awaited = mine.awaited.data();
  mine.relay.me = mine.rank;
  mine.relay.checker = &mine.pattern;
}

void Fabric::connect() {
  for (const auto& mine : ranks_)
    for (std::size_t i = 0; i < mine->links.size(); ++i) {
      FakeRank& peer = *ranks_[mine->links[i].peer];
      const auto& list = plan_.graph.neighbours[peer.rank];
      const auto theirs =
          static_cast<std::size_t>(std::ranges::lower_bound(list, mine->rank) - list.begin());
      mine->qps[i].peer = &peer.qps[theirs];
      Link& link = mine->links[i];
      mine->credit_sges[i] = {
          .addr = reinterpret_cast<std::uint64_t>(link.freed),
          .length = classes_ * static_cast<std::uint32_t>(sizeof(std::uint32_t)),
          .lkey = 0};
      link.credit = {};
      link.credit.wr_id = reinterpret_cast<std::uint64_t>(&link);
      link.credit.sg_list = &mine->credit_sges[i];
      link.credit.num_sge = 1;
      link.credit.opcode = IBV_WR_RDMA_WRITE;
      link.credit.send_flags = IBV_SEND_SIGNALED;
      link.credit.wr.rdma.remote_addr =
          reinterpret_cast<std::uint64_t>(&peer.credited[theirs * classes_]);
    }
}

void Fabric::send_from(std::uint32_t from, std::uint32_t to) {
  FakeRank& mine = rank(from);
  const Route& route = mine.routes[plan_.traffic_mode() == TrafficMode::spread ? from : to];
  for (std::uint32_t k = 0; k < route.count; ++k) {
    Hop& hop = mine.own.emplace_back();
    hop.wr = {};
    hop.wr.sg_list = &mine.source_sge;
    hop.wr.num_sge = 1;
    hop.wr.opcode = IBV_WR_SEND_WITH_IMM;
    hop.wr.imm_data = htonl(label(from, to));
    hop.link = route.edges[k]->take();
    ++mine.relay.leaving;
    send<ReceiveMode::own>(mine.relay, hop, 0);
    post_lists(mine.relay);
  }
}

std::uint64_t Fabric::run(std::uint64_t max_rounds) {
  for (std::uint64_t round = 0; round < max_rounds && !quiet(); ++round)
    for (const auto& mine : ranks_) {
      overrun_ |= mine->cq.in - mine->cq.out > mine->cq.ring.size();
      step<ReceiveMode::own>(mine->relay);
    }
  std::uint64_t arrived = 0;
  for (const auto& mine : ranks_) arrived += mine->relay.arrived;
  return arrived;
}

std::uint64_t Fabric::rnr_naks() const {
  std::uint64_t naks = 0;
  for (const auto& mine : ranks_)
    for (const null_verbs::FabricQp& qp : mine->qps) naks += qp.not_ready;
  return naks;
}

std::uint64_t Fabric::passed_on(std::uint32_t rank) const {
  const auto& credit_windows = ranks_[rank]->credit_windows;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < credit_windows.size(); ++i)
    if (i % classes_ != 0) count += credit_windows[i].sent;
  return count;
}

bool Fabric::quiet() const {
  return std::ranges::all_of(ranks_, [](const auto& mine) {
    return mine->cq.in == mine->cq.out && mine->relay.blocked_count == 0;
  });
}

}  // namespace rdmameter
