// SPDX-License-Identifier: Apache-2.0
#include "core/log/server_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <string>

#include "core/base/ip_address.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/base/thread.h"
#include "core/log/log_limit.h"

namespace rdmameter {
namespace {

/// For which the end of the server waits until its last lines are written.
constexpr std::chrono::milliseconds kLastWords{200};
constexpr int kPollMs = 100;

std::string time_text(ServerLog::Clock::time_point when) {
  using std::chrono::milliseconds;
  const auto ms = std::chrono::duration_cast<milliseconds>(when.time_since_epoch()).count();
  const std::time_t seconds = ms / 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), ms % 1000);
}

}  // namespace

struct ServerLog::State {
  State(int fd, std::function<Clock::time_point()> now) : fd(fd), now(std::move(now)) {}

  /// With the lock held.
  void add(std::string_view text, bool timed = true) {
    if (lines.size() >= kMaxLines) {
      ++lost;
      return;
    }
    lines.push_back((timed ? time_text(now()) + " " : "") + escaped_line(text, kMaxLineBytes) +
                    "\n");
    changed.notify_all();
  }

  /// With the lock held.
  void add_notes(std::vector<std::string> notes) {
    for (const std::string& note : notes) add(note);
  }

  std::string lost_line() const {
    return fmt::format("{} {} line{} lost: {}\n", time_text(now()), lost, lost == 1 ? "" : "s",
                       error == 0 ? "the log was not read" : std::strerror(error));
  }

  /// Writes the text whole, for as long as that takes.
  /// @return 0 or an errno value
  int put(std::string_view text) {
    std::string line = torn ? "\n" : "";
    line += text;
    std::string_view left = line;
    while (!left.empty() && !abandoned) {
      const ssize_t written = write(fd, left.data(), left.size());
      if (written > 0) {
        left.remove_prefix(static_cast<std::size_t>(written));
        torn = !left.empty();
      } else if (written < 0 && errno == EAGAIN) {  // another process made it non-blocking
        pollfd stream{.fd = fd, .events = POLLOUT, .revents = 0};
        poll(&stream, 1, kPollMs);
      } else if (written == 0 || errno != EINTR) {
        return written == 0 ? ENOSPC : errno;
      }
    }
    return 0;
  }

  void write_all_lines() {
    std::unique_lock lock{mutex};
    const auto something = [this] { return !lines.empty() || ending; };
    while (!abandoned) {
      if (const auto due = limit.due())
        changed.wait_until(lock, *due, something);
      else
        changed.wait(lock, [&] { return something() || limit.due().has_value(); });
      add_notes(ending ? limit.last_notes() : limit.notes(LogLimit::Clock::now()));
      if (lines.empty()) {
        if (ending) break;
        continue;
      }
      const std::uint64_t told = lost;
      const std::string line = (lost > 0 ? lost_line() : "") + lines.front();
      lines.pop_front();
      lock.unlock();
      const int failure = put(line);
      lock.lock();
      lost = failure == 0 ? lost - told : lost + 1;
      error = failure;
    }
    ended = true;
    changed.notify_all();
  }

  const int fd;
  const std::function<Clock::time_point()> now;
  std::atomic<bool> abandoned{false};  ///< the log is gone; the thread is to end when it can
  bool torn = false;                   ///< the writing thread's: the last line is not whole

  std::mutex mutex;  ///< of what follows
  std::condition_variable changed;
  LogLimit limit;
  std::deque<std::string> lines;
  std::uint64_t lost = 0;
  int error = 0;  ///< why the last line was lost [errno; 0: the queue was full]
  bool ending = false, ended = false;
};

ServerLog::ServerLog(int fd, std::function<Clock::time_point()> now)
    : state_(std::make_shared<State>(fd, std::move(now))) {
  // No signal of the process ends up in the thread that may be waiting in a write; and SIGXFSZ,
  // which a write past RLIMIT_FSIZE raises, ends nothing.
  sigset_t all;
  sigfillset(&all);
  const BlockedSignals inherited{all};
  start_thread([state = state_] {
    try {
      state->write_all_lines();
    } catch (...) {  // no memory: the lines that come are counted, and lost
    }
  }).detach();
}

ServerLog::~ServerLog() {
  sink_.give_back();
  std::unique_lock lock{state_->mutex};
  state_->ending = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kLastWords, [this] { return state_->ended; });
  state_->abandoned = true;  // where it waits in a write, the end of the process ends it
}

void ServerLog::line(std::string_view peer, std::string_view text, Speaker speaker) noexcept {
  const std::lock_guard lock{state_->mutex};
  try {
    const auto now = LogLimit::Clock::now();
    state_->add_notes(state_->limit.notes(now));
    if (state_->limit.admits(source_of(peer), now, speaker))
      state_->add(fmt::format("{}: {}", peer, text));
    state_->changed.notify_all();
  } catch (...) {
    ++state_->lost;
  }
}

void ServerLog::told(std::string_view text) noexcept {
  const std::lock_guard lock{state_->mutex};
  try {
    for (const std::string_view line : split(text, "\n"))
      if (!line.empty()) state_->add(line, line.front() != ' ');
  } catch (...) {
    ++state_->lost;
  }
}

}  // namespace rdmameter
