// SPDX-License-Identifier: Apache-2.0
// The measured path of `--blame`: a loop that watches itself notes when it was away from its polls,
// and which samples took long. It judges nothing; core/engine/blame/ does, afterwards. Part of the
// measured path of those cases alone that ask for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/base/stop.h"
#include "core/engine/loop/loop_state.h"

namespace rdmameter {

/// Marks a policy of a loop as one that watches itself: `using Watches`.
template <class Base>
struct Watched : Base {
  using Watches = void;
};
template <class Of>
inline constexpr bool kWatched = requires {
  typename Of::Watches;
};

/// A time between two looks at the clock, of which there is one after each poll.
struct PollGap {
  std::uint64_t begun, length;  ///< [ticks]
  std::uint64_t message;        ///< that the loop waited for, from 0, warm-up included
  bool found;                   ///< the poll at its end, or the next one, found that message
  bool first;                   ///< there was no poll for that message before it
};

/// A sample that took long.
struct LongSample {
  std::uint64_t begun, length;  ///< [ticks]
  std::uint64_t message;        ///< as in PollGap
};

/// The longest of what is added: all that are as long as `limit`, which rises whenever there is no
/// room left.
template <class Entry>
struct LongestOf {
  Entry* entries = nullptr;
  std::size_t capacity = 0;  ///< 2 at least
  std::size_t count = 0;
  std::uint64_t limit = 0;  ///< shorter ones are not to be added [ticks]

  /// A function of its own, being rare.
  [[gnu::noinline]] void add(const Entry& entry) noexcept {
    if (count == capacity) drop_shorter_half();
    entries[count++] = entry;
  }

 private:
  void drop_shorter_half() noexcept {
    count = capacity / 2;
    std::nth_element(entries, entries + count, entries + capacity,
                     [](const Entry& a, const Entry& b) { return a.length > b.length; });
    limit = entries[count].length + 1;
  }
};

struct PollWatch {
  LongestOf<PollGap> gaps;
  LongestOf<LongSample> samples;
  /// Nothing shorter is to be noted [ticks]: the lesser of both limits, or less than that.
  std::uint64_t least = 0;
  std::uint64_t sample_limit = 0;   ///< of `samples` behind the warm-up [ticks]; 0: see begin()
  std::uint64_t first_message = 0;  ///< of those that the loop's tally counts

  /// Limits have changed.
  void set_least() noexcept { least = std::min(gaps.limit, samples.limit); }

  [[gnu::noinline]] void note_sample(std::uint64_t begun, std::uint64_t length,
                                     std::uint64_t round) noexcept {
    samples.add({begun, length, first_message + round});
    set_least();
  }

