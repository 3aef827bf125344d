// SPDX-License-Identifier: Apache-2.0
// The measured path of an open loop, both ends: requests fall due at times that were drawn before,
// and are posted then, or as soon as a QP has room. One request is posted, then the CQs are polled:
// a backlog keeps no completion waiting. The loop spins until the next one is due; it never sleeps,
// and makes up for nothing but what is due.
#pragma once

#include "core/engine/loop/bandwidth.h"
#include "core/engine/loop/open_loop_state.h"
#include "core/engine/loop/poll_watch.h"

namespace rdmameter {

// What ends a request.

/// The request's own completion ends it.
struct ByCompletion {
  static constexpr bool kReceives = false;
};
/// The peer's answer, a message on the QP that the request went over; RC keeps both in order. In a
/// mix that of a send; other requests end by their completions.
struct ByAnswer {
  static constexpr bool kReceives = true;
};

/// Marks one of these as that of a mix: each request is of the part that was drawn for it.
template <class Base>
struct OfMix : Base {
  using Mix = void;
};
template <class By>
inline constexpr bool kOfMix = requires {
  typename By::Mix;
};

/// The due times, one after the other.
template <class Clock>
class DueTimes {
 public:
  /// @param begin  what the first gap is added to [ticks]
  DueTimes(const OpenLoop& load, std::uint64_t begin, const Clock& clock) noexcept
      : gaps_(load.gaps_ns),
        count_(load.gap_count),
        begin_(begin),
        ticks_per_2_32_ns_(clock.to_ticks(1ULL << 32)) {
    advance();
  }

  std::uint64_t now() const noexcept { return ticks_; }
  [[gnu::always_inline]] void advance() noexcept {
    __extension__ using uint128 = unsigned __int128;
    ns_ += gaps_[next_];
    next_ = next_ + 1 == count_ ? 0 : next_ + 1;
    ticks_ =
        begin_ + static_cast<std::uint64_t>((static_cast<uint128>(ns_) * ticks_per_2_32_ns_) >> 32);
  }
  void stop() noexcept { ticks_ = kNeverDue; }

 private:
  const std::uint64_t* gaps_;
  const std::size_t count_;
  const std::uint64_t begin_, ticks_per_2_32_ns_;
  std::uint64_t ns_ = 0, ticks_ = 0;
  std::size_t next_ = 0;
};

/// Takes the completions of sends that are there, which make room and are not timed.
/// @param reaped  counts them
template <class P>
LoopResult reap_sends(LoopState& loop_state, std::uint64_t& reaped) noexcept {
  ibv_wc wcs[kCqeBatch];
  const int polled = P::Cq::poll(P::Cq::of(loop_state.send_cq), kCqeBatch, wcs);
  if (polled < 0) [[unlikely]]
    return no_completion(polled, wcs[0]);
  for (int i = 0; i < polled; ++i) {
    if (wcs[i].status != IBV_WC_SUCCESS) [[unlikely]]
      return no_completion(1, wcs[i]);
    --reinterpret_cast<SendList*>(wcs[i].wr_id)->lane->outstanding;
  }
  reaped += static_cast<std::uint64_t>(polled);
  return {};
}

template <class By, class P>
class OpenLoopRun {
 public:
  using Clock = typename P::Clock;

  OpenLoopRun(LoopState& loop_state, const LoopPlan& plan, const Clock& clock, const StopFlag& stop,
              LoopTally& tally) noexcept
      : loop_state_(loop_state),
        load_(*loop_state.open_loop),
        plan_(plan),
        clock_(clock),
        stop_(stop),
        tally_(tally),
        goal_(plan.operations > kNeverDue - plan.warmup ? kNeverDue
                                                        : plan.operations + plan.warmup),
        room_(std::uint64_t{loop_state.lane_count} * loop_state.depth),
        begin_(clock.now()),
        last_due_(begin_),
        completed_at_{begin_, begin_},
        arriving_(load_, begin_ - clock.to_ticks(load_.early_ns), clock),
        posting_(load_, begin_ - clock.to_ticks(load_.early_ns), clock),
        turns_(loop_state.watch, begin_) {
    load_.backlog.interval_ticks = clock.to_ticks(load_.interval_ns);
  }

