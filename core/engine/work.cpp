// SPDX-License-Identifier: Apache-2.0
#include "core/engine/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/engine/loop/step.h"
#include "core/engine/loop/table.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kLongestRecvList = 16;
constexpr std::uint32_t kLongestSendChain = 4096;

CqRing ring_of(const TestCase& test_case, Role role, const std::vector<ibv_cq*>& cqs) {
  return {.cq = cqs.front(),
          .all = cqs.data(),
          .count = static_cast<std::uint32_t>(cqs.size()),
          .poll = choose_poll(test_case, role)};
}

/// The requests of one end, one at a time.
struct RequestBuilder {
  const TestCase& test_case;
  const Area remote;  ///< of one-sided operations
  const Area& local;
  const AreaView& view;
  const EndpointView& endpoint;
  const bool inlined;
  const std::uint32_t chain;
  const std::uint32_t first = 0;  ///< the slot that WR 0 of a chain uses

  /// Fills in WR `i` of QP `qp`'s chain but for its place in a list.
  /// @param sges  as many as the area has pieces
  void build(ibv_send_wr& wr, ibv_sge* sges, std::uint32_t qp, std::uint32_t i) const {
    const std::uint64_t slot = (first + i) % local.slots;
    for (std::size_t k = 0; k < local.pieces.size(); ++k)
      sges[k] = {.addr = view.address + local.slot(qp, slot) + local.pieces[k].offset,
                 .length = static_cast<std::uint32_t>(local.pieces[k].length),
                 .lkey = view.lkey(qp)};
    wr.sg_list = sges;
    wr.num_sge = static_cast<int>(local.pieces.size());
    wr.opcode = wr_opcode(test_case.opcode);
    if (inlined) wr.send_flags |= IBV_SEND_INLINE;
    if (test_case.atomic())
      aim_atomic(wr, qp, i);
    else if (test_case.one_sided())
      aim(wr, qp, slot);
    else if (test_case.transport == Transport::ud)
      address(wr, qp, i);
  }

  void aim(ibv_send_wr& wr, std::uint32_t qp, std::uint64_t slot) const {
    wr.wr.rdma.remote_addr = endpoint.remote_address + remote.payload(qp, slot % remote.slots);
    wr.wr.rdma.rkey = key_of(endpoint.remote_keys, qp);
  }
  /// Swaps along the chain: each finds what the one before it left, so that all of them swap.
  void aim_atomic(ibv_send_wr& wr, std::uint32_t qp, std::uint32_t i) const {
    wr.wr.atomic.remote_addr = endpoint.remote_address + remote.payload(qp, 0);
    wr.wr.atomic.rkey = key_of(endpoint.remote_keys, qp);
    wr.wr.atomic.compare_add = test_case.opcode == Opcode::fetch_add ? 1 : i;
    wr.wr.atomic.swap = (i + 1) % chain;
  }
  /// Each QP its counterpart; one QP all of its peers in turn; many the one there is.
  void address(ibv_send_wr& wr, std::uint32_t qp, std::uint32_t i) const {
    const std::size_t peers = endpoint.remote_qpns.size();
    const std::size_t peer = (endpoint.qps.size() == 1 ? i : qp) % peers;
    wr.wr.ud.ah = endpoint.ahs[peer % endpoint.ahs.size()];
    wr.wr.ud.remote_qpn = endpoint.remote_qpns[peer];
    wr.wr.ud.remote_qkey = endpoint.remote_qkey;
  }
};

}  // namespace

std::uint32_t receive_list_length(const TestCase& test_case) {
  if (test_case.queues.recv_post_list != kAuto)
    return static_cast<std::uint32_t>(test_case.queues.recv_post_list);
  const auto posted = static_cast<std::uint32_t>(posted_receives(test_case));
  // Those that wait for their list to be posted again are not there for what arrives.
  return posted < test_case.queues.rx_depth ? receive_list_length(posted, posted / 4)
                                            : receive_list_length(posted);
}

