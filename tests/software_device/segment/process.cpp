// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/segment/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace rdmameter::software {
namespace {

std::atomic<std::uint32_t> cached_pid{0};

void forget_pid() {
  cached_pid.store(0, std::memory_order_relaxed);
}

std::uint32_t learn_pid() noexcept {
  static const int once = pthread_atfork(nullptr, nullptr, forget_pid);
  static_cast<void>(once);
  const auto pid = static_cast<std::uint32_t>(getpid());
  cached_pid.store(pid, std::memory_order_relaxed);
  return pid;
}

}  // namespace

std::uint32_t own_pid() noexcept {
  const std::uint32_t pid = cached_pid.load(std::memory_order_relaxed);
  return pid != 0 ? pid : learn_pid();
}

bool process_ended(std::uint32_t pid) noexcept {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd ended{fd, POLLIN, 0};
  const bool is_over = poll(&ended, 1, 0) > 0;
  close(fd);
  return is_over;
}

void die(std::string_view why) noexcept {
  std::fprintf(stderr, "software device: process %u: %.*s\n", own_pid(),
               static_cast<int>(why.size()), why.data());
  std::abort();
}

}  // namespace rdmameter::software