  LoopResult run() noexcept {
    LoopResult end;
    while (completed_ != finish_at_) {
      const std::uint64_t now = clock_.now();
      while (arriving_.now() <= now) arrive();
      if constexpr (kWatched<By>) turns_.turn(now, completed_, false, false);
      const int error = post(now);
      note_backlog(now);
      if (error != 0) [[unlikely]] {
        end = post_failure(error);
        break;
      }
      end = poll(now);
      if (end.why != LoopResult::Why::done) [[unlikely]]
        break;
    }
    close();
    return end;
  }

 private:
  /// One more request is due.
  [[gnu::always_inline]] void arrive() noexcept {
    if (arrived_ == plan_.warmup) [[unlikely]]
      open_window();
    if (over(tally_, arriving_.now())) [[unlikely]] {
      end_arrivals();
      return;
    }
    last_due_ = arriving_.now();
    arriving_.advance();
    if (++arrived_ == goal_) [[unlikely]]
      end_arrivals();
  }

  [[gnu::noinline]] void open_window() noexcept {
    if (interval_ends_ != kNeverDue) return;
    window_begin_ = last_due_;
    interval_ends_ = last_due_ + load_.backlog.interval_ticks;
    if constexpr (kWatched<By>) {
      loop_state_.watch->begin(*tally_.scratch, completed_, clock_);
      turns_.long_ns = clock_.to_ns(loop_state_.watch->samples.limit);
    }
    set_end(tally_, last_due_, plan_.duration_ns, clock_);
  }

  /// Nothing is due any more. Where a number of requests rules, those that wait are still posted,
  /// but for an interrupt; where a time does, they are not: an overload's would take as long again,
  /// or longer.
  [[gnu::noinline]] void end_arrivals() noexcept {
    arriving_.stop();
    load_.due = arrived_ - std::min(arrived_, plan_.warmup);
    if (arrived_ != goal_ || over(tally_, last_due_)) {
      load_.unsent = arrived_ - std::min(arrived_, std::max(posted_, plan_.warmup));
      arrived_ = posted_;
    }
    finish_at_ = arrived_;
  }

  /// The next QP in turn that has room.
  [[gnu::always_inline]] Lane* free_lane() noexcept {
    if (posted_ - completed_ == room_) return nullptr;
    for (std::uint32_t tried = 0; tried < loop_state_.lane_count; ++tried) {
      Lane& lane = loop_state_.lanes[next_lane_];
      next_lane_ = next_lane_ + 1 == loop_state_.lane_count ? 0 : next_lane_ + 1;
      if (lane.outstanding < loop_state_.depth &&
          (!By::kReceives || lane.unanswered < loop_state_.depth))
        return &lane;
    }
    return nullptr;
  }

  /// The list with which the oldest request that waits is posted.
  [[gnu::always_inline]] SendList*& next_list(Lane& lane) noexcept {
    if constexpr (!kOfMix<By>) return lane.send;
    const MixState& mix = load_.mix;
    const auto index = static_cast<std::size_t>(&lane - loop_state_.lanes);
    return mix.send[index * mix.part_count + mix.drawn[mix.next]];
  }

  /// Posts the oldest request that waits, if there is one, and room for it.
  /// @return 0 or the errno value
  [[gnu::always_inline]] int post(std::uint64_t now) noexcept {
    if (posted_ == arrived_) return 0;
    Lane* const lane = free_lane();
    if (lane == nullptr) return 0;
    SendList*& next = next_list(*lane);
    SendList& list = *next;
    list.due = posting_.now();
    list.stamp = now;
    list.measured = posted_ >= plan_.warmup ? 1 : 0;
    if (const int error = P::Post::post(loop_state_, *lane, list.head); error != 0) [[unlikely]]
      return error;
    next = list.next;
    ++lane->outstanding;
    if constexpr (By::kReceives && kOfMix<By>)
      lane->unanswered += static_cast<const MixList&>(list).answered;
    else if constexpr (By::kReceives)
      ++lane->unanswered;
    posting_.advance();
    if constexpr (kOfMix<By>)
      load_.mix.next = load_.mix.next + 1 == load_.gap_count ? 0 : load_.mix.next + 1;
    ++posted_;
    return 0;
  }

