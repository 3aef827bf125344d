// SPDX-License-Identifier: Apache-2.0
// A case: one test with one value on every axis. The table of axes is the one place where an
// option's name, JSON key, range, default and help are written; the command line, the wire and the
// result file all read it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/role.h"
#include "core/result/json_text.h"
#include "core/test_case/mix.h"
#include "core/test_case/opcode.h"

namespace rdmameter {

enum class Pattern : std::uint64_t {
  ping_pong,           ///< one sample is a round trip
  completion_latency,  ///< one sample is post to CQE
  bandwidth,           ///< depth kept full
  control,             ///< one sample is a call of a verb; no traffic, no responder
  topology,            ///< several ranks; what a sample is, its traffic says
  open_loop,           ///< requests fall due at a rate; one sample is due to answer or CQE
};
enum class Transport : std::uint64_t { rc, uc, ud };
/// When an open loop's requests fall due; from 2 on: that many at once.
enum class ArrivalPattern : std::uint64_t { fixed, poisson };
enum class Wait : std::uint64_t { automatic, spin, yield, event };
/// Which of two interfaces of verbs: ibv_post_send or ibv_wr_*; ibv_poll_cq or ibv_start_poll.
enum class Interface : std::uint64_t { classic, extended };
enum class RecvQueue : std::uint64_t { rq, srq };
/// How QPs come to know each other: by the session, or by rdma_cm.
enum class Connect : std::uint64_t { tcp, cm };
/// How a message is split over its SGEs; see pieces_of().
enum class Split : std::uint64_t { even, uneven, page };
/// The operation that moves a message between ranks: a send, or an access to the other's memory.
enum class RankOpcode : std::uint64_t { send, write, read };
/// How a GPU's memory is registered. automatic: as a dma-buf, or where that does not go by its
/// address; pointer_first: the other way round, as perftest's --use_cuda.
enum class GpuRegistration : std::uint64_t {
  automatic,
  dmabuf,
  pointer,
  data_direct,
  pointer_first
};
/// Who has completion queues: all QPs of an end together, or each its own.
enum class CqSharing : std::uint64_t { shared, per_qp };

/// "The program finds it": what `auto` is stored as.
inline constexpr std::uint64_t kAuto = std::numeric_limits<std::uint64_t>::max();
/// "As much as this device can": what `max` is stored as.
inline constexpr std::uint64_t kDeviceMax = kAuto - 1;
/// "Until interrupted": what a duration of `0` is stored as.
inline constexpr std::uint64_t kUntilInterrupted = kDeviceMax - 1;
/// "The rates that show where it bends": what a rate of `sweep` is stored as.
inline constexpr std::uint64_t kSweep = kAuto;
/// The rate at which a sweep begins [1/s].
inline constexpr std::uint64_t kFirstOfSweep = 1000;
/// Marks an --slo that is a multiple of the p99 without load, which the rest of the bits say.
inline constexpr std::uint64_t kTimesUnloaded = 1ULL << 62;

/// Prefix of a `memory` or a `payload` that is a file: "file:PATH".
inline constexpr std::string_view kFileMemory = "file:";
inline constexpr std::string_view kZeroPayload = "zero";
/// The most bytes of a payload's file that are read: they are sent to the peer.
inline constexpr std::size_t kMaxPayloadFileBytes = 64 << 10;
inline constexpr std::string_view kDeviceMemory = "device";
/// Prefixes of a `memory` that is a dma-buf of the kernel's (NAME: of a DMA heap, or kUdmabuf), or
/// lies in a GPU: "dmabuf:NAME", "cuda:N" or "cuda:BUS_ID", "rocm:N".
inline constexpr std::string_view kDmabufMemory = "dmabuf:", kCudaMemory = "cuda:",
                                  kRocmMemory = "rocm:";
/// In the name of a rank's device or GPU: the rank's number on its machine.
inline constexpr std::string_view kLocalRank = "%l";
/// A dma-buf of this process's own pages.
inline constexpr std::string_view kUdmabuf = "udmabuf";
inline constexpr std::string_view kHugePages = "huge";      ///< of 2 MiB
inline constexpr std::string_view kHugePages1G = "huge1g";  ///< of 1 GiB
inline bool is_gpu(std::string_view memory) noexcept {
  return memory.starts_with(kCudaMemory) || memory.starts_with(kRocmMemory);
}
/// Does the CPU load and store in memory of this kind?
inline bool cpu_reaches(std::string_view memory) noexcept {
  return memory != kDeviceMemory && !is_gpu(memory);
}
/// Memory that an end has by opening what a name says. A peer has none of it opened but a GPU's,
/// where the server's owner allows that.
inline bool is_opened(std::string_view memory) noexcept {
  return memory.starts_with(kFileMemory) || memory.starts_with(kDmabufMemory) || is_gpu(memory);
}
/// The values of `core` other than CPUs: near the device or not at all; not pinned. Ranges of CPUs
/// have a '+' between them, since a comma makes several cases.
inline constexpr std::string_view kNearDevice = "numa";
inline constexpr std::string_view kNotPinned = "off";
inline constexpr char kCpuSeparator = '+';
/// An atomic works on 8 bytes, aligned to 8 (IBTA vol. 1, 9.4.5).
inline constexpr std::uint64_t kAtomicBytes = 8;

/// Between devices of one case, "mlx5_0+mlx5_1", and between their GPUs; and all of an end's that
/// reach one of the peer's.
inline constexpr char kDeviceSeparator = '+';
inline constexpr std::string_view kAllDevices = "all";
inline constexpr std::size_t kMostDevices = 64, kMostDeviceChars = 63;  ///< of a case; of a name

/// The most threads of a case at an end in one direction that have QPs of their own: the range of
/// --threads, and what all devices together may have.
inline constexpr std::size_t kMostEndpoints = 256;

/// The settings that each end chooses for itself.
struct EndSettings {
  std::string device;  ///< several are joined; empty: see core/verbs/port_choice.h
  std::uint64_t port_num = 0;
  std::uint64_t gid_index = 0;
  std::string core;  ///< empty: near the device where possible; numa, off, "3", "0-3+8"
  /// empty: host; huge, huge1g, device, file:PATH, dmabuf:NAME, cuda:N, cuda:BUS_ID, rocm:N; of
  /// several devices "cuda:0+cuda:1", a GPU for each
  std::string memory;
};

/// The queues of a QP, and how requests are put into them and completions taken out.
struct QueueSettings {
  std::uint64_t depth = 0;               ///< send queue depth [WRs]
  std::uint64_t rx_depth = 0;            ///< receive queue depth [WRs]
  std::uint64_t recv_post_list = kAuto;  ///< receives per post; kAuto: see receive_list_length()
  std::uint64_t post_list = 0;           ///< WRs per doorbell
  std::uint64_t signal_every = 0;        ///< every n-th WR is signaled
  bool signal_by_default = false;        ///< signal_every was not specified; no axis
  /// 0: off; kDeviceMax: as much as a QP can be created with; kAuto: see wanted_inline()
  std::uint64_t inline_bytes = 0;
  std::uint64_t sge = 1;  ///< SGEs of a request at the initiator; kDeviceMax: the device's most
  std::uint64_t recv_sge = 1;  ///< SGEs of a receive
  Split split = Split::even;
  std::uint64_t outstanding_reads = 0;  ///< kAuto: the most that both ends can
  Interface api = Interface::classic;
  Interface cq = Interface::classic;
  CqSharing cq_sharing = CqSharing::shared;
  std::uint64_t cq_depth = kAuto;  ///< entries of a CQ; kAuto: what can be outstanding
  bool timestamps = false;         ///< the device says when each completion was
  RecvQueue recv = RecvQueue::rq;
  /// QPs and CQs of each thread without the provider's locks; kAuto: where the device has that.
  std::uint64_t thread_domain = kAuto;
  std::uint64_t comp_vector = 0;  ///< of --wait event
};

/// Attributes of the QPs and of the path between them.
struct PathSettings {
  std::uint64_t mtu_bytes = 0;  ///< kAuto: the lesser of both ports' active MTUs; 0: it has none,
                                ///< as in a row of iWARP, where TCP has segments
  std::uint64_t service_level = 0;
  std::uint64_t traffic_class = 0;
  std::string flow_label;      ///< empty: 0; a number, spread, "per-qp:1+2": see FlowLabels
  std::uint64_t first_qp = 0;  ///< of a thread: its first QP's number among those of all; no axis
  std::uint64_t pkey = kAuto;  ///< partition key; kAuto: the initiator's at pkey_index
  std::uint64_t pkey_index = 0;
  std::uint64_t qp_timeout = 0;     ///< 4.096 us * 2^this; 0: for ever
  std::uint64_t retry_count = 0;    ///< of a request that is not acknowledged
  std::uint64_t rnr_retry = 0;      ///< of one that found no receive; 7: without end
  std::uint64_t min_rnr_timer = 0;  ///< code of the wait that an RNR NAK asks for
};

/// How the memory of both ends is registered.
struct RegistrationSettings {
  bool mr_per_qp = false;
  std::uint64_t relaxed_ordering = kAuto;  ///< 0, 1; kAuto: see TestCase::relaxes_ordering()
  bool odp = false;
  GpuRegistration gpu = GpuRegistration::automatic;
};

struct TestCase {
  std::string test;  ///< its name in the catalog, for results alone; empty: ranks have none
  Opcode opcode = Opcode::send;
  Pattern pattern = Pattern::ping_pong;
  Verb verb = Verb::reg_mr;   ///< of Pattern::control, which has no opcode
  std::uint64_t objects = 0;  ///< there before and during its calls

