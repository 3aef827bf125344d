// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/rank_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/base/error.h"
#include "core/engine/layout/layout.h"
#include "core/verbs/check.h"
#include "topologies/ranks/loop/deliver.h"

namespace rdmameter {
namespace {

ReceiveMode receive_mode_of(const TopologyPlan& plan, bool immediate) {
  if (plan.datagram()) return ReceiveMode::datagram;
  if (plan.traffic_mode() == TrafficMode::collective) return ReceiveMode::sized;
  if (plan.test_case.rank_opcode != RankOpcode::send) return ReceiveMode::none;
  if (plan.test_case.shared_receives()) return ReceiveMode::shared;
  return immediate ? ReceiveMode::own : ReceiveMode::labelled;
}

MessagePattern pattern_of(const TopologyPlan& plan, std::uint64_t seed, ReceiveMode receive_mode) {
  const auto length = static_cast<std::uint32_t>(plan.message_bytes);
  const bool numbered =
      plan.traffic_mode() == TrafficMode::round_trip && !plan.test_case.reliable();
  return {.seed = seed,
          .zero = plan.test_case.payload == kZeroPayload,
          .length = length,
          .compared = length - (receive_mode == ReceiveMode::labelled ? kLabelBytes
                                : numbered                            ? 1
                                                                      : 0)};
}

/// Rounded up; at least 1.
std::uint32_t half_of(std::uint64_t room) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>((room + 1) / 2, 1));
}

/// Of words (credits, a barrier's epoch) into another rank's memory.
ibv_send_wr word_write(ibv_sge& words, std::uint64_t address, std::uint32_t rkey,
                       unsigned inline_flag) {
  ibv_send_wr wr{};
  wr.sg_list = &words;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED | inline_flag;
  wr.wr.rdma.remote_addr = address;
  wr.wr.rdma.rkey = rkey;
  return wr;
}

}  // namespace

RankQueues::RankQueues(const RankPlan& plan, std::uint64_t seed, std::uint64_t max_qp_wr,
                       bool immediate)
    : mine_(plan),
      receive_mode_(receive_mode_of(plan_, immediate)),
      ud_receives_(static_cast<std::uint32_t>(std::min<std::uint64_t>(
          case_.queues.depth * std::max<std::size_t>(neighbours_.size(), 1), max_qp_wr))),
      pattern_(pattern_of(plan_, seed, receive_mode_)) {}

/// Messages of the first so many classes that a link has room for. @param rooms  in or out
std::uint64_t RankQueues::room(const std::vector<std::uint64_t>& rooms, std::uint64_t link,
                               std::uint32_t classes) const {
  const auto first = rooms.begin() + static_cast<std::ptrdiff_t>(link / edge_qps_.all * classes_);
  return std::accumulate(first, first + classes, std::uint64_t{0});
}

/// One send is for credits.
RankQueues::Entries RankQueues::entries_of(std::uint64_t link, std::uint32_t classes) const {
  return {.sends = room(mine_.rooms.out, link, classes) + 1,
          .receives = receive_mode_ == ReceiveMode::none ? 0 : room(mine_.rooms.in, link, classes)};
}

/// Of all links.
RankQueues::Entries RankQueues::entries(std::uint32_t classes) const {
  if (datagram_) return {ud_receives_, ud_receives_};
  Entries sum;
  for (std::uint64_t link = 0; link < link_count_; ++link) {
    const Entries of_link = entries_of(link, classes);
    sum.sends += of_link.sends;
    sum.receives += of_link.receives;
  }
  return sum;
}

std::uint64_t RankQueues::own_hops() const {
  std::uint64_t hops = mine_.window;
  for (const Round& round : mine_.rounds)
    hops += plan_.traffic_mode() == TrafficMode::spread ? mine_.routes[rank_].neighbours.size()
                                                        : round.to.size();
  return hops;
}

std::size_t RankQueues::memory_size() const {
  return labels_at() + (receive_mode_ == ReceiveMode::labelled ? own_hops() * kLabelBytes : 0);
}

