// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layout/layout.h"

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
constexpr std::uint64_t kMaxOwnSlots = 64 << 10;
// Of messages that are read as they come: 5 ms at 100 Gb/s, which the loop may be behind.
constexpr std::uint64_t kReadBytesPerQp = 64 << 20;
constexpr std::uint64_t kReadBytesPerLoop = 1 << 30;
constexpr std::uint64_t kReadBytesPerEnd = 8ULL << 30;  ///< half of what a case may take
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
Area area(const TestCase& test_case, std::uint64_t sges, std::uint64_t head_bytes) {
  const std::uint64_t bytes = largest_message(test_case);
  Area area{.head_bytes = head_bytes,
            .payload_bytes = bytes,
            .qps = test_case.qps,
            .pieces = pieces_of(test_case.queues.split, sges, bytes, head_bytes)};
  const Piece& last = area.pieces.back();
  const bool pages = bytes >= kPage || (sges > 1 && test_case.queues.split != Split::even);
  area.stride_bytes = round_up(last.offset + last.length + 1, pages ? kPage : kCacheLine);
  return area;
}

std::uint64_t bytes_per_qp(const TestCase& test_case, std::uint64_t qps) {
  const bool scarce =
      test_case.initiator.memory == kDeviceMemory || test_case.responder.memory == kDeviceMemory;
  return std::min(kBytesPerQp, (scarce ? kDeviceMemoryBytes : kBytesInAll) / qps);
}

void set_slots(const TestCase& test_case, Area& area, std::uint64_t stride_bytes,
               std::uint64_t max) {
  const std::uint64_t share = bytes_per_qp(test_case, area.qps);
  area.slots = std::clamp<std::uint64_t>(share / stride_bytes, 1, max);
}

/// UC writes under --verify. @return slots per QP, so that each message has its own; 0: not wanted
std::uint64_t slots_for_every_message(const TestCase& test_case) {
  const bool counted = test_case.verify && test_case.pattern == Pattern::bandwidth &&
                       test_case.opcode == Opcode::rdma_write &&
                       test_case.transport == Transport::uc && test_case.duration_ns == 0 &&
                       test_case.payload_bytes.empty() && !test_case.bidirectional &&
                       test_case.threads == 1 && test_case.devices() == 1;
  // Of several loops, or both directions, the quicker goes on until the others have begun and ended.
  if (!counted) return 0;
  // A QP may happen to carry all of the traffic.
  const std::uint64_t max = test_case.warmup + test_case.iterations + test_case.queues.depth +
                            kOvershoot * test_case.queues.signal_every + 1;
  const std::uint64_t period = std::lcm(test_case.queues.signal_every, test_case.queues.post_list);
  const std::uint64_t slots = round_up(max, period);
  return slots <= kMaxOwnSlots ? slots : 0;
}

/// Slots of both ends of one-sided operations: as many as the longer slots have room for.
void set_paired_slots(const TestCase& test_case, Area& area, std::uint64_t far_stride_bytes) {
  const std::uint64_t stride_bytes = std::max(far_stride_bytes, area.stride_bytes);
  const std::uint64_t all = slots_for_every_message(test_case);
  if (all != 0 && all * area.qps * stride_bytes <= kBytesInAll)
    area.slots = all;
  else
    set_slots(test_case, area, stride_bytes, in_flight(test_case));
}

/// The memory at the far end of one-sided operations: contiguous, since a request names one
/// address. Atomics of a QP all work on one word, so that their order shows in what they return.
Area one_sided_area(const TestCase& test_case) {
  Area result = area(test_case, 1, 0);
  const std::uint64_t near_stride = area(test_case, test_case.queues.sge, 0).stride_bytes;
  set_paired_slots(test_case, result, near_stride);
  if (test_case.atomic()) result.slots = 1;
  return result;
}

/// As many slots as the WRs of a chain (send_chain_length()), so that no number is written into a
/// message that is still in flight.
std::uint64_t own_slots(const TestCase& test_case) {
  const std::uint64_t period = std::lcm(test_case.queues.signal_every, test_case.queues.post_list);
  return (test_case.queues.depth + period - 1) / period * period;
}

