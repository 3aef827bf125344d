// SPDX-License-Identifier: Apache-2.0
#include "topologies/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "core/error.h"
#include "core/layout.h"
#include "core/probe.h"
#include "topologies/peer_info.h"
#include "topologies/qp_limit.h"

namespace rdmameter {
namespace {

constexpr std::size_t kLine = 64;
// What a provider keeps, as far as that can be told without asking it.
constexpr std::uint64_t kQpBytes = 4096, kQueueEntryBytes = 64, kTableBytesPerPage = 8;
constexpr std::uint64_t kPageBytes = 4096;

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

Inbox inbox_of(const Case& one_case, const TopologyPlan& plan) {
  if (plan.datagram) return Inbox::datagram;
  if (one_case.between_ranks() != RankOpcode::send) return Inbox::none;
  return one_case.shared_receives() ? Inbox::shared : Inbox::own;
}

/// Grants are written into a rank's memory, and reads take its message from there.
int remote_access(const Case& one_case) {
  return IBV_ACCESS_REMOTE_WRITE |
         (one_case.between_ranks() == RankOpcode::read ? IBV_ACCESS_REMOTE_READ : 0);
}

}  // namespace

Node::Node(OpenDevice& device, const Case& one_case, const TopologyPlan& plan, const RankPlan& mine,
           Rank rank, std::uint64_t seed)
    : device_(device),
      case_(one_case),
      plan_(plan),
      mine_(mine),
      rank_(rank),
      neighbours_(plan.graph.neighbours[rank]),
      inbox_(inbox_of(one_case, plan)),
      where_(device.port.where()),
      classes_(std::max<std::uint32_t>(plan.most_hops, 1)),
      link_count_(neighbours_.size() * edge_qps(one_case).all),
      ud_receives_(static_cast<std::uint32_t>(std::min<std::uint64_t>(
          one_case.depth * std::max<std::size_t>(neighbours_.size(), 1), device.limits.max_qp_wr))),
      info_(port_info(device)),
      memory_((require_paging(device.limits, one_case, where_), *device.context),
              device.limits.max_dm_size_bytes, areas().total, device.numa_node, one_case.memory,
              where_) {
  pattern_ = {.seed = seed,
              .zero = one_case.payload == kZeroPayload,
              .length = static_cast<std::uint32_t>(one_case.size_bytes),
              .compared = 0};
  const bool numbered = plan.drive() == Drive::walk && !one_case.reliable();
  pattern_.compared = pattern_.length - (numbered ? 1 : 0);
  create_memory();
  create_queues();
  build_links();
  build_ways();
  build_parcels();
  build_rounds();
  build_window();
  choose_delivery();
}

/// Buffers for what comes in over so many links.
std::uint64_t Node::places(std::uint64_t links) const {
  return inbox_ == Inbox::datagram ? ud_receives_ : links * case_.depth * classes_;
}

std::uint64_t Node::receives() const {
  return inbox_ == Inbox::none ? 0 : places(link_count_);
}

Node::Areas Node::areas() const {
  return areas(link_count_);
}

Node::Areas Node::areas(std::uint64_t links) const {
  const std::size_t words = whole_lines(links * classes_ * sizeof(std::uint32_t));
  Areas made{};
  made.stride = whole_lines(case_.size_bytes + (inbox_ == Inbox::datagram ? kGrhBytes : 0));
  made.granted = made.stride;  // behind the one message that this rank sends
  made.freed = made.granted + words;
  made.parcels = made.freed + words;
  made.total = made.parcels + places(links) * made.stride;
  return made;
}

void Node::create_memory() {
  pd_.reset(check_pointer(ibv_alloc_pd(device_.context.get()), "ibv_alloc_pd", where_));
  mr_ = memory_.register_part(*pd_, 0, memory_.size_bytes(),
                              memory_access(case_, remote_access(case_)));
  auto* const bytes = reinterpret_cast<std::uint8_t*>(memory_.host());
  const Areas at = areas();
  fill_message(bytes, pattern_, rank_);
  std::memset(bytes + at.granted, 0, at.parcels - at.granted);
  std::memset(bytes + at.parcels, kEmptied, at.total - at.parcels);
  info_.address = memory_.address() + at.granted;
  info_.rkeys = {mr_->rkey};
}

void Node::create_queues() {
  const std::uint64_t count = inbox_ == Inbox::datagram ? 1 : link_count_;
  require_qps(device_, count);
  const std::uint64_t messages = case_.depth * classes_;
  const std::uint64_t deepest = inbox_ == Inbox::datagram ? case_.depth : messages + 1;
  if (deepest > device_.limits.max_qp_wr)
    throw Unsupported(fmt::format(
        "{} buffers for each of {} hops make a queue of {} WRs, and {} has at most {}: use a "
        "smaller --depth",
        case_.depth, classes_, deepest, where_, device_.limits.max_qp_wr));
  create_cqs();
  if (inbox_ == Inbox::shared) {
    ibv_srq_init_attr attributes{};
    attributes.attr = {
        .max_wr = static_cast<std::uint32_t>(receives()), .max_sge = 1, .srq_limit = 0};
    if (receives() > device_.limits.max_srq_wr)
      throw Unsupported(
          fmt::format("an SRQ of {} WRs, and {} has at most {}: use a smaller --depth", receives(),
                      where_, device_.limits.max_srq_wr));
    srq_.reset(check_pointer(ibv_create_srq(pd_.get(), &attributes), "ibv_create_srq", where_));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    qps_.push_back(create_qp(i, count));
    to_init(*qps_.back(), case_.service(), device_.port.number,
            static_cast<std::uint16_t>(case_.pkey_index), remote_access(case_), kQkey, where_);
    info_.qpns.push_back(qps_.back()->qp_num);
    info_.psns.push_back(random_psn());
  }
}

void Node::create_cqs() {
  const bool datagram = inbox_ == Inbox::datagram;
  const bool per_qp = case_.cq_sharing != 0 && !datagram;
  const std::uint64_t of_link = 2 * case_.depth * classes_ + 1;
  const std::uint64_t cqes = datagram ? 2 * std::uint64_t{ud_receives_}
                             : per_qp ? of_link
                                      : link_count_ * of_link;
  if (cqes > device_.limits.max_cqe)
    throw Unsupported(fmt::format(
        "{} must hold {} completions, and the largest of {} holds {}: use a smaller --depth{}",
        per_qp ? "each CQ" : "the CQ of a rank", cqes, where_, device_.limits.max_cqe,
        per_qp || datagram ? "" : ", fewer --qps-per-edge or --cq-sharing per-qp"));
  const std::uint64_t count = per_qp ? std::max<std::uint64_t>(link_count_, 1) : 1;
  if (count + 1 > device_.limits.max_cq)  // the barrier has one, too
    throw Unsupported(fmt::format(
        "{} CQs of a rank and one for its barrier, and {} has {}: use --cq-sharing shared, or a "
        "graph of fewer QPs",
        count, where_, device_.limits.max_cq));
  for (std::uint64_t i = 0; i < count; ++i)
    cqs_.emplace_back(check_pointer(
        ibv_create_cq(device_.context.get(), static_cast<int>(std::max<std::uint64_t>(cqes, 1)),
                      nullptr, nullptr, 0),
        "ibv_create_cq",
        fmt::format("CQ {} of {} on {}, which has {} in all", i + 1, count, where_,
                    device_.limits.max_cq)));
}

Qp Node::create_qp(std::uint64_t number, std::uint64_t all) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cqs_[cqs_.size() == 1 ? 0 : number].get();
  attributes.srq = srq_.get();
  const auto messages = static_cast<std::uint32_t>(case_.depth * classes_);
  const bool datagram = inbox_ == Inbox::datagram;
  attributes.cap = {.max_send_wr = datagram ? ud_receives_ : messages + 1,
                    .max_recv_wr = srq_                    ? 0
                                   : datagram              ? ud_receives_
                                   : inbox_ == Inbox::none ? 1
                                                           : messages,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  attributes.qp_type = qp_type(case_.service());
  Qp qp{ibv_create_qp(pd_.get(), &attributes)};
  if (qp) return qp;
  const int error = errno;
  if (srq_ && case_.service() != Transport::rc && number == 0)
    throw Unsupported(fmt::format(
        "{} does not share receives among QPs of this transport: use --recv rq, or --transport rc",
        where_));
  throw_no_qp(device_, "graph", number, all, error);
}

void Node::connect(std::span<const EndpointInfo> peers) {
  const std::uint64_t per_edge = edge_qps(case_).all;
  const bool datagram = inbox_ == Inbox::datagram;
  for (std::uint64_t i = 0; i < link_count_; ++i) {
    Link& link = links_[i];
    const EndpointInfo& peer = peers[link.peer];
    const std::uint64_t theirs =
        place_of(plan_.graph.neighbours[link.peer], rank_) * per_edge + (i % per_edge);
    const QpPath path = path_between(device_, case_, peer);
    const std::uint32_t mtu = rdmameter::mtu_bytes(path.mtu);
    mtu_bytes_ = mtu_bytes_ == 0 ? mtu : std::min(mtu_bytes_, mtu);
    if (datagram) {
      ibv_ah_attr attributes = ah_attributes(path);
      ahs_.emplace_back(check_pointer(ibv_create_ah(pd_.get(), &attributes), "ibv_create_ah",
                                      fmt::format("towards rank {} on {}", link.peer, where_)));
      link.ah = ahs_.back().get();
      link.remote_qpn = peer.qpns.at(0);
      link.remote_qkey = peer.qkey;
      if (i > 0) continue;
      to_rtr(*link.qp, Transport::ud, path, 0, 0, where_);
      to_rts(*link.qp, Transport::ud, path, info_.psns[0], where_);
      continue;
    }
    grant_sges_[i] = {
        .addr = memory_.address() + areas().freed + i * classes_ * sizeof(std::uint32_t),
        .length = classes_ * static_cast<std::uint32_t>(sizeof(std::uint32_t)),
        .lkey = mr_->lkey};
    link.grant = {};
    link.grant.wr_id = reinterpret_cast<std::uint64_t>(&link);
    link.grant.sg_list = &grant_sges_[i];
    link.grant.num_sge = 1;
    link.grant.opcode = IBV_WR_RDMA_WRITE;
    link.grant.send_flags = IBV_SEND_SIGNALED;
    link.grant.wr.rdma.remote_addr = peer.address + theirs * classes_ * sizeof(std::uint32_t);
    link.grant.wr.rdma.rkey = peer.rkeys.at(0);
    if (inbox_ == Inbox::none) connect_memory(link, peer, theirs);
    to_rtr(*link.qp, case_.service(), path, peer.qpns.at(theirs), peer.psns.at(theirs), where_);
    to_rts(*link.qp, case_.service(), path, info_.psns[i], where_);
  }
}

/// A peer's memory is laid out as this rank's, by its own number of links.
void Node::connect_memory(Link& link, const EndpointInfo& peer, std::uint64_t theirs) {
  const Areas at = areas(plan_.graph.degree(link.peer) * edge_qps(case_).all);
  const std::uint64_t begin = peer.address - at.granted;  // what is read: its one message
  link.remote_key = peer.rkeys.at(0);
  link.remote_address = case_.between_ranks() == RankOpcode::read
                            ? begin
                            : begin + at.parcels + theirs * case_.depth * at.stride;
}

/// @return  is a whole message of that rank there?
bool Node::check_place(std::uint64_t place, Rank origin) {
  const Areas at = areas();
  auto* const bytes =
      reinterpret_cast<std::uint8_t*>(memory_.host()) + at.parcels + place * at.stride;
  const std::uint64_t wrong = check_message(bytes, pattern_, origin);
  if (wrong != 0 && std::all_of(bytes, bytes + pattern_.length,
                                [](std::uint8_t byte) { return byte == kEmptied; }))
    return false;  // nothing has come here yet
  relay_.wrong_bytes += wrong;
  relay_.checked_bytes += pattern_.length;
  return true;
}

void Node::check_places(std::span<const Rank> senders) {
  if (case_.between_ranks() == RankOpcode::read) {
    for (std::uint64_t i = 0; i < window_.size(); ++i)
      if (window_[i]->link != nullptr && !check_place(i, window_[i]->link->peer))
        throw MeasurementError(fmt::format("--verify: a read from rank {} has brought nothing",
                                           window_[i]->link->peer));
    return;
  }
  std::vector<std::uint8_t> there(plan_.graph.ranks());
  for (std::uint64_t i = 0; i < places(link_count_); ++i) {
    const Rank peer = links_[i / case_.depth].peer;
    if (check_place(i, peer)) there[peer] = 1;
  }
  for (const Rank sender : senders)
    if (there[sender] == 0)
      throw MeasurementError(
          fmt::format("--verify: nothing of what rank {} wrote is here", sender));
}

std::uint64_t Node::sent() const {
  std::uint64_t count = 0;
  for (const HopGate& gate : gates_) count += gate.sent;
  return count;
}

/// A message that begins here is of the first class, one that is passed on of a later one.
std::uint64_t Node::passed_on() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < gates_.size(); ++i)
    if (i % classes_ != 0) count += gates_[i].sent;
  return count;
}