NamedCounts RankQueues::connection_bytes() const {
  const Entries first = entries(1);
  return rdmameter::connection_bytes(
      {.links = link_count_,
       .message_bytes = plan_.message_bytes,
       .sends = first.sends,
       .receives = first.receives,
       .places = receive_mode_ == ReceiveMode::none ? places() : first.receives,
       .hop_classes = classes_,
       .cqs = cq_count(),
       .datagram = datagram_});
}

NamedCounts RankQueues::relay_bytes() const {
  const Entries all = entries(classes_), first = entries(1);
  if (all.completions() == first.completions()) return {};
  constexpr std::uint64_t kEntries = 2;  // the queue's and the CQ's
  return {{"buffers", (all.receives - first.receives) * areas_.stride},
          {"queues", kEntries * (all.completions() - first.completions()) * kQueueEntryBytes}};
}

void RankQueues::build() {
  build_links();
  build_routes();
  build_buffers();
  build_rounds();
  build_window();
  choose_delivery();
}

void RankQueues::build_links() {
  std::byte* const base = words_.host;
  auto* const credited = reinterpret_cast<std::uint32_t*>(base + areas_.credited);
  auto* const freed = reinterpret_cast<std::uint32_t*>(base + areas_.freed);
  links_.resize(link_count_);
  credit_windows_.resize(link_count_ * classes_);
  credit_batches_.resize(link_count_ * classes_);
  credit_sges_.resize(link_count_);
  edges_.resize(neighbours_.size());
  const auto [per_edge, active] = edge_qps_;
  for (std::uint64_t i = 0; i < link_count_; ++i) {
    Link& link = links_[i];
    link.qp = qps_[datagram_ ? 0 : i];
    link.freed = freed + i * classes_;
    link.credit_windows = &credit_windows_[i * classes_];
    link.credit_batches = &credit_batches_[i * classes_];
    for (std::uint32_t k = 0; k < classes_; ++k) {
      const std::uint64_t at_edge = i / per_edge * classes_ + k;
      CreditWindow& window = link.credit_windows[k];
      window.credited = credited + i * classes_ + k;
      window.room = static_cast<std::uint32_t>(
          datagram_ ? std::max<std::uint64_t>(ud_receives_ / link_count_, 1)
                    : mine_.rooms.out[at_edge]);
      link.credit_batches[k].size = half_of(mine_.rooms.in[at_edge]);
    }
    const std::uint64_t first = i / per_edge * per_edge;
    link.next_of_edge = &links_[i + 1 < first + active ? i + 1 : first];
    link.srq = srq_;
    link.max_listed = half_of(link.credit_windows[0].room);
    link.peer = neighbours_[i / per_edge];
    edges_[i / per_edge].next = &links_[first];
  }
  datagrams_.qp = qps_.empty() ? nullptr : qps_.front();
  datagram_batch_.size = std::max<std::uint32_t>(ud_receives_ / 8, 1);
  datagrams_.credit_batches = &datagram_batch_;
}

void RankQueues::build_routes() {
  routes_.resize(mine_.routes.size());
  std::size_t edges = 0;
  for (const PlannedRoute& route : mine_.routes) edges += route.neighbours.size();
  route_edges_.reserve(edges);  // so that it stays where it is
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const PlannedRoute& route = mine_.routes[i];
    Edge* const* const first = route_edges_.data() + route_edges_.size();
    for (const std::uint32_t place : route.neighbours) route_edges_.push_back(&edges_[place]);
    const auto count = static_cast<std::uint32_t>(route.neighbours.size());
    routes_[i] = {.only = count == 1 && !route.here ? first[0] : nullptr,
                  .edges = first,
                  .count = count,
                  .here = route.here};
  }
}