  [[gnu::always_inline]] void note_backlog(std::uint64_t now) noexcept {
    const std::uint64_t waiting = arrived_ - posted_;
    if (waiting > most_) [[unlikely]]
      most_ = waiting;
    if (now >= interval_ends_) [[unlikely]]
      end_interval(now);
  }

  [[gnu::noinline]] void end_latencies() noexcept {
    if (tally_.over_time != nullptr) tally_.over_time->close(*tally_.latency, 0);
  }

  [[gnu::noinline]] void end_interval(std::uint64_t now) noexcept {
    load_.backlog_max = std::max(load_.backlog_max, most_);
    end_latencies();
    for (bool first = true; interval_ends_ <= now; first = false) {
      if (!first && tally_.over_time != nullptr) tally_.over_time->close_empty();
      load_.backlog.add(most_);
      interval_ends_ += load_.backlog.interval_ticks;
    }
    if (over(tally_, now) && posted_ != arrived_) end_arrivals();
    most_ = arrived_ - posted_;
  }

  [[gnu::always_inline]] void record_part(const MixList& list, std::uint64_t seen) noexcept {
    PartSamples& part = load_.mix.samples[list.part];
    part.response.record(clock_.to_ns(seen - list.due));
    part.service.record(clock_.to_ns(seen - list.stamp));
    part.lateness.record(clock_.to_ns(list.stamp - list.due));
  }

  /// A watched loop's response may be long enough to be kept.
  [[gnu::noinline]] void note_long(const SendList& list, std::uint64_t seen) noexcept {
    LongestOf<LongSample>& samples = loop_state_.watch->samples;
    const std::uint64_t length = seen - list.due;
    if (length < samples.limit || list.measured == 0) return;
    samples.add({list.due, length, completed_});
    turns_.long_ns = clock_.to_ns(samples.limit);
  }

  /// The response of a request, in a watched loop.
  [[gnu::always_inline]] void record_watched(const SendList& list, std::uint64_t seen) noexcept {
    const std::uint64_t response_ns = clock_.to_ns(seen - list.due);
    (list.measured != 0 ? tally_.latency : tally_.scratch)->record(response_ns);
    if (response_ns >= turns_.long_ns) [[unlikely]]
      note_long(list, seen);
  }

  /// A request has ended.
  [[gnu::always_inline]] void record(const SendList& list, std::uint64_t seen) noexcept {
    const bool measured = list.measured != 0;
    if constexpr (kWatched<By>)
      record_watched(list, seen);
    else
      (measured ? tally_.latency : tally_.scratch)->record(clock_.to_ns(seen - list.due));
    (measured ? load_.service : load_.unmeasured).record(clock_.to_ns(seen - list.stamp));
    if constexpr (kPerQp<By>)
      if (measured) list.lane->samples->record(clock_.to_ns(seen - list.stamp));
    (measured ? load_.lateness : load_.unmeasured).record(clock_.to_ns(list.stamp - list.due));
    if constexpr (kOfMix<By>)
      if (measured) record_part(static_cast<const MixList&>(list), seen);
    ++completed_;
    load_.completed += list.measured;
    completed_at_[list.measured] = seen;
  }

