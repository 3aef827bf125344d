// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/barrier_qps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/verbs/device.h"
#include "core/verbs/pkey.h"
#include "topologies/ranks/cm_edges.h"
#include "topologies/ranks/device_queues.h"
#include "topologies/ranks/qp_maker.h"

namespace rdmameter {
namespace {

/// The epoch's own word stands first, apart from those that others write into.
constexpr std::size_t kWord = sizeof(std::uint64_t), kHeardAt = 64;

/// Of all ranks, from rank 0 on.
struct BarrierTree {
  std::vector<Rank> parents;
  std::vector<std::vector<Rank>> children;

  /// Of the steps of a rank the one up to, or down from, its parent.
  std::uint32_t with_parent(Rank rank, bool down) const {
    return static_cast<std::uint32_t>(children[rank].size()) + (down ? 1 : 0);
  }
  /// ...and that with one of its children.
  std::uint32_t with_child(Rank rank, Rank child, bool down) const {
    const auto place = static_cast<std::uint32_t>(place_of(children[rank], child));
    return down ? with_parent(rank, false) + (rank == 0 ? 0 : 2) + place : place;
  }
};

BarrierTree tree_without(Rank ranks, const RankPairs& avoided) {
  BarrierTree tree{.parents = std::vector<Rank>(ranks, ranks),
                   .children = std::vector<std::vector<Rank>>(ranks)};
  std::vector<Rank> reached{0};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (Rank child = 1; child < ranks; ++child) {
      const Rank parent = reached[i];
      if (child == parent || tree.parents[child] != ranks || holds(avoided, parent, child))
        continue;
      tree.parents[child] = parent;
      tree.children[parent].push_back(child);
      reached.push_back(child);
    }
  for (Rank rank = 1; rank < ranks; ++rank)
    if (tree.parents[rank] == ranks)
      throw MeasurementError(fmt::format(
          "no messages get through to rank {}: its barrier has failed with the others", rank));
  return tree;
}

/// Each step is a meeting of two ranks, which tell each other.
std::vector<BarrierMeeting> tree_meetings(Rank rank, const BarrierTree& tree) {
  std::vector<BarrierMeeting> meetings;
  const auto meet_children = [&](bool down) {
    for (const Rank child : tree.children[rank])
      meetings.push_back({child, child, tree.with_parent(child, down)});
  };
  meet_children(false);
  if (rank != 0)
    for (const bool down : {false, true}) {
      const Rank parent = tree.parents[rank];
      meetings.push_back({parent, parent, tree.with_child(parent, rank, down)});
    }
  meet_children(true);
  return meetings;
}

std::vector<BarrierMeeting> dissemination(Rank rank, Rank ranks) {
  std::vector<BarrierMeeting> meetings;
  for (Rank distance = 1; distance < ranks; distance *= 2)
    meetings.push_back({(rank + distance) % ranks, (rank + ranks - distance) % ranks,
                        static_cast<std::uint32_t>(meetings.size())});
  return meetings;
}

bool dissemination_needs_any(Rank ranks, const RankPairs& pairs) {
  return std::ranges::any_of(pairs, [ranks](const auto& pair) {
    const Rank between = pair.second - pair.first;
    return pair.second < ranks &&
           (std::has_single_bit(between) || std::has_single_bit(ranks - between));
  });
}

/// @throws Unsupported  peers cannot write there: EFA, which has no RC either
Mr register_words(const MessageMemory& memory, ibv_pd& pd, const std::string& where) try {
  return memory.register_part(pd, 0, memory.size_bytes(),
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
} catch (const Unsupported&) {
  throw Unsupported(fmt::format(
      "{} opens no memory to peers, and the barrier of ranks is RDMA writes over RC, whatever "
      "--transport is: use `run`, or another device",
      where));
}

}  // namespace

std::vector<BarrierMeeting> barrier_meetings(Rank rank, Rank ranks, const RankPairs& avoided) {
  if (!dissemination_needs_any(ranks, avoided)) return dissemination(rank, ranks);
  return tree_meetings(rank, tree_without(ranks, avoided));
}

std::vector<Rank> barrier_partners(const std::vector<BarrierMeeting>& meetings) {
  std::vector<Rank> partners;
  for (const BarrierMeeting& meeting : meetings) {
    partners.push_back(meeting.ahead);
    partners.push_back(meeting.behind);
  }
  std::ranges::sort(partners);
  partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
  return partners;
}

BarrierStep barrier_step(ibv_qp* qp, ibv_sge& epoch, const volatile std::uint64_t* received,
                         std::uint64_t remote_address, std::uint32_t rkey, unsigned inline_flag) {
  BarrierStep step{.qp = qp, .wr = {}, .received = received};
  step.wr.sg_list = &epoch;
  step.wr.num_sge = 1;
  step.wr.opcode = IBV_WR_RDMA_WRITE;
  step.wr.send_flags = IBV_SEND_SIGNALED | inline_flag;
  step.wr.wr.rdma.remote_addr = remote_address;
  step.wr.wr.rdma.rkey = rkey;
  return step;
}

BarrierQps::BarrierQps(OpenDevice& device, const TestCase& test_case, Rank rank, Rank ranks,
                       const RankPairs& avoided)
    : device_(device),
      case_([&] {
        TestCase new_case =
            test_case;  // what goes over its QPs is a word, whatever the graph's carry
        new_case.transport = Transport::rc;
        new_case.size_bytes = kWord;
        return new_case;
      }()),
      rank_(rank),
      meetings_(barrier_meetings(rank, ranks, avoided)),
      partners_(barrier_partners(meetings_)),
      memory_(*device.context, 0, kHeardAt + (meetings_.size() + 1) * kWord, device.numa_node, "",
              device.port.where(), device.memory),
      domain_(*device.context, test_case.queues.thread_domain, device.port.where()),
      mr_(register_words(memory_, domain_.plain(), device.port.where())),
      cqs_(*device.context,
           {.count = 1,
            .entries = 2 * meetings_.size() + 2,
            .timestamps = false,
            .domain = domain_.parent(),
            .which = "barrier CQ"},
           case_, device.port.where()),
      maker_(kWord),
      info_(endpoint_info_of(device)) {
  const std::string where = device.port.where();
  const auto steps = static_cast<std::uint32_t>(meetings_.size());
  const std::uint16_t pkey_index = choose_pkey(*device.context, device.port, case_.path).index;
  while (qps_.size() < partners_.size()) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cqs_.all().front();
    attributes.cap = {.max_send_wr = 2 * steps,
                      .max_recv_wr = 1,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = 0};
    attributes.qp_type = IBV_QPT_RC;
    Qp qp = maker_.make(domain_.of_queues(), attributes);
    if (!qp) throw_no_qp(device, "barrier", qps_.size(), partners_.size(), errno);
    qps_.push_back(std::move(qp));
    to_init(*qps_.back(), Transport::rc, device.port.number, pkey_index, IBV_ACCESS_REMOTE_WRITE,
            kQkey, where);
    info_.qpns.push_back(qps_.back()->qp_num);
    info_.psns.push_back(random_psn());
  }
  info_.address = memory_.address() + kHeardAt;
  info_.rkeys = {mr_->rkey};
}

EndpointInfo BarrierQps::info_for(Rank partner) const {
  EndpointInfo info = info_;
  const std::size_t place = place_of(partners_, partner);
  info.qpns = {info_.qpns[place]};
  info.psns = {info_.psns[place]};
  return info;
}

void BarrierQps::bring_up(std::size_t place, const EndpointInfo& peer) {
  const std::string where = device_.port.where();
  if (is_iwarp(*device_.context)) {
    if (partners_[place] < rank_) send_first(*qps_[place], peer, where);
    return;
  }
  const QpPath path = path_to_rank(device_, case_, peer);
  to_rtr(*qps_[place], Transport::rc, path, peer.qpns.at(0), peer.psns.at(0), where);
  to_rts(*qps_[place], Transport::rc, path, info_.psns[place], where);
}

void BarrierQps::connect(const std::map<Rank, EndpointInfo>& peers,
                         std::map<Rank, std::string>* refused) {
  for (std::size_t i = 0; i < partners_.size(); ++i) {
    const EndpointInfo& peer = info_of(peers, partners_[i]);
    try {
      bring_up(i, peer);
    } catch (const VerbsError& error) {
      if (refused == nullptr) throw;
      refused->emplace(partners_[i], error.what());
    }
  }
  epoch_sge_ = {.addr = memory_.address(), .length = kWord, .lkey = mr_->lkey};
  const auto* const received = reinterpret_cast<std::uint64_t*>(memory_.host() + kHeardAt);
  for (const auto& [ahead, behind, word] : meetings_) {
    const EndpointInfo& peer = info_of(peers, ahead);
    steps_.push_back(barrier_step(qp_with(ahead), epoch_sge_, received + steps_.size(),
                                  peer.address + word * kWord, peer.rkeys.at(0),
                                  maker_.inline_flag()));
  }
  barrier_.steps = steps_.data();
  barrier_.count = static_cast<std::uint32_t>(steps_.size());
  barrier_.cq = cqs_.all().front();
  barrier_.epoch = reinterpret_cast<std::uint64_t*>(memory_.host());
}

std::optional<Rank> BarrierQps::failed_towards() {
  ibv_wc wc;
  LoopResult end = barrier_.end;
  while (end.why != LoopResult::Why::completion_failed) {
    const int polled = ibv_poll_cq(cqs_.all().front(), 1, &wc);
    if (polled <= 0) return std::nullopt;
    if (!good(polled, wc)) end = no_completion(polled, wc);
  }
  for (std::size_t i = 0; i < qps_.size(); ++i)
    if (qps_[i]->qp_num == end.qp_num) return partners_[i];
  return std::nullopt;
}

}  // namespace rdmameter