void RankQueues::build_buffers() {
  const std::size_t head = datagram_ ? kGrhBytes : 0;
  const auto length = static_cast<std::uint32_t>(plan_.message_bytes);
  const std::uint64_t count = receives();
  buffers_.resize(count);
  buffer_hops_.resize(count * mine_.max_copies);
  buffer_sges_.resize(2 * count);  // where it comes in, and what goes out again
  const auto receives_of = [&](std::uint64_t link) {
    return datagram_ ? count : entries_of(link, classes_).receives;
  };
  std::uint64_t link = 0, link_end = count == 0 ? 0 : receives_of(link);
  for (std::uint64_t i = 0; i < count; ++i) {
    while (i == link_end) link_end += receives_of(++link);
    MessageBuffer& buffer = buffers_[i];
    const std::size_t begin = areas_.buffers + i * areas_.stride;
    ibv_sge& in = buffer_sges_[2 * i];
    ibv_sge& out = buffer_sges_[2 * i + 1];
    in = {.addr = messages_.address + begin,
          .length = length + static_cast<std::uint32_t>(head),
          .lkey = messages_.lkey};
    out = {.addr = in.addr + head, .length = length, .lkey = messages_.lkey};
    buffer.receive = {.wr_id = reinterpret_cast<std::uint64_t>(&buffer),
                      .next = nullptr,
                      .sg_list = &in,
                      .num_sge = 1};
    buffer.home = datagram_ ? &datagrams_ : &links_[link];
    buffer.data = message_byte(begin + head);
    buffer.hops = &buffer_hops_[i * mine_.max_copies];
    for (std::uint32_t k = 0; k < mine_.max_copies; ++k) {
      Hop& hop = buffer.hops[k] = make_hop(out, send_opcode());
      hop.buffer = &buffer;
      if (receive_mode_ == ReceiveMode::labelled) hop.label = buffer.data + length - kLabelBytes;
    }
    ibv_recv_wr* bad;
    const int error = srq_ ? ibv_post_srq_recv(srq_, &buffer.receive, &bad)
                           : ibv_post_recv(buffer.home->qp, &buffer.receive, &bad);
    check_errno_value(error, srq_ ? "ibv_post_srq_recv" : "ibv_post_recv", where_);
  }
}

/// Null: the CPU does not reach it.
std::uint8_t* RankQueues::message_byte(std::size_t offset) const {
  std::byte* const host = messages_.host;
  return host == nullptr ? nullptr : reinterpret_cast<std::uint8_t*>(host + offset);
}

/// The next of own_hops_.
Hop RankQueues::hop_of_source() {
  Hop hop = make_hop(source_sge_, send_opcode());
  if (receive_mode_ != ReceiveMode::labelled) return hop;
  const std::size_t at = labels_at() + own_hops_.size() * kLabelBytes;
  ibv_sge* const sges = &labelled_sges_[2 * own_hops_.size()];
  sges[0] = source_sge_;
  sges[0].length -= kLabelBytes;
  sges[1] = {.addr = messages_.address + at, .length = kLabelBytes, .lkey = messages_.lkey};
  hop.label = message_byte(at);
  const bool only_label = sges[0].length == 0;
  hop.wr.sg_list = only_label ? sges + 1 : sges;
  hop.wr.num_sge = only_label ? 1 : 2;
  return hop;
}

void RankQueues::set_label(Hop& hop, std::uint32_t label) const {
  if (receive_mode_ == ReceiveMode::labelled)
    rdmameter::set_label<ReceiveMode::labelled>(hop, label);
  else
    rdmameter::set_label<ReceiveMode::own>(hop, label);
}

/// The rounds of an exchange; of a spread, whose one round sends a copy over each of its edges.
void RankQueues::build_rounds() {
  source_sge_ = {.addr = messages_.address,
                 .length = static_cast<std::uint32_t>(plan_.message_bytes),
                 .lkey = messages_.lkey};
  if (receive_mode_ == ReceiveMode::labelled) labelled_sges_.resize(2 * own_hops());
  const auto add_hop = [&](std::vector<Hop*>& hops, Edge& edge, std::uint32_t to) {
    Hop& hop = own_hops_.emplace_back(hop_of_source());
    set_label(hop, label(rank_, to));
    hop.edge = &edge;
    hops.push_back(&hop);
  };
  round_hops_.resize(mine_.rounds.size());
  for (std::size_t i = 0; i < mine_.rounds.size(); ++i) {
    const Round& round = mine_.rounds[i];
    if (plan_.traffic_mode() == TrafficMode::spread) {
      const Route& route = routes_[rank_];
      for (std::uint32_t k = 0; k < route.count; ++k) add_hop(round_hops_[i], *route.edges[k], 0);
    } else {
      for (const Rank to : round.to) add_hop(round_hops_[i], *routes_[to].edges[0], to);
    }
    rounds_.push_back({.hops = round_hops_[i], .sources = round.from});
  }
}

