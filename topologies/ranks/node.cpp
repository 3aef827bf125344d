// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "core/engine/layout/layout.h"
#include "core/verbs/check.h"
#include "core/verbs/pkey.h"
#include "core/verbs/probe.h"
#include "topologies/ranks/qp_limit.h"

namespace rdmameter {
namespace {

constexpr std::size_t kLine = 64;
// What a provider keeps, as far as that is known without asking it.
constexpr std::uint64_t kQpBytes = 4096, kQueueEntryBytes = 64, kTableBytesPerPage = 8;
constexpr std::uint64_t kPageBytes = 4096;

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

ReceiveMode receive_mode_of(const TestCase& test_case, const TopologyPlan& plan) {
  if (plan.datagram) return ReceiveMode::datagram;
  if (plan.traffic_mode() == TrafficMode::collective) return ReceiveMode::sized;
  if (test_case.rank_opcode != RankOpcode::send) return ReceiveMode::none;
  return test_case.shared_receives() ? ReceiveMode::shared : ReceiveMode::own;
}

std::uint64_t pages_of(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes;
}

/// Of a credit. An mlx5 WQE of a write has room for so much in its first 64 bytes: more would make
/// the queues larger than those of connections without credits.
std::uint32_t inline_bytes_of(ReceiveMode receive_mode, std::uint32_t classes) {
  constexpr std::size_t kMaxCredit = 28;
  const bool has_credits =
      receive_mode != ReceiveMode::datagram && receive_mode != ReceiveMode::none;
  const std::size_t bytes = classes * sizeof(std::uint32_t);
  return has_credits && bytes <= kMaxCredit ? static_cast<std::uint32_t>(bytes) : 0;
}

/// Credits are written into a rank's memory, and reads take its message from there.
int remote_access(const TestCase& test_case) {
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

}  // namespace

const EndpointInfo& info_of(const std::map<Rank, EndpointInfo>& peers, Rank rank) {
  if (const auto found = peers.find(rank); found != peers.end()) return found->second;
  throw MeasurementError(fmt::format("rank {} has sent no addresses of its QPs", rank));
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

Node::Node(OpenDevice& device, const TestCase& test_case, const TopologyPlan& plan,
           const RankPlan& mine, Rank rank, std::uint64_t seed)
    : device_(device),
      case_(test_case),
      plan_(plan),
      mine_(mine),
      rank_(rank),
      neighbours_(plan.graph.neighbours[rank]),
      receive_mode_(receive_mode_of(test_case, plan)),
      where_(device.port.where()),
      classes_(hop_classes(plan)),
      link_count_(neighbours_.size() * edge_qps(test_case).all),
      ud_receives_(static_cast<std::uint32_t>(std::min<std::uint64_t>(
          test_case.queues.depth * std::max<std::size_t>(neighbours_.size(), 1),
          device.limits.max_qp_wr))),
      maker_(inline_bytes_of(receive_mode_, classes_)),
      info_(endpoint_info_of(device)),
      memory_(*device.context, device.limits.max_dm_size_bytes, memory_size(), device.numa_node,
              test_case.initiator.memory, where_, device.memory),
      domain_(*device.context, test_case.queues.thread_domain, where_) {
  pattern_ = {.seed = seed,
              .zero = test_case.payload == kZeroPayload,
              .length = static_cast<std::uint32_t>(plan.message_bytes),
              .compared = 0};
  const bool numbered = plan.traffic_mode() == TrafficMode::round_trip && !test_case.reliable();
  pattern_.compared = pattern_.length - (numbered ? 1 : 0);
  create_memory();
  create_queues();
  build_links();
  build_routes();
  build_buffers();
  build_rounds();
  build_window();
  build_collective();
  choose_delivery();
}

/// Messages of the first so many classes that a link has room for. @param rooms  in or out
std::uint64_t Node::room(const std::vector<std::uint64_t>& rooms, std::uint64_t link,
                         std::uint32_t classes) const {
  const auto first =
      rooms.begin() + static_cast<std::ptrdiff_t>(link / edge_qps(case_).all * classes_);
  return std::accumulate(first, first + classes, std::uint64_t{0});
}

/// One send is for credits.
Node::QueueEntries Node::entries_of(std::uint64_t link, std::uint32_t classes) const {
  return {.sends = room(mine_.rooms.out, link, classes) + 1,
          .receives = receive_mode_ == ReceiveMode::none ? 0 : room(mine_.rooms.in, link, classes)};
}

/// Of all links.
Node::QueueEntries Node::entries(std::uint32_t classes) const {
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
std::uint64_t Node::places() const {
  return receive_mode_ == ReceiveMode::none ? link_count_ * case_.queues.depth : receives();
}

std::uint64_t Node::receives() const {
  return entries(classes_).receives;
}

std::size_t Node::memory_size() const {
  const Areas at = areas();
  return at.buffers + places() * at.stride;
}

/// @param links  of a rank, this one or a peer
Node::Areas Node::areas(std::uint64_t links) const {
  const std::size_t words = whole_lines(links * classes_ * sizeof(std::uint32_t));
  Areas result{};
  result.stride =
      whole_lines(plan_.message_bytes + (receive_mode_ == ReceiveMode::datagram ? kGrhBytes : 0));
  result.credited = result.stride;  // behind the one message that this rank sends
  result.freed = result.credited + words;
  result.buffers = result.freed + words;
  return result;
}

void Node::create_memory() {
  require_connectable(device_);
  require_paging(device_.limits, case_, memory_uses(case_), where_);
  mr_ = memory_.register_part(domain_.plain(), 0, memory_.size_bytes(),
                              memory_access(case_, remote_access(case_)));
  auto* const bytes = reinterpret_cast<std::uint8_t*>(memory_.host());
  const Areas at = areas();
  fill_message(bytes, pattern_, rank_);
  std::memset(bytes + at.credited, 0, at.buffers - at.credited);
  Looks looks{device_.memory.still_wanted};
  in_parts(memory_size() - at.buffers, looks, [&](std::size_t offset, std::size_t length) {
    std::memset(bytes + at.buffers + offset, kEmptied, length);
  });
  info_.address = memory_.address() + at.credited;
  info_.rkeys = {mr_->rkey};
}

void Node::create_queues() {
  const std::uint64_t count = receive_mode_ == ReceiveMode::datagram ? 1 : link_count_;
  require_qps(device_, count);
  std::uint64_t deepest = receive_mode_ == ReceiveMode::datagram ? case_.queues.depth : 0;
  for (std::uint64_t link = 0; link < link_count_; ++link) {
    const QueueEntries entries = entries_of(link, classes_);
    deepest = std::max({deepest, entries.sends, entries.receives});
  }
  if (deepest > device_.limits.max_qp_wr)
    throw Unsupported(fmt::format(
        "up to {} buffers for each of {} hops make a queue of {} WRs, and {} has at most {}: use a "
        "smaller --depth",
        case_.queues.depth, classes_, deepest, where_, device_.limits.max_qp_wr));
  create_cqs();
  if (receive_mode_ == ReceiveMode::shared) {
    ibv_srq_init_attr attributes{};
    attributes.attr = {
        .max_wr = static_cast<std::uint32_t>(receives()), .max_sge = 1, .srq_limit = 0};
    if (receives() > device_.limits.max_srq_wr)
      throw Unsupported(
          fmt::format("an SRQ of {} WRs, and {} has at most {}: use a smaller --depth", receives(),
                      where_, device_.limits.max_srq_wr));
    srq_.reset(
        check_pointer(ibv_create_srq(&domain_.of_queues(), &attributes), "ibv_create_srq", where_));
  }
  const std::uint16_t pkey_index = choose_pkey(*device_.context, device_.port, case_.path).index;
  for (std::uint64_t i = 0; i < count; ++i) {
    qps_.push_back(create_qp(i, count));
    modify_qp_.time([&] {
      to_init(*qps_.back(), case_.transport, device_.port.number, pkey_index, remote_access(case_),
              kQkey, where_);
    });
    info_.qpns.push_back(qps_.back()->qp_num);
    info_.psns.push_back(random_psn());
  }
}

void Node::create_cqs() {
  const bool datagram = receive_mode_ == ReceiveMode::datagram;
  const bool per_qp = case_.queues.cq_sharing == CqSharing::per_qp && !datagram;
  std::uint64_t cqes = 0;
  if (per_qp) {
    for (std::uint64_t link = 0; link < link_count_; ++link)
      cqes = std::max(cqes, completions(entries_of(link, classes_)));
  } else {
    cqes = completions(entries(classes_));
  }
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
  cqs_.emplace(*device_.context,
               CqPlan{.count = count,
                      .entries = cqes,
                      .timestamps = false,
                      .domain = domain_.parent(),
                      .which = fmt::format("CQ (one of {})", count)},
               case_, where_);
  cq_pointers_ = cqs_->all();
}

Qp Node::create_qp(std::uint64_t number, std::uint64_t all) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq_pointers_[cq_pointers_.size() == 1 ? 0 : number];
  attributes.srq = srq_.get();
  const QueueEntries queues =
      receive_mode_ == ReceiveMode::datagram ? entries(classes_) : entries_of(number, classes_);
  attributes.cap = {
      .max_send_wr = static_cast<std::uint32_t>(queues.sends),
      .max_recv_wr = srq_ ? 0 : std::max(static_cast<std::uint32_t>(queues.receives), 1U),
      .max_send_sge = 1,
      .max_recv_sge = 1,
      .max_inline_data = 0};
  attributes.qp_type = qp_type(case_.transport);
  Qp qp = maker_.make(domain_.of_queues(), attributes);
  if (qp) return qp;
  const int error = errno;
  if (srq_ && case_.transport != Transport::rc && number == 0)
    throw Unsupported(fmt::format(
        "{} does not share receives among QPs of this transport: use --recv rq, or --transport rc",
        where_));
  throw_no_qp(device_, "graph", number, all, error);
}

EndpointInfo Node::info_for(Rank neighbour) const {
  EndpointInfo info = info_;
  if (receive_mode_ == ReceiveMode::datagram) return info;
  const auto per_edge = static_cast<std::ptrdiff_t>(edge_qps(case_).all);
  const auto first = static_cast<std::ptrdiff_t>(place_of(neighbours_, neighbour)) * per_edge;
  info.qpns.assign(info_.qpns.begin() + first, info_.qpns.begin() + first + per_edge);
  info.psns.assign(info_.psns.begin() + first, info_.psns.begin() + first + per_edge);
  return info;
}

void Node::connect(const std::map<Rank, EndpointInfo>& peers) {
  const std::uint64_t per_edge = edge_qps(case_).all;
  const bool datagram = receive_mode_ == ReceiveMode::datagram;
  for (std::uint64_t i = 0; i < link_count_; ++i) {
    Link& link = links_[i];
    const EndpointInfo& peer = info_of(peers, link.peer);
    const std::uint64_t between = i % per_edge;
    const std::uint64_t theirs =
        place_of(plan_.graph.neighbours[link.peer], rank_) * per_edge + between;
    const QpPath path = path_to_rank(device_, case_, peer);
    const std::uint32_t mtu = rdmameter::mtu_bytes(path.mtu);
    mtu_bytes_ = mtu_bytes_ == 0 ? mtu : std::min(mtu_bytes_, mtu);
    if (datagram) {
      ibv_ah_attr attributes = ah_attributes(path);
      ahs_.emplace_back(check_pointer(
          create_ah_.time([&] { return ibv_create_ah(&domain_.plain(), &attributes); }),
          "ibv_create_ah", fmt::format("towards rank {} on {}", link.peer, where_)));
      link.ah = ahs_.back().get();
      link.remote_qpn = peer.qpns.at(0);
      link.remote_qkey = peer.qkey;
      if (i > 0) continue;
      bring_up(*link.qp, path, 0, 0, info_.psns[0]);
      continue;
    }
    credit_sges_[i] = {
        .addr = memory_.address() + areas().freed + i * classes_ * sizeof(std::uint32_t),
        .length = classes_ * static_cast<std::uint32_t>(sizeof(std::uint32_t)),
        .lkey = mr_->lkey};
    link.credit = {};
    link.credit.wr_id = reinterpret_cast<std::uint64_t>(&link);
    link.credit.sg_list = &credit_sges_[i];
    link.credit.num_sge = 1;
    link.credit.opcode = IBV_WR_RDMA_WRITE;
    link.credit.send_flags = IBV_SEND_SIGNALED | maker_.inline_flag();
    link.credit.wr.rdma.remote_addr = peer.address + theirs * classes_ * sizeof(std::uint32_t);
    link.credit.wr.rdma.rkey = peer.rkeys.at(0);
    if (receive_mode_ == ReceiveMode::none) connect_memory(link, peer, theirs);
    bring_up(*link.qp, path, peer.qpns.at(between), peer.psns.at(between), info_.psns[i]);
  }
}

void Node::bring_up(ibv_qp& qp, const QpPath& path, std::uint32_t remote_qpn,
                    std::uint32_t remote_psn, std::uint32_t psn) {
  modify_qp_.time([&] {
    to_rtr(qp, case_.transport, path, remote_qpn, remote_psn, where_);
    to_rts(qp, case_.transport, path, psn, where_);
  });
}

NamedCounts Node::connect_ns() const {
  NamedCounts times{{"create_qp", maker_.created_ns()}, {"modify_qp", modify_qp_.total_ns()}};
  if (!ahs_.empty()) times.emplace_back("create_ah", create_ah_.total_ns());
  return times;
}

/// A peer's memory is laid out as this rank's, by its own number of links.
void Node::connect_memory(Link& link, const EndpointInfo& peer, std::uint64_t theirs) {
  const Areas at = areas(plan_.graph.degree(link.peer) * edge_qps(case_).all);
  const std::uint64_t begin = peer.address - at.credited;  // what is read: its one message
  link.remote_key = peer.rkeys.at(0);
  link.remote_address = case_.rank_opcode == RankOpcode::read
                            ? begin
                            : begin + at.buffers + theirs * case_.queues.depth * at.stride;
}

/// @return  is a whole message of that rank there?
bool Node::check_place(std::uint64_t place, Rank origin) {
  const Areas at = areas();
  auto* const bytes =
      reinterpret_cast<std::uint8_t*>(memory_.host()) + at.buffers + place * at.stride;
  const std::uint64_t wrong = check_message(bytes, pattern_, origin);
  if (wrong != 0 && std::all_of(bytes, bytes + pattern_.length,
                                [](std::uint8_t byte) { return byte == kEmptied; }))
    return false;  // nothing has come here yet
  count_checked(relay_, wrong, pattern_.length, origin);
  return true;
}

void Node::check_places(std::span<const Rank> senders) {
  if (case_.rank_opcode == RankOpcode::read) {
    for (std::uint64_t i = 0; i < window_.size(); ++i)
      if (window_[i]->link != nullptr && !check_place(i, window_[i]->link->peer))
        throw MeasurementError(fmt::format("--verify: a read from rank {} has brought nothing",
                                           window_[i]->link->peer));
    return;
  }
  std::vector<std::uint8_t> there(plan_.graph.ranks());
  for (std::uint64_t i = 0; i < places(); ++i) {
    const Rank peer = links_[i / case_.queues.depth].peer;
    if (check_place(i, peer)) there[peer] = 1;
  }
  for (const Rank sender : senders)
    if (there[sender] == 0)
      throw MeasurementError(
          fmt::format("--verify: nothing of what rank {} wrote is here", sender));
}

std::uint64_t Node::sent() const {
  std::uint64_t count = 0;
  for (const CreditWindow& credit_window : credit_windows_) count += credit_window.sent;
  return count;
}

/// A message that begins here is of the first class, one that is passed on of a later one.
std::uint64_t Node::passed_on() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < credit_windows_.size(); ++i)
    if (i % classes_ != 0) count += credit_windows_[i].sent;
  return count;
}

NamedCounts Node::connection_bytes() const {
  const QueueEntries first = entries(1);
  const Areas at = areas();
  const std::uint64_t buffers =
      at.buffers + (receive_mode_ == ReceiveMode::none ? places() : first.receives) * at.stride;
  const std::uint64_t of_cq = completions(first) * kQueueEntryBytes / cq_pointers_.size();
  return {{"buffers", buffers},
          {"qps", qps_.size() * kQpBytes + completions(first) * kQueueEntryBytes},
          {"cqs", cq_pointers_.size() * pages_of(of_cq) * kPageBytes},  // each is mapped by itself
          {"mrs", pages_of(buffers) * kTableBytesPerPage}};
}

NamedCounts Node::relay_bytes() const {
  const QueueEntries all = entries(classes_), first = entries(1);
  if (completions(all) == completions(first)) return {};
  constexpr std::uint64_t kEntries = 2;  // the queue's and the CQ's
  return {{"buffers", (all.receives - first.receives) * areas().stride},
          {"queues", kEntries * (completions(all) - completions(first)) * kQueueEntryBytes}};
}

std::string Node::qp_text(std::uint32_t qp_num) const {
  if (receive_mode_ == ReceiveMode::datagram) return fmt::format("QP {:#x} on {}", qp_num, where_);
  for (const Link& link : links_)
    if (link.qp->qp_num == qp_num)
      return fmt::format("QP {:#x} towards rank {} on {}", qp_num, link.peer, where_);
  return fmt::format("barrier QP {:#x} on {}", qp_num, where_);
}

}  // namespace rdmameter
