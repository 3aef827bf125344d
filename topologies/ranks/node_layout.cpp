// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/node_layout.h"

#include <algorithm>
#include <numeric>

#include "core/engine/layout/layout.h"

namespace rdmameter {
namespace {

ReceiveMode receive_mode_of(const TestCase& test_case, const TopologyPlan& plan, bool immediate) {
  if (plan.datagram) return ReceiveMode::datagram;
  if (plan.traffic_mode() == TrafficMode::collective) return ReceiveMode::sized;
  if (test_case.rank_opcode != RankOpcode::send) return ReceiveMode::none;
  if (test_case.shared_receives()) return ReceiveMode::shared;
  return immediate ? ReceiveMode::own : ReceiveMode::labelled;
}

MessagePattern pattern_of(const TestCase& test_case, const TopologyPlan& plan, std::uint64_t seed,
                          ReceiveMode receive_mode) {
  const auto length = static_cast<std::uint32_t>(plan.message_bytes);
  const bool numbered = plan.traffic_mode() == TrafficMode::round_trip && !test_case.reliable();
  return {.seed = seed,
          .zero = test_case.payload == kZeroPayload,
          .length = length,
          .compared = length - (receive_mode == ReceiveMode::labelled ? kLabelBytes
                                : numbered                            ? 1
                                                                      : 0)};
}

}  // namespace

NodeLayout::NodeLayout(const TestCase& test_case, const TopologyPlan& plan, const RankPlan& mine,
                       Rank rank, std::uint64_t seed, std::uint64_t max_qp_wr, bool immediate)
    : case_(test_case),
      plan_(plan),
      mine_(mine),
      rank_(rank),
      neighbours_(plan.graph.neighbours[rank]),
      receive_mode_(receive_mode_of(test_case, plan, immediate)),
      classes_(hop_classes(plan)),
      link_count_(neighbours_.size() * edge_qps(test_case).all),
      ud_receives_(static_cast<std::uint32_t>(std::min<std::uint64_t>(
          test_case.queues.depth * std::max<std::size_t>(neighbours_.size(), 1), max_qp_wr))),
      pattern_(pattern_of(test_case, plan, seed, receive_mode_)) {}

std::uint64_t NodeLayout::cq_count() const {
  const bool per_qp =
      case_.queues.cq_sharing == CqSharing::per_qp && receive_mode_ != ReceiveMode::datagram;
  return per_qp ? std::max<std::uint64_t>(link_count_, 1) : 1;
}

/// Messages of the first so many classes that a link has room for. @param rooms  in or out
std::uint64_t NodeLayout::room(const std::vector<std::uint64_t>& rooms, std::uint64_t link,
                               std::uint32_t classes) const {
  const auto first =
      rooms.begin() + static_cast<std::ptrdiff_t>(link / edge_qps(case_).all * classes_);
  return std::accumulate(first, first + classes, std::uint64_t{0});
}

/// One send is for credits.
NodeLayout::QueueEntries NodeLayout::entries_of(std::uint64_t link, std::uint32_t classes) const {
  return {.sends = room(mine_.rooms.out, link, classes) + 1,
          .receives = receive_mode_ == ReceiveMode::none ? 0 : room(mine_.rooms.in, link, classes)};
}

/// Of all links.
NodeLayout::QueueEntries NodeLayout::entries(std::uint32_t classes) const {
  if (receive_mode_ == ReceiveMode::datagram) return {ud_receives_, ud_receives_};
  QueueEntries sum;
  for (std::uint64_t link = 0; link < link_count_; ++link) {
    const QueueEntries of_link = entries_of(link, classes);
    sum.sends += of_link.sends;
    sum.receives += of_link.receives;
  }
  return sum;
}

/// Buffers for what comes in.
std::uint64_t NodeLayout::places() const {
  return receive_mode_ == ReceiveMode::none ? link_count_ * case_.queues.depth : receives();
}

std::uint64_t NodeLayout::receives() const {
  return entries(classes_).receives;
}

std::uint64_t NodeLayout::own_hops() const {
  std::uint64_t hops = mine_.window;
  for (const Round& round : mine_.rounds)
    hops += plan_.traffic_mode() == TrafficMode::spread ? mine_.routes[rank_].neighbours.size()
                                                        : round.to.size();
  return hops;
}

std::size_t NodeLayout::labels_at() const {
  const Areas at = areas();
  return at.buffers + places() * at.stride;
}

std::size_t NodeLayout::memory_size() const {
  return labels_at() + (receive_mode_ == ReceiveMode::labelled ? own_hops() * kLabelBytes : 0);
}

/// @param links  of a rank, this one or a peer
NodeLayout::Areas NodeLayout::areas(std::uint64_t links) const {
  return rank_areas(links, classes_, plan_.message_bytes, receive_mode_ == ReceiveMode::datagram);
}

NamedCounts NodeLayout::connection_bytes() const {
  const QueueEntries first = entries(1);
  return rdmameter::connection_bytes(
      {.links = link_count_,
       .message_bytes = plan_.message_bytes,
       .sends = first.sends,
       .receives = first.receives,
       .places = receive_mode_ == ReceiveMode::none ? places() : first.receives,
       .hop_classes = classes_,
       .cqs = cq_count(),
       .datagram = receive_mode_ == ReceiveMode::datagram});
}

NamedCounts NodeLayout::relay_bytes() const {
  const QueueEntries all = entries(classes_), first = entries(1);
  if (completions(all) == completions(first)) return {};
  constexpr std::uint64_t kEntries = 2;  // the queue's and the CQ's
  return {{"buffers", (all.receives - first.receives) * areas().stride},
          {"queues", kEntries * (completions(all) - completions(first)) * kQueueEntryBytes}};
}

}  // namespace rdmameter
