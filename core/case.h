// SPDX-License-Identifier: Apache-2.0
// A case: one test with one value on every axis. The table of axes is the one place where an
// option's name, JSON key, range, default and help are written; the command line, the wire and the
// result file all read it.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/opcode.h"
#include "core/verb.h"

namespace rdmameter {

enum class Pattern : std::uint64_t {
  ping_pong,           ///< one sample is a round trip
  completion_latency,  ///< one sample is post to CQE
  bandwidth,           ///< depth kept full
  control,             ///< one sample is a call of a verb; no traffic, no responder
  topology,            ///< several ranks; what a sample is, its traffic says
};
enum class Transport : std::uint64_t { rc, uc, ud };
enum class Wait : std::uint64_t { automatic, spin, yield, event };
/// Which of two interfaces of verbs: ibv_post_send or ibv_wr_*; ibv_poll_cq or ibv_start_poll.
enum class Interface : std::uint64_t { classic, extended };
enum class RecvQueue : std::uint64_t { rq, srq };
/// How QPs come to know each other: by the session, or by rdma_cm.
enum class Connect : std::uint64_t { tcp, cm };
/// How a message is split over its SGEs; see pieces_of().
enum class Split : std::uint64_t { even, uneven, page };
/// What moves a message from rank to rank: a send, or an operation on the other's memory.
enum class RankOpcode : std::uint64_t { send, write, read };
/// Who has completion queues: all QPs of an end together, or each its own.
enum class CqSharing : std::uint64_t { shared, per_qp };

/// "The program finds it": what `auto` is stored as.
inline constexpr std::uint64_t kAuto = std::numeric_limits<std::uint64_t>::max();
/// "As much as this device can": what `max` is stored as.
inline constexpr std::uint64_t kMax = kAuto - 1;
/// "Until interrupted": what a duration of `0` is stored as.
inline constexpr std::uint64_t kUntilInterrupted = kMax - 1;

/// What begins a `memory` or a `payload` that is a file: "file:PATH".
inline constexpr std::string_view kFileMemory = "file:";
inline constexpr std::string_view kZeroPayload = "zero";
/// So much of a payload's file is read: it goes over the wire.
inline constexpr std::size_t kMostPayloadFileBytes = 64 << 10;
inline constexpr std::string_view kDeviceMemory = "device";
inline constexpr std::string_view kHugePages = "huge";      ///< of 2 MiB
inline constexpr std::string_view kHugePages1G = "huge1g";  ///< of 1 GiB
/// The graph that has no connections: every rank reaches every other by one UD QP.
inline constexpr std::string_view kDatagramGraph = "udmesh";
/// An atomic works on 8 bytes, aligned to 8 (IBTA vol. 1, 9.4.5).
inline constexpr std::uint64_t kAtomicBytes = 8;

/// Every number is a std::uint64_t so that one table can describe them all; typed accessors follow.
struct Case {
  std::uint64_t opcode = 0;
  std::uint64_t pattern = 0;
  std::uint64_t verb = 0;     ///< of Pattern::control, which has no opcode
  std::uint64_t objects = 0;  ///< there before and during its calls

  // Of Pattern::topology; see topologies/.
  std::string graph;    ///< "ring", "torus2d:2x4": which ranks have QPs between them
  std::string traffic;  ///< "pairs", "incast:3": which rank sends to which
  std::string schedule;
  std::uint64_t ranks = 0;
  std::uint64_t qps_per_edge = 1;
  std::uint64_t inflate = 0;      ///< each rank has the QPs of a mesh of so many; 0: of its own
  std::uint64_t active = 0;       ///< so many of them carry messages; kMax: all
  std::uint64_t rank_opcode = 0;  ///< what moves the messages of a stream among ranks
  std::uint64_t seed = 0;         ///< of graphs and traffics that are drawn