void RankQueues::build_window() {
  const std::uint64_t length = mine_.window, depth = case_.queues.depth;
  window_sges_.resize(length);
  for (std::uint64_t i = 0; i < length; ++i) {
    Hop& hop = own_hops_.emplace_back(hop_of_source());
    window_.push_back(&hop);
    if (case_.rank_opcode == RankOpcode::write) {
      hop.wr.opcode = IBV_WR_RDMA_WRITE;
      hop.remote_offset = i % depth * areas_.stride;
    } else if (case_.rank_opcode == RankOpcode::read) {
      window_sges_[i] = source_sge_;
      window_sges_[i].addr = messages_.address + areas_.buffers + i * areas_.stride;
      hop.wr.opcode = IBV_WR_RDMA_READ;
      hop.wr.sg_list = &window_sges_[i];
    }
  }
}

void RankQueues::choose_delivery() {
  blocked_.resize(link_count_);
  listing_.resize(link_count_);
  received_.resize(plan_.graph.ranks());
  awaited_.resize(plan_.graph.ranks());
  state_.cqs = cqs_.data();
  state_.cq_count = static_cast<std::uint32_t>(cqs_.size());
  state_.classes = classes_;
  state_.routes = routes_.data();
  state_.route_shift = plan_.traffic_mode() == TrafficMode::spread ? kRankBits : 0;
  state_.deliver = case_.verify ? count_message<true> : count_message<false>;
  state_.blocked = blocked_.data();
  state_.listing = listing_.data();
  state_.received = received_.data();
  state_.awaited = awaited_.data();
  state_.reply_to = mine_.reply_to.data();
  state_.me = rank_;
  state_.last_byte = static_cast<std::uint32_t>(plan_.message_bytes - 1);
  state_.checker = &pattern_;
  if (case_.transport == Transport::uc) state_.reclaim_after_ns = case_.loss_timeout_ns;
  if (receive_mode_ == ReceiveMode::shared) index_links();
  state_.first = window_.front();
  if (!case_.reliable() && plan_.traffic_mode() == TrafficMode::round_trip)
    state_.departure = message_byte(state_.last_byte);
  state_.rounds = rounds_;
  state_.window = window_.data();
  state_.window_length = static_cast<std::uint32_t>(window_.size());
  state_.partners = mine_.partners.data();
  state_.partner_count = static_cast<std::uint32_t>(mine_.partners.size());
}

void RankQueues::index_links() {
  // So large that no two of its QPs share a place.
  std::size_t size = std::bit_ceil(link_count_);
  for (bool clash = true; clash; size *= 2) {
    link_of_qpn_.assign(2 * size, nullptr);
    state_.qpn_mask = static_cast<std::uint32_t>(2 * size - 1);
    clash = false;
    for (Link& link : links_) {
      Link*& place = link_of_qpn_[link.qp->qp_num & state_.qpn_mask];
      clash |= place != nullptr;
      place = &link;
    }
  }
  state_.link_of_qpn = link_of_qpn_.data();
}

void RankQueues::begin_round_trip_to(Rank first) {
  set_label(*state_.first, label(rank_, first));
  state_.first->edge = routes_[first].edges[0];
}

void RankQueues::deliver_round_trips(bool begun_here) {
  const bool numbered = !case_.reliable(), check = case_.verify;
  if (begun_here)
    state_.deliver = numbered ? (check ? come_back<true, true> : come_back<true, false>)
                              : (check ? come_back<false, true> : come_back<false, false>);
  else
    state_.deliver = receive_mode_ == ReceiveMode::own        ? send_on<ReceiveMode::own>
                     : receive_mode_ == ReceiveMode::shared   ? send_on<ReceiveMode::shared>
                     : receive_mode_ == ReceiveMode::labelled ? send_on<ReceiveMode::labelled>
                                                              : send_on<ReceiveMode::datagram>;
}