  /// Takes what has ended.
  /// @param now  when the loop was last seen
  [[gnu::always_inline]] LoopResult poll(std::uint64_t now) noexcept {
    ibv_wc wcs[kCqeBatch];
    CqRing& ending = By::kReceives ? loop_state_.recv_cq : loop_state_.send_cq;
    const int polled = P::Cq::poll(P::Cq::of(ending), kCqeBatch, wcs);
    if (polled > 0) {
      const std::uint64_t seen = clock_.now();
      for (int i = 0; i < polled; ++i) {
        if (wcs[i].status != IBV_WC_SUCCESS) [[unlikely]]
          return no_completion(1, wcs[i]);
        if (const int error = take(wcs[i], seen); error != 0) [[unlikely]]
          return post_failure(error);
      }
      tally_.progress.store(completed_, std::memory_order_relaxed);
    } else {
      if (polled < 0 || stop_.requested()) [[unlikely]]
        return no_completion(polled, wcs[0]);
      if (over(tally_, now) && (finish_at_ == kNeverDue || posted_ != arrived_)) [[unlikely]]
        end_arrivals();
      typename P::Waiter{}(P::Cq::of(ending));
    }
    ++polls_;
    if constexpr (!By::kReceives) return {};
    ++polls_;
    if constexpr (kOfMix<By>) return complete();
    return reap_sends<P>(loop_state_, reaped_);
  }

  /// Takes the completions of a mix with sends, which end its other requests.
  [[gnu::always_inline]] LoopResult complete() noexcept {
    ibv_wc wcs[kCqeBatch];
    const int polled = P::Cq::poll(P::Cq::of(loop_state_.send_cq), kCqeBatch, wcs);
    if (polled < 0) [[unlikely]]
      return no_completion(polled, wcs[0]);
    if (polled == 0) return {};
    const std::uint64_t seen = clock_.now();
    for (int i = 0; i < polled; ++i) {
      if (wcs[i].status != IBV_WC_SUCCESS) [[unlikely]]
        return no_completion(1, wcs[i]);
      const auto& list = static_cast<const MixList&>(*reinterpret_cast<SendList*>(wcs[i].wr_id));
      --list.lane->outstanding;
      if (list.answered == 0)
        record(list, seen);
      else
        ++reaped_;
    }
    tally_.progress.store(completed_, std::memory_order_relaxed);
    return {};
  }

  /// @return 0 or the errno value
  [[gnu::always_inline]] int take(const ibv_wc& wc, std::uint64_t seen) noexcept {
    if constexpr (By::kReceives) {
      RecvRing& ring = *receive_of(wc).ring;
      Lane& lane = *ring.lane;
      record(*lane.oldest, seen);
      lane.oldest = lane.oldest->next;
      --lane.unanswered;
      return replenish(ring);
    } else {
      const SendList& list = *reinterpret_cast<SendList*>(wc.wr_id);
      --list.lane->outstanding;
      record(list, seen);
      return 0;
    }
  }

  void close() noexcept {
    const bool opened = interval_ends_ != kNeverDue;
    load_.backlog_max = std::max(load_.backlog_max, most_);
    if (opened && most_ != 0) load_.backlog.add(most_);
    if (opened) end_latencies();
    load_.series_ns = clock_.to_ns(load_.backlog.interval_ticks);
    if (opened) {
      load_.window_ns = clock_.to_ns(last_due_ - window_begin_);
      if (load_.completed != 0)
        load_.completing_ns =
            clock_.to_ns(completed_at_[1] - std::min(completed_at_[1], completed_at_[0]));
      tally_.elapsed_ns = clock_.to_ns(clock_.now() - window_begin_);
    }
    tally_.operations = load_.completed;
    tally_.total = tally_.doorbells = posted_;
    tally_.cqes = completed_ + reaped_;
    tally_.polls = polls_;
  }

