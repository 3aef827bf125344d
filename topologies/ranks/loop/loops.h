// SPDX-License-Identifier: Apache-2.0
// The measured loops of a rank: serving, a round trip, an exchange, a stream. All of them keep
// relaying what others send through this rank.
#pragma once

#include <atomic>

#include "core/engine/loop/wait.h"
#include "topologies/ranks/loop/barrier.h"
#include "topologies/ranks/loop/relay.h"

namespace rdmameter {

/// The choices for a run that cost nothing within it.
template <class TheClock, class TheWaiter, ReceiveMode kTheReceiveMode>
struct RankPolicy {
  using Clock = TheClock;
  using Waiter = TheWaiter;
  static constexpr ReceiveMode kReceive = kTheReceiveMode;
};

/// A round of an exchange: what is sent, and from which ranks something is awaited.
struct RoundWork {
  Hop* const* hops = nullptr;
  std::uint32_t hop_count = 0;
  const std::uint32_t* sources = nullptr;
  std::uint32_t source_count = 0;
};

/// The data of a loop beside its relay. Which fields count depends on the loop.
struct RankWork {
  Relay* relay = nullptr;
  Barrier* barrier = nullptr;
  // A round trip: its first hop, and where a message's number goes (UC, UD; else null).
  Hop* first = nullptr;
  std::uint8_t* departure = nullptr;
  // An exchange.
  const RoundWork* rounds = nullptr;
  std::uint32_t round_count = 0;
  // A stream: hops that are used in turn, and the ranks that messages go to, again and again.
  Hop* const* window = nullptr;
  std::uint32_t window_length = 0;
  const std::uint32_t* partners = nullptr;
  std::uint32_t partner_count = 0;  ///< 0: this rank sends nothing
  const Route* routes = nullptr;    ///< by destination
  std::uint64_t expected = 0;       ///< messages for this rank by the end, since the first of all
  CollectiveWork* collective = nullptr;
};

struct RankTally {
  Histogram* latency = nullptr;
  std::uint64_t operations = 0, lost = 0;
  std::uint64_t elapsed_ns = 0;  ///< of the whole loop
  std::uint64_t sending_ns = 0;  ///< up to the last completion of what this rank sent
  alignas(64) std::atomic<std::uint64_t> progress{0};  ///< so that a watchdog sees that all is well
};

/// One look at the completions of the next CQ, and what it costs that all of them were empty.
/// @return false: it is over (relay.end says why)
template <class P>
[[gnu::always_inline]] inline bool look(Relay& relay, const StopFlag& stop,
                                        RankTally& tally) noexcept {
  const int taken = step<P::kReceive>(relay);
  ++relay.polls;
  if (taken > 0) [[likely]] {
    relay.cqes += static_cast<std::uint64_t>(taken);
    relay.empty_cqs = 0;
    tally.progress.store(relay.cqes, std::memory_order_relaxed);
  } else {
    if (stop.requested()) [[unlikely]]
      relay.end = {.why = LoopResult::Why::stopped};
    if (++relay.empty_cqs >= relay.cq_count) {  // not before each had its turn
      relay.empty_cqs = 0;
      typename P::Waiter{}(relay.cqs[relay.cq_at]);
    }
  }
  return relay.end.why == LoopResult::Why::done;
}

/// Passes messages on and answers them until all ranks have arrived at the barrier.
template <class P>
void serve(RankWork& work, const StopFlag& stop, RankTally& tally) noexcept {
  Barrier& barrier = *work.barrier;
  barrier.arrive();
  while (!barrier.passed()) {
    if (barrier.end.why != LoopResult::Why::done) [[unlikely]]
      work.relay->end = barrier.end;
    if (!look<P>(*work.relay, stop, tally)) [[unlikely]]
      return;
  }
  tally.progress.fetch_add(1, std::memory_order_relaxed);
}

/// Barriers, one after the other; a sample is one.
template <class P>
void time_barriers(RankWork& work, std::uint64_t count, const typename P::Clock& clock,
                   const StopFlag& stop, RankTally& tally) noexcept {
  for (std::uint64_t i = 0; i < count && work.relay->end.why == LoopResult::Why::done; ++i) {
    const std::uint64_t begin = clock.now();
    serve<P>(work, stop, tally);
    tally.latency->record(clock.to_ns(clock.now() - begin));
  }
}

/// `rounds` round trips of one message. @param loss_ns  0: nothing is ever lost
template <class P>
void round_trip(RankWork& work, std::uint64_t rounds, std::uint64_t loss_ns,
                const typename P::Clock& clock, const StopFlag& stop, RankTally& tally) noexcept {
  Relay& relay = *work.relay;
  const std::uint64_t loss_ticks = clock.to_ticks(loss_ns);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    while (work.first->busy)  // its completion may come after the answer
      if (!look<P>(relay, stop, tally)) [[unlikely]]
        return;
    if (work.departure != nullptr) *work.departure = ++relay.number;
    relay.back = false;
    work.first->busy = true;
    ++relay.leaving;
    const std::uint64_t begin = clock.now();
    send<P::kReceive>(relay, *work.first, 0);
    post_lists(relay);
    bool late = false;
    while (!relay.back && !late) {
      if (!look<P>(relay, stop, tally)) [[unlikely]]
        return;
      late = work.departure != nullptr && clock.now() - begin > loss_ticks;
    }
    const std::uint64_t end = clock.now();
    if (relay.back) [[likely]] {
      tally.latency->record(clock.to_ns(end - begin));
      empty<P::kReceive>(relay, *relay.held);
    } else {
      ++tally.lost;
      relay.back = true;  // a late message is ignored from here on
    }
    ++tally.operations;
  }
}

