// SPDX-License-Identifier: Apache-2.0
// What a node's measured path works on: links and their gates, parcels with a receive posted for
// each, legs, rounds. Built once, before any QP is connected.
#include <algorithm>
#include <bit>

#include "core/check.h"
#include "topologies/deliver.h"
#include "topologies/node.h"

namespace rdmameter {

void Node::build_links() {
  const Areas at = areas();
  std::byte* const base = memory_.host();
  auto* const granted = reinterpret_cast<std::uint32_t*>(base + at.granted);
  auto* const freed = reinterpret_cast<std::uint32_t*>(base + at.freed);
  const bool datagram = inbox_ == Inbox::datagram;
  links_.resize(link_count_);
  gates_.resize(link_count_ * classes_);
  grant_sges_.resize(link_count_);
  edges_.resize(neighbours_.size());
  const auto [per_edge, active] = edge_qps(case_);
  for (std::uint64_t i = 0; i < link_count_; ++i) {
    Link& link = links_[i];
    link.qp = qps_[datagram ? 0 : i].get();
    link.depth = static_cast<std::uint32_t>(
        datagram ? std::max<std::uint64_t>(ud_receives_ / link_count_, 1) : case_.depth);
    link.freed = freed + i * classes_;
    link.gates = &gates_[i * classes_];
    for (std::uint32_t k = 0; k < classes_; ++k) link.gates[k].granted = granted + i * classes_ + k;
    const std::uint64_t first = i / per_edge * per_edge;
    link.next_of_edge = &links_[i + 1 < first + active ? i + 1 : first];
    link.srq = srq_.get();
    // Withheld are at most lot - 1 buffers, fewer than there are, so that some credit always comes.
    link.lot = (link.depth + 1) / 2;
    link.peer = neighbours_[i / per_edge];
    edges_[i / per_edge].next = &links_[first];
  }
  datagrams_.qp = qps_.empty() ? nullptr : qps_.front().get();
  datagrams_.lot = std::max<std::uint32_t>(ud_receives_ / 8, 1);
}

void Node::build_ways() {
  ways_.resize(mine_.ways.size());
  std::size_t edges = 0;
  for (const PlannedWay& way : mine_.ways) edges += way.neighbours.size();
  way_edges_.reserve(edges);  // so that it stays where it is
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const PlannedWay& way = mine_.ways[i];
    Edge* const* const first = way_edges_.data() + way_edges_.size();
    for (const std::uint32_t place : way.neighbours) way_edges_.push_back(&edges_[place]);
    ways_[i] = way_over(first, static_cast<std::uint32_t>(way.neighbours.size()), way.here);
  }
}

void Node::build_parcels() {
  const Areas at = areas();
  const std::size_t head = inbox_ == Inbox::datagram ? kGrhBytes : 0;
  const auto length = static_cast<std::uint32_t>(case_.size_bytes);
  const std::uint64_t count = receives();
  parcels_.resize(count);
  parcel_legs_.resize(count * mine_.most_ways);
  parcel_sges_.resize(2 * count);  // where it comes in, and what goes out again
  for (std::uint64_t i = 0; i < count; ++i) {
    Parcel& parcel = parcels_[i];
    const std::size_t begin = at.parcels + i * at.stride;
    ibv_sge& in = parcel_sges_[2 * i];
    ibv_sge& out = parcel_sges_[2 * i + 1];
    in = {.addr = memory_.address() + begin,
          .length = length + static_cast<std::uint32_t>(head),
          .lkey = mr_->lkey};
    out = {.addr = in.addr + head, .length = length, .lkey = mr_->lkey};
    parcel.receive = {.wr_id = reinterpret_cast<std::uint64_t>(&parcel),
                      .next = nullptr,
                      .sg_list = &in,
                      .num_sge = 1};
    parcel.home = inbox_ == Inbox::datagram ? &datagrams_ : &links_[i / (case_.depth * classes_)];
    parcel.data = reinterpret_cast<std::uint8_t*>(memory_.host()) + begin + head;
    parcel.legs = &parcel_legs_[i * mine_.most_ways];
    for (std::uint32_t k = 0; k < mine_.most_ways; ++k) {
      Leg& leg = parcel.legs[k];
      leg.parcel = &parcel;
      leg.wr = {};
      leg.wr.sg_list = &out;
      leg.wr.num_sge = 1;
      leg.wr.opcode = IBV_WR_SEND_WITH_IMM;
    }
    ibv_recv_wr* bad;
    const int error = srq_ ? ibv_post_srq_recv(srq_.get(), &parcel.receive, &bad)
                           : ibv_post_recv(parcel.home->qp, &parcel.receive, &bad);
    check_errno_value(error, srq_ ? "ibv_post_srq_recv" : "ibv_post_recv", where_);
  }
}

Leg Node::leg_of_source() {
  Leg leg{};
  leg.wr = {};
  leg.wr.sg_list = &source_sge_;
  leg.wr.num_sge = 1;
  leg.wr.opcode = IBV_WR_SEND_WITH_IMM;
  return leg;
}