std::uint32_t receive_list_length(std::uint32_t rx_depth, std::uint32_t longest) {
  for (std::uint32_t length = std::min({kLongestRecvList, rx_depth, longest}); length > 1; --length)
    if (rx_depth % length == 0) return length;
  return 1;
}

std::uint32_t send_chain_length(std::uint32_t signal_every, std::uint32_t post_list,
                                std::uint32_t depth, std::uint64_t slots, std::uint32_t peers) {
  const std::uint32_t period = std::lcm(std::lcm(signal_every, post_list), peers);
  const std::uint64_t whole = std::lcm<std::uint64_t>(period, slots);
  const std::uint64_t unit = whole <= kLongestSendChain || slots > depth ? whole : period;
  return static_cast<std::uint32_t>((depth + unit - 1) / unit * unit);
}

std::uint32_t send_chain_length(const TestCase& test_case, Role role) {
  if (test_case.shares_qps()) {  // its lists are posted again one by one, as they come back
    const bool several = test_case.pattern == Pattern::bandwidth;
    return static_cast<std::uint32_t>(several ? test_case.depth_of_sharer() : 1);
  }
  const Layout layout = layout_of(test_case, role);
  const Area& local = test_case.mixed() ? layout.target : request_area_of(test_case, layout);
  const bool bandwidth = test_case.pattern == Pattern::bandwidth;
  return send_chain_length(signal_period(test_case),
                           static_cast<std::uint32_t>(bandwidth ? test_case.queues.post_list : 1),
                           queue_depths_of(test_case, role).send, local.slots,
                           static_cast<std::uint32_t>(peers_per_qp(test_case, role)));
}

std::uint32_t mix_chain_length(const TestCase& test_case, std::size_t part) {
  const TestCase alike = case_of_part(test_case, mix_of(test_case)[part]);
  const Layout layout = layout_of(test_case, Role::initiator);
  const std::uint64_t slots = request_area_of(alike, layout.parts[part]).slots;
  return static_cast<std::uint32_t>((test_case.queues.depth + slots - 1) / slots * slots);
}

Work::Work(const TestCase& test_case, Role role, const Layout& layout, const EndpointView& view,
           std::uint64_t seed, std::uint32_t sharer) {
  loop_state_.lane_count = static_cast<std::uint32_t>(view.qps.size());
  loop_state_.send_cq = ring_of(test_case, role, view.send_cqs);
  loop_state_.recv_cq = ring_of(test_case, role, view.recv_cqs);
  loop_state_.answers = static_cast<std::uint32_t>(copies_of(test_case));
  lanes_ = std::make_unique<Lane[]>(view.qps.size());
  for (std::size_t qp = 0; qp < view.qps.size(); ++qp) {
    lanes_[qp].qp = view.qps[qp];
    if (!view.extended_qps.empty()) lanes_[qp].extended_qp = view.extended_qps[qp];
    if (!view.credits.empty()) lanes_[qp].credit = &view.credits[view.credits.size() == 1 ? 0 : qp];
  }
  loop_state_.lanes = lanes_.get();
  if (test_case.mixed()) {
    build_mix(test_case, role, layout, view);
  } else {
    if (posts_sends(test_case, role)) build_sends(test_case, role, layout, view, sharer);
    if (posts_receives(test_case, role)) build_receives(test_case, layout, view);
  }
  if (role == Role::initiator && numbers_sent(test_case) != NumberPlace::none)
    number_lanes(test_case);
  if (role == Role::responder && numbers_read(test_case) != NumberPlace::none)
    expect_numbers(test_case);
  if (test_case.queues.timestamps && role == Role::initiator) {
    timestamps_.resize(kMaxTimestamps);
    loop_state_.timestamps = {.first = timestamps_.data(), .mask = kMaxTimestamps - 1};
  }
  keeps_each_qp_ = role == Role::initiator && keeps_each_qp(test_case);
  if (keeps_each_qp_ && test_case.pattern != Pattern::bandwidth)
    qp_samples_ = std::make_unique<QpSampleSet>(std::span(lanes_.get(), loop_state_.lane_count));
  if (test_case.open_loop() && role == Role::initiator) {
    schedule_ = std::make_unique<OpenLoopSchedule>(test_case, seed);
    loop_state_.open_loop = &schedule_->loop();
    schedule_->loop().mix.send = mix_send_.get();
  }
  loop_state_.depth = std::min(loop_state_.depth, view.most_unanswered);
  if (test_case.peak && role == Role::initiator) {
    peak_ = std::make_unique<PeakLog>(test_case);
    loop_state_.times = &peak_->times();
  }
  if (test_case.watched() && (role == Role::initiator || test_case.answered())) {
    watch_ = std::make_unique<WatchLog>(test_case, role);
    loop_state_.watch = &watch_->watch();
  }
  if (test_case.pattern != Pattern::ping_pong) return;
  for (std::uint32_t qp = 0; qp < loop_state_.lane_count; ++qp) {
    Lane& lane = lanes_[qp];
    lane.departure = view.source.byte(layout.source.last_byte(qp, 0));
    if (test_case.takes_receive()) continue;
    lane.arrival = view.target.byte(layout.target.last_byte(qp, 0));
    lane.answered = *lane.arrival;
    loop_state_.sequence = lane.answered;  // alike in all, being poisoned
  }
}

