// SPDX-License-Identifier: Apache-2.0
#include "core/layout.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace rdmameter {
namespace {

constexpr std::uint64_t kCacheLine = 64;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kBytesPerQp = 1 << 20;
constexpr std::uint64_t kBytesInAll = 256 << 20;
constexpr std::uint64_t kDeviceMemoryBytes = 64 << 10;  ///< devices have 100 KiB or so
constexpr std::uint64_t kMostOwnSlots = 64 << 10;
/// Completions that one poll may bring after those that were asked for, twice: see bandwidth.h.
constexpr std::uint64_t kOvershoot = 32;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// The pieces' lengths, in the ratio of their weights, at least a byte each: each ends where its
/// share of the whole ends, so that roundings do not add up.
std::vector<std::uint64_t> lengths_of(Split split, std::uint64_t count, std::uint64_t bytes) {
  const auto weight_below = [&](std::uint64_t k) {
    return split == Split::uneven ? k * (k + 1) / 2 : k;
  };
  const auto end_of = [&](std::uint64_t k) {
    return k + (bytes - count) * weight_below(k) / weight_below(count);
  };
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t k = 0; k < count; ++k) lengths.push_back(end_of(k + 1) - end_of(k));
  return lengths;
}

/// Slots begin on a cache line (large ones on a page) and end before a guard of at least one byte,
/// which --verify finds untouched.
Area area(const Case& one_case, std::uint64_t sges, std::uint64_t head_bytes) {
  Area area{.head_bytes = head_bytes,
            .payload_bytes = one_case.size_bytes,
            .qps = one_case.qps,
            .pieces = pieces_of(static_cast<Split>(one_case.split), sges, one_case.size_bytes,
                                head_bytes)};
  const Piece& last = area.pieces.back();
  const bool pages = one_case.size_bytes >= kPage || (sges > 1 && one_case.split != 0);
  area.stride_bytes = round_up(last.offset + last.length + 1, pages ? kPage : kCacheLine);
  return area;
}

void set_slots(const Case& one_case, Area& area, std::uint64_t stride_bytes, std::uint64_t most) {
  const bool scarce = one_case.memory == kDeviceMemory || one_case.peer_memory == kDeviceMemory;
  const std::uint64_t in_all = scarce ? kDeviceMemoryBytes : kBytesInAll;
  const std::uint64_t share = std::min(kBytesPerQp, in_all / area.qps);
  area.slots = std::clamp<std::uint64_t>(share / stride_bytes, 1, most);
}

/// UC writes under --verify. @return slots per QP, so that each message has its own; 0: not wanted
std::uint64_t slots_for_every_message(const Case& one_case) {
  const bool counted = one_case.verify != 0 && one_case.shape() == Pattern::bandwidth &&
                       one_case.op() == Opcode::rdma_write && one_case.service() == Transport::uc &&
                       one_case.duration_ns == 0 && one_case.payload_bytes.empty() &&
                       !one_case.both_ways();
  if (!counted) return 0;
  // A QP may happen to carry all of the traffic.
  const std::uint64_t most = one_case.warmup + one_case.iterations + one_case.depth +
                             kOvershoot * one_case.signal_every + 1;
  const std::uint64_t period = std::lcm(one_case.signal_every, one_case.post_list);
  const std::uint64_t slots = (most + period - 1) / period * period;
  return slots <= kMostOwnSlots ? slots : 0;
}

/// Of both ends of one-sided operations, as many as the longer slots have room for.
void set_paired_slots(const Case& one_case, Area& area, std::uint64_t far_stride_bytes) {
  const std::uint64_t stride_bytes = std::max(far_stride_bytes, area.stride_bytes);
  const std::uint64_t all = slots_for_every_message(one_case);
  if (all != 0 && all * area.qps * stride_bytes <= kBytesInAll)
    area.slots = all;
  else
    set_slots(one_case, area, stride_bytes, in_flight(one_case));
}

/// The memory at the far end of one-sided operations: contiguous, since a request names one
/// address. Atomics of a QP all work on one word, so that their order shows in what they return.
Area one_sided_area(const Case& one_case) {
  Area made = area(one_case, 1, 0);
  const std::uint64_t near_stride = area(one_case, one_case.sge, 0).stride_bytes;
  set_paired_slots(one_case, made, near_stride);
  if (one_case.atomic()) made.slots = 1;
  return made;
}

/// Where requests take their data from, or reads and atomics bring theirs to.
Area request_area(const Case& one_case) {
  Area made = area(one_case, one_case.sge, 0);
  set_paired_slots(one_case, made, one_case.one_sided() ? area(one_case, 1, 0).stride_bytes : 0);
  return made;
}

Area receive_area(const Case& one_case) {
  Area made =
      area(one_case, one_case.recv_sge, one_case.service() == Transport::ud ? kGrhBytes : 0);
  if (one_case.shared_receives()) made.qps = 1;
  set_slots(one_case, made, made.stride_bytes, one_case.rx_depth);
  return made;
}

}  // namespace

