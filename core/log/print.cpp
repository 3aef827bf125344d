// SPDX-License-Identifier: Apache-2.0
#include "core/log/print.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <mutex>

namespace rdmameter {
namespace {

std::atomic<int> ending{-1};  // poll() leaves out what is negative
/// What has taken nothing in its last wait. Each further text would have another one.
std::atomic<int> given_up{-1};

/// May a write() to it block until a reader reads?
bool may_wait(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode));
}

/// @return  false: everything must end, and it takes nothing
bool wait_until_writable(int file) {
  for (;;) {
    pollfd waited[] = {{file, POLLOUT, 0}, {ending, POLLIN, 0}};
    if (poll(waited, 2, -1) < 0) continue;  // a signal, whose handler has made `ending` readable
    if (waited[0].revents != 0) return true;
    if (waited[1].revents == 0) continue;
    const bool patient = given_up != file;
    if (poll(waited, 1, patient ? static_cast<int>(kLastWait.count()) : 0) > 0) return true;
    given_up = file;
    return false;
  }
}

}  // namespace

void end_waits_with(int file) noexcept {
  ending = file;
}

bool wait_or_end(std::chrono::milliseconds time) noexcept {
  pollfd waited{ending, POLLIN, 0};
  return poll(&waited, 1, static_cast<int>(time.count())) > 0;
}

int write_patiently(int file, std::string_view text) noexcept {
  const bool waits = may_wait(file);
  while (!text.empty()) {
    if (waits && !wait_until_writable(file)) return EINTR;
    // With POLLOUT a pipe has room for so much, and write() does not wait.
    const std::size_t part = waits ? std::min<std::size_t>(text.size(), PIPE_BUF) : text.size();
    const ssize_t written = write(file, text.data(), part);
    if (written > 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (written == 0)
      return ENOSPC;
    else if (errno != EINTR && errno != EAGAIN)
      return errno;
  }
  return 0;
}

namespace {

/// What was printed and is not written yet. Not stdio's: its write() waits for a reader for ever.
struct Printed {
  /// With the lock held.
  void write_out() noexcept {
    if (error == 0 && used > 0) error = write_patiently(STDOUT_FILENO, {buffer.data(), used});
    used = 0;
  }

  std::mutex mutex;
  std::array<char, 1 << 16> buffer;
  std::size_t used = 0;
  int error = 0;  ///< the first
  const bool terminal = isatty(STDOUT_FILENO) == 1;
};

Printed& printed() {
  static Printed all;
  return all;
}

}  // namespace

void print_text(std::string_view text) noexcept {
  Printed& all = printed();
  const std::lock_guard lock{all.mutex};
  const bool line = text.find('\n') != text.npos && all.terminal;
  while (!text.empty() && all.error == 0) {
    const std::size_t part = std::min(text.size(), all.buffer.size() - all.used);
    std::copy_n(text.data(), part, all.buffer.data() + all.used);
    all.used += part;
    text.remove_prefix(part);
    if (all.used == all.buffer.size()) all.write_out();
  }
  if (line) all.write_out();
}

bool flush_print() noexcept {
  const std::lock_guard lock{printed().mutex};
  printed().write_out();
  return printed().error == 0;
}

int print_error() noexcept {
  const std::lock_guard lock{printed().mutex};
  return printed().error;
}

namespace {

std::atomic<const TellSink*> sink{nullptr};

}  // namespace

bool stderr_takes_text() noexcept {
  pollfd waited{STDERR_FILENO, POLLOUT, 0};
  return !may_wait(STDERR_FILENO) || poll(&waited, 1, 0) != 0;
}

void tell_text(std::string_view text) noexcept {
  if (const TellSink* const taker = sink) return taker->told(text);
  const int before = errno;  // the caller may still need the errno of its failure
  write_patiently(STDERR_FILENO, text);
  errno = before;
}

TellSink::TellSink(std::function<void(std::string_view text)> told) : told(std::move(told)) {
  sink = this;
}

void TellSink::give_back() noexcept {
  sink = nullptr;
}

}  // namespace rdmameter
