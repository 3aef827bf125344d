// SPDX-License-Identifier: Apache-2.0
// Two ends in virtual time: the program's own watched loops, each on a fiber with a clock of its
// own, and a path between them. An end is away, and the path holds what is sent, at given times.
#pragma once

#include <algorithm>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "core/engine/loop/completion.h"
#include "core/engine/loop/open_loop.h"
#include "core/engine/loop/ping_pong.h"
#include "null_case.h"
#include "topologies/simulator/fiber.h"

namespace rdmameter {

/// What things take: a reading of the clock, a look into a CQ, what follows an empty one, a post;
/// and a message on its way, at least.
inline constexpr std::uint64_t kClock_ns = 300, kLook_ns = 400, kWait_ns = 600, kPost_ns = 300,
                               kPath_ns = 10'000;

struct Interval {
  std::uint64_t begin = 0, end = 0;
  bool overlaps(std::uint64_t from, std::uint64_t to) const { return begin < to && from < end; }
};
using Intervals = std::vector<Interval>;  // in order

/// One direction. What is sent, or on its way, while it is held arrives when that is over.
class VirtualPath {
 public:
  explicit VirtualPath(const Intervals& held) : held_(held) {}

  /// @param sent  no earlier than what was sent before; @return when it arrives
  std::uint64_t arrival(std::uint64_t sent) {
    while (next_ < held_.size() && held_[next_].end <= sent) ++next_;
    std::uint64_t at = sent + kPath_ns + random_() % (kPath_ns / 2);
    for (std::size_t i = next_; i < held_.size() && held_[i].overlaps(sent, at); ++i)
      at = std::max(at, held_[i].end);
    return last_ = std::max(at, last_ + kClock_ns);
  }

 private:
  const Intervals& held_;
  std::size_t next_ = 0;
  std::uint64_t last_ = 0;
  std::mt19937_64 random_;
};

/// An end of a case. Its time goes on by what its loop does, and jumps over when it is away.
class VirtualEnd {
 public:
  /// @param begin_ns  its time at first
  VirtualEnd(const TestCase& test_case, Role role, std::uint64_t begin_ns, const Intervals& away,
             const Intervals& held)
      : side_(test_case, role),
        now_(begin_ns),
        away_(away),
        messages_(held),
        acknowledgements_(held),
        fiber_([this] { run(); }) {
    side_.clock = {};  // whose ticks are ns
  }

  /// Until its loop has ended, or would be ahead of what `peer` may still send.
  void go_on(VirtualEnd* peer) {
    running = this;
    peer_ = peer;
    fiber_.resume();
  }
  bool ended() const { return fiber_.ended(); }
  std::uint64_t now() const { return now_; }
  NullSide& side() { return side_; }
  LoopResult result() const { return result_; }
  WatchData watched() { return side_.work.watch()->data(side_.clock); }

  static inline VirtualEnd* running = nullptr;  // a policy has no state

  std::uint64_t acknowledged_ns = 0;  ///< a message waits for so long for its acknowledgement

  void spend(std::uint64_t ns) {
    now_ += ns;
    for (; next_away_ < away_.size() && away_[next_away_].begin <= now_; ++next_away_)
      now_ = std::max(now_, away_[next_away_].end);
    while (peer_ != nullptr && now_ > peer_->now_ + kPath_ns) Fiber::wait();
    for (; !stores_.empty() && stores_.front().first <= now_; stores_.pop_front())
      *const_cast<std::uint8_t*>(side_.work.loop_state().lanes[0].arrival) = stores_.front().second;
  }

  void post(const Lane& lane, const ibv_send_wr& wr) {
    spend(kPost_ns / 2);
    const std::uint64_t arrives = messages_.arrival(now_);
    if (wr.opcode == IBV_WR_SEND) peer_->receives_.push_back(arrives);
    if (wr.opcode == IBV_WR_RDMA_WRITE && peer_ != nullptr)
      peer_->stores_.emplace_back(arrives, *lane.departure);
    if ((wr.send_flags & IBV_SEND_SIGNALED) != 0)
      completions_.emplace_back(acknowledgements_.arrival(arrives + acknowledged_ns), wr.wr_id);
    spend(kPost_ns / 2);
  }