  // Of Pattern::topology; see topologies/.
  std::string graph;    ///< "ring", "torus2d:2x4": which ranks have QPs between them
  std::string traffic;  ///< "pairs", "incast:3": which rank sends to which
  std::string pairs;    ///< "all", "sampled:3": of traffics in rounds, which of them are measured
  std::string schedule;
  std::uint64_t ranks = 0;
  std::uint64_t qps_per_edge = 1;
  std::uint64_t inflate = 0;  ///< each rank has the QPs of a mesh of so many; 0: of its own
  std::uint64_t active = 0;   ///< so many of them carry messages; kDeviceMax: all
  RankOpcode rank_opcode = RankOpcode::send;  ///< what moves the messages of a stream among ranks
  std::uint64_t seed = 0;                     ///< of graphs and traffics that are drawn

  Transport transport = Transport::rc;
  std::uint64_t size_bytes = 0;
  std::uint64_t qps = 0;
  std::uint64_t threads =
      1;  ///< of each device at each end, each with QPs, CQs and memory of its own
  std::uint64_t sharers = 1;  ///< threads of the initiator that use each QP together
  std::uint64_t rate = 0;     ///< of an open loop [1/s]; with kBitRate: [bit/s]; kSweep
  std::uint64_t slo = 0;      ///< of a sweep: the p99 response allowed [ns]; see kTimesUnloaded
  ArrivalPattern arrivals = ArrivalPattern::poisson;
  std::string mix;             ///< of Opcode::mix; empty: the default. See mix_of()
  bool bidirectional = false;  ///< the responder initiates as well, on QPs of its own
  Connect connect = Connect::tcp;
  bool connect_by_default = false;  ///< connect was not specified; no axis
  std::uint64_t peers = 1;  ///< UD: QPs of the responder's that each of the initiator's sends to
  std::string group;        ///< of a multicast: its address; empty: the responder draws one
  std::uint64_t iterations = 0;   ///< measured operations; 0 where duration_ns rules
  std::uint64_t duration_ns = 0;  ///< 0 where iterations rule; kUntilInterrupted
  std::uint64_t warmup = 0;       ///< operations before the measured ones
  Wait wait = Wait::automatic;
  bool verify = false;
  std::uint64_t loss_timeout_ns = 0;  ///< UC and UD ping-pong: a pong later than this is lost
  std::string payload;                ///< empty: random; zero, file:PATH
  std::string payload_bytes;          ///< of the file, once the initiator has read it; no axis
  std::uint64_t interval_ns = kAuto;  ///< of a series over time; kAuto: see interval()
  bool peak = false;                  ///< of a bandwidth: is its best stretch looked for?
  bool blame = false;                 ///< is each late sample's cause looked for?
  std::uint64_t late_ns = kAuto;      ///< samples as long as that are late; kAuto: those beyond p99