/// Where requests take their data from, or reads and atomics bring theirs to.
Area request_area(const TestCase& test_case) {
  Area result = area(test_case, test_case.queues.sge, 0);
  set_paired_slots(test_case, result,
                   test_case.one_sided() ? area(test_case, 1, 0).stride_bytes : 0);
  const bool numbered = test_case.pattern == Pattern::bandwidth && !test_case.reliable() &&
                        test_case.takes_receive() && !test_case.immediate() && test_case.peers == 1;
  const std::uint64_t own = own_slots(test_case);
  if (numbered && own * result.stride_bytes <= bytes_per_qp(test_case, result.qps))
    result.slots = own;
  return result;
}

/// Without its slots.
Area one_receive(const TestCase& test_case) {
  Area result = area(test_case, test_case.queues.recv_sge,
                     test_case.transport == Transport::ud ? kGrhBytes : 0);
  if (test_case.shared_receives()) result.qps = 1;
  return result;
}

Area receive_area(const TestCase& test_case) {
  Area result = one_receive(test_case);
  if (reads_receives(test_case))
    result.slots = posted_receives(test_case);
  else
    set_slots(test_case, result, result.stride_bytes, test_case.queues.rx_depth);
  return result;
}

/// Receives of a QP, or of the SRQ, that have room for a slot each. A ping-pong has one message
/// under way (or a group's answers to one), and all others wait: what was given up, or came twice.
std::uint64_t receives_with_slots(const TestCase& test_case) {
  const Area one = one_receive(test_case);
  const bool ping_pong = test_case.pattern == Pattern::ping_pong;
  const std::uint64_t of_loop =
      std::min(kReadBytesPerLoop, kReadBytesPerEnd / test_case.loops(Role::responder));
  const std::uint64_t share =
      ping_pong ? bytes_per_qp(test_case, one.qps) : std::min(kReadBytesPerQp, of_loop / one.qps);
  const std::uint64_t at_once =
      ping_pong ? std::max<std::uint64_t>(copies_of(test_case) / test_case.qps, 1) : 1;
  return std::max(share / one.stride_bytes, 2 * at_once);
}

/// Puts the area behind others of the same QP.
/// @param share_bytes  that it may take of each QP's, if it has more than one slot
/// @param end          of those before it; then its own
void place(Area& area, std::uint64_t share_bytes, std::uint64_t& end) {
  if (area.slots == 0) return;
  area.slots = std::clamp<std::uint64_t>(share_bytes / area.stride_bytes, 1, area.slots);
  area.begin_bytes = round_up(end, area.stride_bytes % kPage == 0 ? kPage : kCacheLine);
  end = area.begin_bytes + area.slots * area.stride_bytes;
}

/// Each part has areas of its own, so that what its requests bring can be told. All parts of a QP
/// lie side by side: they are registered at once, and the peer needs one address.
Layout layout_of_mix(const TestCase& test_case, Role role) {
  const std::vector<MixPart> parts = mix_of(test_case);
  const std::uint64_t share_bytes = bytes_per_qp(test_case, test_case.qps) / parts.size();
  Layout layout;
  std::uint64_t end = 0;
  for (const MixPart& part : parts) {
    Layout& own = layout.parts.emplace_back(layout_of(case_of_part(test_case, part), role));
    place(own.source, share_bytes, end);
    place(own.target, share_bytes, end);
  }
  layout.target = {.slots = 1, .stride_bytes = round_up(end, kPage), .qps = test_case.qps};
  for (Layout& own : layout.parts)
    own.source.qp_stride_bytes = own.target.qp_stride_bytes = layout.target.stride_bytes;
  return layout;
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

NumberPlace numbers_sent(const TestCase& test_case) {
  if (test_case.pattern != Pattern::bandwidth || test_case.reliable() || !test_case.takes_receive())
    return NumberPlace::none;
  if (test_case.peers > 1) return NumberPlace::none;  // a peer sees gaps: what the others get
  if (test_case.immediate()) return NumberPlace::immediate;
  const Area source = request_area(test_case);
  const bool fits = cpu_reaches(test_case.initiator.memory) &&
                    source.slots >= own_slots(test_case) &&
                    source.pieces.front().length >= kNumberBytes;
  return fits ? NumberPlace::payload : NumberPlace::none;
}

NumberPlace numbers_read(const TestCase& test_case) {
  const NumberPlace sent = numbers_sent(test_case);
  const bool found = sent != NumberPlace::payload ||
                     (cpu_reaches(test_case.responder.memory) &&
                      one_receive(test_case).pieces.front().length >= kNumberBytes);
  return found ? sent : NumberPlace::none;
}

bool reads_receives(const TestCase& test_case) {
  const bool pongs = test_case.pattern == Pattern::ping_pong && test_case.takes_receive() &&
                     !test_case.reliable() && !test_case.immediate();
  return pongs || numbers_read(test_case) == NumberPlace::payload;
}

std::uint64_t posted_receives(const TestCase& test_case) {
  constexpr std::uint64_t kLongestList = 16;
  const std::uint64_t wanted = test_case.queues.rx_depth, list = test_case.queues.recv_post_list;
  if (!reads_receives(test_case)) return wanted;
  const std::uint64_t room = receives_with_slots(test_case);
  if (wanted <= room) return wanted;
  const std::uint64_t whole =
      list != kAuto ? list : std::bit_floor(std::clamp<std::uint64_t>(room / 4, 1, kLongestList));
  return std::max(room / whole, std::uint64_t{1}) * whole;
}

std::uint32_t number_count_bits(const TestCase& test_case) {
  return 32 - static_cast<std::uint32_t>(std::bit_width(test_case.qps - 1));
}

std::uint32_t skipped_numbers_per_qp(const TestCase& test_case) {
  constexpr std::uint64_t kInAll = 1 << 20;
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(kInAll / test_case.qps, 16, 4096)));
}