  LoopState& loop_state_;
  OpenLoop& load_;
  const LoopPlan& plan_;
  const Clock& clock_;
  const StopFlag& stop_;
  LoopTally& tally_;
  const std::uint64_t goal_;  ///< requests that are to fall due, warm-up included
  const std::uint64_t room_;  ///< requests that may be in flight
  const std::uint64_t begin_;
  std::uint64_t last_due_;         ///< of those that are due
  std::uint64_t completed_at_[2];  ///< the last one of the warm-up, and of those behind it
  DueTimes<Clock> arriving_, posting_;
  [[no_unique_address]] TurnWatchOf<By> turns_;
  std::uint64_t arrived_ = 0, posted_ = 0, completed_ = 0;
  std::uint64_t finish_at_ = kNeverDue;  ///< requests, once it is known how many
  std::uint64_t window_begin_ = 0, interval_ends_ = kNeverDue, most_ = 0;
  std::uint64_t polls_ = 0, reaped_ = 0;
  std::uint32_t next_lane_ = 0;
};

template <class By, class P>
LoopResult open_loop_initiator(LoopState& loop_state, const LoopPlan& plan,
                               const typename P::Clock& clock, const StopFlag& stop,
                               LoopTally& tally) noexcept {
  return OpenLoopRun<By, P>(loop_state, plan, clock, stop, tally).run();
}

/// Marks the responder's loop that does not watch itself.
struct PlainAnswers {};

/// Answers one request on the QP that it came over.
/// @param next  the message that comes after those at hand, from 0
template <class By, class P>
[[gnu::always_inline]] inline LoopResult answer(LoopState& loop_state, const ibv_wc& wc,
                                                const StopFlag& stop, std::uint64_t& reaped,
                                                [[maybe_unused]] TurnWatchOf<By>& turns,
                                                [[maybe_unused]] const typename P::Clock& clock,
                                                [[maybe_unused]] std::uint64_t next) noexcept {
  if (wc.status != IBV_WC_SUCCESS) [[unlikely]]
    return no_completion(1, wc);
  RecvRing& ring = *receive_of(wc).ring;
  Lane& lane = *ring.lane;
  while (lane.outstanding == loop_state.depth) [[unlikely]] {
      const LoopResult end = reap_sends<P>(loop_state, reaped);
      if (end.why != LoopResult::Why::done) return end;
      if (stop.requested()) return {.why = LoopResult::Why::stopped};
      // That there is no room is the path's matter: no gap, unless the loop itself goes away.
      if constexpr (kWatched<By>) turns.turn(clock.now(), next, false, true);
    }
  SendList& list = *lane.send;
  int error = P::Post::post(loop_state, lane, list.head);
  if (error == 0) error = replenish(ring);
  if (error != 0) [[unlikely]]
    return post_failure(error);
  lane.send = list.next;
  ++lane.outstanding;
  return {};
}

/// The responder of sends: answers each as it comes until it is told to stop.
/// @tparam By  Watched<PlainAnswers>: it looks at the clock before each poll
template <class By, class P>
LoopResult open_loop_responder(LoopState& loop_state, const LoopPlan&,
                               [[maybe_unused]] const typename P::Clock& clock,
                               const StopFlag& stop, LoopTally& tally) noexcept {
  std::uint64_t empties = 0, answered = 0, hits = 0, reaped = 0;
  [[maybe_unused]] bool has_answered = false;
  TurnWatchOf<By> turns(loop_state.watch, kWatched<By> ? clock.now() : 0);
  LoopResult end;
  ibv_wc wcs[kCqeBatch];
  while (end.why == LoopResult::Why::done) {
    std::uint64_t now = 0;
    if constexpr (kWatched<By>) now = clock.now();
    const int polled = P::Cq::poll(P::Cq::of(loop_state.recv_cq), kCqeBatch, wcs);
    if constexpr (kWatched<By>) {
      turns.turn(now, answered, polled > 0, has_answered);
      has_answered = polled > 0;
    }
    if (polled <= 0) {
      if (polled < 0 || stop.requested()) [[unlikely]] {
        end = no_completion(polled, wcs[0]);
        break;
      }
      ++empties;
      end = reap_sends<P>(loop_state, reaped);
      typename P::Waiter{}(P::Cq::of(loop_state.recv_cq));
      continue;
    }
    ++hits;
    const std::uint64_t next = answered + static_cast<std::uint64_t>(polled);
    for (int i = 0; i < polled && end.why == LoopResult::Why::done; ++i) {
      end = answer<By, P>(loop_state, wcs[i], stop, reaped, turns, clock, next);
      if (end.why == LoopResult::Why::done) ++answered;
    }
    tally.progress.store(answered, std::memory_order_relaxed);
  }
  tally.operations = tally.total = answered;
  tally.cqes = answered + reaped;
  tally.polls = empties + hits;
  return end;
}

}  // namespace rdmameter
