// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/segment/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/software_device/segment/clock.h"

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

bool process_stopped(std::uint32_t pid) noexcept {
  const int fd = open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<char, 128> text{};  // its number, its name of 15 bytes at most, its state
  const ssize_t bytes = read(fd, text.data(), text.size());
  close(fd);
  const std::string_view stat(text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  const std::size_t name_end = stat.rfind(") ");
  return name_end != stat.npos && stat.substr(name_end).starts_with(") T");
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

bool HolderWatch::ended(std::uint32_t pid) noexcept {
  // Longer than the stops by which tests make an end late.
  constexpr std::uint64_t kPatience_ns = 1'500'000'000;
  if (process_ended(pid)) return true;
  const std::uint64_t now = now_ns();
  if (began_ns_ == 0) began_ns_ = now;
  if (now < began_ns_ + kPatience_ns || !process_stopped(pid)) return false;
  stop_again();
  resumed_ = pid;
  kill(static_cast<pid_t>(pid), SIGCONT);
  return false;
}

void HolderWatch::stop_again() noexcept {
  if (resumed_ != 0) kill(static_cast<pid_t>(resumed_), SIGSTOP);
  resumed_ = 0;
}

void die(std::string_view why) noexcept {
  std::fprintf(stderr, "software device: process %u: %.*s\n", own_pid(),
               static_cast<int>(why.size()), why.data());
  std::abort();
}

}  // namespace rdmameter::software