std::vector<std::pair<std::string, std::uint64_t>> Node::memory_bytes() const {
  const std::uint64_t send = inbox_ == Inbox::datagram ? ud_receives_ : case_.depth * classes_ + 1;
  const auto pages_of = [](std::uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; };
  std::uint64_t cqs = 0;  // each is mapped by itself
  for (const Cq& cq : cqs_)
    cqs += pages_of(static_cast<std::uint64_t>(cq->cqe) * kQueueEntryBytes) * kPageBytes;
  return {
      {"buffers", memory_.size_bytes()},
      {"qps", qps_.size() * (kQpBytes + send * kQueueEntryBytes) + receives() * kQueueEntryBytes},
      {"cqs", cqs},
      {"mrs", pages_of(memory_.size_bytes()) * kTableBytesPerPage},
      {"work", parcels_.size() * sizeof(Parcel) + parcel_legs_.size() * sizeof(Leg) +
                   links_.size() * sizeof(Link)}};
}

std::string Node::qp_text(std::uint32_t qp_num) const {
  if (inbox_ == Inbox::datagram) return fmt::format("QP {:#x} on {}", qp_num, where_);
  for (const Link& link : links_)
    if (link.qp->qp_num == qp_num)
      return fmt::format("QP {:#x} towards rank {} on {}", qp_num, link.peer, where_);
  return fmt::format("barrier QP {:#x} on {}", qp_num, where_);
}

}  // namespace rdmameter