void RankQueues::connect_link(std::uint64_t number, std::uint64_t peer_address,
                              std::uint32_t peer_rkey, unsigned inline_flag) {
  Link& link = links_[number];
  const std::uint64_t per_edge = edge_qps_.all;
  const std::uint64_t theirs =
      place_of(plan_.graph.neighbours[link.peer], rank_) * per_edge + number % per_edge;
  credit_sges_[number] = {
      .addr = words_.address + areas_.freed + number * classes_ * sizeof(std::uint32_t),
      .length = classes_ * static_cast<std::uint32_t>(sizeof(std::uint32_t)),
      .lkey = words_.lkey};
  link.credit =
      word_write(credit_sges_[number], peer_address + theirs * classes_ * sizeof(std::uint32_t),
                 peer_rkey, inline_flag);
  link.credit.wr_id = reinterpret_cast<std::uint64_t>(&link);
  if (receive_mode_ != ReceiveMode::none) return;
  // A peer's memory is laid out as this rank's, by its own number of links.
  const RankAreas at = areas_of(plan_.graph.degree(link.peer) * edge_qps_.all);
  const std::uint64_t begin = peer_address - at.credited;  // what is read: its one message
  link.remote_key = peer_rkey;
  link.remote_address = case_.rank_opcode == RankOpcode::read
                            ? begin
                            : begin + at.buffers + theirs * case_.queues.depth * at.stride;
}

void RankQueues::build_barrier(
    const std::function<std::pair<std::uint64_t, std::uint32_t>(Rank)>& heard_at,
    unsigned inline_flag) {
  epoch_sge_ = {
      .addr = barrier_words_.address, .length = kBarrierWord, .lkey = barrier_words_.lkey};
  const auto* heard = reinterpret_cast<const std::uint64_t*>(barrier_words_.host + kBarrierHeardAt);
  for (const auto& [ahead, behind, word] : barrier_meetings_) {
    const auto [address, rkey] = heard_at(ahead);
    barrier_steps_.push_back(
        {.qp = barrier_qps_[place_of(barrier_partners_, ahead)],
         .wr = word_write(epoch_sge_, address + word * kBarrierWord, rkey, inline_flag),
         .received = heard++});
  }
  barrier_.steps = barrier_steps_.data();
  barrier_.count = static_cast<std::uint32_t>(barrier_steps_.size());
  barrier_.epoch = reinterpret_cast<std::uint64_t*>(barrier_words_.host);
  state_.barrier = &barrier_;
}

/// @return  is a whole message of that rank there?
bool RankQueues::check_place(std::uint64_t place, Rank origin) {
  std::uint8_t* const bytes = message_byte(areas_.buffers + place * areas_.stride);
  const std::uint64_t wrong = check_message(bytes, pattern_, origin);
  if (wrong != 0 && std::all_of(bytes, bytes + pattern_.length,
                                [](std::uint8_t byte) { return byte == kEmptied; }))
    return false;  // nothing has come here yet
  count_checked(state_, wrong, pattern_.length, origin);
  return true;
}

void RankQueues::check_places(std::span<const Rank> senders) {
  if (case_.rank_opcode == RankOpcode::read) {
    for (std::uint64_t i = 0; i < window_.size(); ++i)
      if (window_[i]->link != nullptr && !check_place(i, window_[i]->link->peer))
        throw MeasurementError("--verify: a read from rank {} has brought nothing",
                               window_[i]->link->peer);
    return;
  }
  std::vector<std::uint8_t> there(plan_.graph.ranks());
  for (std::uint64_t i = 0; i < places(); ++i) {
    const Rank peer = links_[i / case_.queues.depth].peer;
    if (check_place(i, peer)) there[peer] = 1;
  }
  for (const Rank sender : senders)
    if (there[sender] == 0)
      throw MeasurementError("--verify: nothing of what rank {} wrote is here", sender);
}

std::uint64_t RankQueues::sent(std::uint32_t least_class) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < credit_windows_.size(); ++i)
    if (i % classes_ >= least_class) count += credit_windows_[i].sent;
  return count;
}

std::string RankQueues::qp_text(std::uint32_t qp_num) const {
  if (datagram_) return fmt::format("QP {:#x} on {}", qp_num, where_);
  for (const Link& link : links_)
    if (link.qp->qp_num == qp_num)
      return fmt::format("QP {:#x} towards rank {} on {}", qp_num, link.peer, where_);
  return fmt::format("barrier QP {:#x} on {}", qp_num, where_);
}

}  // namespace rdmameter