/// Each QP's messages count from 0 in the low bits of their numbers.
void Work::number_lanes(const TestCase& test_case) {
  const std::uint32_t bits = number_count_bits(test_case);
  loop_state_.number_mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
  for (std::uint64_t qp = 0; qp < loop_state_.lane_count; ++qp)
    lanes_[qp].number_base = static_cast<std::uint32_t>(qp << bits);
}

/// For every QP that a number can name.
void Work::expect_numbers(const TestCase& test_case) {
  const std::uint32_t bits = number_count_bits(test_case);
  const std::uint64_t qps = std::uint64_t{1} << (32 - bits);
  Arrivals& arrivals = loop_state_.arrivals;
  arrivals.count_bits = bits;
  arrivals.skipped_per_qp = skipped_numbers_per_qp(test_case);
  next_numbers_ = std::make_unique<std::uint32_t[]>(qps);
  skipped_numbers_.assign(qps * arrivals.skipped_per_qp, kNoNumber);
  for (std::uint64_t qp = 0; qp < qps; ++qp)
    next_numbers_[qp] = static_cast<std::uint32_t>(qp << bits);
  arrivals.next = next_numbers_.get();
  arrivals.skipped = skipped_numbers_.data();
}

std::vector<Timestamps> Work::timestamps() const {
  std::vector<Timestamps> kept = timestamps_;
  kept.resize(std::min<std::uint64_t>(loop_state_.timestamps.taken, kept.size()));
  return kept;
}

std::optional<LoadData> Work::load() const {
  return schedule_ ? std::optional(schedule_->result()) : std::nullopt;
}

std::vector<QpFigures> Work::per_qp(std::uint64_t window_ns) const {
  std::vector<QpFigures> figures;
  if (!keeps_each_qp_) return figures;
  const std::span lanes(lanes_.get(), loop_state_.lane_count);
  const std::uint64_t rate_window_ns = counts_enough(lanes) ? window_ns : 0;
  for (const Lane& lane : lanes)
    figures.push_back(qp_figures(lane, loop_state_.signal_every, rate_window_ns));
  return figures;
}

