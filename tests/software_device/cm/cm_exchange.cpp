// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/cm/cm_exchange.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/segment/process.h"
#include "tests/software_device/segment/tables.h"

namespace rdmameter::software {

struct CmMailbox {
  static constexpr std::uint32_t kMessages = 1024;

  EventFd event;
  std::uint32_t head = 0, tail = 0;
  std::array<CmMessage, kMessages> messages;

  bool full() const { return head - tail == kMessages; }
};

namespace {

std::span<CmEntry> cm_entries() {
  return std::span(tables().cm_ids).first(tables().cm_id_count);
}
CmEntry* cm_entry_of(std::uint32_t id) {
  CmEntry& entry = tables().cm_ids[id % kCmIds];
  return id != 0 && entry.id == id ? &entry : nullptr;
}
CmEntry* take_cm_entry() {
  for (CmEntry& entry : cm_entries())
    if (entry.id == 0) return &entry;
  if (tables().cm_id_count == kCmIds) return nullptr;
  return &tables().cm_ids[tables().cm_id_count++];
}

/// With the lock held. What finds a full mailbox is lost, as on a network.
bool put(const CmEntry& entry, const CmMessage& message) {
  CmMailbox& box = *Offset<CmMailbox>{entry.mailbox};
  if (process_gone(entry.process)) return false;
  if (box.full()) return true;
  box.messages[box.head++ % CmMailbox::kMessages] = message;
  signal_event(box.event);
  return true;
}

bool listens_at(const CmEntry& entry, rdma_port_space space, const CmAddress& address) {
  CmAddress bound{.port = entry.port};
  std::memcpy(bound.gid.raw, entry.address.data(), sizeof bound.gid.raw);
  return entry.listens && entry.port_space == static_cast<std::uint32_t>(space) &&
         bound.port == address.port && (bound.any() || bound == address);
}

std::uint32_t waiting_requests(const CmEntry& listener) {
  const CmMailbox& box = *Offset<CmMailbox>{listener.mailbox};
  std::uint32_t count = 0;
  for (std::uint32_t at = box.tail; at != box.head; ++at) {
    const CmMessage& message = box.messages[at % CmMailbox::kMessages];
    if (message.to == listener.id && message.event == RDMA_CM_EVENT_CONNECT_REQUEST) ++count;
  }
  return count;
}

}  // namespace

bool CmAddress::any() const {
  constexpr ibv_gid kNone{}, kNoIpv4{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
  return same_gid(gid, kNone) || same_gid(gid, kNoIpv4);
}
bool CmAddress::operator==(const CmAddress& other) const {
  return port == other.port && same_gid(gid, other.gid);
}

Offset<CmMailbox> make_mailbox(const EventFd& event) {
  const auto made = make_shared_object<CmMailbox>();
  if (made) made->event = event;
  return made;
}
void destroy_mailbox(Offset<CmMailbox> mailbox) {
  const std::lock_guard locked(tables().cm_lock);
  destroy_shared(mailbox);
}

std::optional<CmMessage> next_message(CmMailbox& mailbox) {
  const std::lock_guard locked(tables().cm_lock);
  if (mailbox.head == mailbox.tail) return std::nullopt;
  return mailbox.messages[mailbox.tail++ % CmMailbox::kMessages];
}

std::uint32_t add_cm_id(Offset<CmMailbox> mailbox) {
  const std::lock_guard locked(tables().cm_lock);
  CmEntry* const entry = take_cm_entry();
  if (entry == nullptr) return 0;
  const auto index = static_cast<std::uint32_t>(entry - tables().cm_ids.data());
  entry->id = ++entry->generation * kCmIds + index;
  entry->process = own_process();
  entry->mailbox = mailbox.bytes;
  entry->listens = false;
  return entry->id;
}

bool listen_at(std::uint32_t id, rdma_port_space space, const CmAddress& address,
               std::uint32_t backlog) {
  const std::lock_guard locked(tables().cm_lock);
  const auto taken = [&](const CmEntry& entry) {
    return entry.id != 0 && entry.id != id && listens_at(entry, space, address);
  };
  if (std::ranges::any_of(cm_entries(), taken)) return false;
  CmEntry& entry = *cm_entry_of(id);
  entry.port_space = static_cast<std::uint32_t>(space);
  entry.port = address.port;
  entry.backlog = backlog;
  std::memcpy(entry.address.data(), address.gid.raw, sizeof address.gid.raw);
  entry.listens = true;
  return true;
}

void redirect_cm_id(std::uint32_t id, Offset<CmMailbox> mailbox) {
  const std::lock_guard locked(tables().cm_lock);
  cm_entry_of(id)->mailbox = mailbox.bytes;
}

void remove_cm_id(std::uint32_t id) {
  const std::lock_guard locked(tables().cm_lock);
  cm_entry_of(id)->id = 0;
}

std::uint16_t ephemeral_port() {
  constexpr std::uint32_t kFirst = 32768, kCount = 28232;
  const std::lock_guard locked(tables().cm_lock);
  return static_cast<std::uint16_t>(kFirst + tables().next_cm_port++ % kCount);
}

bool deliver(const CmMessage& message) {
  const std::lock_guard locked(tables().cm_lock);
  const CmEntry* const entry = cm_entry_of(message.to);
  return entry != nullptr && put(*entry, message);
}

bool deliver_to_listener(CmMessage& message, rdma_port_space space, const CmAddress& address) {
  const std::lock_guard locked(tables().cm_lock);
  for (const CmEntry& entry : cm_entries())
    if (entry.id != 0 && listens_at(entry, space, address)) {
      if (waiting_requests(entry) >= entry.backlog) return false;
      message.to = entry.id;
      return put(entry, message);
    }
  return false;
}

}  // namespace rdmameter::software
