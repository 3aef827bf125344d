// SPDX-License-Identifier: Apache-2.0
// The measured path of a collective: a rank's steps, in order. What comes before its step is kept
// apart, so that its buffer is free at once and no rank waits for one that is behind.
#pragma once

#include <cstring>
#include <span>

#include "topologies/ranks/loop/loops.h"

namespace rdmameter {

/// Where words of a message are put.
struct WordTarget {
  std::uint32_t* to = nullptr;
  const std::uint32_t* added_to = nullptr;  ///< null: they are put as they are
  std::uint64_t count = 0;
};

struct WordCopy {
  std::uint32_t* to = nullptr;
  const std::uint32_t* from = nullptr;
  std::uint64_t count = 0;
};

/// A message that comes in the course of a collective.
struct Arrival {
  std::span<const WordTarget> targets;
  std::uint64_t bytes = 0;
  std::uint8_t* place = nullptr;  ///< where it is kept if it comes before its step...
  bool kept = false;              ///< ...and it has
};

struct StepWork {
  std::span<const WordCopy> copies;  ///< before it sends
  Hop* hop = nullptr;                ///< null: it sends nothing
  Arrival* arrival = nullptr;        ///< null: it awaits nothing
  /// What it receives is put only when so many of CollectiveWork::hops have left: they send words
  /// from there.
  std::uint32_t left_before = 0;
};

/// The messages of one rank to this one, as they come.
struct ArrivalQueue {
  Arrival* const* first = nullptr;
  Arrival* const* next = nullptr;
};

struct CollectiveWork {
  std::span<const StepWork> steps;
  Hop* const* hops = nullptr;              ///< of the steps that send
  std::uint32_t left = 0;                  ///< so many of them have
  ArrivalQueue* queues = nullptr;          ///< by source
  std::span<const std::uint32_t> sources;  ///< that send anything
  Arrival* awaited = nullptr;              ///< of the step under way, once it may be put
  std::uint64_t* samples = nullptr;        ///< where the next one goes [ns]
};

/// Puts a message's words. @param bytes  aligned to a word
inline void put_words(const Arrival& arrival, const std::uint8_t* bytes) noexcept {
  const auto* words = reinterpret_cast<const std::uint32_t*>(bytes);
  for (const WordTarget& target : arrival.targets) {
    if (target.added_to == nullptr)
      std::memcpy(target.to, words, target.count * sizeof(std::uint32_t));
    else
      for (std::uint64_t at = 0; at < target.count; ++at)
        target.to[at] = target.added_to[at] + words[at];
    words += target.count;
  }
}

/// A Deliver. Messages of one rank come in the order of its steps.
inline bool take_part(RankState& state, MessageBuffer& buffer, std::uint32_t arrived) noexcept {
  CollectiveWork& work = *state.collective;
  ++state.arrived;
  Arrival& arrival = **work.queues[source_of(arrived)].next++;
  if (&arrival == work.awaited) [[likely]] {
    put_words(arrival, buffer.data);
    work.awaited = nullptr;
  } else {
    std::memcpy(arrival.place, buffer.data, arrival.bytes);
    arrival.kept = true;
  }
  return false;
}

/// Waits for a step's message, and puts it. @return false: it is over (state.end says why)
template <class P>
[[gnu::always_inline]] inline bool receive_step(RankState& state, CollectiveWork& work,
                                                const StepWork& step,
                                                const StopFlag& stop) noexcept {
  for (; work.left < step.left_before; ++work.left)
    while (work.hops[work.left]->busy)
      if (!look<P>(state, stop)) [[unlikely]]
        return false;
  Arrival& arrival = *step.arrival;
  if (arrival.kept) {
    arrival.kept = false;
    put_words(arrival, arrival.place);
    return true;
  }
  work.awaited = &arrival;
  while (work.awaited != nullptr)
    if (!look<P>(state, stop)) [[unlikely]]
      return false;
  return true;
}

/// `count` collectives, each after a barrier; a sample is one at this rank, from when it has passed
/// the barrier until it has its result and all that it sent has left.
template <class P>
void collective(RankState& state, std::uint64_t count, const typename P::Clock& clock,
                const StopFlag& stop) noexcept {
  CollectiveWork& own = *state.collective;
  for (std::uint64_t i = 0; i < count; ++i) {
    // No rank sends for this one before all have come to its barrier.
    for (const std::uint32_t source : own.sources) {
      ArrivalQueue& queue = own.queues[source];
      queue.next = queue.first;
    }
    own.left = 0;
    serve<P>(state, stop);
    if (state.end.why != LoopResult::Why::done) [[unlikely]]
      return;
    const std::uint64_t begin = clock.now();
    for (const StepWork& step : own.steps) {
      for (const WordCopy& copy : step.copies)
        std::memcpy(copy.to, copy.from, copy.count * sizeof(std::uint32_t));
      if (step.hop != nullptr) {
        step.hop->busy = true;
        ++state.leaving;
        send<P::kReceive>(state, *step.hop, 0);
        post_lists(state);
      }
      if (step.arrival != nullptr && !receive_step<P>(state, own, step, stop)) [[unlikely]]
        return;
    }
    while (state.leaving != 0)
      if (!look<P>(state, stop)) [[unlikely]]
        return;
    *own.samples++ = clock.to_ns(clock.now() - begin);
    ++state.operations;
  }
}

}  // namespace rdmameter
