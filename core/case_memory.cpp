// SPDX-License-Identifier: Apache-2.0
#include "core/case_memory.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>

#include "core/error.h"
#include "core/layout.h"
#include "core/loop/traffic.h"
#include "core/work.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kQueueEntryBytes = 64;    ///< the least WQE or CQE of any provider
constexpr std::uint64_t kMostInlineBytes = 1024;  ///< what `max` finds on today's devices
constexpr std::uint32_t kUsualMostSge = 32;
constexpr std::uint64_t kQpBytes = 4096;  ///< the QP itself, here and in the kernel

std::uint64_t send_bytes(const Case& one_case, Role role, std::uint64_t depth) {
  const std::uint64_t inlined =
      one_case.inline_bytes == kMax ? kMostInlineBytes : one_case.inline_bytes;
  const std::uint64_t wqe =
      kQueueEntryBytes + std::max(inlined, (one_case.sge - 1) * sizeof(ibv_sge));
  return send_chain_length(one_case, role) *
             (sizeof(ibv_send_wr) + one_case.sge * sizeof(ibv_sge) + sizeof(SendList)) +
         depth * (wqe + kQueueEntryBytes);  // at worst a CQE for each
}

/// Of the objects that a control path test holds, and the one that it calls for.
std::uint64_t control_bytes(const Case& one_case) {
  const std::uint64_t count = one_case.objects + 1;
  switch (one_case.calls()) {
    case Verb::reg_mr:
    case Verb::dereg_mr:
      return one_case.size_bytes;
    case Verb::bind_mw_1:
    case Verb::bind_mw_2:
    case Verb::invalidate_mw:
      return 2 * one_case.size_bytes;
    case Verb::create_cq:
    case Verb::destroy_cq:
      return count * one_case.depth * kQueueEntryBytes;
    case Verb::create_qp:
    case Verb::destroy_qp:
    case Verb::modify_qp_init:
    case Verb::modify_qp_rtr:
    case Verb::modify_qp_rts:
    case Verb::connect:
    case Verb::cm_resolve_addr:
    case Verb::cm_resolve_route:
    case Verb::cm_connect:
      return count * (kQpBytes + (one_case.depth + one_case.rx_depth) * kQueueEntryBytes);
    case Verb::create_ah:
    case Verb::destroy_ah:
      return 0;
  }
  return 0;
}

std::uint64_t receive_bytes(const Case& one_case, std::uint64_t depth) {
  return depth * (sizeof(ibv_recv_wr) + one_case.recv_sge * 2 * sizeof(ibv_sge) + sizeof(RecvList) +
                  sizeof(RecvWork) + 2 * kQueueEntryBytes);
}

/// Of one thread's QPs, in one direction.
std::uint64_t thread_bytes(const Case& asked, Role role) {
  DeviceLimits usual;
  usual.max_sge = usual.max_srq_sge = kUsualMostSge;
  const Case one_case = with_known_sges(at_end(asked, role), usual);
  const Layout layout = layout_of(one_case, role);
  const QueueDepths depths = queue_depths_of(one_case, role);
  std::uint64_t bytes = layout.source.total_bytes() + layout.target.total_bytes();
  std::uint64_t each = kQpBytes;
  if (posts_sends(one_case, role)) each += send_bytes(one_case, role, depths.send);
  if (posts_receives(one_case, role)) {
    if (one_case.shared_receives())
      bytes += receive_bytes(one_case, depths.receive);
    else
      each += receive_bytes(one_case, depths.receive);
  }
  if (one_case.cq_depth != kAuto)
    bytes += 2 * kQueueEntryBytes * one_case.cq_depth * (one_case.cq_per_qp() ? one_case.qps : 1);
  if (role == Role::responder && numbers_read(one_case) != NumberPlace::none)
    each += sizeof(std::uint64_t) * skipped_numbers_per_qp(one_case);
  return bytes + each * one_case.qps;
}

}  // namespace

std::uint64_t case_memory_bytes(const Case& asked, Role role) {
  if (asked.over_tcp()) {
    const Layout layout = layout_of(asked, role);
    return layout.source.total_bytes() + layout.target.total_bytes();
  }
  if (asked.control())
    return role == Role::initiator || asked.needs_responder() ? control_bytes(asked) : 0;
  const std::uint64_t one_way = thread_bytes(asked, role);
  const Role other = role == Role::initiator ? Role::responder : Role::initiator;
  return asked.threads * (one_way + (asked.both_ways() ? thread_bytes(asked, other) : 0));
}

void require_memory(const Case& one_case, Role role) {
  const std::uint64_t bytes = case_memory_bytes(one_case, role);
  if (bytes <= kMostBytesPerCase) return;
  throw Unsupported(fmt::format(
      "buffers and queues of {:.1f} GiB, more than the {} GiB that one end of a case may take: use "
      "a smaller --size, {}--depth or --rx-depth{}",
      static_cast<double>(bytes) / (1ULL << 30), kMostBytesPerCase >> 30,
      one_case.control() ? "" : "--qps, ", one_case.control() ? ", or fewer --objects" : ""));
}

}  // namespace rdmameter
