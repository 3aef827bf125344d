// SPDX-License-Identifier: Apache-2.0
#include "core/engine/case_memory.h"

#include <infiniband/verbs.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/engine/account/interval_thread.h"
#include "core/engine/account/load.h"
#include "core/engine/account/per_qp.h"
#include "core/engine/blame/watch_log.h"
#include "core/engine/layout/layout.h"
#include "core/engine/loop/loop_state.h"
#include "core/engine/loop/table.h"
#include "core/engine/work.h"
#include "core/test_case/peak_times.h"
#include "core/verbs/memory/memory.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kQueueEntryBytes = 64;     ///< the least WQE or CQE of any provider
constexpr std::uint64_t kUsualInlineBytes = 1024;  ///< what `max` finds on today's devices
constexpr std::uint64_t kQpBytes = 4096;           ///< the QP itself, here and in the kernel

std::uint64_t send_bytes(const TestCase& test_case, Role role, std::uint64_t depth) {
  const std::uint64_t wanted = test_case.wanted_inline();
  const std::uint64_t inlined = wanted == kDeviceMax ? kUsualInlineBytes : wanted;
  const std::uint64_t wqe =
      kQueueEntryBytes + std::max(inlined, (test_case.queues.sge - 1) * sizeof(ibv_sge));
  const bool mixed = test_case.mixed() && role == Role::initiator;
  const std::uint64_t rings = mixed ? mix_of(test_case).size() : test_case.sharers;
  return rings * send_chain_length(test_case, role) *
             (sizeof(ibv_send_wr) + test_case.queues.sge * sizeof(ibv_sge) +
              (mixed ? sizeof(MixList) : sizeof(SendList))) +
         depth * (wqe + kQueueEntryBytes);  // at worst a CQE for each
}

/// Of the objects that a control path test holds, and the one that it calls for.
std::uint64_t control_bytes(const TestCase& test_case) {
  const std::uint64_t count = test_case.objects + 1;
  switch (object_of(test_case.verb)) {
    case ControlObject::memory:
      return test_case.size_bytes;
    case ControlObject::window:
      return 2 * test_case.size_bytes;
    case ControlObject::cq:
      return count * test_case.queues.depth * kQueueEntryBytes;
    case ControlObject::qp:
    case ControlObject::connection:
      return count *
             (kQpBytes + (test_case.queues.depth + test_case.queues.rx_depth) * kQueueEntryBytes);
    case ControlObject::ah:
      return 0;
  }
  return 0;
}

std::uint64_t receive_bytes(const TestCase& test_case, std::uint64_t depth) {
  const std::uint64_t rings =
      test_case.shared_receives() ? depth / receive_list_length(test_case) : 1;
  return depth * (sizeof(ibv_recv_wr) + test_case.queues.recv_sge * 2 * sizeof(ibv_sge) +
                  sizeof(RecvList) + sizeof(RecvWork) + 2 * kQueueEntryBytes) +
         rings * sizeof(RecvRing);
}

/// Of one thread's QPs, in one direction.
std::uint64_t thread_bytes(const DeviceCase& settled) {
  const TestCase& test_case = settled;
  const Role role = settled.role();
  const Layout layout = layout_of(test_case, role);
  const QueueDepths depths = queue_depths_of(test_case, role);
  // A thread's buffers are one mapping, of whole pages: a byte of huge1g takes a GiB.
  const std::uint64_t page = page_bytes(test_case.end(role).memory);
  const std::uint64_t buffers = layout.source.total_bytes() + layout.target.total_bytes();
  std::uint64_t bytes = (std::max<std::uint64_t>(buffers, 1) + page - 1) / page * page;
  std::uint64_t each = kQpBytes;
  if (posts_sends(test_case, role)) each += send_bytes(test_case, role, depths.send);
  if (posts_receives(test_case, role)) {
    if (test_case.shared_receives())
      bytes += receive_bytes(test_case, depths.receive);
    else
      each += receive_bytes(test_case, depths.receive);
  }
  if (test_case.queues.cq_depth != kAuto)
    bytes += 2 * kQueueEntryBytes * test_case.queues.cq_depth *
             (test_case.cq_per_qp() ? test_case.qps : 1);
  if (role == Role::responder && numbers_read(test_case) != NumberPlace::none)
    each += sizeof(std::uint64_t) * skipped_numbers_per_qp(test_case);
  if (role == Role::initiator && test_case.open_loop()) bytes += load_bytes(test_case);
  if (role == Role::initiator) bytes += latency_series_bytes(test_case);
  bytes += watch_log_bytes(test_case, role);
  if (role == Role::initiator && test_case.peak) bytes += peak_bytes(test_case);
  if (role == Role::initiator && test_case.pattern != Pattern::bandwidth &&
      keeps_each_qp(test_case))
    bytes += qp_samples_bytes(test_case.qps);
  return bytes + each * test_case.qps;
}

}  // namespace

std::uint64_t case_memory_bytes(const DeviceCase& test_case) {
  const Role role = test_case.role();
  if (test_case->over_tcp()) {
    const Layout layout = layout_of(test_case, role);
    return layout.source.total_bytes() + layout.target.total_bytes();
  }
  if (test_case->control())
    return role == Role::initiator || test_case->needs_responder() ? control_bytes(test_case) : 0;
  const std::uint64_t back = test_case->bidirectional ? thread_bytes(test_case.backward()) : 0;
  return test_case->devices() * test_case->threads * (thread_bytes(test_case) + back);
}

void require_memory(const DeviceCase& test_case) {
  const std::uint64_t bytes = case_memory_bytes(test_case);
  if (bytes <= kMaxBytesPerCase) return;
  throw Unsupported(
      "buffers and queues of {:.1f} GiB, more than the {} GiB that one end of a case may take: use "
      "a smaller --size, {}--depth or --rx-depth{}",
      static_cast<double>(bytes) / (1ULL << 30), kMaxBytesPerCase >> 30,
      test_case->control() ? "" : "--qps, ", test_case->control() ? ", or fewer --objects" : "");
}

}  // namespace rdmameter