  /// The warm-up is over: nothing of it counts. Where no limit is given, samples are long that are
  /// longer than half of the warm-up's, until there is no room for them.
  template <class Clock>
  [[gnu::noinline]] void begin(const Histogram& of_warmup, std::uint64_t warmup,
                               const Clock& clock) noexcept {
    gaps.count = samples.count = 0;
    first_message = warmup;
    samples.limit = sample_limit;
    std::uint64_t below = 0;
    for (std::uint32_t i = 0; sample_limit == 0 && 2 * below < warmup && i < kHistogramBuckets - 1;
         ++i) {
      below += of_warmup.bucket(i);
      samples.limit = clock.to_ticks(histogram_lowest(i + 1));
    }
    set_least();
  }
};

/// Notes a gap, for which a watched loop looks once more: it looks at the clock after a poll, so
/// that it may have gone away between the two. A function of its own, being rare.
/// @param polled  what the look at the gap's end gave; @return likewise, of the last look
template <class Look>
[[gnu::noinline]] int look_after_gap(PollWatch& watch, std::uint64_t begun, std::uint64_t length,
                                     std::uint64_t round, bool first, int polled,
                                     const Look& look) noexcept {
  if (polled == 0) polled = look();
  watch.gaps.add({begun, length, watch.first_message + round, polled > 0, first});
  return polled;
}

/// The wait of a watched loop, once the message was not there at first sight. A function of its
/// own: inlined, its loop would take the registers of the loop around it.
template <class P, class Handle, class Look>
[[gnu::noinline]] int keep_watching(int polled, PollWatch& watch, const typename P::Clock& clock,
                                    std::uint64_t round, Handle cq, const StopFlag& stop,
                                    std::uint64_t& empties, std::uint64_t& last,
                                    const Look& look) noexcept {
  const std::uint64_t limit = watch.gaps.limit;
  // A look at the clock from `due` on ends a gap: that takes less than a subtraction for each.
  std::uint64_t due = last + limit, empty = empties;
  while (polled == 0 && !stop.requested()) {
    ++empty;
    typename P::Waiter{}(cq);
    polled = look();
    std::uint64_t now = clock.now();
    if (now >= due) [[unlikely]] {
      const std::uint64_t begun = due - limit;
      polled = look_after_gap(watch, begun, now - begun, round, false, polled, look);
      now = clock.now();
    }
    due = now + limit;
  }
  last = due - limit;
  empties = empty;
  return polled;
}

/// A watched responder's wait for a message: after each look for it one at the clock.
/// @param round  of the loop: the message, counted from PollWatch::first_message
/// @param last   when the loop looked at the clock last [ticks]; then: when it found the message
/// @param look   looks once: 0 where nothing is there, negative for a failure
/// @return       what the last look gave; 0: told to stop
template <class P, class Handle, class Look>
[[gnu::always_inline]] inline int watched_wait(PollWatch& watch, const typename P::Clock& clock,
                                               std::uint64_t round, Handle cq, const StopFlag& stop,
                                               std::uint64_t& empties, std::uint64_t& last,
                                               const Look& look) noexcept {
  int polled = look();
  const std::uint64_t begun = last;
  last = clock.now();
  // Copies whose addresses are taken here alone: what the loop around has at hand
  // stays in registers.
  if (const std::uint64_t length = last - begun; length >= watch.gaps.limit) [[unlikely]] {
    const Look apart = look;
    polled = look_after_gap(watch, begun, length, round, true, polled, apart);
    last = clock.now();
  }
  if (polled > 0) [[likely]]
    return polled;
  const Look apart = look;
  std::uint64_t seen = last;
  polled = keep_watching<P>(polled, watch, clock, round, cq, stop, empties, seen, apart);
  last = seen;
  return polled;
}

/// A watched initiator's wait for what ends a sample: notes that, too, if it took long.
/// @param sent  when it began; @param seen  when its end was found [ticks]
/// @return      as watched_wait()
template <class P, class Handle, class Look>
[[gnu::always_inline]] inline int watched_sample(PollWatch* const& watch,
                                                 const typename P::Clock& clock,
                                                 std::uint64_t round, Handle cq,
                                                 const StopFlag& stop, std::uint64_t& empties,
                                                 std::uint64_t sent, std::uint64_t& seen,
                                                 const Look& look) noexcept {
  int polled = look();
  seen = clock.now();
  // One comparison says that neither a gap nor the sample is to be noted.
  if (polled > 0 && seen - sent < watch->least) [[likely]]
    return polled;
  const Look apart = look;
  std::uint64_t last = seen;
  if (const std::uint64_t length = last - sent; length >= watch->gaps.limit) [[unlikely]] {
    polled = look_after_gap(*watch, sent, length, round, true, polled, apart);
    last = clock.now();
  }
  if (polled == 0)
    polled = keep_watching<P>(polled, *watch, clock, round, cq, stop, empties, last, apart);
  seen = last;
  if (polled > 0 && last - sent >= watch->samples.limit) [[unlikely]]
    watch->note_sample(sent, last - sent, round);
  return polled;
}

/// The watch of an open loop, which looks at the clock once in each turn: notes a turn that took
/// long. Set up before the first one. It has a copy of the limit: one load less in each turn.
class TurnWatch {
 public:
  /// @param now  [ticks]
  TurnWatch(PollWatch* watch, std::uint64_t now) noexcept
      : watch_(*watch), limit_(watch->gaps.limit), due_(now + limit_) {}

  /// A turn is over. @param message  that comes next; @param found  see PollGap, as `first`
  [[gnu::always_inline]] void turn(std::uint64_t now, std::uint64_t message, bool found,
                                   bool first) noexcept {
    if (now >= due_) [[unlikely]]
      note(now, message, found, first);
    due_ = now + limit_;
  }

  /// No shorter response is to be noted [ns], behind the warm-up: at hand in ns, in which responses
  /// are recorded.
  std::uint64_t long_ns = std::numeric_limits<std::uint64_t>::max();

 private:
  [[gnu::noinline]] void note(std::uint64_t now, std::uint64_t message, bool found,
                              bool first) noexcept {
    const std::uint64_t begun = due_ - limit_;
    watch_.gaps.add({begun, now - begun, message, found, first});
    limit_ = watch_.gaps.limit;
  }

  PollWatch& watch_;
  std::uint64_t limit_, due_;
};
struct NoTurnWatch {
  NoTurnWatch(PollWatch*, std::uint64_t) noexcept {}
};
/// The watch of a loop that is not watched: does nothing.
template <class Of>
using TurnWatchOf = std::conditional_t<kWatched<Of>, TurnWatch, NoTurnWatch>;

/// Marks a completion that is none as a bad one, as await_completion() does. @return `polled`
[[gnu::always_inline]] inline int found(ibv_wc& wc, int polled) noexcept {
  if (polled <= 0) [[unlikely]]
    wc.status = IBV_WC_GENERAL_ERR;
  return polled;
}

}  // namespace rdmameter
