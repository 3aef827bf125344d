// SPDX-License-Identifier: Apache-2.0
// What the segment begins with: who takes part, which QPs and which keys there are. A new segment
// is all zeros, and every type here means "empty" by that.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "tests/software_device/segment/mailbox.h"
#include "tests/software_device/segment/segment.h"
#include "tests/software_device/segment/shared_lock.h"
#include "tests/software_device/wire/port.h"
#include "tests/software_device/wire/wire.h"

namespace rdmameter::software {

struct SharedQp;

inline constexpr std::uint32_t kProcesses = 256;
inline constexpr std::uint32_t kQpBits = 17;  ///< the low bits of a QP number
inline constexpr std::uint32_t kQps = 1U << kQpBits;
static_assert(kQps >= kProcesses * (kProcesses - 1 + 16),
              "no mesh of all, each with a barrier's QPs");
inline constexpr std::uint32_t kKeys = 1U << 16;  ///< a key's bits above its low 8
inline constexpr std::uint32_t kMemberships = 4096;
inline constexpr std::uint32_t kCmIds = 1U << 16;

struct ProcessEntry {
  std::atomic<std::uint32_t> pid;  ///< 0: free
  std::uint32_t taken;             ///< QPs and keys
};

struct QpEntry {
  std::atomic<std::uint32_t> qpn;  ///< 0: there is none
  UseCount users;
  bool taken;
  std::uint8_t generation;  ///< tells a QP from its predecessors at this place
  std::uint32_t process;
  Offset<SharedQp> qp;
};

/// A region of memory that a key opens.
struct KeyEntry {
  std::atomic<std::uint32_t> key;  ///< 0: it opens nothing
  UseCount users;
  bool taken;
  std::uint8_t generation;
  std::uint32_t process, pd, access;
  std::uint64_t iova, length;
  std::uint64_t host;  ///< where `iova` lies in that process
};

/// A QP that belongs to a multicast group.
struct Membership {
  std::uint32_t qpn;  ///< 0: a free entry
  std::array<std::uint8_t, 16> group;
};

/// An id of rdma_cm.
struct CmEntry {
  std::uint32_t id;  ///< 0: a free entry
  std::uint32_t process, generation, port_space;
  std::uint64_t mailbox;  ///< where it lies
  bool listens;
  std::uint16_t port;
  std::uint32_t backlog;
  std::array<std::uint8_t, 16> address;
};

struct Tables {
  std::atomic<std::uint64_t> magic;
  std::uint64_t agreement;  ///< see Settings
  SharedLock lock;          ///< of allocation and of taking and freeing entries
  std::uint64_t used_bytes;
  std::array<std::uint64_t, 48> free_blocks;  ///< by the logarithm of their size
  std::uint32_t next_qp, next_key;
  std::atomic<std::uint32_t> next_channel;
  SharedLock atomics;  ///< one RDMA atomic at a time
  std::array<ProcessEntry, kProcesses> processes;
  std::array<QpEntry, kQps> qps;
  std::array<KeyEntry, kKeys> keys;
  SharedLock memberships_lock;
  std::uint32_t membership_count;  ///< entries in use lie below
  std::array<Membership, kMemberships> memberships;
  SharedLock cm_lock;
  std::uint32_t cm_id_count, next_cm_port;
  std::array<CmEntry, kCmIds> cm_ids;
  WireState<kQps> wire;
  std::array<PortState, kDevices> ports;
  std::array<Mailbox, kProcesses> mailboxes;
};

inline Tables& tables() {
  return *reinterpret_cast<Tables*>(segment_at(0));
}

// Of a QP or a key, with the tables' lock held.

template <class Entry>
void take_entry(Entry& entry) {
  entry.process = own_process();
  ++tables().processes[entry.process].taken;
  entry.taken = true;
}

template <class Entry>
void free_entry(Entry& entry) {
  if (!entry.taken) return;  // this process has left the session
  entry.taken = false;
  --tables().processes[entry.process].taken;
}

}  // namespace rdmameter::software
