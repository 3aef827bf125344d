// SPDX-License-Identifier: Apache-2.0
#include "core/layout.h"

#include <algorithm>

namespace rdmameter {
namespace {

constexpr std::uint64_t kCacheLine = 64;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kBytesPerQp = 1 << 20;
constexpr std::uint64_t kBytesInAll = 256 << 20;

/// Slots begin on a cache line (large ones on a page) and end before a guard of at least one byte,
/// which
/// --verify finds untouched.
Area area(const Case& one_case, std::uint64_t in_flight, std::uint64_t head_bytes) {
  Area area{
      .head_bytes = head_bytes, .payload_bytes = one_case.size_bytes, .qps = qp_count(one_case)};
  const std::uint64_t used = head_bytes + one_case.size_bytes + 1;
  const std::uint64_t unit = one_case.size_bytes >= kPage ? kPage : kCacheLine;
  area.stride_bytes = (used + unit - 1) / unit * unit;
  const std::uint64_t share = std::min(kBytesPerQp, kBytesInAll / area.qps);
  area.slots = std::clamp<std::uint64_t>(share / area.stride_bytes, 1, in_flight);
  return area;
}

/// In flight at once towards the target of a one-sided operation, or from its source.
std::uint64_t in_flight(const Case& one_case) {
  return one_case.shape() == Pattern::bandwidth ? one_case.depth : 1;
}

}  // namespace

std::uint32_t qp_count(const Case& one_case) {
  return one_case.shape() == Pattern::bandwidth ? static_cast<std::uint32_t>(one_case.qps) : 1;
}

QueueDepths queue_depths_of(const Case& one_case, Role role) {
  QueueDepths depths;
  const bool both_send = one_case.shape() == Pattern::ping_pong;
  if (role == Role::initiator || both_send) {
    // A ping-pong has signal_every unsignaled WRs behind it before one is known to be retired.
    depths.send = static_cast<std::uint32_t>(
        both_send ? one_case.signal_every + 1 : std::max<std::uint64_t>(one_case.depth, 1));
  }
  if (!one_case.one_sided() && (role == Role::responder || both_send))
    depths.receive = static_cast<std::uint32_t>(one_case.rx_depth);
  return depths;
}

Layout layout_of(const Case& one_case, Role role) {
  Layout layout;
  const bool ping_pong = one_case.shape() == Pattern::ping_pong;
  const bool data_comes_from_here =
      ping_pong || (role == Role::initiator) == (one_case.op() != Opcode::rdma_read);
  const bool data_goes_here =
      ping_pong || (role == Role::initiator) == (one_case.op() == Opcode::rdma_read);
  if (data_comes_from_here) layout.source = area(one_case, in_flight(one_case), 0);
  if (data_goes_here) {
    const bool receives = !one_case.one_sided();
    layout.target = area(one_case, receives ? one_case.rx_depth : in_flight(one_case),
                         receives && one_case.service() == Transport::ud ? kGrhBytes : 0);
  }
  return layout;
}

}  // namespace rdmameter
