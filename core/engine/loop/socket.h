// SPDX-License-Identifier: Apache-2.0
// The measured path over a TCP socket: the same ping-pong and the same window as over verbs, by
// send(2) and recv(2). Its system calls are what is measured.
#pragma once

#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/engine/loop/socket_state.h"
#include "core/engine/loop/step.h"

namespace rdmameter::sockets {

// What to do after a call that would have blocked.

struct Spin {
  void operator()(int, short) const noexcept {}
};
struct Yield {
  void operator()(int, short) const noexcept { sched_yield(); }
};
/// Sleeps until the socket is ready, and looks at the stop word now and then.
struct Sleep {
  void operator()(int socket, short events) const noexcept {
    pollfd entry{socket, events, 0};
    ::poll(&entry, 1, EventWait::kNap_ms);
  }
};

struct Out {
  static constexpr short kEvents = POLLOUT;
  static ssize_t move(int socket, std::byte* bytes, std::size_t count) noexcept {
    return ::send(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
};
struct In {
  static constexpr short kEvents = POLLIN;
  static ssize_t move(int socket, std::byte* bytes, std::size_t count) noexcept {
    return ::recv(socket, bytes, count, MSG_DONTWAIT);
  }
};

/// Moves a whole message.
/// @param ended    asked where nothing moves: is the loop to end?
/// @param empties  counts calls that moved nothing
template <class Way, class Waiter, class Ended>
[[gnu::always_inline]] inline LoopResult move_message(int socket, std::byte* next, std::size_t left,
                                                      std::uint64_t& empties,
                                                      const Ended& ended) noexcept {
  for (;;) {
    const ssize_t moved = Way::move(socket, next, left);
    if (moved == static_cast<ssize_t>(left)) [[likely]]
      return {};
    if (moved > 0) {
      next += moved;
      left -= static_cast<std::size_t>(moved);
      continue;
    }
    if (moved == 0) [[unlikely]]  // the peer has closed
      return {.why = LoopResult::Why::connection_lost};
    if (errno != EAGAIN && errno != EINTR) [[unlikely]]
      return {.why = LoopResult::Why::connection_lost, .error = errno};
    if (ended()) [[unlikely]]
      return {.why = LoopResult::Why::stopped};
    ++empties;
    Waiter{}(socket, Way::kEvents);
  }
}

/// `rounds` pings, or pings until the tally's time is over. Adds to `tally`; samples
/// go to `histogram`.
template <class Clock, class Waiter>
LoopResult ping(SocketState& loop_state, const Clock& clock, std::uint64_t rounds,
                const StopFlag& stop, Histogram& histogram, LoopTally& tally) noexcept {
  const auto ended = [&stop] { return stop.requested(); };
  const int socket = loop_state.socket;
  const std::size_t size = loop_state.size_bytes;
  std::uint64_t empties = 0, round = 0;
  LoopResult end;
  const std::uint64_t start = clock.now();
  for (; round < rounds; ++round) {
    std::byte* const ping = loop_state.source.take();
    std::byte* const pong = loop_state.target.take();
    const std::uint64_t sent = clock.now();
    if (over(tally, sent)) [[unlikely]]
      break;
    end = move_message<Out, Waiter>(socket, ping, size, empties, ended);
    if (end.why == LoopResult::Why::done) [[likely]]
      end = move_message<In, Waiter>(socket, pong, size, empties, ended);
    if (end.why != LoopResult::Why::done) [[unlikely]]
      break;
    histogram.record(clock.to_ns(clock.now() - sent));
    tally.progress.store(round + 1, std::memory_order_relaxed);
  }
  tally.operations = round;
  tally.total += round;
  tally.polls += empties + round;
  tally.elapsed_ns = clock.to_ns(clock.now() - start);
  return end;
}

/// The initiator of latency: warm-up, then the measured rounds.
template <class Clock, class Waiter>
LoopResult ping_initiator(SocketState& loop_state, const LoopPlan& plan, const Clock& clock,
                          const StopFlag& stop, LoopTally& tally) noexcept {
  const LoopResult warm =
      ping<Clock, Waiter>(loop_state, clock, plan.warmup, stop, *tally.scratch, tally);
  if (warm.why != LoopResult::Why::done) {
    tally.operations = 0;
    return warm;
  }
  set_end(tally, clock.now(), plan.duration_ns, clock);
  return ping<Clock, Waiter>(loop_state, clock, plan.operations, stop, *tally.latency, tally);
}

/// The responder of latency: answers every ping until it is told to stop.
template <class Clock, class Waiter>
LoopResult ping_responder(SocketState& loop_state, const LoopPlan&, const Clock&,
                          const StopFlag& stop, LoopTally& tally) noexcept {
  const auto ended = [&stop] { return stop.requested(); };
  std::uint64_t empties = 0, answered = 0;
  LoopResult end;
  for (;;) {
    end = move_message<In, Waiter>(loop_state.socket, loop_state.target.take(),
                                   loop_state.size_bytes, empties, ended);
    if (end.why == LoopResult::Why::done) [[likely]]
      end = move_message<Out, Waiter>(loop_state.socket, loop_state.source.take(),
                                      loop_state.size_bytes, empties, ended);
    if (end.why != LoopResult::Why::done) [[unlikely]]
      break;
    tally.progress.store(++answered, std::memory_order_relaxed);
  }
  tally.operations = tally.total = answered;
  tally.polls = empties + answered;
  return end;
}

/// Messages that come before the window: one at least, whose arrival opens it.
inline std::uint64_t messages_before(const LoopPlan& plan) noexcept {
  return std::max<std::uint64_t>(plan.warmup, 1);
}

/// Waits until the peer's kernel has acknowledged everything. Not timed by the window, which
/// is the receiver's.
template <class Waiter>
LoopResult await_acknowledged(int socket, const StopFlag& stop) noexcept {
  int left = 0, error = 0;
  while (ioctl(socket, SIOCOUTQ, &left) == 0 && left != 0) {
    if (stop.requested()) [[unlikely]]
      return {.why = LoopResult::Why::stopped};
    Waiter{}(socket, 0);  // a lost connection ends this wait, too
    socklen_t bytes = sizeof error;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return {.why = LoopResult::Why::connection_lost, .error = error};
  }
  return {};
}

/// The initiator of bandwidth: hands over messages as fast as the kernel takes them.
template <class Clock, class Waiter>
LoopResult stream_initiator(SocketState& loop_state, const LoopPlan& plan, const Clock& clock,
                            const StopFlag& stop, LoopTally& tally) noexcept {
  const auto ended = [&stop] { return stop.requested(); };
  const std::uint64_t before = messages_before(plan);
  std::uint64_t goal = before;
  std::uint64_t empties = 0, sent = 0;
  LoopResult end;
  const std::uint64_t begin = clock.now();
  for (;;) {
    if (sent == goal) [[unlikely]] {
      if (goal != before) break;
      goal = plan.duration_ns == 0 ? before + plan.operations
                                   : std::numeric_limits<std::uint64_t>::max();
      set_end(tally, clock.now(), plan.duration_ns, clock);
    }
    end = move_message<Out, Waiter>(loop_state.socket, loop_state.source.take(),
                                    loop_state.size_bytes, empties, ended);
    if (end.why != LoopResult::Why::done) [[unlikely]]
      break;
    tally.progress.store(++sent, std::memory_order_relaxed);
    const std::uint64_t last = tally.last_ticks.load(std::memory_order_relaxed);
    if (last < kNoEnd && clock.now() >= last) break;
  }
  tally.total = sent;
  tally.operations = sent - std::min(sent, before);
  tally.polls = empties + sent;
  if (end.why != LoopResult::Why::done) return end;
  end = await_acknowledged<Waiter>(loop_state.socket, stop);
  tally.traffic_ns = tally.elapsed_ns = clock.to_ns(clock.now() - begin);
  return end;
}

/// The responder of bandwidth: counts, from the arrival that ends the warm-up to the last one.
template <class Clock, class Waiter>
LoopResult stream_responder(SocketState& loop_state, const LoopPlan& plan, const Clock& clock,
                            const StopFlag& stop, LoopTally& tally) noexcept {
  const std::uint64_t before = messages_before(plan);
  std::uint64_t empties = 0, arrived = 0, opened_at = 0, last_at = 0;
  LoopResult end;
  const auto ended = [&] {
    const StopReason reason = stop.reason();
    if (reason != StopReason::finish) return reason != StopReason::none;
    return arrived >= plan.expected.load(std::memory_order_acquire);
  };
  for (;;) {
    end = move_message<In, Waiter>(loop_state.socket, loop_state.target.take(),
                                   loop_state.size_bytes, empties, ended);
    if (end.why != LoopResult::Why::done) [[unlikely]]
      break;
    last_at = clock.now();
    tally.progress.store(++arrived, std::memory_order_relaxed);
    if (arrived == before) [[unlikely]]
      opened_at = last_at;
  }
  tally.total = arrived;
  tally.operations = arrived - std::min(arrived, before);
  tally.elapsed_ns = clock.to_ns(last_at - opened_at);
  tally.polls = empties + arrived;
  return end;
}

}  // namespace rdmameter::sockets
