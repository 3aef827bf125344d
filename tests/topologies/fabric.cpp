// SPDX-License-Identifier: Apache-2.0
#include "tests/topologies/fabric.h"

#include <algorithm>

namespace rdmameter {

Fabric::Fabric(const Case& one_case)
    : case_(one_case),
      plan_(plan_topology(one_case)),
      classes_(std::max<std::uint32_t>(plan_.most_hops, 1)) {
  context_.ops.post_send = null_verbs::post_send;
  context_.ops.post_recv = null_verbs::post_recv;
  context_.ops.poll_cq = null_verbs::poll_cq;
  for (std::uint32_t rank = 0; rank < case_.ranks; ++rank) {
    ranks_.push_back(std::make_unique<FakeRank>());
    ranks_.back()->rank = rank;
    build(*ranks_.back());
  }
  connect();
}

void Fabric::build(FakeRank& mine) {
  const auto& neighbours = plan_.graph.neighbours[mine.rank];
  const std::size_t count = neighbours.size();
  mine.plan = plan_rank(plan_, case_, mine.rank);
  mine.cq.cq.context = &context_;
  mine.links.resize(count);
  mine.edges.resize(count);
  mine.granted.resize(count * classes_);
  mine.freed.resize(count * classes_);
  mine.gates.resize(count * classes_);
  mine.grant_sges.resize(count);
  mine.blocked.resize(count);
  mine.listing.resize(count);
  mine.received.resize(case_.ranks);
  mine.awaited.resize(case_.ranks);
  for (std::size_t i = 0; i < count; ++i) {
    null_verbs::FakeQp& qp = mine.qps.emplace_back();
    qp.qp.context = &context_;
    qp.qp.qp_num = static_cast<std::uint32_t>(i);
    qp.cq = &mine.cq;
    Link& link = mine.links[i];
    link.qp = &qp.qp;
    link.depth = static_cast<std::uint32_t>(case_.depth);
    link.freed = &mine.freed[i * classes_];
    link.gates = &mine.gates[i * classes_];
    for (std::uint32_t k = 0; k < classes_; ++k)
      link.gates[k].granted = &mine.granted[i * classes_ + k];
    link.next_of_edge = &link;
    link.lot = (link.depth + 1) / 2;
    link.peer = neighbours[i];
    mine.edges[i].next = &link;
  }
  mine.way_edges.resize(mine.plan.ways.size());
  for (std::size_t i = 0; i < mine.plan.ways.size(); ++i) {
    for (const std::uint32_t place : mine.plan.ways[i].neighbours)
      mine.way_edges[i].push_back(&mine.edges[place]);
    mine.ways.push_back(way_over(mine.way_edges[i].data(),
                                 static_cast<std::uint32_t>(mine.way_edges[i].size()),
                                 mine.plan.ways[i].here));
  }
  const auto size = static_cast<std::uint32_t>(case_.size_bytes);
  const std::size_t receives = count * case_.depth * classes_;
  mine.parcels.resize(receives);
  mine.parcel_sges.resize(receives);
  mine.legs.resize(receives * mine.plan.most_ways);
  mine.bytes.resize(receives * size);
  for (std::size_t i = 0; i < receives; ++i) {
    Parcel& parcel = mine.parcels[i];
    parcel.data = &mine.bytes[i * size];
    parcel.home = &mine.links[i / (case_.depth * classes_)];
    mine.parcel_sges[i] = {
        .addr = reinterpret_cast<std::uint64_t>(parcel.data), .length = size, .lkey = 0};
    parcel.receive = {.wr_id = reinterpret_cast<std::uint64_t>(&parcel),
                      .next = nullptr,
                      .sg_list = &mine.parcel_sges[i],
                      .num_sge = 1};
    parcel.legs = &mine.legs[i * mine.plan.most_ways];
    for (std::uint32_t k = 0; k < mine.plan.most_ways; ++k) {
      Leg& leg = parcel.legs[k];
      leg.parcel = &parcel;
      leg.wr = {};
      leg.wr.sg_list = &mine.parcel_sges[i];
      leg.wr.num_sge = 1;
      leg.wr.opcode = IBV_WR_SEND_WITH_IMM;
    }
    ibv_recv_wr* bad;
    ibv_post_recv(parcel.home->qp, &parcel.receive, &bad);
  }
  mine.pattern = {.seed = 7, .zero = false, .length = size, .compared = size};
  mine.source.resize(size);
  fill_message(mine.source.data(), mine.pattern, mine.rank);
  mine.source_sge = {
      .addr = reinterpret_cast<std::uint64_t>(mine.source.data()), .length = size, .lkey = 0};
  mine.cq_pointer = &mine.cq.cq;
  mine.relay.cqs = &mine.cq_pointer;
  mine.relay.cq_count = 1;
  mine.relay.classes = classes_;
  mine.relay.ways = mine.ways.data();
  mine.relay.way_shift = plan_.drive() == Drive::spread ? kRankBits : 0;
  mine.relay.deliver = case_.verify != 0 ? count_parcel<true> : count_parcel<false>;
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
      mine->grant_sges[i] = {.addr = reinterpret_cast<std::uint64_t>(link.freed),
                             .length = classes_ * static_cast<std::uint32_t>(sizeof(std::uint32_t)),
                             .lkey = 0};
      link.grant = {};
      link.grant.wr_id = reinterpret_cast<std::uint64_t>(&link);
      link.grant.sg_list = &mine->grant_sges[i];
      link.grant.num_sge = 1;
      link.grant.opcode = IBV_WR_RDMA_WRITE;
      link.grant.send_flags = IBV_SEND_SIGNALED;
      link.grant.wr.rdma.remote_addr =
          reinterpret_cast<std::uint64_t>(&peer.granted[theirs * classes_]);
    }
}

void Fabric::send_from(std::uint32_t from, std::uint32_t to) {
  FakeRank& mine = rank(from);
  const Way& way = mine.ways[plan_.drive() == Drive::spread ? from : to];
  for (std::uint32_t k = 0; k < way.count; ++k) {
    Leg& leg = mine.own.emplace_back();
    leg.wr = {};
    leg.wr.sg_list = &mine.source_sge;
    leg.wr.num_sge = 1;
    leg.wr.opcode = IBV_WR_SEND_WITH_IMM;
    leg.wr.imm_data = htonl(label(from, to));
    leg.link = way.edges[k]->take();
    ++mine.relay.leaving;
    send<Inbox::own>(mine.relay, leg, 0);
    post_lists(mine.relay);
  }
}

std::uint64_t Fabric::run(std::uint64_t most_rounds) {
  for (std::uint64_t round = 0; round < most_rounds && !quiet(); ++round)
    for (const auto& mine : ranks_) step<Inbox::own>(mine->relay);
  std::uint64_t arrived = 0;
  for (const auto& mine : ranks_) arrived += mine->relay.arrived;
  return arrived;
}

std::uint64_t Fabric::rnr_naks() const {
  std::uint64_t naks = 0;
  for (const auto& mine : ranks_)
    for (const null_verbs::FakeQp& qp : mine->qps) naks += qp.not_ready;
  return naks;
}

std::uint64_t Fabric::passed_on(std::uint32_t rank) const {
  const auto& gates = ranks_[rank]->gates;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < gates.size(); ++i)
    if (i % classes_ != 0) count += gates[i].sent;
  return count;
}

bool Fabric::quiet() const {
  return std::ranges::all_of(ranks_, [](const auto& mine) {
    return mine->cq.in == mine->cq.out && mine->relay.blocked_count == 0;
  });
}

}  // namespace rdmameter