  QueueSettings queues;
  PathSettings path;
  RegistrationSettings registration;
  EndSettings initiator, responder;

  const EndSettings& end(Role role) const noexcept {
    return role == Role::initiator ? initiator : responder;
  }
  bool control() const noexcept { return pattern == Pattern::control; }
  bool sweeps() const { return pattern == Pattern::open_loop && rate == kSweep; }
  bool open_loop() const noexcept { return pattern == Pattern::open_loop; }
  /// Requests of an open loop that fall due at once; random arrivals are single.
  std::uint64_t burst() const noexcept {
    static_assert(ArrivalPattern::poisson == ArrivalPattern{1});  // so not the number of a burst
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(arrivals), 1);
  }
  /// Does each of its loops look where it was, for `blame`?
  bool watched() const noexcept { return blame && (closed_loop() || open_loop()); }
  /// Are its requests of several kinds?
  bool mixed() const noexcept { return opcode == Opcode::mix; }
  /// Does each send have an answer?
  bool answered() const noexcept {
    return pattern == Pattern::ping_pong || (open_loop() && takes_receive());
  }
  bool topology() const noexcept { return pattern == Pattern::topology; }
  /// Are ranks connected by QPs that lead to one peer each?
  bool connects_ranks() const noexcept { return topology() && transport != Transport::ud; }
  bool needs_responder() const noexcept { return !control() || has_responder(verb); }
  bool reliable() const noexcept { return transport == Transport::rc; }
  bool extended_api() const noexcept { return queues.api == Interface::extended; }
  bool extended_cq() const noexcept { return queues.cq == Interface::extended; }
  bool shared_receives() const noexcept { return queues.recv == RecvQueue::srq; }
  bool shares_qps() const noexcept { return sharers > 1; }
  /// Those of each end, the first of one with that of the other...; 1 where that is still open.
  std::uint64_t devices() const noexcept {
    return 1 + static_cast<std::uint64_t>(std::ranges::count(initiator.device, kDeviceSeparator));
  }
  /// Threads that run loops at an end.
  std::uint64_t loops(Role role) const noexcept {
    return devices() * threads * (bidirectional ? 2 : 1) * (role == Role::initiator ? sharers : 1);
  }
  /// WRs of a sharer on each QP: whole lists.
  std::uint64_t depth_of_sharer() const noexcept {
    return queues.depth / sharers / queues.post_list * queues.post_list;
  }
  bool cq_per_qp() const noexcept { return queues.cq_sharing == CqSharing::per_qp && qps > 1; }
  bool until_interrupted() const noexcept { return duration_ns == kUntilInterrupted; }
  /// One sample after the other, each measured from its post.
  bool closed_loop() const noexcept {
    return pattern == Pattern::ping_pong || pattern == Pattern::completion_latency;
  }
  std::uint64_t interval() const noexcept {
    return interval_ns == kAuto ? 1'000'000'000 : interval_ns;
  }
  /// Is a latency's distribution kept interval by interval? Where intervals, or lines of them, are
  /// asked for. A sweep is many short measurements.
  bool latency_over_time() const noexcept {
    return (closed_loop() || open_loop()) && !over_tcp() && !sweeps() &&
           (interval_ns != kAuto || until_interrupted());
  }
  bool by_cm() const noexcept { return connect == Connect::cm; }