bool leaves_traces(const TestCase& test_case) {
  const std::uint64_t all = slots_for_every_message(test_case);
  return all != 0 && one_sided_area(test_case).slots == all;
}

std::uint64_t peers_per_qp(const TestCase& test_case, Role role) {
  return role == Role::initiator && !test_case.multicast() ? test_case.peers : 1;
}

std::uint64_t copies_of(const TestCase& test_case) {
  return test_case.multicast() ? test_case.peers : 1;
}

std::uint64_t in_flight(const TestCase& test_case) {
  const bool several = test_case.pattern == Pattern::bandwidth || test_case.open_loop();
  const std::uint64_t alone = several ? test_case.queues.depth : 1;
  if (!test_case.shares_qps()) return alone;
  return test_case.sharers * (several ? test_case.depth_of_sharer() : 1);
}

bool posts_sends(const TestCase& test_case, Role role) {
  return role == Role::initiator || test_case.answered();
}

bool posts_receives(const TestCase& test_case, Role role) {
  return test_case.takes_receive() && (role == Role::responder || test_case.answered());
}

std::uint32_t signal_period(const TestCase& test_case) {
  const bool each = test_case.pattern == Pattern::completion_latency || test_case.open_loop();
  return static_cast<std::uint32_t>(each ? 1 : test_case.queues.signal_every);
}

QueueDepths queue_depths_of(const TestCase& test_case, Role role) {
  QueueDepths depths;
  // A ping-pong has signal_every unsignaled WRs behind it before one is known to be retired, and of
  // several QPs that one may be any.
  if (posts_sends(test_case, role))
    depths.send = static_cast<std::uint32_t>(
        test_case.pattern == Pattern::ping_pong ? test_case.queues.signal_every + 1
                                                : std::max<std::uint64_t>(in_flight(test_case), 1));
  if (posts_receives(test_case, role))
    depths.receive = static_cast<std::uint32_t>(posted_receives(test_case));
  depths.send_wrs = depths.send * (test_case.flushes() ? 2 : 1);
  return depths;
}

Layout layout_of(const TestCase& test_case, Role role) {
  if (test_case.mixed()) return layout_of_mix(test_case, role);
  Layout layout;
  const bool requests = posts_sends(test_case, role);
  const bool serves = role == Role::responder || test_case.answered();
  if (test_case.returns_data()) {
    if (requests) layout.target = request_area(test_case);
    if (serves) layout.source = one_sided_area(test_case);
  } else {
    if (requests) layout.source = request_area(test_case);
    if (serves)
      layout.target = test_case.one_sided() ? one_sided_area(test_case) : receive_area(test_case);
  }
  return layout;
}

Area remote_area(const TestCase& test_case, Role role) {
  const Layout far = layout_of(test_case, other_end(role));
  return test_case.returns_data() ? far.source : far.target;
}

const Area& request_area_of(const TestCase& test_case, const Layout& layout) {
  return test_case.returns_data() ? layout.target : layout.source;
}

Area remote_part(const TestCase& test_case, std::size_t part) {
  const Layout far = layout_of(test_case, Role::responder).parts[part];
  return traits(mix_of(test_case)[part].opcode).returns_data ? far.source : far.target;
}

}  // namespace rdmameter
