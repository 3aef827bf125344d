// SPDX-License-Identifier: Apache-2.0
#include "tests/topologies/fabric.h"

#include <algorithm>
#include <utility>

namespace rdmameter {

FakeRank::FakeRank(const RankPlan& plan, ibv_context& context)
    : RankQueues(plan, 7, 1 << 10), memory_(memory_size()) {
  null_verbs::prepare(cq_, context);
  cqs_ = {cq_.plain()};
  for (std::uint32_t i = 0; i < qp_count(); ++i) {
    NullQp& qp = fabric_qps_.emplace_back().base;
    qp.qp.qp_base.context = &context;
    qp.qp.qp_base.qp_num = i;
    qp.receives.resize(1 << 10);
    qp.send_cq = qp.recv_cq = &cq_;
    qps_.push_back(&qp.qp.qp_base);
  }
  messages_ = words_ = {.host = reinterpret_cast<std::byte*>(memory_.data()), .address = address()};
  fill_message(source(), pattern_, rank_);
  source_sge_ = {.addr = address(), .length = pattern_.length, .lkey = 0};
  build();
}

void FakeRank::connect(const std::function<FakeRank&(Rank)>& other) {
  for (std::uint64_t i = 0; i < link_count_; ++i) {
    FakeRank& peer = other(links()[i].peer);
    fabric_qps_[i].peer = &peer.fabric_qps_[place_of(peer.neighbours_, rank_)];
    connect_link(i, peer.address() + peer.areas_.credited, 0, 0);
  }
}

Hop& FakeRank::add_hop() {
  return hops_.emplace_back(make_hop(source_sge_, IBV_WR_SEND_WITH_IMM));
}

Fabric::Fabric(const TestCase& test_case) : plan_(plan_topology(test_case)) {
  context_.ops.post_send = null_verbs::post_send;
  context_.ops.post_recv = null_verbs::post_recv;
  context_.ops.poll_cq = null_verbs::poll_cq;
  plan_ranks(plan_, [this](RankPlan plan) {
    ranks_.push_back(std::make_unique<FakeRank>(plans_.emplace_back(std::move(plan)), context_));
  });
  for (const auto& mine : ranks_)
    mine->connect([this](Rank other) -> FakeRank& { return rank(other); });
}

void Fabric::send_from(std::uint32_t from, std::uint32_t to) {
  RankState& state = rank(from).state();
  const Route& route = state.routes[plan_.traffic_mode() == TrafficMode::spread ? from : to];
  for (std::uint32_t k = 0; k < route.count; ++k) {
    Hop& hop = rank(from).add_hop();
    hop.wr.imm_data = htonl(label(from, to));
    hop.link = route.edges[k]->take();
    ++state.leaving;
    send<ReceiveMode::own>(state, hop, 0);
    post_lists(state);
  }
}

std::uint64_t Fabric::run(std::uint64_t max_rounds) {
  for (std::uint64_t round = 0; round < max_rounds && !quiet(); ++round)
    for (const auto& mine : ranks_) {
      overrun_ |= mine->cq().in - mine->cq().out > mine->cq().ring.size();
      step<ReceiveMode::own>(mine->state());
    }
  std::uint64_t arrived = 0;
  for (const auto& mine : ranks_) arrived += mine->state().arrived;
  return arrived;
}

std::uint64_t Fabric::rnr_naks() const {
  std::uint64_t naks = 0;
  for (const auto& mine : ranks_)
    for (const null_verbs::FabricQp& qp : mine->qps()) naks += qp.not_ready;
  return naks;
}

bool Fabric::quiet() const {
  return std::ranges::all_of(ranks_, [](const auto& mine) {
    return mine->cq().in == mine->cq().out && mine->state().blocked_count == 0;
  });
}

}  // namespace rdmameter