  bool atomic() const noexcept { return traits(opcode).atomic; }
  bool by_value() const noexcept { return traits(opcode).by_value; }
  bool flushes() const noexcept { return traits(opcode).flushes; }
  /// Is it posted by ibv_wr_* alone?
  bool by_extended_alone() const noexcept { return !traits(opcode).posted_by.empty(); }
  /// Is each message 8 bytes, whatever else is asked for?
  bool of_one_word() const noexcept { return atomic() || by_value(); }
  /// A baseline test, without verbs: then most axes do not apply and stay at their defaults.
  bool over_tcp() const noexcept { return opcode == Opcode::tcp_send; }
  bool one_sided() const noexcept { return traits(opcode).one_sided; }
  /// No other transport than UD has such an opcode.
  bool ud_alone() const noexcept { return traits(opcode).ud_alone; }
  /// Does a send go to all peers at once?
  bool multicast() const noexcept { return opcode == Opcode::mcast_send; }
  /// Is it, or has the mix, such an operation? No other word of a mix contains this one.
  bool mixes_sends() const noexcept {
    return mixed() && mix.find(traits(Opcode::send).name) != std::string::npos;
  }
  bool takes_receive() const noexcept { return traits(opcode).takes_receive || mixes_sends(); }
  bool immediate() const noexcept { return traits(opcode).immediate; }
  bool returns_data() const noexcept { return traits(opcode).returns_data; }
  /// Does who awaits a message look for its last byte in memory?
  bool seen_in_memory() const noexcept {
    return pattern == Pattern::ping_pong && !takes_receive() && !over_tcp();
  }
  /// May PCIe writes overtake each other? By itself as in perftest; not among ranks, which look for
  /// credits and results of collectives in memory.
  bool relaxes_ordering() const noexcept {
    if (registration.relaxed_ordering != kAuto) return registration.relaxed_ordering != 0;
    return !seen_in_memory() && !topology();
  }