void Work::build_sends(const TestCase& test_case, Role role, const Layout& layout,
                       const EndpointView& view, std::uint32_t sharer) {
  const bool bandwidth = test_case.pattern == Pattern::bandwidth;
  const std::uint32_t signal_every = signal_period(test_case);
  const auto post_list = static_cast<std::uint32_t>(bandwidth ? test_case.queues.post_list : 1);
  const Area& local = request_area_of(test_case, layout);
  inlined_ = !test_case.returns_data() && !test_case.by_value() &&
             test_case.queues.inline_bytes != 0 && test_case.size_bytes <= view.inline_bytes;

  loop_state_.signal_every = signal_every;
  loop_state_.post_list = post_list;
  loop_state_.depth = test_case.shares_qps() ? send_chain_length(test_case, role)
                                             : queue_depths_of(test_case, role).send;
  loop_state_.closing_in_turn = !test_case.atomic();
  if (test_case.extended_api())
    loop_state_.post = choose_extended_post(test_case, inlined_, local.pieces.size());

  const std::uint32_t chain = send_chain_length(test_case, role);
  const std::uint32_t lists = chain / post_list;
  const std::uint32_t qps = loop_state_.lane_count;
  const std::size_t sges = local.pieces.size();
  send_wrs_ = std::make_unique<ibv_send_wr[]>(std::size_t{chain} * qps);
  send_sges_ = std::make_unique<ibv_sge[]>(std::size_t{chain} * qps * sges);
  send_lists_ = std::make_unique<SendList[]>(std::size_t{lists} * qps);
  closing_wrs_ = std::make_unique<ibv_send_wr[]>(qps);
  const Area remote = test_case.one_sided() ? remote_area(test_case, role) : Area{};
  const RequestBuilder builder{
      test_case, remote,   local, test_case.returns_data() ? view.target : view.source,
      view,      inlined_, chain, sharer * chain};

  for (std::uint32_t qp = 0; qp < qps; ++qp) {
    ibv_send_wr* const wrs = &send_wrs_[std::size_t{chain} * qp];
    SendList* const ring = &send_lists_[std::size_t{lists} * qp];
    for (std::uint32_t i = 0; i < chain; ++i) {
      builder.build(wrs[i], &send_sges_[(std::size_t{chain} * qp + i) * sges], qp, i);
      wrs[i].next = (i + 1) % post_list == 0 ? nullptr : &wrs[i + 1];
      SendList& list = ring[i / post_list];
      wrs[i].wr_id = reinterpret_cast<std::uint64_t>(&list);
      if ((i + 1) % signal_every == 0) {
        wrs[i].send_flags |= IBV_SEND_SIGNALED;
        ++list.signaled;
      }
      list.head = &wrs[i / post_list * post_list];
      list.lane = &lanes_[qp];
      list.next = &ring[(i / post_list + 1) % lists];
    }
    closing_wrs_[qp] = wrs[0];
    closing_wrs_[qp].next = nullptr;
    closing_wrs_[qp].send_flags |= IBV_SEND_SIGNALED;
    closing_wrs_[qp].wr_id = kClosing;
    if (test_case.opcode == Opcode::cmp_swap)  // finds no such value: it may come at any place
      closing_wrs_[qp].wr.atomic.compare_add = std::numeric_limits<std::uint64_t>::max();
    lanes_[qp].send = lanes_[qp].oldest = ring;
    lanes_[qp].closing = &closing_wrs_[qp];
  }
  if (!bandwidth && !test_case.open_loop()) thread_rings(lists);
  if (!test_case.shares_qps() || role == Role::responder) return;
  for (std::uint32_t qp = 0; qp < qps; ++qp) lanes_[qp].mailbox = &mailbox_;
  // A latency of each sharer begins at another QP.
  if (!bandwidth)
    lanes_[0].send = lanes_[sharer * qps / static_cast<std::uint32_t>(test_case.sharers)].send;
}

/// Of each part of a mix the initiator has a ring on each QP, and both ends have what sends need.
void Work::build_mix(const TestCase& test_case, Role role, const Layout& layout,
                     const EndpointView& view) {
  const std::vector<MixPart> parts = mix_of(test_case);
  if (role == Role::initiator) build_rings(test_case, layout, view);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const TestCase part = case_of_part(test_case, parts[p]);
    if (!part.takes_receive()) continue;
    if (role == Role::responder) build_sends(part, role, layout.parts[p], view, 0);
    build_receives(part, layout.parts[p], view);
  }
}

