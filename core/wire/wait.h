// SPDX-License-Identifier: Apache-2.0
// How the session waits: always in poll(), always until a deadline, and never past an interrupt.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "core/base/stop.h"

namespace rdmameter {

// An owned file descriptor.

/// Closes what it holds. Move-only; a moved-from one holds nothing.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) close(fd_);  // Linux frees the number even when it reports an error (close(2))
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// A point in time at which a wait ends. One deadline covers a whole exchange, however many reads
/// it takes, so a peer that sends one byte a second gains nothing.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline in(Clock::duration from_now) noexcept { return at(Clock::now() + from_now); }
  static Deadline at(Clock::time_point when) noexcept { return Deadline(when); }
  /// No deadline: only for a resident server that waits for its next client.
  static Deadline never() noexcept { return Deadline(Clock::time_point::max()); }

  bool is_never() const noexcept { return when_ == Clock::time_point::max(); }
  bool passed() const noexcept { return !is_never() && Clock::now() >= when_; }
  /// Time left; 0 once passed.
  Clock::duration remaining() const noexcept;
  /// Time left for poll(): rounded up, so that no caller spins through the last millisecond; 0 once
  /// passed; -1 for never. At most INT_MAX (24 days): look at passed() before believing a timeout.
  int remaining_ms() const noexcept;
  /// The earlier of this and `from_now`.
  Deadline within(Clock::duration from_now) const noexcept;

 private:
  explicit Deadline(Clock::time_point when) noexcept : when_(when) {}
  Clock::time_point when_;
};

/// An event that ends another thread's poll(). It stays raised until cleared, so it reaches every
/// waiter, including one that comes late.
class EventFd {
 public:
  /// @throws VerbsError when the process is out of descriptors
  EventFd();
  EventFd(EventFd&&) = delete;  // threads and signal handlers hold its address

  /// Async-signal-safe; keeps errno.
  void raise() const noexcept;
  void clear() const noexcept;
  int fd() const noexcept { return event_.get(); }

 private:
  Descriptor event_;
};

/// The user's wish to end (SIGINT, SIGTERM), one for the process: a word that loops read and a
/// descriptor that every poll() of the session watches. The descriptor is never drained, so all
/// threads see it, and none needs to wake now and then to look at the word: such a wake-up would
/// land in the measurement. It must outlive the signal handler that raises it.
class InterruptSource {
 public:
  /// Async-signal-safe: atomics and a write() to an eventfd.
  /// @return does everything end? Not where an OrderlyEnd takes the wish for its measurement's.
  bool raise() noexcept {
    if (!gentle_.exchange(false)) {
      end_everything();
      return true;
    }
    word_.request(StopReason::finish);
    enough_.raise();
    return false;
  }
  /// Must everything end?
  bool requested() const noexcept { return word_.reason() == StopReason::interrupted; }
  const StopFlag& word() const noexcept { return word_; }
  int fd() const noexcept { return wake_.fd(); }

 private:
  friend class OrderlyEnd;
  void end_everything() const noexcept {
    word_.request(StopReason::interrupted);
    wake_.raise();
  }

  // An OrderlyEnd, which borrows the source as const, may find that everything must end after all.
  mutable StopFlag word_;
  EventFd wake_, enough_;
  mutable std::atomic<bool> gentle_{false};  ///< an OrderlyEnd takes the next wish
};

enum class Waited : std::uint8_t {
  ready,        ///< the descriptor has one of the events, an error or a hang-up
  woken,        ///< the Wake was raised
  interrupted,  ///< the InterruptSource was raised
  deadline,     ///< the time is up
};

/// Looks, without waiting, whether there is still reason to go on with what takes long.
/// @param socket  of the session
/// @throws Interrupted       the user ends
/// @throws MeasurementError  the peer has hung up
void require_wanted(int socket, const InterruptSource& interrupt);

/// Sleeps until something happens. Where several things have, an interrupt goes before a wake-up,
/// and that before `ready`: a peer that never stops sending cannot keep us from ending.
/// @param fd      descriptor to watch; -1: none, just sleep
/// @param events  POLLIN, POLLOUT...
/// @param wake    optional
Waited wait_for(int fd, short events, Deadline deadline, const InterruptSource& interrupt,
                const EventFd* wake = nullptr) noexcept;

}  // namespace rdmameter
