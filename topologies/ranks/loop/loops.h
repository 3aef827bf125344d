// SPDX-License-Identifier: Apache-2.0
// The measured loops of a rank: serving, a round trip, an exchange, a stream. All of them keep
// relaying what others send through this rank.
#pragma once

#include "core/engine/loop/wait.h"
#include "topologies/ranks/loop/relay.h"

namespace rdmameter {

/// The choices for a run that cost nothing within it.
template <class TheClock, class TheWaiter, ReceiveMode kTheReceiveMode>
struct RankPolicy {
  using Clock = TheClock;
  using Waiter = TheWaiter;
  static constexpr ReceiveMode kReceive = kTheReceiveMode;
};

/// One look at the completions of the next CQ, and what it costs that all of them were empty.
/// @return false: it is over (state.end says why)
template <class P>
[[gnu::always_inline]] inline bool look(RankState& state, const StopFlag& stop) noexcept {
  const int taken = step<P::kReceive>(state);
  ++state.polls;
  if (taken > 0) [[likely]] {
    state.cqes += static_cast<std::uint64_t>(taken);
    state.empty_cqs = 0;
    state.progress.store(state.cqes, std::memory_order_relaxed);
  } else {
    if (stop.requested()) [[unlikely]]
      state.end = {.why = LoopResult::Why::stopped};
    if (++state.empty_cqs >= state.cq_count) {  // not before each had its turn
      state.empty_cqs = 0;
      typename P::Waiter{}(state.cqs[state.cq_at]);
    }
  }
  return state.end.why == LoopResult::Why::done;
}

/// Passes messages on and answers them until all ranks have arrived at the barrier.
template <class P>
void serve(RankState& state, const StopFlag& stop) noexcept {
  Barrier& barrier = *state.barrier;
  barrier.arrive();
  while (!barrier.passed()) {
    if (barrier.end.why != LoopResult::Why::done) [[unlikely]]
      state.end = barrier.end;
    if (!look<P>(state, stop)) [[unlikely]]
      return;
  }
  state.progress.fetch_add(1, std::memory_order_relaxed);
}

/// Barriers, one after the other; a sample is one.
template <class P>
void time_barriers(RankState& state, std::uint64_t count, const typename P::Clock& clock,
                   const StopFlag& stop) noexcept {
  for (std::uint64_t i = 0; i < count && state.end.why == LoopResult::Why::done; ++i) {
    const std::uint64_t begin = clock.now();
    serve<P>(state, stop);
    state.latency->record(clock.to_ns(clock.now() - begin));
  }
}

/// `rounds` round trips of one message. @param loss_ns  0: nothing is ever lost
template <class P>
void round_trip(RankState& state, std::uint64_t rounds, std::uint64_t loss_ns,
                const typename P::Clock& clock, const StopFlag& stop) noexcept {
  const std::uint64_t loss_ticks = clock.to_ticks(loss_ns);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    while (state.first->busy)  // its completion may come after the answer
      if (!look<P>(state, stop)) [[unlikely]]
        return;
    if (state.departure != nullptr) *state.departure = ++state.number;
    state.back = false;
    state.first->busy = true;
    state.first->link = state.first->edge->take();
    ++state.leaving;
    const std::uint64_t begin = clock.now();
    send<P::kReceive>(state, *state.first, 0);
    post_lists(state);
    bool late = false;
    while (!state.back && !late) {
      if (!look<P>(state, stop)) [[unlikely]]
        return;
      late = state.departure != nullptr && clock.now() - begin > loss_ticks;
    }
    const std::uint64_t end = clock.now();
    if (state.back) [[likely]] {
      state.latency->record(clock.to_ns(end - begin));
      empty<P::kReceive>(state, *state.held);
    } else {
      ++state.lost;
      state.back = true;  // a late message is ignored from here on
    }
    ++state.operations;
  }
}

