// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/segment/event_fd.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "tests/software_device/segment/process.h"
#include "tests/software_device/segment/tables.h"

namespace rdmameter::software {
namespace {

/// Another process's file descriptor, as one of our own; -1: that process has ended.
int copy_of_fd(std::uint32_t pid, int fd) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return -1;
  const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
  close(process);
  return copy;
}

/// The eventfds of other processes' channels. Numbers of channels are never used again, so a copy
/// is never somebody else's; at 64 all are closed and copied again on demand.
int local_fd_of(const EventFd& event) {
  constexpr std::size_t kMost = 64;
  static std::mutex mutex;
  static auto* const copies = new std::map<std::uint32_t, int>;
  if (event.process == own_process()) return event.fd;
  const std::lock_guard locked(mutex);
  if (const auto found = copies->find(event.channel_id); found != copies->end())
    return found->second;
  if (copies->size() == kMost) {
    for (const auto& [id, fd] : *copies) close(fd);
    copies->clear();
  }
  const int fd = copy_of_fd(pid_of(event.process), event.fd);
  if (fd >= 0) copies->emplace(event.channel_id, fd);
  return fd;
}

}  // namespace

std::uint32_t new_channel_id() {
  return ++tables().next_channel;
}

void signal_event(const EventFd& event) {
  const std::uint64_t one = 1;
  const int fd = local_fd_of(event);
  if (fd < 0) return;
  if (write(fd, &one, sizeof one) != sizeof one) die("cannot signal a channel");
}

}  // namespace rdmameter::software