std::vector<Piece> pieces_of(Split split, std::uint64_t count, std::uint64_t payload_bytes,
                             std::uint64_t head_bytes) {
  if (count == 1) return {{head_bytes, payload_bytes}};
  std::vector<Piece> pieces;
  std::uint64_t next = head_bytes;
  for (const std::uint64_t length : lengths_of(split, count, payload_bytes)) {
    if (split == Split::page && length > 1) next = round_up(next + length / 2, kPage) - length / 2;
    pieces.push_back({next, length});
    next = round_up(next + length + 1, kCacheLine);
  }
  return pieces;
}

NumberPlace numbers_sent(const Case& one_case) {
  if (one_case.shape() != Pattern::bandwidth || one_case.reliable() || !one_case.takes_receive())
    return NumberPlace::none;
  if (one_case.peers > 1) return NumberPlace::none;  // a peer sees gaps: what the others get
  if (one_case.immediate()) return NumberPlace::immediate;
  const Area source = request_area(one_case);
  const bool fits = one_case.memory != kDeviceMemory && source.slots >= one_case.depth &&
                    source.pieces.front().length >= kNumberBytes;
  return fits ? NumberPlace::payload : NumberPlace::none;
}

NumberPlace numbers_read(const Case& one_case) {
  const NumberPlace sent = numbers_sent(one_case);
  const bool found = sent != NumberPlace::payload ||
                     (one_case.peer_memory != kDeviceMemory &&
                      receive_area(one_case).pieces.front().length >= kNumberBytes);
  return found ? sent : NumberPlace::none;
}

std::uint32_t number_count_bits(const Case& one_case) {
  return 32 - static_cast<std::uint32_t>(std::bit_width(one_case.qps - 1));
}

std::uint32_t skipped_numbers_per_qp(const Case& one_case) {
  constexpr std::uint64_t kInAll = 1 << 20;
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(kInAll / one_case.qps, 16, 4096)));
}

bool leaves_traces(const Case& one_case) {
  const std::uint64_t all = slots_for_every_message(one_case);
  return all != 0 && one_sided_area(one_case).slots == all;
}

Case at_end(const Case& one_case, Role role) {
  Case made = one_case;
  if (role == Role::responder) made.qps *= made.peers;
  return made;
}

std::uint64_t peers_per_qp(const Case& one_case, Role role) {
  return role == Role::initiator && !one_case.multicast() ? one_case.peers : 1;
}

std::uint64_t copies_of(const Case& one_case) {
  return one_case.multicast() ? one_case.peers : 1;
}

std::uint64_t in_flight(const Case& one_case) {
  return one_case.shape() == Pattern::bandwidth ? one_case.depth : 1;
}

bool posts_sends(const Case& one_case, Role role) {
  return role == Role::initiator || one_case.shape() == Pattern::ping_pong;
}

bool posts_receives(const Case& one_case, Role role) {
  return one_case.takes_receive() &&
         (role == Role::responder || one_case.shape() == Pattern::ping_pong);
}

std::uint32_t signal_period(const Case& one_case) {
  return static_cast<std::uint32_t>(
      one_case.shape() == Pattern::completion_latency ? 1 : one_case.signal_every);
}

QueueDepths queue_depths_of(const Case& one_case, Role role) {
  QueueDepths depths;
  // A ping-pong has signal_every unsignaled WRs behind it before one is known to be retired, and of
  // several QPs that one may be any.
  if (posts_sends(one_case, role))
    depths.send = static_cast<std::uint32_t>(one_case.shape() == Pattern::ping_pong
                                                 ? one_case.signal_every + 1
                                                 : std::max<std::uint64_t>(in_flight(one_case), 1));
  if (posts_receives(one_case, role))
    depths.receive = static_cast<std::uint32_t>(one_case.rx_depth);
  return depths;
}

Layout layout_of(const Case& one_case, Role role) {
  Layout layout;
  const bool ping_pong = one_case.shape() == Pattern::ping_pong;
  const bool requests = posts_sends(one_case, role), serves = role == Role::responder || ping_pong;
  if (one_case.returns_data()) {
    if (requests) layout.target = request_area(one_case);
    if (serves) layout.source = one_sided_area(one_case);
  } else {
    if (requests) layout.source = request_area(one_case);
    if (serves)
      layout.target = one_case.one_sided() ? one_sided_area(one_case) : receive_area(one_case);
  }
  return layout;
}

Area remote_area(const Case& one_case, Role role) {
  const Layout far =
      layout_of(one_case, role == Role::initiator ? Role::responder : Role::initiator);
  return one_case.returns_data() ? far.source : far.target;
}

Case with_known_sges(const Case& one_case, const DeviceLimits& limits) {
  Case known = one_case;
  const std::uint32_t most_read = limits.max_sge_rd != 0 ? limits.max_sge_rd : limits.max_sge;
  if (known.sge == kMax)
    known.sge = std::clamp<std::uint64_t>(known.returns_data() ? most_read : limits.max_sge, 1,
                                          known.size_bytes);
  if (known.recv_sge == kMax)
    known.recv_sge = std::clamp<std::uint64_t>(
        known.shared_receives() ? limits.max_srq_sge : limits.max_sge, 1, known.size_bytes);
  return known;
}

}  // namespace rdmameter