  int poll(ibv_cq* cq, int max, ibv_wc* wcs) {
    spend(kLook_ns / 2);
    LoopState& loop_state = side_.work.loop_state();
    NullQp& qp = null_verbs::null_qp(loop_state.lanes[0].qp);
    int taken = 0;
    const auto take = [&](std::uint64_t wr_id) {
      wcs[taken].status = IBV_WC_SUCCESS;
      wcs[taken++].wr_id = wr_id;
    };
    if (cq == loop_state.recv_cq.cq)
      for (; taken < max && !receives_.empty() && receives_.front() <= now_; receives_.pop_front())
        take(qp.receives[qp.receives_out++ & (qp.receives.size() - 1)]);
    else
      for (; taken < max && !completions_.empty() && completions_.front().first <= now_;
           completions_.pop_front())
        take(completions_.front().second);
    spend(kLook_ns / 2);
    return taken;
  }

 private:
  void run();

  NullSide side_;
  std::uint64_t now_;
  const Intervals& away_;
  std::size_t next_away_ = 0;
  VirtualPath messages_, acknowledgements_;
  std::deque<std::uint64_t> receives_;                               ///< when they arrive
  std::deque<std::pair<std::uint64_t, std::uint8_t>> stores_;        ///< of writes, likewise
  std::deque<std::pair<std::uint64_t, std::uint64_t>> completions_;  ///< with their wr_ids
  VirtualEnd* peer_ = nullptr;
  LoopResult result_;
  Fiber fiber_;
};

struct EndClock {
  std::uint64_t now() const noexcept {
    VirtualEnd& end = *VirtualEnd::running;
    end.spend(kClock_ns / 2);
    const std::uint64_t now = end.now();
    end.spend(kClock_ns / 2);
    return now;
  }
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept { return ticks; }
  std::uint64_t to_ticks(std::uint64_t ns) const noexcept { return ns; }
};

struct EndWait {
  static constexpr bool kSleeps = false;
  template <class Cq>
  void operator()(const Cq*) const noexcept {
    VirtualEnd::running->spend(kWait_ns);
  }
};

struct EndPost {
  static int post(const LoopState&, const Lane& lane, ibv_send_wr* head) noexcept {
    VirtualEnd::running->post(lane, *head);
    return 0;
  }
};

struct EndCq {
  static constexpr bool kStamps = false;
  using Handle = ibv_cq*;
  static Handle of(const CqRing& cqs) noexcept { return cqs.cq; }
  template <bool kImmediate = false>
  static int poll(ibv_cq* cq, int max, ibv_wc* wcs) noexcept {
    return VirtualEnd::running->poll(cq, max, wcs);
  }
};

/// The instance that core/engine/loop/table_watched.cpp has for a case, on this policy.
inline auto watched_loop(const TestCase& test_case, Role role) {
  using P = Policy<EndClock, EndWait, EndPost, EndCq>;
  const bool initiates = role == Role::initiator, receives = test_case.takes_receive();
  if (test_case.pattern == Pattern::completion_latency)
    return completion_initiator<Watched<AllQps>, P>;
  if (test_case.open_loop() && !initiates) return open_loop_responder<Watched<PlainAnswers>, P>;
  if (test_case.open_loop())
    return test_case.answered() ? open_loop_initiator<Watched<ByAnswer>, P>
                                : open_loop_initiator<Watched<ByCompletion>, P>;
  if (initiates)
    return receives ? ping_pong_initiator<Watched<ByReceive>, false, P>
                    : ping_pong_initiator<Watched<ByMemory>, false, P>;
  return receives ? ping_pong_responder<Watched<ByReceive>, false, P>
                  : ping_pong_responder<Watched<ByMemory>, false, P>;
}

inline void VirtualEnd::run() {
  const auto loop = watched_loop(side_.test_case, side_.role);
  side_.work.watch()->begin(side_.clock);
  result_ = loop(side_.work.loop_state(), side_.plan, EndClock{}, side_.stop, side_.tally);
}

/// Runs both loops: always the one that is behind. @param responder  null: none answers
inline void run_ends(VirtualEnd& initiator, VirtualEnd* responder) {
  while (!initiator.ended())
    if (responder == nullptr || initiator.now() <= responder->now())
      initiator.go_on(responder);
    else
      responder->go_on(&initiator);
  if (responder == nullptr) return;
  responder->side().stop.request(StopReason::finish);
  while (!responder->ended()) responder->go_on(nullptr);
}

}  // namespace rdmameter
