// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/wire.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <span>
#include <thread>

#include "tests/software_device/segment/clock.h"
#include "tests/software_device/segment/tables.h"
#include "tests/software_device/wire/send_queue.h"

namespace rdmameter::software {
namespace {

bool later(const Due& a, const Due& b) {
  return a.when_ns > b.when_ns;
}

/// With the lock held.
std::span<Due> all_waiting() {
  auto& wire = tables().wire;
  return std::span(wire.heap).first(wire.count.load(std::memory_order_relaxed));
}
std::span<Due>::iterator find_waiting(std::span<Due> waiting, std::uint32_t qpn) {
  return std::ranges::find(waiting, qpn, &Due::qpn);
}

/// With the lock held, after each change.
void publish(std::uint32_t count) {
  auto& wire = tables().wire;
  if (count != 0) wire.next_ns.store(wire.heap[0].when_ns, std::memory_order_relaxed);
  wire.count.store(count, std::memory_order_release);
}

std::uint64_t next_due_ns() {
  const auto& wire = tables().wire;
  return wire.count.load(std::memory_order_acquire) == 0
             ? kNever
             : wire.next_ns.load(std::memory_order_relaxed);
}

/// The first one that is due by `now`; qpn 0: none is.
Due take_first_due(std::uint64_t now) {
  auto& wire = tables().wire;
  const std::lock_guard locked(wire.lock);
  const std::uint32_t count = wire.count.load(std::memory_order_relaxed);
  if (count == 0 || wire.heap[0].when_ns > now) return {};
  std::pop_heap(wire.heap.begin(), wire.heap.begin() + count, later);
  publish(count - 1);
  return wire.heap[count - 1];
}

class Courier;
Courier& courier();

/// Moves what is due when nobody polls: a program that waits for an event, or looks at its memory.
/// It runs only while something is on the wire. It outlives its process's main(), so it is never
/// destroyed; but the process does not end while it moves: what it has taken off the wire may be
/// another process's, which would wait for it without end.
class Courier {
 public:
  /// Of a process that ends.
  void stop() {
    if (pid_ != own_pid()) return;  // a forked one has no such thread
    std::unique_lock locked(mutex_);
    over_ = true;
    moved_.wait(locked, [this] { return !moving_; });
  }

  /// Something is due at this time.
  void know(std::uint64_t when_ns) {
    const std::lock_guard locked(mutex_);
    if (pid_ != own_pid() && !over_) start();
    if (when_ns < wakes_ns_) wake_.notify_one();
  }

 private:
  void start() {  // with the mutex held
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's threads' affair
    static std::once_flag once;
    std::call_once(once, [] { std::atexit([] { courier().stop(); }); });
    std::thread([this] { run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pid_ = own_pid();
  }

  void run() {
    std::unique_lock locked(mutex_);
    for (;;) {
      const std::uint64_t next_ns = next_due_ns(), now = now_ns();
      if (next_ns == kNever || over_) {
        pid_ = 0;
        wakes_ns_ = 0;
        return;
      }
      if (next_ns > now) {
        wakes_ns_ = next_ns;
        wake_.wait_for(locked, std::chrono::nanoseconds(std::min(next_ns - now, kLongest_ns)));
        wakes_ns_ = 0;
        continue;
      }
      moving_ = true;
      locked.unlock();
      move_what_is_due();
      locked.lock();
      moving_ = false;
      moved_.notify_all();
    }
  }

  /// Another process's requests wake this thread no sooner [ns].
  static constexpr std::uint64_t kLongest_ns = 20'000'000;

  std::mutex mutex_;
  std::condition_variable wake_, moved_;
  bool moving_ = false, over_ = false;
  std::atomic<std::uint32_t> pid_ = 0;  ///< of the process that it runs in; 0: it does not run
  std::uint64_t wakes_ns_ = 0;          ///< 0: it is awake
};

Courier& courier() {
  static Courier* const only = new Courier;
  return *only;
}

}  // namespace

void put_on_wire(Due due) {
  auto& wire = tables().wire;
  {
    const std::lock_guard locked(wire.lock);
    const std::uint32_t count = wire.count.load(std::memory_order_relaxed);
    if (count == wire.heap.size()) die("more send queues wait than there are QPs");
    wire.heap[count] = due;
    std::push_heap(wire.heap.begin(), wire.heap.begin() + count + 1, later);
    publish(count + 1);
  }
  courier().know(due.when_ns);
}

void hasten(std::uint32_t qpn) {
  auto& wire = tables().wire;
  if (wire.count.load() == 0) return;
  {
    const std::lock_guard locked(wire.lock);
    const auto waiting = all_waiting();
    const auto found = find_waiting(waiting, qpn);
    if (found == waiting.end()) return;
    found->when_ns = 0;
    std::ranges::make_heap(waiting, later);
    publish(static_cast<std::uint32_t>(waiting.size()));
  }
  courier().know(0);
}

void take_off_wire(std::uint32_t qpn) {
  const std::lock_guard locked(tables().wire.lock);
  const auto waiting = all_waiting();
  const auto found = find_waiting(waiting, qpn);
  if (found == waiting.end()) return;
  *found = waiting.back();
  const auto rest = waiting.first(waiting.size() - 1);
  std::ranges::make_heap(rest, later);
  publish(static_cast<std::uint32_t>(rest.size()));
}

void move_what_is_due() {
  const std::uint64_t now = now_ns();
  for (Due due = take_first_due(now); due.qpn != 0; due = take_first_due(now)) move_send_queue(due);
}

void poll_wire() {
  if (tables().wire.count.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  if (next_due_ns() <= now_ns()) move_what_is_due();
}

}  // namespace rdmameter::software