  /// Inline room that its QPs are to have. kAuto becomes that of the message where a latency ends
  /// sooner by it: the device need not fetch the payload over PCIe. 220 bytes are perftest's
  /// default on most adapters. Of a mix the largest message is meant that is not longer.
  std::uint64_t wanted_inline() const;
};

/// A word that an option takes beside, or instead of, a number.
struct Word {
  std::string_view text;
  std::uint64_t value;
};

/// How an axis's text is read.
enum class AxisKind {
  count,     ///< a whole number
  hex,       ///< a hexadecimal number behind 0x, at most 0xffff
  bytes,     ///< a whole number, K, M or G (KiB, MiB, GiB) meaning 1024-based
  seconds,   ///< a decimal number of s, or with a suffix ns, us, ms, s; stored in ns
  rate,      ///< messages or bits per second; see parse_rate()
  arrivals,  ///< one of `words`, or burst:N
  choice,    ///< one of `words` and nothing else
  name,      ///< of a device, or of several of one case
  source,    ///< of bytes: one of `words`, or file:PATH
  memory,    ///< one of `words`, file:PATH, dmabuf:NAME or a GPU's
  group,     ///< the address of a multicast group
  mix,       ///< parts of a mix: see parse_mix()
  labels,    ///< flow labels: one of `words`, a number, or per-qp:A,B
  cpus,      ///< one of `words`, or CPUs: "3", "0-3+8", each number at most `max`
  shape,     ///< a word with arguments behind colons, "torus2d:2x4", which topologies/ knows
};

/// A member of a case that is a number, an enum or a bool, as the table of axes reaches it.
struct NumberField {
  std::uint64_t (*get)(const TestCase&);
  void (*set)(TestCase&, std::uint64_t);
};

struct TextField {
  const std::string& (*get)(const TestCase&);
  void (*set)(TestCase&, std::string);
};

/// The member that these pointers lead to, one after the other.
template <auto... Path>
inline constexpr NumberField number_field{
    [](const TestCase& c) { return static_cast<std::uint64_t>((c.*....*Path)); },
    [](TestCase& c, std::uint64_t value) {
      auto& member = (c.*....*Path);
      member = static_cast<std::remove_reference_t<decltype(member)>>(value);
    }};
template <auto... Path>
inline constexpr TextField text_field{
    [](const TestCase& c) -> const std::string& { return (c.*....*Path); },
    [](TestCase& c, std::string value) { (c.*....*Path) = std::move(value); }};

struct Axis {
  std::string_view option;  ///< without the dashes
  std::string_view key;     ///< in `case` of a result and on the wire; units last
  std::variant<NumberField, TextField> field;
  AxisKind kind;
  std::span<const Word> words;       ///< words it takes
  std::string_view latency_default;  ///< as one would type it
  std::string_view help;
  bool (*applies)(const TestCase&);  ///< has it a meaning for this test and transport?
  std::uint64_t min = 0, max = 0;    ///< range of a number
  std::string_view bandwidth_default = latency_default;
  bool of_iwarp = true;  ///< false: TCP and the driver have their own of it
};

/// The two options of which one rules, and the other is then unset.
inline constexpr std::string_view kIterationsOption = "iterations", kDurationOption = "duration";