void Work::build_rings(const TestCase& test_case, const Layout& layout, const EndpointView& view) {
  const std::size_t parts = layout.parts.size(), qps = loop_state_.lane_count;
  std::size_t requests = 0, built = 0;
  for (std::size_t p = 0; p < parts; ++p) requests += mix_chain_length(test_case, p) * qps;
  loop_state_.depth = queue_depths_of(test_case, Role::initiator).send;
  send_wrs_ = std::make_unique<ibv_send_wr[]>(requests);
  send_sges_ = std::make_unique<ibv_sge[]>(requests);
  mix_lists_ = std::make_unique<MixList[]>(requests);
  mix_send_ = std::make_unique<SendList*[]>(parts * qps);
  inlined_ = true;
  for (std::uint32_t p = 0; p < parts; ++p) built += build_part(test_case, p, built, layout, view);
}

/// @param first  of its requests, among those of all parts
/// @return how many they are
std::size_t Work::build_part(const TestCase& test_case, std::uint32_t number, std::size_t first,
                             const Layout& layout, const EndpointView& view) {
  const TestCase part = case_of_part(test_case, mix_of(test_case)[number]);
  const Area& local = request_area_of(part, layout.parts[number]);
  const Area remote = part.one_sided() ? remote_part(test_case, number) : Area{};
  const bool inlined =
      !part.returns_data() && part.queues.inline_bytes != 0 && part.size_bytes <= view.inline_bytes;
  inlined_ = inlined_ && (inlined || part.returns_data());
  const std::uint32_t chain = mix_chain_length(test_case, number);
  const RequestBuilder builder{part, remote, local, view.target, view, inlined, chain};
  for (std::uint32_t qp = 0; qp < loop_state_.lane_count; ++qp) {
    const std::size_t begin = first + std::size_t{qp} * chain;
    MixList* const ring = &mix_lists_[begin];
    for (std::uint32_t i = 0; i < chain; ++i) {
      ibv_send_wr& wr = send_wrs_[begin + i];
      builder.build(wr, &send_sges_[begin + i], qp, i);
      wr.send_flags |= IBV_SEND_SIGNALED;
      wr.wr_id = reinterpret_cast<std::uint64_t>(static_cast<SendList*>(&ring[i]));
      ring[i].head = &wr;
      ring[i].next = &ring[(i + 1) % chain];
      ring[i].lane = &lanes_[qp];
      ring[i].signaled = 1;
      ring[i].part = number;
      ring[i].answered = part.takes_receive() ? 1 : 0;
    }
    mix_send_[qp * layout.parts.size() + number] = ring;
    if (part.takes_receive()) lanes_[qp].oldest = ring;
  }
  return std::size_t{chain} * loop_state_.lane_count;
}

/// Makes one ring of those of all QPs: a latency's messages go over them in turn.
void Work::thread_rings(std::uint32_t lists) {
  const std::uint32_t qps = loop_state_.lane_count;
  for (std::uint32_t qp = 0; qp < qps; ++qp)
    for (std::uint32_t i = 0; i < lists; ++i) {
      const bool last = qp + 1 == qps;
      send_lists_[std::size_t{lists} * qp + i].next =
          &send_lists_[last ? (i + 1) % lists : std::size_t{lists} * (qp + 1) + i];
    }
}