/// Marks the sources whose message of this exchange has not come yet.
inline void await_sources(RankState& state, const RoundWork& round) noexcept {
  for (const std::uint32_t source : round.sources) {
    state.awaited[source] = state.received[source] < state.target ? 1 : 0;
    state.missing += state.awaited[source];
  }
}

/// Counts the messages that have not come as lost; they are not waited for again.
[[gnu::noinline]] inline void give_up(RankState& state, const RoundWork& round) noexcept {
  for (const std::uint32_t source : round.sources) {
    std::uint64_t& received = state.received[source];
    if (received >= state.target) continue;
    state.lost += state.target - received;
    received = state.target;
    state.awaited[source] = 0;
  }
  state.missing = 0;
}

/// `count` exchanges; a sample is one, from its first post to its last arrival and completion here.
/// @param loss_ns  a message that has not come so long after the others, and after this rank's own
///                 have left, is lost; 0: nothing ever is
template <class P>
void exchange(RankState& state, std::uint64_t count, std::uint64_t loss_ns,
              const typename P::Clock& clock, const StopFlag& stop) noexcept {
  const std::uint64_t loss_ticks = clock.to_ticks(loss_ns);
  const std::uint64_t start = clock.now();
  for (std::uint64_t i = 0; i < count; ++i) {
    ++state.target;
    const std::uint64_t begin = clock.now();
    for (const RoundWork& round : state.rounds) {
      await_sources(state, round);
      state.leaving += round.hops.size();
      for (Hop* const hop : round.hops) {
        hop->link = hop->edge->take();
        send<P::kReceive>(state, *hop, 0);
      }
      post_lists(state);
      std::uint64_t last = 0, seen = ~std::uint64_t{0};  // of those that are missing here
      while ((state.missing | state.leaving) != 0) {
        if (!look<P>(state, stop)) [[unlikely]]
          return;
        if (loss_ns == 0 || state.leaving != 0) continue;
        const std::uint64_t now = clock.now();
        if (state.missing != seen) {
          seen = state.missing;
          last = now;
        } else if (now - last > loss_ticks) [[unlikely]] {
          give_up(state, round);
        }
      }
    }
    state.latency->record(clock.to_ns(clock.now() - begin));
    ++state.operations;
  }
  state.elapsed_ns = state.sending_ns = clock.to_ns(clock.now() - start);
}

/// `count` messages as fast as there is room for them, and all that is to come here.
template <class P>
void stream(RankState& state, std::uint64_t count, std::uint64_t quiet_ns,
            const typename P::Clock& clock, const StopFlag& stop) noexcept {
  const std::uint64_t quiet_ticks = clock.to_ticks(quiet_ns);
  const std::uint64_t start = clock.now();
  std::uint32_t at = 0, partner = 0;
  const std::uint64_t messages = state.partner_count == 0 ? 0 : count;
  for (std::uint64_t i = 0; i < messages; ++i) {
    Hop& hop = *state.window[at];
    while (hop.busy)
      if (!look<P>(state, stop)) [[unlikely]]
        return;
    const std::uint32_t to = state.partners[partner];
    set_label<P::kReceive>(hop, label(state.me, to));
    hop.link = state.routes[to].edges[0]->take();
    hop.busy = true;
    ++state.leaving;
    send<P::kReceive>(state, hop, 0);
    if (++at == state.window_length) at = 0;
    if (++partner == state.partner_count) partner = 0;
  }
  while (state.leaving != 0)
    if (!look<P>(state, stop)) [[unlikely]]
      return;
  std::uint64_t last = clock.now(), seen = state.arrived;
  state.sending_ns = clock.to_ns(last - start);
  while (state.arrived < state.expected) {
    if (!look<P>(state, stop)) [[unlikely]]
      return;
    if (state.arrived != seen) {
      seen = state.arrived;
      last = clock.now();
    } else if (quiet_ns != 0 && clock.now() - last > quiet_ticks) [[unlikely]] {
      break;
    }
  }
  state.operations = messages;
  state.elapsed_ns = clock.to_ns(last - start);
}

}  // namespace rdmameter