  std::uint64_t transport = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t qps = 0;
  std::uint64_t threads = 1;        ///< at each end, each with QPs, CQs and memory of its own
  std::uint64_t bidirectional = 0;  ///< 0 or 1: the responder initiates as well, on QPs of its own
  std::uint64_t depth = 0;          ///< send queue depth [WRs]
  std::uint64_t rx_depth = 0;       ///< receive queue depth [WRs]
  std::uint64_t recv_post_list = kAuto;  ///< receives per post; kAuto: see receive_list_length()
  std::uint64_t post_list = 0;           ///< WRs per doorbell
  std::uint64_t signal_every = 0;        ///< every n-th WR is signaled
  std::uint64_t inline_bytes = 0;        ///< 0: off; kMax: as much as a QP can be created with
  std::uint64_t sge = 1;       ///< SGEs of a request at the initiator; kMax: the device's most
  std::uint64_t recv_sge = 1;  ///< SGEs of a receive
  std::uint64_t split = 0;
  std::uint64_t outstanding_reads = 0;  ///< kAuto: the most that both ends can
  std::uint64_t api = 0;
  std::uint64_t cq = 0;
  std::uint64_t cq_sharing = 0;
  std::uint64_t cq_depth = kAuto;  ///< entries of a CQ; kAuto: what can be outstanding
  std::uint64_t timestamps = 0;    ///< 0 or 1: the device says when each completion was
  std::uint64_t recv = 0;
  std::uint64_t connect = 0;
  std::uint64_t peers = 1;  ///< UD: QPs of the responder's that each of the initiator's sends to
  std::string group;        ///< of a multicast: its address; empty: the responder draws one
  std::uint64_t mtu_bytes = 0;    ///< kAuto: the lesser of both ports' active MTUs
  std::uint64_t iterations = 0;   ///< measured operations; 0 where duration_ns rules
  std::uint64_t duration_ns = 0;  ///< 0 where iterations rule; kUntilInterrupted
  std::uint64_t warmup = 0;       ///< operations before the measured ones
  std::uint64_t wait = 0;
  std::uint64_t comp_vector = 0;      ///< of --wait event
  std::uint64_t verify = 0;           ///< 0 or 1
  std::uint64_t loss_timeout_ns = 0;  ///< UC and UD ping-pong: a pong later than this is lost
  std::string payload;                ///< empty: random; zero, file:PATH
  std::string payload_bytes;          ///< of the file, once the initiator has read it; no axis
  std::uint64_t interval_ns = 1'000'000'000;  ///< of a bandwidth's series

  // Attributes of the QPs and their path.
  std::uint64_t service_level = 0;
  std::uint64_t traffic_class = 0;
  std::uint64_t flow_label = 0;
  std::uint64_t pkey_index = 0;
  std::uint64_t qp_timeout = 0;     ///< 4.096 us * 2^this; 0: for ever
  std::uint64_t retry_count = 0;    ///< of a request that is not acknowledged
  std::uint64_t rnr_retry = 0;      ///< of one that found no receive; 7: without end
  std::uint64_t min_rnr_timer = 0;  ///< code of the wait that an RNR NAK asks for

  // Memory.
  std::string memory;       ///< empty: host; huge, huge1g, device, file:PATH
  std::string peer_memory;  ///< the responder's
  std::uint64_t mr_per_qp = 0;
  std::uint64_t relaxed_ordering = 0;
  std::uint64_t odp = 0;

  // Each end's own choices.
  std::string device;  ///< empty: the first with an active port
  std::uint64_t port_num = 0;
  std::uint64_t gid_index = 0;
  std::uint64_t core = 0;  ///< kAuto: not pinned
  std::string peer_device;
  std::uint64_t peer_port_num = 0;
  std::uint64_t peer_gid_index = 0;
  std::uint64_t peer_core = 0;

  Opcode op() const noexcept { return static_cast<Opcode>(opcode); }
  Pattern shape() const noexcept { return static_cast<Pattern>(pattern); }
  bool control() const noexcept { return shape() == Pattern::control; }
  bool topology() const noexcept { return shape() == Pattern::topology; }
  Verb calls() const noexcept { return static_cast<Verb>(verb); }
  bool needs_responder() const noexcept { return !control() || calls() >= Verb::connect; }
  Transport service() const noexcept { return static_cast<Transport>(transport); }
  Wait waiting() const noexcept { return static_cast<Wait>(wait); }
  bool reliable() const noexcept { return service() == Transport::rc; }
  bool extended_api() const noexcept { return api != 0; }
  bool extended_cq() const noexcept { return cq != 0; }
  bool shared_receives() const noexcept { return recv != 0; }
  bool both_ways() const noexcept { return bidirectional != 0; }
  RankOpcode between_ranks() const noexcept { return static_cast<RankOpcode>(rank_opcode); }
  bool cq_per_qp() const noexcept { return cq_sharing != 0 && qps > 1; }
  bool until_interrupted() const noexcept { return duration_ns == kUntilInterrupted; }
  bool by_cm() const noexcept { return connect != 0; }

