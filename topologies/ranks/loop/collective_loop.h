// SPDX-License-Identifier: Apache-2.0
// The measured path of a collective: a rank's steps, in order. What comes before its step is kept
// apart, so that its buffer is free at once and no rank waits for one that is behind.
#pragma once

#include <cstring>

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
  const WordTarget* targets = nullptr;
  std::uint32_t target_count = 0;
  std::uint64_t bytes = 0;
  std::uint8_t* place = nullptr;  ///< where it is kept if it comes before its step...
  bool kept = false;              ///< ...and it has
};

struct StepWork {
  const WordCopy* copies = nullptr;  ///< before it sends
  std::uint32_t copy_count = 0;
  Hop* hop = nullptr;          ///< null: it sends nothing
  Arrival* arrival = nullptr;  ///< null: it awaits nothing
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
  const StepWork* steps = nullptr;
  std::uint32_t step_count = 0;
  Hop* const* hops = nullptr;              ///< of the steps that send
  std::uint32_t left = 0;                  ///< so many of them have
  ArrivalQueue* queues = nullptr;          ///< by source
  const std::uint32_t* sources = nullptr;  ///< that send anything
  std::uint32_t source_count = 0;
  Arrival* awaited = nullptr;        ///< of the step under way, once it may be put
  std::uint64_t* samples = nullptr;  ///< where the next one goes [ns]
};

inline void copy_words(const WordCopy* copies, std::uint32_t count) noexcept {
  for (std::uint32_t i = 0; i < count; ++i)
    std::memcpy(copies[i].to, copies[i].from, copies[i].count * sizeof(std::uint32_t));
}

/// Puts a message's words. @param bytes  aligned to a word
inline void put_words(const Arrival& arrival, const std::uint8_t* bytes) noexcept {
  const auto* words = reinterpret_cast<const std::uint32_t*>(bytes);
  for (std::uint32_t i = 0; i < arrival.target_count; ++i) {
    const WordTarget& target = arrival.targets[i];
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
    for (std::uint32_t at = 0; at < own.source_count; ++at) {
      ArrivalQueue& queue = own.queues[own.sources[at]];
      queue.next = queue.first;
    }
    own.left = 0;
    serve<P>(state, stop);
    if (state.end.why != LoopResult::Why::done) [[unlikely]]
      return;
    const std::uint64_t begin = clock.now();
    for (std::uint32_t at = 0; at < own.step_count; ++at) {
      const StepWork& step = own.steps[at];
      copy_words(step.copies, step.copy_count);
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
