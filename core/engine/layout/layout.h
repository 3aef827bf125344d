// SPDX-License-Identifier: Apache-2.0
// Where messages lie in an end's buffer. Both ends compute the same layout from the same case, so
// only base addresses cross the wire.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/role.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// The Global Routing Header that precedes every UD receive (IBTA vol. 1, 11.4.1.2: the
/// first 40 bytes).
inline constexpr std::uint64_t kGrhBytes = 40;

/// The part of a slot that one SGE covers.
struct Piece {
  std::uint64_t offset = 0;  ///< from the slot's begin
  std::uint64_t length = 0;
};

/// One area of an end's buffer: for each QP `slots` slots, each as long as its message, pieces,
/// guards and all. What no piece covers is guard, but for the head of the first.
struct Area {
  std::uint64_t begin_bytes = 0;      ///< of a part of a mix: what lies before it of each QP
  std::uint64_t qp_stride_bytes = 0;  ///< of a part of a mix: all parts of a QP; 0: its own slots
  std::uint64_t slots = 0;            ///< per QP; 0: this end has no such area
  std::uint64_t stride_bytes = 0;     ///< slot to slot
  std::uint64_t head_bytes = 0;       ///< before the first piece: 40 in UD receives
  std::uint64_t payload_bytes = 0;
  std::uint64_t qps = 0;
  std::vector<Piece> pieces;  ///< of the payload, in its order, ascending

  std::uint64_t total_bytes() const { return qps * slots * stride_bytes; }
  /// Offset of a slot from the area's begin.
  std::uint64_t slot(std::uint64_t qp, std::uint64_t index) const {
    const std::uint64_t of_qp = qp_stride_bytes == 0 ? slots * stride_bytes : qp_stride_bytes;
    return begin_bytes + qp * of_qp + index * stride_bytes;
  }
  std::uint64_t payload(std::uint64_t qp, std::uint64_t index) const {
    return slot(qp, index) + pieces.front().offset;
  }
  std::uint64_t last_byte(std::uint64_t qp, std::uint64_t index) const {
    return slot(qp, index) + pieces.back().offset + pieces.back().length - 1;
  }
};

struct Layout {
  Area source;  ///< what leaves this end: sends, writes, and what the peer reads
  Area target;  ///< what arrives at this end: receives, the peer's writes, and what reads bring
  /// The layouts of a mix's parts. Its one area is `target`: it holds, for each QP, both areas
  /// of each part.
  std::vector<Layout> parts;
};

/// Queue sizes of one end.
struct QueueDepths {
  std::uint32_t send = 1, receive = 1;  ///< messages per QP; of the SRQ where receives are shared
  std::uint32_t send_wrs = 1;           ///< a WRITE and its FLUSH are two
};

/// How `payload_bytes` are split over `count` SGEs [1, payload_bytes]: evenly; unevenly, the k-th
/// piece about k times as long as the first; or each across a page boundary of its own. Between two
/// pieces lies a guard.
/// @param head_bytes  room before the first piece
std::vector<Piece> pieces_of(Split split, std::uint64_t count, std::uint64_t payload_bytes,
                             std::uint64_t head_bytes);

/// A slot for each WR in flight, as far as a QP's share of memory goes (1 MiB, less with very many
/// QPs, never less than one slot); beyond that slots are used in turn. But each receive has its own
/// where messages are looked into as they come (reads_receives()). Where one end's operations name
/// the other's memory, both have as many slots.
/// @param test_case  with its SGEs known (no kDeviceMax)
Layout layout_of(const TestCase& test_case, Role role);

/// The area of this end that its requests take their data from, or bring it to. Not of a mix.
const Area& request_area_of(const TestCase& test_case, const Layout& layout);

/// The area at the other end that this end's one-sided operations work on.
Area remote_area(const TestCase& test_case, Role role);

/// The area at the responder that one-sided operations of this part of a mix work on.
Area remote_part(const TestCase& test_case, std::size_t part);

QueueDepths queue_depths_of(const TestCase& test_case, Role role);

/// Where the messages of a UC or UD bandwidth carry their numbers.
enum class NumberPlace : std::uint8_t { none, payload, immediate };
/// Bytes of a number at the beginning of a payload.
inline constexpr std::uint64_t kNumberBytes = 4;

/// Where the initiator puts a number into each message: not into device memory, nor into a payload
/// that is shorter, or leaves from a slot that may still be under way.
NumberPlace numbers_sent(const TestCase& test_case);
/// Where the responder finds it. @param test_case  with its SGEs known
NumberPlace numbers_read(const TestCase& test_case);
/// Does an end look into messages while others arrive: for their numbers (of this case, or of a
/// ping-pong of UC or UD)? Then no two of the receives that are posted have a slot in common: what
/// is read has been written by the message whose completion was polled, and by no other.
/// @param test_case  with its SGEs known
bool reads_receives(const TestCase& test_case);

/// Receives that are posted on each QP of an end, or on its SRQ: as many as the case asks for, or,
/// where each has a slot of its own, as many as there is memory for (64 MiB for a QP, 1 GiB for all
/// of a thread and direction, 8 GiB for all of an end; of a ping-pong as layout_of() says), whole
/// lists of them.
/// @param test_case  as the end has it, with its SGEs known
std::uint64_t posted_receives(const TestCase& test_case);

/// Low bits of a number, which count a QP's messages; the others tell the QP.
std::uint32_t number_count_bits(const TestCase& test_case);
/// Numbers that were passed over and may still come, remembered for each QP: a power of two.
std::uint32_t skipped_numbers_per_qp(const TestCase& test_case);

/// UC writes that are verified leave each its trace in a slot of its own, where there is room for
/// all of them: then what has arrived can be counted.
bool leaves_traces(const TestCase& test_case);

/// WRs that an end has under way per QP.
std::uint64_t in_flight(const TestCase& test_case);

/// QPs of the other end's that each of this end's QPs addresses in turn.
std::uint64_t peers_per_qp(const TestCase& test_case, Role role);

/// Copies of a message that arrive at the responder where none is lost.
std::uint64_t copies_of(const TestCase& test_case);

/// Does this end post requests? Does it post receives?
bool posts_sends(const TestCase& test_case, Role role);
bool posts_receives(const TestCase& test_case, Role role);

/// Every n-th WR is signaled; a completion latency's and an open loop's are all.
std::uint32_t signal_period(const TestCase& test_case);

}  // namespace rdmameter
