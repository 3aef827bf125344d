// SPDX-License-Identifier: Apache-2.0
#include "core/case_memory.h"

#include <infiniband/verbs.h>

#include "core/layout.h"
#include "core/loop/traffic.h"
#include "core/work.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kQueueEntryBytes = 64;    ///< the least WQE or CQE of any provider
constexpr std::uint64_t kMostInlineBytes = 1024;  ///< what `max` finds on today's devices
constexpr std::uint64_t kQpBytes = 4096;          ///< the QP itself, here and in the kernel

std::uint64_t send_bytes(const Case& one_case, const Layout& layout, std::uint64_t depth) {
  const bool bandwidth = one_case.shape() == Pattern::bandwidth;
  const auto signal_every = static_cast<std::uint32_t>(
      one_case.shape() == Pattern::completion_latency ? 1 : one_case.signal_every);
  const auto post_list = static_cast<std::uint32_t>(bandwidth ? one_case.post_list : 1);
  const Area& local = one_case.op() == Opcode::rdma_read ? layout.target : layout.source;
  const std::uint64_t chain =
      send_chain_length(signal_every, post_list, static_cast<std::uint32_t>(depth), local.slots);
  const std::uint64_t inlined =
      one_case.inline_bytes == kMax ? kMostInlineBytes : one_case.inline_bytes;
  return chain * (sizeof(ibv_send_wr) + sizeof(ibv_sge) + sizeof(SendList)) +
         depth * (2 * kQueueEntryBytes + inlined);  // a WQE and, at worst, a CQE
}

std::uint64_t receive_bytes(std::uint64_t depth) {
  return depth * (sizeof(ibv_recv_wr) + sizeof(ibv_sge) + sizeof(RecvList) + 2 * kQueueEntryBytes);
}

}  // namespace

std::uint64_t case_memory_bytes(const Case& one_case, Role role) {
  const Layout layout = layout_of(one_case, role);
  const QueueDepths depths = queue_depths_of(one_case, role);
  const bool ping_pong = one_case.shape() == Pattern::ping_pong;
  std::uint64_t each = kQpBytes;
  if (role == Role::initiator || ping_pong) each += send_bytes(one_case, layout, depths.send);
  if (!one_case.one_sided() && (role == Role::responder || ping_pong))
    each += receive_bytes(depths.receive);
  return layout.source.total_bytes() + layout.target.total_bytes() + each * qp_count(one_case);
}

}  // namespace rdmameter