/// The rounds of an exchange; of a spread, whose one round sends a copy over each of its ways.
void Node::build_rounds() {
  source_sge_ = {.addr = memory_.address(),
                 .length = static_cast<std::uint32_t>(case_.size_bytes),
                 .lkey = mr_->lkey};
  const auto add_leg = [&](std::vector<Leg*>& legs, Edge& edge, std::uint32_t to) {
    Leg& leg = own_legs_.emplace_back(leg_of_source());
    leg.wr.imm_data = htonl(label(rank_, to));
    leg.link = edge.take();
    legs.push_back(&leg);
  };
  round_legs_.resize(mine_.rounds.size());
  for (std::size_t i = 0; i < mine_.rounds.size(); ++i) {
    const Round& round = mine_.rounds[i];
    if (plan_.drive() == Drive::spread) {
      const Way& way = ways_[rank_];
      for (std::uint32_t k = 0; k < way.count; ++k) add_leg(round_legs_[i], *way.edges[k], 0);
    } else {
      for (const Rank to : round.to) add_leg(round_legs_[i], *ways_[to].edges[0], to);
    }
    rounds_.push_back({.legs = round_legs_[i].data(),
                       .leg_count = static_cast<std::uint32_t>(round_legs_[i].size()),
                       .sources = round.from.data(),
                       .source_count = static_cast<std::uint32_t>(round.from.size())});
  }
}

void Node::build_window() {
  const std::uint64_t length = mine_.partners.empty() ? 1 : case_.depth;  // a walk has one message
  const Areas at = areas();
  window_sges_.resize(length);
  for (std::uint64_t i = 0; i < length; ++i) {
    Leg& leg = own_legs_.emplace_back(leg_of_source());
    window_.push_back(&leg);
    if (case_.between_ranks() == RankOpcode::write) {
      leg.wr.opcode = IBV_WR_RDMA_WRITE;
      leg.remote_offset = i * at.stride;
    } else if (case_.between_ranks() == RankOpcode::read) {
      window_sges_[i] = source_sge_;
      window_sges_[i].addr = memory_.address() + at.parcels + i * at.stride;
      leg.wr.opcode = IBV_WR_RDMA_READ;
      leg.wr.sg_list = &window_sges_[i];
    }
  }
}

void Node::choose_delivery() {
  blocked_.resize(link_count_);
  listing_.resize(link_count_);
  received_.resize(plan_.graph.ranks());
  awaited_.resize(plan_.graph.ranks());
  for (const Cq& cq : cqs_) cq_pointers_.push_back(cq.get());
  relay_.cqs = cq_pointers_.data();
  relay_.cq_count = static_cast<std::uint32_t>(cq_pointers_.size());
  relay_.classes = classes_;
  relay_.ways = ways_.data();
  relay_.way_shift = plan_.drive() == Drive::spread ? kRankBits : 0;
  relay_.deliver = case_.verify != 0 ? count_parcel<true> : count_parcel<false>;
  relay_.blocked = blocked_.data();
  relay_.listing = listing_.data();
  relay_.received = received_.data();
  relay_.awaited = awaited_.data();
  relay_.reply_to = mine_.reply_to.data();
  relay_.me = rank_;
  relay_.last_byte = static_cast<std::uint32_t>(case_.size_bytes - 1);
  relay_.checker = &pattern_;
  if (case_.service() == Transport::uc) relay_.forgive_ns = case_.loss_timeout_ns;
  if (inbox_ == Inbox::shared) {
    // So large that no two of its QPs share a place.
    std::size_t size = std::bit_ceil(link_count_);
    for (bool clash = true; clash; size *= 2) {
      link_of_qpn_.assign(2 * size, nullptr);
      relay_.qpn_mask = static_cast<std::uint32_t>(2 * size - 1);
      clash = false;
      for (Link& link : links_) {
        Link*& place = link_of_qpn_[link.qp->qp_num & relay_.qpn_mask];
        clash |= place != nullptr;
        place = &link;
      }
    }
    relay_.link_of_qpn = link_of_qpn_.data();
  }
  work_.relay = &relay_;
  work_.first = window_.front();
  if (!case_.reliable() && plan_.drive() == Drive::walk)
    work_.departure = reinterpret_cast<std::uint8_t*>(memory_.host()) + relay_.last_byte;
  work_.rounds = rounds_.data();
  work_.round_count = static_cast<std::uint32_t>(rounds_.size());
  work_.window = window_.data();
  work_.window_length = static_cast<std::uint32_t>(window_.size());
  work_.partners = mine_.partners.data();
  work_.partner_count = static_cast<std::uint32_t>(mine_.partners.size());
  work_.ways = ways_.data();
}

void Node::begin_walk_to(Rank first) {
  work_.first->wr.imm_data = htonl(label(rank_, first));
  work_.first->link = ways_[first].edges[0]->take();
}

void Node::deliver_walks(bool begun_here) {
  const bool numbered = !case_.reliable(), check = case_.verify != 0;
  if (begun_here)
    relay_.deliver = numbered ? (check ? come_back<true, true> : come_back<true, false>)
                              : (check ? come_back<false, true> : come_back<false, false>);
  else
    relay_.deliver = inbox_ == Inbox::own      ? send_on<Inbox::own>
                     : inbox_ == Inbox::shared ? send_on<Inbox::shared>
                                               : send_on<Inbox::datagram>;
}

}  // namespace rdmameter