/// Marks the sources whose message of this exchange has not come yet.
inline void await_sources(Relay& relay, const RoundWork& round) noexcept {
  for (std::uint32_t i = 0; i < round.source_count; ++i) {
    const std::uint32_t source = round.sources[i];
    relay.awaited[source] = relay.received[source] < relay.target ? 1 : 0;
    relay.missing += relay.awaited[source];
  }
}

/// Counts the messages that have not come as lost; they are not waited for again.
[[gnu::noinline]] inline void give_up(Relay& relay, const RoundWork& round,
                                      RankTally& tally) noexcept {
  for (std::uint32_t i = 0; i < round.source_count; ++i) {
    std::uint64_t& received = relay.received[round.sources[i]];
    if (received >= relay.target) continue;
    tally.lost += relay.target - received;
    received = relay.target;
    relay.awaited[round.sources[i]] = 0;
  }
  relay.missing = 0;
}

/// `count` exchanges; a sample is one, from its first post to its last arrival and completion here.
template <class P>
void exchange(RankWork& work, std::uint64_t count, std::uint64_t loss_ns,
              const typename P::Clock& clock, const StopFlag& stop, RankTally& tally) noexcept {
  Relay& relay = *work.relay;
  const std::uint64_t loss_ticks = clock.to_ticks(loss_ns);
  const std::uint64_t start = clock.now();
  for (std::uint64_t i = 0; i < count; ++i) {
    ++relay.target;
    const std::uint64_t begin = clock.now();
    for (std::uint32_t r = 0; r < work.round_count; ++r) {
      const RoundWork& round = work.rounds[r];
      await_sources(relay, round);
      relay.leaving += round.hop_count;
      for (std::uint32_t hop = 0; hop < round.hop_count; ++hop)
        send<P::kReceive>(relay, *round.hops[hop], 0);
      post_lists(relay);
      while ((relay.missing | relay.leaving) != 0) {
        if (!look<P>(relay, stop, tally)) [[unlikely]]
          return;
        if (loss_ns != 0 && relay.leaving == 0 && clock.now() - begin > loss_ticks) [[unlikely]]
          give_up(relay, round, tally);
      }
    }
    tally.latency->record(clock.to_ns(clock.now() - begin));
    ++tally.operations;
  }
  tally.elapsed_ns = tally.sending_ns = clock.to_ns(clock.now() - start);
}

/// `count` messages as fast as there is room for them, and all that is to come here.
template <class P>
void stream(RankWork& work, std::uint64_t count, std::uint64_t quiet_ns,
            const typename P::Clock& clock, const StopFlag& stop, RankTally& tally) noexcept {
  Relay& relay = *work.relay;
  const std::uint64_t quiet_ticks = clock.to_ticks(quiet_ns);
  const std::uint64_t start = clock.now();
  std::uint32_t at = 0, partner = 0;
  const std::uint64_t messages = work.partner_count == 0 ? 0 : count;
  for (std::uint64_t i = 0; i < messages; ++i) {
    Hop& hop = *work.window[at];
    while (hop.busy)
      if (!look<P>(relay, stop, tally)) [[unlikely]]
        return;
    const std::uint32_t to = work.partners[partner];
    set_label<P::kReceive>(hop, label(relay.me, to));
    hop.link = work.routes[to].edges[0]->take();
    hop.busy = true;
    ++relay.leaving;
    send<P::kReceive>(relay, hop, 0);
    if (++at == work.window_length) at = 0;
    if (++partner == work.partner_count) partner = 0;
  }
  while (relay.leaving != 0)
    if (!look<P>(relay, stop, tally)) [[unlikely]]
      return;
  std::uint64_t last = clock.now(), seen = relay.arrived;
  tally.sending_ns = clock.to_ns(last - start);
  while (relay.arrived < work.expected) {
    if (!look<P>(relay, stop, tally)) [[unlikely]]
      return;
    if (relay.arrived != seen) {
      seen = relay.arrived;
      last = clock.now();
    } else if (quiet_ns != 0 && clock.now() - last > quiet_ticks) [[unlikely]] {
      break;
    }
  }
  tally.operations = messages;
  tally.elapsed_ns = clock.to_ns(last - start);
}

}  // namespace rdmameter
