// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/device_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/engine/endpoint_runner.h"
#include "core/engine/layout/layout.h"
#include "core/verbs/check.h"
#include "core/verbs/device.h"
#include "core/verbs/pkey.h"
#include "core/verbs/probe.h"
#include "topologies/ranks/cm_edges.h"
#include "topologies/ranks/loop/collective_loop.h"

namespace rdmameter {
namespace {

/// Of a credit. An mlx5 WQE of a write has room for so much in its first 64 bytes: more would make
/// the queues larger than those of connections without credits.
std::uint32_t inline_bytes_of(ReceiveMode receive_mode, std::uint32_t classes) {
  constexpr std::size_t kMaxCredit = 28;
  const bool has_credits =
      receive_mode != ReceiveMode::datagram && receive_mode != ReceiveMode::none;
  const std::size_t bytes = classes * sizeof(std::uint32_t);
  return has_credits && bytes <= kMaxCredit ? static_cast<std::uint32_t>(bytes) : 0;
}

/// Credits are written into a rank's memory, and reads take its message from there. Over UD there
/// are neither; some devices open no memory to peers at all (EFA without RDMA writes).
int remote_access(const TestCase& test_case) {
  if (!test_case.connects_ranks()) return 0;
  return IBV_ACCESS_REMOTE_WRITE |
         (test_case.rank_opcode == RankOpcode::read ? IBV_ACCESS_REMOTE_READ : 0);
}

/// As on-demand paging tells uses apart: credits are written, whatever moves the messages.
std::uint32_t memory_uses(const TestCase& test_case) {
  const std::uint32_t receives =
      test_case.shared_receives() ? IBV_ODP_SUPPORT_SRQ_RECV : IBV_ODP_SUPPORT_RECV;
  if (!test_case.connects_ranks()) return IBV_ODP_SUPPORT_SEND | receives;
  switch (test_case.rank_opcode) {
    case RankOpcode::send:
      return IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_SEND | receives;
    case RankOpcode::write:
      return IBV_ODP_SUPPORT_WRITE;
    case RankOpcode::read:
      return IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  }
  return 0;
}

/// @throws Unsupported  peers cannot write there: EFA, which has no RC either
Mr register_barrier_words(const MessageMemory& memory, ibv_pd& pd, const std::string& where) try {
  return memory.register_part(pd, 0, memory.size_bytes(),
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
} catch (const Unsupported&) {
  throw Unsupported(
      "{} opens no memory to peers, and the barrier of ranks is RDMA writes over RC, whatever "
      "--transport is: use `run`, or another device",
      where);
}

/// The data of so many QPs, of a rank's.
EndpointInfo part_of(const EndpointInfo& all, std::size_t first, std::size_t count) {
  EndpointInfo part = all;
  const auto begin = static_cast<std::ptrdiff_t>(first),
             end = static_cast<std::ptrdiff_t>(first + count);
  part.qpns.assign(all.qpns.begin() + begin, all.qpns.begin() + end);
  part.psns.assign(all.psns.begin() + begin, all.psns.begin() + end);
  return part;
}

/// @param refused  see DeviceQueues::connect(); of an edge of several QPs the first one is told
template <class Connect>
void connect_or_refuse(RefusedEdge edge, std::vector<RefusedEdge>* refused, Connect connect) try {
  connect();
} catch (const VerbsError& error) {
  if (refused == nullptr) throw;
  edge.reason = beginning(printable(error.what()), kMaxEdgeReasonBytes);
  if (refused->empty() || refused->back().peer != edge.peer ||
      refused->back().barrier != edge.barrier)
    refused->push_back(std::move(edge));
}

}  // namespace

const EndpointInfo& info_of(const std::map<Rank, EndpointInfo>& peers, Rank rank) {
  if (const auto found = peers.find(rank); found != peers.end()) return found->second;
  throw MeasurementError("rank {} has sent no addresses of its QPs", rank);
}

QpPath path_to_rank(const OpenDevice& device, const TestCase& test_case, EndpointInfo peer) {
  EndpointInfo mine = endpoint_info_of(device);
  if (const auto pair = choose_gid_pair(mine.gids, peer.gids)) {
    mine.gid = pair->mine;
    peer.gid = pair->theirs;
  }
  Agreed agreed{.mtu_bytes = agreed_mtu(test_case, mine, peer, device.port.where(),
                                        {.noun = "another rank", .device_options = "--device"})};
  if (test_case.rank_opcode == RankOpcode::read) agreed.outstanding_reads = kMostReads;
  return path_between(mine, device.port.number, test_case, peer, agreed);
}

DeviceQueues::DeviceQueues(OpenDevice& device, const RankPlan& plan, std::uint64_t seed)
    : RankQueues(plan, seed, device.limits.max_qp_wr, !is_iwarp(*device.context)),
      device_(device),
      maker_(inline_bytes_of(receive_mode_, classes_)),
      memory_(*device.context, device.limits.max_dm_size_bytes, memory_size(), device.numa_node,
              case_.initiator.memory, device.port.where(), device.memory, case_.registration.gpu),
      domain_(*device.context, case_.queues.thread_domain, device.port.where()) {
  where_ = device.port.where();
  create_memory();
  create_queues();
  for (std::uint64_t i = 0; i < qp_count(); ++i) {
    Qp qp = create_qp(i);
    modify_qp_.time([&] {
      to_init(*qp, case_.transport, device.port.number, pkey_index_, remote_access(case_), kQkey,
              where_);
    });
    keep(std::move(qp), qps_, info_);
  }
  build();
  if (plan_.traffic_mode() != TrafficMode::collective) return;
  own_collective_ = std::make_unique<RankCollective>(device_, domain_.plain(), *this, pattern_);
  collective_ = own_collective_.get();
  state().deliver = take_part;
  state().collective = &collective_->work();
}

void DeviceQueues::create_memory() {
  require_paging(device_.limits, case_, memory_uses(case_), where_);
  const bool apart = memory_.host() == nullptr;
  mr_ = memory_.register_part(domain_.plain(), 0, memory_.size_bytes(),
                              memory_access(case_, apart ? 0 : remote_access(case_)));
  memory_.edit(0, pattern_.length, [this](std::span<std::byte> bytes) {
    fill_message(reinterpret_cast<std::uint8_t*>(bytes.data()), pattern_, rank_);
  });
  messages_ = words_ = {memory_.host(), memory_.address(), mr_->lkey};
  if (apart) return create_words();
  std::byte* const bytes = memory_.host();
  std::memset(bytes + areas_.credited, 0, areas_.buffers - areas_.credited);
  Looks looks{device_.memory.cancel_check};
  in_parts(memory_size() - areas_.buffers, looks, [&](std::size_t offset, std::size_t length) {
    std::memset(bytes + areas_.buffers + offset, kEmptied, length);
  });
  info_.address = memory_.address() + areas_.credited;
  info_.rkeys = {mr_->rkey};
}

/// The CPU reads credits, wherever messages are. Nothing else is looked at.
void DeviceQueues::create_words() {
  if (receive_mode_ == ReceiveMode::labelled)
    throw Unsupported(
        "without immediate data {} has a message's label among its bytes, where the CPU must reach "
        "it: use --memory host or huge",
        where_);
  word_memory_.emplace(*device_.context, 0, areas_.buffers, device_.numa_node, "", where_,
                       device_.memory);
  words_mr_ = word_memory_->register_part(domain_.plain(), 0, word_memory_->size_bytes(),
                                          memory_access(case_, remote_access(case_)));
  words_ = {word_memory_->host(), word_memory_->address(), words_mr_->lkey};
  info_.address = words_.address + areas_.credited;
  info_.rkeys = {words_mr_->rkey};
}

void DeviceQueues::create_queues() {
  require_qps(device_, qp_count());
  std::uint64_t deepest = datagram_ ? case_.queues.depth : 0;
  for (std::uint64_t link = 0; link < link_count_; ++link) {
    const Entries entries = entries_of(link, classes_);
    deepest = std::max({deepest, entries.sends, entries.receives});
  }
  if (deepest > device_.limits.max_qp_wr)
    throw Unsupported(
        "up to {} buffers for each of {} hops make a queue of {} WRs, and {} has at most {}: use a "
        "smaller --depth",
        case_.queues.depth, classes_, deepest, where_, device_.limits.max_qp_wr);
  require_reads();
  create_cqs();
  if (receive_mode_ == ReceiveMode::shared) {
    ibv_srq_init_attr attributes{};
    attributes.attr = {
        .max_wr = static_cast<std::uint32_t>(receives()), .max_sge = 1, .srq_limit = 0};
    if (receives() > device_.limits.max_srq_wr)
      throw Unsupported("an SRQ of {} WRs, and {} has at most {}: use a smaller --depth",
                        receives(), where_, device_.limits.max_srq_wr);
    own_srq_.reset(check_pointer([&] { return ibv_create_srq(&domain_.of_queues(), &attributes); },
                                 "ibv_create_srq", where_));
    srq_ = own_srq_.get();
  }
  pkey_index_ = choose_pkey(*device_.context, device_.port, case_.path).index;
}

void DeviceQueues::create_barrier(const RankPairs& avoided) {
  plan_barrier(avoided);
  barrier_case_.transport = Transport::rc;
  barrier_case_.size_bytes = kBarrierWord;
  barrier_memory_.emplace(*device_.context, 0, barrier_memory_size(), device_.numa_node, "", where_,
                          device_.memory);
  barrier_domain_.emplace(*device_.context, case_.queues.thread_domain, where_);
  barrier_mr_ = register_barrier_words(*barrier_memory_, barrier_domain_->plain(), where_);
  barrier_words_ = {barrier_memory_->host(), barrier_memory_->address(), barrier_mr_->lkey};
  barrier_info_.address = barrier_words_.address + kBarrierHeardAt;
  barrier_info_.rkeys = {barrier_mr_->rkey};
  const auto steps = static_cast<std::uint32_t>(barrier_meetings_.size());
  barrier_cq_.emplace(*device_.context,
                      CqPlan{.count = 1,
                             .entries = 2 * steps + 2,
                             .domain = barrier_domain_->parent(),
                             .which = "barrier CQ"},
                      barrier_case_, where_);
  barrier_.cq = barrier_cq_->all().front();
  const ibv_qp_init_attr attributes = plain_qp(*barrier_.cq, Transport::rc, 2 * steps, 1);
  const std::size_t count = barrier_partners_.size();
  while (barrier_qps_.size() < count) {
    Qp qp = barrier_maker_.make(barrier_domain_->of_queues(), attributes);
    if (!qp) throw_no_qp(device_, "barrier", barrier_qps_.size(), count, errno);
    to_init(*qp, Transport::rc, device_.port.number, pkey_index_, IBV_ACCESS_REMOTE_WRITE, kQkey,
            where_);
    keep(std::move(qp), barrier_qps_, barrier_info_);
  }
}

/// Reads go without credits, so of a queue's sends all but one are reads.
void DeviceQueues::require_reads() const {
  if (!case_.connects_ranks() || case_.rank_opcode != RankOpcode::read) return;
  const std::uint32_t most = most_reads_posted(*device_.context, 1);
  if (most == 0) return;
  for (std::uint64_t link = 0; link < link_count_; ++link)
    if (const std::uint64_t reads = entries_of(link, classes_).sends - 1; reads > most)
      throw Unsupported(
          "reads posted to a QP on {}: {} wanted, the device takes {}; use a smaller --depth",
          where_, reads, most);
}

/// @param qps, info  where its number goes
void DeviceQueues::keep(Qp qp, std::vector<ibv_qp*>& qps, EndpointInfo& info) {
  qps.push_back(qp.get());
  info.qpns.push_back(qp->qp_num);
  info.psns.push_back(random_psn());
  own_qps_.push_back(std::move(qp));
}

void DeviceQueues::create_cqs() {
  std::uint64_t cqes = 0;
  if (cq_per_qp_) {
    for (std::uint64_t link = 0; link < link_count_; ++link)
      cqes = std::max(cqes, entries_of(link, classes_).completions());
  } else {
    cqes = entries(classes_).completions();
  }
  if (cqes > device_.limits.max_cqe)
    throw Unsupported(
        "{} must hold {} completions, and the largest of {} holds {}: use a smaller --depth{}",
        cq_per_qp_ ? "each CQ" : "the CQ of a rank", cqes, where_, device_.limits.max_cqe,
        cq_per_qp_ || datagram_ ? "" : ", fewer --qps-per-edge or --cq-sharing per-qp");
  const std::uint64_t count = cq_count();
  if (count + 1 > device_.limits.max_cq)  // the barrier has one, too
    throw Unsupported(
        "{} CQs of a rank and one for its barrier, and {} has {}: use --cq-sharing shared, or a "
        "graph of fewer QPs",
        count, where_, device_.limits.max_cq);
  own_cqs_.emplace(*device_.context,
                   CqPlan{.count = count,
                          .entries = cqes,
                          .domain = domain_.parent(),
                          .which = fmt::format("CQ (one of {})", count)},
                   case_, where_);
  cqs_ = own_cqs_->all();
}

Qp DeviceQueues::create_qp(std::uint64_t number) {
  const Entries queues = datagram_ ? entries(classes_) : entries_of(number, classes_);
  ibv_qp_init_attr attributes =
      plain_qp(*cqs_[cqs_.size() == 1 ? 0 : number], case_.transport, queues.sends,
               srq_ != nullptr ? 0 : std::max<std::uint64_t>(queues.receives, 1));
  attributes.srq = srq_;
  if (receive_mode_ == ReceiveMode::labelled) attributes.cap.max_send_sge = 2;
  Qp qp = maker_.make(domain_.of_queues(), attributes);
  if (qp) return qp;
  const int error = errno;
  if (srq_ != nullptr && case_.transport != Transport::rc && number == 0)
    throw Unsupported(
        "{} does not share receives among QPs of this transport: use --recv rq, or --transport rc",
        where_);
  if (number == 0) require_transport(device_, case_);
  throw_no_qp(device_, "graph", number, qp_count(), error);
}

EndpointInfo DeviceQueues::info_for(Rank neighbour) const {
  if (datagram_) return info_;
  return part_of(info_, place_of(neighbours_, neighbour) * edge_qps_.all, edge_qps_.all);
}

EndpointInfo DeviceQueues::barrier_info_for(Rank partner) const {
  return part_of(barrier_info_, place_of(barrier_partners_, partner), 1);
}

std::map<Rank, std::vector<ibv_qp*>> DeviceQueues::qps_by_peer() const {
  std::map<Rank, std::vector<ibv_qp*>> qps;
  for (std::size_t i = 0; i < barrier_qps_.size(); ++i)
    qps[barrier_partners_[i]].push_back(barrier_qps_[i]);
  for (std::size_t i = 0; i < qps_.size(); ++i)
    qps[neighbours_[i / edge_qps_.all]].push_back(qps_[i]);
  return qps;
}

void DeviceQueues::connect(const std::map<Rank, EndpointInfo>& peers,
                           std::vector<RefusedEdge>* refused) {
  if (datagram_ && link_count_ > 0) {
    const QpPath path = path_to_rank(device_, case_, info_of(peers, links().front().peer));
    bring_up(*qps_.front(), path, 0, 0, info_.psns[0]);  // without a peer: it must not fail
  }
  for (std::uint64_t i = 0; i < link_count_; ++i) {
    const RefusedEdge edge{.rank = rank_, .peer = links()[i].peer};
    const EndpointInfo& peer = info_of(peers, edge.peer);
    connect_or_refuse(edge, refused, [&] { connect_to(i, peer); });
  }
}

void DeviceQueues::connect_barrier(const std::map<Rank, EndpointInfo>& peers,
                                   std::vector<RefusedEdge>* refused) {
  for (std::size_t i = 0; i < barrier_partners_.size(); ++i) {
    const RefusedEdge edge{.rank = rank_, .peer = barrier_partners_[i], .barrier = true};
    const EndpointInfo& peer = info_of(peers, edge.peer);
    connect_or_refuse(edge, refused, [&] {
      ibv_qp& qp = *barrier_qps_[i];
      if (is_iwarp(*device_.context)) {
        if (edge.peer < rank_) send_first(qp, peer, where_);
        return;
      }
      const QpPath path = path_to_rank(device_, barrier_case_, peer);
      to_rts(qp, Transport::rc, path, peer.qpns.at(0), peer.psns.at(0), barrier_info_.psns[i],
             where_);
    });
  }
  build_barrier(
      [&peers](Rank partner) {
        const EndpointInfo& peer = info_of(peers, partner);
        return std::pair(peer.address, peer.rkeys.at(0));
      },
      barrier_maker_.inline_flag());
}

std::optional<Rank> DeviceQueues::barrier_failed_towards() {
  ibv_wc wc;
  LoopResult end = barrier_.end;
  while (end.why != LoopResult::Why::completion_failed) {
    const int polled = ibv_poll_cq(barrier_.cq, 1, &wc);
    if (polled <= 0) return std::nullopt;
    if (!good(polled, wc)) end = no_completion(polled, wc);
  }
  for (std::size_t i = 0; i < barrier_qps_.size(); ++i)
    if (barrier_qps_[i]->qp_num == end.qp_num) return barrier_partners_[i];
  return std::nullopt;
}

void DeviceQueues::connect_to(std::uint64_t number, const EndpointInfo& peer) {
  Link& link = links()[number];
  if (is_iwarp(*device_.context)) {
    connect_link(number, peer.address, peer.rkeys.at(0), maker_.inline_flag());
    if (link.peer < rank_) send_first(*link.qp, peer, where_);
    return;
  }
  const QpPath path = path_to_rank(device_, case_, peer);
  const std::uint32_t mtu = rdmameter::mtu_bytes(path.mtu);
  mtu_bytes_ = mtu_bytes_ == 0 ? mtu : std::min(mtu_bytes_, mtu);
  if (datagram_) {
    ibv_ah_attr attributes = ah_attributes(path);
    ahs_.emplace_back(check_pointer(
        [&] {
          return create_ah_.time([&] { return ibv_create_ah(&domain_.plain(), &attributes); });
        },
        "ibv_create_ah", fmt::format("towards rank {} on {}", link.peer, where_)));
    link.ah = ahs_.back().get();
    link.remote_qpn = peer.qpns.at(0);
    link.remote_qkey = peer.qkey;
    return;
  }
  const std::uint64_t between = number % edge_qps_.all;
  connect_link(number, peer.address, peer.rkeys.at(0), maker_.inline_flag());
  bring_up(*link.qp, path, peer.qpns.at(between), peer.psns.at(between), info_.psns[number]);
}

void DeviceQueues::bring_up(ibv_qp& qp, const QpPath& path, std::uint32_t remote_qpn,
                            std::uint32_t remote_psn, std::uint32_t psn) {
  modify_qp_.time([&] { to_rts(qp, case_.transport, path, remote_qpn, remote_psn, psn, where_); });
}

NamedCounts DeviceQueues::connect_ns() const {
  NamedCounts times{{"create_qp", maker_.created_ns()}, {"modify_qp", modify_qp_.total_ns()}};
  if (!ahs_.empty()) times.emplace_back("create_ah", create_ah_.total_ns());
  return times;
}

}  // namespace rdmameter
