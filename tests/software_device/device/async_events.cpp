// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/async_events.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>

namespace rdmameter::software {
namespace {

struct NamedEvent {
  std::string_view name;
  ibv_event_type type;
};
constexpr std::array<NamedEvent, 6> kEvents{{{"PORT_ERR", IBV_EVENT_PORT_ERR},
                                             {"LID_CHANGE", IBV_EVENT_LID_CHANGE},
                                             {"PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE},
                                             {"SM_CHANGE", IBV_EVENT_SM_CHANGE},
                                             {"GID_CHANGE", IBV_EVENT_GID_CHANGE},
                                             {"DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL}}};

std::mutex mutex;
std::map<int, std::deque<ibv_event_type>> waiting;  ///< by async_fd
std::atomic<std::uint16_t> lid_offset{0};

}  // namespace

std::optional<ibv_event_type> event_named(std::string_view name) {
  const auto* const found = std::ranges::find(kEvents, name, &NamedEvent::name);
  if (found == kEvents.end()) return std::nullopt;
  return found->type;
}

int open_events() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  const std::lock_guard locked(mutex);
  waiting[fd];
  return fd;
}

void close_events(int async_fd) {
  const std::lock_guard locked(mutex);
  waiting.erase(async_fd);
  close(async_fd);
}

void raise_event(ibv_event_type type) {
  if (type == IBV_EVENT_LID_CHANGE) lid_offset += 0x100;
  const std::lock_guard locked(mutex);
  for (auto& [fd, events] : waiting) {
    events.push_back(type);
    eventfd_write(fd, 1);
  }
}

std::optional<ibv_event_type> take_event(int async_fd) {
  std::uint64_t one = 0;
  if (read(async_fd, &one, sizeof one) != sizeof one) return std::nullopt;
  const std::lock_guard locked(mutex);
  auto& events = waiting[async_fd];
  if (events.empty()) return errno = EAGAIN, std::nullopt;
  const ibv_event_type first = events.front();
  events.pop_front();
  return first;
}

std::uint16_t lid_moved_by() {
  return lid_offset;
}

}  // namespace rdmameter::software