  bool atomic() const noexcept { return op() == Opcode::fetch_add || op() == Opcode::cmp_swap; }
  /// A baseline test, without verbs: then most axes have no meaning and stay at their defaults.
  bool over_tcp() const noexcept { return op() == Opcode::tcp_send; }
  /// Has each message its place at the other end? (It names memory there; over TCP, whose messages
  /// come in their order, both ends take the places in turn.)
  bool one_sided() const noexcept {
    return op() != Opcode::send && op() != Opcode::send_imm && !multicast();
  }
  /// To all of its peers at once. Over UD, which is what multicast there is.
  bool multicast() const noexcept { return op() == Opcode::mcast_send; }
  /// Does it take a receive there?
  bool takes_receive() const noexcept { return !one_sided() || op() == Opcode::write_imm; }
  bool immediate() const noexcept { return op() == Opcode::send_imm || op() == Opcode::write_imm; }
  /// Does data come back?
  bool returns_data() const noexcept { return op() == Opcode::rdma_read || atomic(); }
};

/// A word that an option takes beside, or instead of, a number.
struct Word {
  std::string_view text;
  std::uint64_t value;
};

/// What an axis's text means.
enum class AxisKind {
  count,    ///< a whole number
  bytes,    ///< a whole number, K, M or G (KiB, MiB, GiB) meaning 1024-based
  seconds,  ///< a decimal number of s, or with a suffix ns, us, ms, s; stored in ns
  choice,   ///< one of `words` and nothing else
  name,     ///< of a device
  source,   ///< of memory or of bytes: one of `words`, or file:PATH
  group,    ///< the address of a multicast group
  shape,    ///< a word with arguments behind colons, "torus2d:2x4", which topologies/ knows
};

struct Axis {
  std::string_view option;  ///< without the dashes
  std::string_view key;     ///< in `case` of a result and on the wire; units last
  std::variant<std::uint64_t Case::*, std::string Case::*> field;
  AxisKind kind;
  std::uint64_t least, most;                            ///< range of a number
  std::span<const Word> words;                          ///< words it takes
  std::string_view latency_default, bandwidth_default;  ///< as one would type them
  std::string_view help;
  bool (*applies)(const Case&);  ///< has it a meaning for this test and transport?
  bool of_topologies = false;    ///< and for no test between two ends, so it is not on the wire
};

/// Is it off or on, and nothing else?
inline bool is_switch(const Axis& axis) {
  return axis.words.size() == 2 && axis.words[1].text == "on";
}

/// Every axis, in the order of result names.
std::span<const Axis> axes();

/// The axis of this option (without dashes); null: there is none.
const Axis* find_axis(std::string_view option);

/// What the option takes, to end a sentence: "bytes from 1 to 2G (K, M, G are 1024-based)".
std::string accepts_text(const Axis& axis);

/// "rc", "uc", "ud"; "tcp" for a test that goes over it, where the transport is no axis; empty for
/// a call that concerns no QP.
std::string transport_text(const Case& one_case);

/// Every axis at its default for this kind of test; inapplicable ones too, so that the case is
/// valid. Atomics have the one size there is, multicasts the transport and a size that fits its
/// MTU.
Case default_case(Opcode opcode, Pattern pattern);

/// The same for a control path test. Its queues and buffers are those of a bandwidth test.
Case default_case(Verb verb);

/// The same for a topology: its graph, traffic and schedule are the caller's to choose.
Case default_topology_case();

/// One value of an axis as people type it, e.g. "8K", "max", "0.5". A duration unsets the
/// iterations, and they it: one of the two rules.
/// @throws UsageError naming the option and what it accepts
void set_axis(Case& one_case, const Axis& axis, std::string_view text);

/// The value as a person would type it ("4096", "max", "rc").
std::string axis_text(const Case& one_case, const Axis& axis);

/// {"size_bytes": 64, "transport": "rc", ...}: the axes that apply, `auto` and `max` as those
/// words.
nlohmann::ordered_json case_json(const Case& one_case);

/// The whole case for the wire, opcode and pattern included.
nlohmann::json case_to_wire(const Case& one_case);

/// @throws UsageError on a missing or unknown key, a wrong type or a value out of range
Case case_from_wire(const nlohmann::json& wire);

/// Why this combination can be measured nowhere, or by this program, whatever the device; empty: it
/// can. (UD carries sends only, UC no reads, a UD message fits the MTU, the send queue holds what
/// must be posted before the first completion...) A UD message is held to `mtu_bytes` where that is
/// known, else to the largest MTU there is; the device side checks again once the MTU is agreed.
std::string why_impossible(const Case& one_case);

}  // namespace rdmameter