/// Is it off or on, so that its option without a value means on?
inline bool is_switch(const Axis& axis) {
  return axis.words.size() >= 2 && axis.words[1].text == "on";
}

/// Every axis of a test between two ends, in the order of result names. Tests among ranks have
/// others beside them: topology_axes() in topologies/axes/rank_axes.h.
std::span<const Axis> axes();

/// The axis of this option (without dashes); null: there is none.
const Axis* find_axis(std::string_view option, std::span<const Axis> among = axes());

/// The values that the option takes, to end a sentence: "bytes from 1 to 2G (K, M,
/// G are 1024-based)".
std::string accepts_text(const Axis& axis);

/// "rc", "uc", "ud"; "tcp" for a test that goes over it, where the transport is no axis; empty for
/// a call that concerns no QP.
std::string transport_text(const TestCase& test_case);

/// The parts of a mix, each with its size. Of another case: its one kind of request.
std::vector<MixPart> mix_of(const TestCase& test_case);

/// A part of a mix as a case of its own, which all of its requests are alike in.
TestCase case_of_part(const TestCase& test_case, const MixPart& part);

/// The mean of its messages, of a mix by the weights [bytes].
double mean_message(const TestCase& test_case);

/// The largest message that the case has [bytes].
std::uint64_t largest_message(const TestCase& test_case);

/// Has a part of it this trait?
bool has_part(const TestCase& test_case, bool OpcodeTraits::*trait);

/// Requests that an open loop offers [1/s]; of a mix bits are those of the mean size.
double messages_per_s(const TestCase& test_case);

/// The end of a remedy: ", or --transport " and these words; nothing for a test that has no transport
/// to choose.
std::string or_transport(const TestCase& test_case, std::string_view words);

/// "mlx5_0+mlx5_1"; of nothing one empty name.
std::vector<std::string> split_devices(std::string_view text);

/// Is this device one of those that an end leaves or names?
bool names_device(std::string_view list, std::string_view device);

/// Is that more than the name of one device?
bool names_several(const EndSettings& end);

/// "cuda:0+cuda:1", a GPU for each device; of other memory, which all devices have, that alone.
std::vector<std::string> split_memory(const std::string& memory);

/// Leaves of the memory of both ends what their i-th device has.
void take_memory_of_device(TestCase& test_case, std::size_t i);

/// The part of a case that one device of each end has.
/// @param i  below devices(); an end that has no such device keeps its text
TestCase of_device(TestCase test_case, std::size_t i);

/// Every axis at its default for this kind of test; inapplicable ones too, so that the case is
/// valid. Atomics have the one size there is, what UD alone has the transport and a size
/// that fits its MTU.
TestCase default_case(Opcode opcode, Pattern pattern);

/// The default case of a control path test. Its queues and buffers are those of a bandwidth test.
TestCase default_case(Verb verb);

/// One value of an axis as people type it, e.g. "8K", "max", "0.5". A duration unsets the
/// iterations, and they it: one of the two rules.
/// @throws UsageError naming the option and what it accepts
void set_axis(TestCase& test_case, const Axis& axis, std::string_view text);

/// The value as a person would type it ("4096", "max", "rc").
std::string axis_text(const TestCase& test_case, const Axis& axis);

/// The axis's value in `case` of a result: a number, a word, or of a switch true or false. Null
/// where it is the one of iterations and duration that does not rule.
Json axis_json(const TestCase& test_case, const Axis& axis);

/// {"size_bytes": 64, "transport": "rc", ...}: the axes that apply, `auto` and `max`
/// as those words.
Json case_json(const TestCase& test_case, std::span<const Axis> among = axes());

/// The whole case for the wire, opcode and pattern included.
Json case_to_wire(const TestCase& test_case);

/// @throws UsageError on a missing or unknown key, a wrong type or a value out of range
TestCase case_from_wire(const Json& wire);

/// Why this combination can be measured nowhere, or by this program, whatever the device; empty: it
/// can. (UD carries sends only, UC no reads, a UD message fits the MTU, the send queue holds what
/// must be posted before the first completion...) A UD message is held to `mtu_bytes` where that is
/// known, else to the largest MTU there is; the device side checks again once the MTU is agreed.
std::string why_impossible(const TestCase& test_case);

}  // namespace rdmameter