void Work::build_receives(const TestCase& test_case, const Layout& layout,
                          const EndpointView& view) {
  const bool shared = view.srq != nullptr;
  const Area& area = layout.target;
  // What a write with immediate leaves lies elsewhere: its receives are bare.
  const std::size_t sges = test_case.one_sided() ? 0 : area.pieces.size();
  const auto posted = static_cast<std::uint32_t>(posted_receives(test_case));
  const std::uint32_t per_list = receive_list_length(test_case);
  // QPs that share receives need not end them in the order in which they were posted, nor is it
  // polled in that order from a CQ for each: so each list is counted by itself. One that was posted
  // again while a receive of it is still out would give that one's bytes to two messages.
  receives_per_ring_ = shared ? per_list : posted;
  ring_count_ = shared ? posted / per_list : loop_state_.lane_count;
  const bool ping_pong = test_case.pattern == Pattern::ping_pong;
  const std::uint32_t lists = receives_per_ring_ / per_list;
  const std::size_t count = std::size_t{receives_per_ring_} * ring_count_;
  recv_wrs_ = std::make_unique<ibv_recv_wr[]>(count);
  recv_works_ = std::make_unique<RecvWork[]>(count);
  recv_sges_ = std::make_unique<ibv_sge[]>(count * sges);
  recv_lists_ = std::make_unique<RecvList[]>(std::size_t{lists} * ring_count_);
  rings_ = std::make_unique<RecvRing[]>(ring_count_);

  for (std::uint32_t r = 0; r < ring_count_; ++r) {
    const std::uint32_t qp = shared ? 0 : r;  // whose slots
    const std::size_t first = std::size_t{receives_per_ring_} * r;
    ibv_recv_wr* const wrs = &recv_wrs_[first];
    RecvList* const ring = &recv_lists_[std::size_t{lists} * r];
    for (std::uint32_t i = 0; i < receives_per_ring_; ++i) {
      const std::uint64_t slot = (shared ? first + i : i) % area.slots;
      ibv_sge* const list = &recv_sges_[(first + i) * sges];
      for (std::size_t k = 0; k < sges; ++k) {
        const std::uint64_t head = k == 0 ? area.head_bytes : 0;
        list[k] = {.addr = view.target.address + area.slot(qp, slot) + area.pieces[k].offset - head,
                   .length = static_cast<std::uint32_t>(area.pieces[k].length + head),
                   .lkey = view.target.lkey(qp)};
      }
      RecvWork& work = recv_works_[first + i];
      work = {.ring = &rings_[r],
              .number =
                  view.target.byte(ping_pong ? area.last_byte(qp, slot) : area.payload(qp, slot))};
      wrs[i] = {.wr_id = reinterpret_cast<std::uint64_t>(&work),
                .next = (i + 1) % per_list == 0 ? nullptr : &wrs[i + 1],
                .sg_list = sges == 0 ? nullptr : list,
                .num_sge = static_cast<int>(sges)};
      ring[i / per_list] = {.head = &wrs[i / per_list * per_list],
                            .next = &ring[(i / per_list + 1) % lists]};
    }
    rings_[r].next = ring;
    rings_[r].list_length = per_list;
    rings_[r].qp = view.qps[qp];
    rings_[r].srq = view.srq;
    rings_[r].lane = &lanes_[qp];
  }
}

void Work::post_receives() {
  for (std::uint32_t r = 0; r < ring_count_; ++r) {
    RecvRing& ring = rings_[r];
    const std::uint32_t before = ring.srq != nullptr ? r * receives_per_ring_ : 0;
    const std::uint32_t all = receives_per_ring_ * (ring.srq != nullptr ? ring_count_ : 1);
    for (std::uint32_t posted = 0; posted < receives_per_ring_; posted += ring.list_length)
      check_errno_value(
          rdmameter::post_receives(ring),
          ring.srq != nullptr ? "ibv_post_srq_recv" : "ibv_post_recv",
          fmt::format("receive {} of {} on QP {:#x}", before + posted, all, ring.qp->qp_num));
    ring.lists = 0;
  }
}

std::vector<std::uint64_t> Work::arrivals() const {
  std::vector<std::uint64_t> counts;
  for (std::uint32_t r = 0; r < ring_count_; ++r) {
    const RecvRing& ring = rings_[r];
    const std::uint64_t taken = ring.lists * ring.list_length + (ring.list_length - ring.left);
    if (ring.srq == nullptr || r == 0)
      counts.push_back(taken);
    else
      counts.front() += taken;
  }
  return counts;
}

}  // namespace rdmameter
