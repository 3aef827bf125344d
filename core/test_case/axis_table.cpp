// SPDX-License-Identifier: Apache-2.0
// The table of axes of two ends: an option is declared here and nowhere else. Those of ranks are
// in topologies/axes/rank_axes.cpp.
#include <array>

#include "core/base/parse_value.h"
#include "core/test_case/flow_label.h"
#include "core/test_case/test_case.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;

/// The words of an enum or a switch, by their order. @tparam kLast  its last value
template <auto kLast, class... Text>
constexpr auto words(Text... texts) {
  static_assert(sizeof...(texts) == static_cast<std::size_t>(kLast) + 1);
  std::uint64_t value = 0;
  return std::array{Word{texts, value++}...};
}

constexpr std::span<const Word> kNone;
constexpr auto kTransports = words<Transport::ud>("rc", "uc", "ud");
constexpr auto kWaits = words<Wait::event>("auto", "spin", "yield", "event");
constexpr auto kInterfaces = words<Interface::extended>("classic", "extended");
constexpr auto kRecvQueues = words<RecvQueue::srq>("rq", "srq");
constexpr auto kConnects = words<Connect::cm>("tcp", "cm");
constexpr auto kSplits = words<Split::page>("even", "uneven", "page");
constexpr std::array kPayloads{Word{"random", 0}, Word{kZeroPayload, 0}};
constexpr std::array kFlowLabels{Word{kSpreadLabels, 0}};
constexpr auto kCqSharings = words<CqSharing::per_qp>("shared", "per-qp");
constexpr auto kArrivals = words<ArrivalPattern::poisson>("fixed", "poisson");
constexpr std::array kDurations{Word{"off", 0}, Word{"0", kUntilInterrupted}};
constexpr std::array kMaxWord{Word{"max", kDeviceMax}};
constexpr std::array kMemories{Word{"host", 0}, Word{kHugePages, 0}, Word{kHugePages1G, 0},
                               Word{kDeviceMemory, 0}};
constexpr auto kOffOn = words<true>("off", "on");
constexpr auto kGpuRegistrations = words<GpuRegistration::pointer_first>(
    "auto", "dmabuf", "pointer", "data-direct", "pointer-first");
constexpr std::array kOrderings{Word{"off", 0}, Word{"on", 1}, Word{"auto", kAuto}};
constexpr std::array kThreadDomains{Word{"auto", kAuto}, Word{"off", 0}, Word{"on", 1}};
constexpr std::array kInline{Word{"auto", kAuto}, Word{"off", 0}, Word{"max", kDeviceMax}};
constexpr std::array kPlacements{Word{kNearDevice, 0}, Word{kNotPinned, 0}};
constexpr std::array kFound{Word{"auto", kAuto}};
constexpr std::array kRates{Word{"sweep", kSweep}};
constexpr std::array kTimes{Word{"2x", kTimesUnloaded | 2}, Word{"3x", kTimesUnloaded | 3},
                            Word{"5x", kTimesUnloaded | 5}, Word{"10x", kTimesUnloaded | 10},
                            Word{"20x", kTimesUnloaded | 20}};
constexpr std::array kMtus{Word{"auto", kAuto}, Word{"256", 256},   Word{"512", 512},
                           Word{"1024", 1024},  Word{"2048", 2048}, Word{"4096", 4096}};

constexpr auto always = [](const TestCase&) { return true; };
/// Between two ends.
constexpr auto traffic = [](const TestCase& c) { return !c.control() && !c.topology(); };
constexpr auto topology = [](const TestCase& c) { return c.topology(); };
constexpr auto sends_messages = [](const TestCase& c) { return !c.control(); };
constexpr auto not_topology = [](const TestCase& c) { return !c.topology(); };
constexpr auto on_verbs = [](const TestCase& c) { return traffic(c) && !c.over_tcp(); };
constexpr auto has_path = [](const TestCase& c) { return on_verbs(c) || topology(c); };
constexpr auto has_mtu = [](const TestCase& c) { return has_path(c) && c.path.mtu_bytes != 0; };
constexpr auto has_device = [](const TestCase& c) { return !c.over_tcp(); };
constexpr auto control = [](const TestCase& c) { return c.control(); };
template <ControlObject kObject>
constexpr auto calls_for =
    [](const TestCase& c) { return c.control() && object_of(c.verb) == kObject; };
constexpr auto calls_for_memory = calls_for<ControlObject::memory>;
constexpr auto calls_for_cqs = calls_for<ControlObject::cq>;
constexpr auto calls_for_qps = calls_for<ControlObject::qp>;
constexpr auto connects_qps = [](const TestCase& c) { return c.control() && c.needs_responder(); };
/// A multicast is of UD, and of one QP.
constexpr auto unicast = [](const TestCase& c) { return on_verbs(c) && !c.multicast(); };
constexpr auto multicast = [](const TestCase& c) { return on_verbs(c) && c.multicast(); };
constexpr auto sends_datagrams = [](const TestCase& c) {
  return on_verbs(c) && c.transport == Transport::ud && !c.one_sided();
};
constexpr auto has_transport = [](const TestCase& c) {
  return (on_verbs(c) && !c.ud_alone()) || calls_for_qps(c) || connects_qps(c) ||
         c.connects_ranks();
};
constexpr auto has_peer_device = [](const TestCase& c) { return on_verbs(c) || connects_qps(c); };
/// The others of rdma_cm's steps are by it.
constexpr auto has_connect = [](const TestCase& c) {
  return unicast(c) || (c.control() && c.verb == Verb::connect);
};
constexpr auto any_bandwidth = [](const TestCase& c) { return c.pattern == Pattern::bandwidth; };
constexpr auto bandwidth = [](const TestCase& c) { return on_verbs(c) && any_bandwidth(c); };
constexpr auto unicast_bandwidth = [](const TestCase& c) { return bandwidth(c) && !c.multicast(); };
constexpr auto open_loop = [](const TestCase& c) { return c.open_loop(); };
constexpr auto mixed = [](const TestCase& c) { return c.mixed(); };
constexpr auto has_depth = [](const TestCase& c) {
  return bandwidth(c) || open_loop(c) || calls_for_qps(c) || calls_for_cqs(c) || connects_qps(c) ||
         topology(c);
};
constexpr auto receives = [](const TestCase& c) { return traffic(c) && c.takes_receive(); };
constexpr auto has_receive_queues = [](const TestCase& c) {
  return receives(c) || (c.connects_ranks() && c.rank_opcode == RankOpcode::send);
};
constexpr auto has_rx_depth = [](const TestCase& c) {
  return receives(c) || calls_for_qps(c) || connects_qps(c);
};
/// Into its receives: an RDMA WRITE with immediate takes one and leaves its memory alone.
constexpr auto receives_data = [](const TestCase& c) { return traffic(c) && !c.one_sided(); };
constexpr auto sends_data = [](const TestCase& c) {
  return on_verbs(c) && !c.returns_data() && !c.by_value();
};
constexpr auto has_payload = [](const TestCase& c) {
  return sends_messages(c) && !c.of_one_word();
};
constexpr auto has_size = [](const TestCase& c) {
  return has_payload(c) || calls_for_memory(c) || (c.control() && completes(c.verb));
};
constexpr auto has_memory = [](const TestCase& c) {
  return on_verbs(c) || topology(c) || calls_for_memory(c);
};
constexpr auto has_gpu = [](const TestCase& c) {
  return has_memory(c) &&
         (is_gpu(c.initiator.memory) || (on_verbs(c) && is_gpu(c.responder.memory)));
};
constexpr auto has_sges = [](const TestCase& c) { return on_verbs(c) && !c.of_one_word(); };
constexpr auto counts_as_read = [](const TestCase& c) {
  return traffic(c) && (traits(c.opcode).counts_as_read || c.mixed());
};
constexpr auto is_split = [](const TestCase& c) {
  return has_sges(c) && (c.queues.sge > 1 || (receives_data(c) && c.queues.recv_sge > 1));
};
constexpr auto reliable = [](const TestCase& c) { return has_path(c) && c.reliable(); };
constexpr auto can_be_not_ready = [](const TestCase& c) {
  return reliable(c) && c.takes_receive();
};
/// What completes at the initiator tells it that a message has arrived; atomics are verified by
/// their order on a QP.
constexpr auto may_share_qps = [](const TestCase& c) {
  return unicast(c) && c.reliable() && !c.atomic() &&
         (any_bandwidth(c) || c.pattern == Pattern::completion_latency);
};
/// A completion latency and an open loop signal every WR by definition.
constexpr auto may_leave_unsignaled = [](const TestCase& c) {
  return on_verbs(c) && c.pattern != Pattern::completion_latency && !open_loop(c);
};
constexpr auto may_lose_a_pong = [](const TestCase& c) {
  return (c.pattern == Pattern::ping_pong || topology(c)) && !c.reliable();
};

/// A rank that is connected to others may always have several.
constexpr auto has_several_qps = [](const TestCase& c) {
  return (on_verbs(c) && c.qps > 1) || c.connects_ranks();
};
/// A latency that ends by a completion; of a plain write's ping-pong memory tells.
constexpr auto has_breakdown = [](const TestCase& c) {
  return on_verbs(c) && c.extended_cq() && !c.multicast() &&
         (c.pattern == Pattern::completion_latency ||
          (c.pattern == Pattern::ping_pong && c.takes_receive()));
};
constexpr auto sleeps = [](const TestCase& c) { return on_verbs(c) && c.wait == Wait::event; };
constexpr auto sweeps = [](const TestCase& c) { return c.sweeps(); };
constexpr auto has_intervals = [](const TestCase& c) {
  return any_bandwidth(c) || open_loop(c) || c.until_interrupted() ||
         (c.closed_loop() && !c.over_tcp());
};
constexpr auto can_blame = [](const TestCase& c) {
  return on_verbs(c) && (c.closed_loop() || c.open_loop()) && !c.multicast();
};
constexpr auto blames = [](const TestCase& c) { return can_blame(c) && c.blame; };

using enum AxisKind;

template <auto Member>
constexpr NumberField queues = number_field<&TestCase::queues, Member>;
template <auto Member>
constexpr NumberField path = number_field<&TestCase::path, Member>;
template <auto Member>
constexpr NumberField registration = number_field<&TestCase::registration, Member>;
using Queues = QueueSettings;
using Path = PathSettings;

constexpr Axis not_of_iwarp(Axis axis) {
  axis.of_iwarp = false;
  return axis;
}

// Limits: a message is at most 2^31 bytes (IBTA vol. 1, message size); port and GID numbers are 8
// bits wide in ibv_ah_attr; signal_every is bounded by what a chain of prebuilt WRs
// may hold (why_impossible).
const std::array kAxes{
    Axis{"transport", "transport", number_field<&TestCase::transport>, choice, kTransports, "rc",
         "QP type: reliable or unreliable connection, unreliable datagram", has_transport},
    Axis{"size", "size_bytes", number_field<&TestCase::size_bytes>, bytes, kNone, "64",
         "payload of one message [bytes]; an atomic's is 8", has_size, 1, 1ULL << 31, "64K"},
    Axis{
        "qps", "qps", number_field<&TestCase::qps>, count, kNone, "1",
        "queue pairs of a thread that share its traffic; a latency's messages go over them in turn",
        unicast, 1, 65536},
    Axis{"threads", "threads", number_field<&TestCase::threads>, count, kNone, "1",
         "threads of each end, each with its own --qps QPs, CQs and memory, on the CPUs from "
         "--core on",
         unicast, 1, 256},
    Axis{"sharers", "sharers", number_field<&TestCase::sharers>, count, kNone, "1",
         "threads of the initiator that post to the same QPs and poll the same CQ, each with its "
         "part of --depth",
         may_share_qps, 1, 256},
    Axis{"bidirectional", "bidirectional", number_field<&TestCase::bidirectional>, choice, kOffOn,
         "off", "let the responder send, too, at the same time, with its own threads and QPs",
         unicast_bandwidth},
    Axis{"peers", "peers", number_field<&TestCase::peers>, count, kNone, "1",
         "UD: QPs of the responder that each QP of the initiator sends to, in turn; multicast: "
         "receivers in the group",
         sends_datagrams, 1, 4096},
    Axis{"group", "group", text_field<&TestCase::group>, group, kNone, "auto",
         "address of the multicast group; auto: one that is not in use", multicast},
    Axis{"rate", "rate", number_field<&TestCase::rate>, rate, kRates, "10k",
         "requests that fall due, whatever becomes of those before them: messages per second (k, "
         "M), or bits per second of payload (Gb/s); sweep: find saturation, and the highest rate "
         "whose p99 response is within --slo",
         open_loop, 1, kBitRate | 10'000'000'000'000},
    Axis{"slo", "slo_ns", number_field<&TestCase::slo>, seconds, kTimes, "5x",
         "of --rate sweep: the p99 response that is allowed, or how many times the one without "
         "load it may be",
         sweeps, 1, 10 * kSecond_ns},
    Axis{"arrivals", "arrivals", number_field<&TestCase::arrivals>, arrivals, kArrivals, "poisson",
         "when they fall due: at fixed gaps, at random as if of many clients (poisson), or N at a "
         "time at fixed gaps (burst:N)",
         open_loop, 2, 65536},
    Axis{"mix", "mix", text_field<&TestCase::mix>, AxisKind::mix, kNone, "read:70+write:30",
         "of mix_load: which requests, each with its weight (read:70,write:30), or with its size "
         "as well (read:4K:50,write:8:30): read, write, send, fetch_add, cmp_swap",
         mixed},
    Axis{"depth", "depth", queues<&Queues::depth>, count, kNone, "1",
         "send queue depth: requests in flight per QP [WRs]; if not given, it grows as "
         "--signal-every and --post-list need; CQEs of create_cq",
         has_depth, 1, 1ULL << 20, "128"},
    Axis{"rx-depth", "rx_depth", queues<&Queues::rx_depth>, count, kNone, "512",
         "receive queue depth per QP [WRs]", has_rx_depth, 1, 1ULL << 20},
    Axis{"recv-post-list", "recv_post_list", queues<&Queues::recv_post_list>, count, kFound, "auto",
         "receives that are posted together; --rx-depth must be a multiple of it; auto: at most 16",
         receives, 1, 65536},
    Axis{"post-list", "post_list", queues<&Queues::post_list>, count, kNone, "1",
         "WRs linked into one post, so per doorbell", bandwidth, 1, 65536},
    Axis{"signal-every", "signal_every", queues<&Queues::signal_every>, count, kNone, "1",
         "ask for a completion of every n-th WR; if not given, less when --depth is too small",
         may_leave_unsignaled, 1, 65536, "32"},
    Axis{"inline", "inline_bytes", queues<&Queues::inline_bytes>, bytes, kInline, "auto",
         "copy payloads up to this into the WQE [bytes]; auto: each message of a latency, of up to "
         "220 bytes, where the device takes it",
         sends_data, 1, 65536, "off"},
    Axis{"sge", "sge", queues<&Queues::sge>, count, kMaxWord, "1",
         "SGEs of a request: a message is gathered from them, a read's data is scattered to them",
         has_sges, 1, 65535},
    Axis{"recv-sge", "recv_sge", queues<&Queues::recv_sge>, count, kMaxWord, "1",
         "SGEs of a receive: what arrives is scattered to them", receives_data, 1, 65535},
    Axis{"sge-layout", "sge_layout", queues<&Queues::split>, choice, kSplits, "even",
         "pieces of a message: even, uneven (1:2:3...), or each across a page boundary", is_split},
    Axis{"outstanding-reads", "outstanding_reads", queues<&Queues::outstanding_reads>, count,
         kFound, "auto", "reads and atomics under way per QP; auto: the most that both ends can",
         counts_as_read, 1, 255},
    Axis{"api", "api", queues<&Queues::api>, choice, kInterfaces, "classic",
         "post by ibv_post_send (classic) or ibv_wr_* (extended)", on_verbs},
    Axis{"cq", "cq", queues<&Queues::cq>, choice, kInterfaces, "classic",
         "poll by ibv_poll_cq (classic) or ibv_start_poll (extended)", on_verbs},
    Axis{"cq-sharing", "cq_sharing", queues<&Queues::cq_sharing>, choice, kCqSharings, "shared",
         "all QPs share their CQs (one for sends and one for receives; a rank has one for both), "
         "or each QP has its own, polled in turn",
         has_several_qps},
    Axis{"cq-depth", "cq_depth", queues<&Queues::cq_depth>, count, kFound, "auto",
         "entries of each CQ; auto: as many completions as can be outstanding", on_verbs, 1,
         1ULL << 24},
    Axis{"timestamps", "timestamps", queues<&Queues::timestamps>, choice, kOffOn, "off",
         "split a latency into post, wire and poll, by the device's completion timestamps",
         has_breakdown},
    Axis{"thread-domain", "thread_domain", queues<&Queues::thread_domain>, choice, kThreadDomains,
         "auto",
         "a thread domain for each measuring thread, and CQs for one thread, so that the provider "
         "can leave out locks; auto: where the device has that",
         has_path},
    Axis{"recv", "recv", queues<&Queues::recv>, choice, kRecvQueues, "rq",
         "a receive queue per QP (rq), or one that all share (srq)", has_receive_queues},
    Axis{"connect", "connect", number_field<&TestCase::connect>, choice, kConnects, "tcp",
         "connect the QPs by addresses exchanged over the session (tcp), or by rdma_cm (cm); an "
         "iWARP device takes cm alone, and has it by default",
         has_connect},
    not_of_iwarp({"mtu", "mtu_bytes", path<&Path::mtu_bytes>, choice, kMtus, "auto",
                  "path MTU [bytes]; auto: the smaller active MTU of the two ports", has_mtu}),
    Axis{"iterations", "iterations", number_field<&TestCase::iterations>, count, kNone, "10000",
         "measured operations", always, 1, 1ULL << 40},
    Axis{"duration", "duration_ns", number_field<&TestCase::duration_ns>, seconds, kDurations,
         "off", "measure for this long instead of counting iterations; 0: until interrupted [s]",
         not_topology, 1'000'000, 30 * 86400 * kSecond_ns},
    Axis{"warmup", "warmup", number_field<&TestCase::warmup>, count, kNone, "100",
         "operations before the measured ones", always, 0, 1ULL << 32, "256"},
    Axis{"objects", "objects", number_field<&TestCase::objects>, count, kNone, "0",
         "objects of the same kind that exist before and during the calls", control, 0, 4096},
    Axis{"wait", "wait", number_field<&TestCase::wait>, choice, kWaits, "auto",
         "between empty polls; event: sleep until the CQ's next completion (TCP: the socket's next "
         "data); auto: yield where both ends share one core, else spin",
         sends_messages},
    Axis{"comp-vector", "comp_vector", queues<&Queues::comp_vector>, count, kNone, "0",
         "completion vector of the CQs: the interrupt that raises their events", sleeps, 0, 65535},
    Axis{"verify", "verify", number_field<&TestCase::verify>, choice, kOffOn, "off",
         "check every byte at the receiver, after the run (topo: sends as they arrive)",
         sends_messages},
    Axis{"loss-timeout", "loss_timeout_ns", number_field<&TestCase::loss_timeout_ns>, seconds,
         kNone, "100ms", "a UC or UD pong (among ranks: any message) later than this is lost [s]",
         may_lose_a_pong, 1'000, 3600 * kSecond_ns},
    Axis{"payload", "payload", text_field<&TestCase::payload>, source, kPayloads, "random",
         "content of messages; a file of the initiator's machine is repeated as often as it fits",
         has_payload},
    Axis{"interval", "interval_ns", number_field<&TestCase::interval_ns>, seconds, kFound, "auto",
         "keep a series over time in intervals of this length: messages of a bandwidth, latencies "
         "(auto: none), backlog (auto: 1s); with --duration 0, and of a long case at a terminal, "
         "also print a line at each [s]",
         has_intervals, 10'000'000, 3600 * kSecond_ns, "1s"},
    Axis{
        "peak", "peak", number_field<&TestCase::peak>, choice, kOffOn, "off",
        "also find the best rate of any stretch from a post to a completion, as perftest's BW peak",
        bandwidth},
    Axis{"blame", "blame", number_field<&TestCase::blame>, choice, kOffOn, "off",
         "attribute each late sample to the local poll loop, the remote poll loop, or the path",
         can_blame},
    Axis{"late", "late_ns", number_field<&TestCase::late_ns>, seconds, kFound, "auto",
         "of --blame: samples of this length or more are late; auto: those beyond p99 [s]", blames,
         100, 3600 * kSecond_ns},

    not_of_iwarp({"sl", "service_level", path<&Path::service_level>, count, kNone, "0",
                  "service level (on RoCE: the VLAN priority)", has_path, 0, 15}),
    Axis{
        "tclass", "traffic_class", path<&Path::traffic_class>, count, kNone, "0",
        "traffic class of the GRH (on RoCE v2 and iWARP: the IP header's TOS, so 4 times the DSCP)",
        has_path, 0, 255},
    not_of_iwarp(
        {"flow-label", "flow_label", text_field<&TestCase::path, &Path::flow_label>, labels,
         kFlowLabels, "0",
         "flow label of the GRH; spread, or a list: each QP its own, on RoCE v2 also its own UDP "
         "source port",
         has_path, 0, kMaxFlowLabel}),
    Axis{"pkey", "pkey", path<&Path::pkey>, hex, kFound, "auto",
         "partition key of both ends, by its value; auto: the initiator's at --pkey-index",
         has_path, 1, 0xffff},
    Axis{"pkey-index", "pkey_index", path<&Path::pkey_index>, count, kNone, "0",
         "entry of the initiator's partition table (of each rank's) whose key is used", has_path, 0,
         65535},
    not_of_iwarp({"qp-timeout", "qp_timeout", path<&Path::qp_timeout>, count, kNone, "14",
                  "wait for an acknowledgement: 4.096 us times 2 to the power of this; 0: for ever",
                  reliable, 0, 31}),
    not_of_iwarp({"retry-count", "retry_count", path<&Path::retry_count>, count, kNone, "7",
                  "retries of a request that is not acknowledged", reliable, 0, 7}),
    not_of_iwarp({"rnr-retry", "rnr_retry", path<&Path::rnr_retry>, count, kNone, "7",
                  "retries of a request that found no receive; 7: without end", can_be_not_ready, 0,
                  7}),
    not_of_iwarp(
        {"min-rnr-timer", "min_rnr_timer", path<&Path::min_rnr_timer>, count, kNone, "12",
         "wait that a receiver without receives asks for, as a code of IBTA's table; 12: 0.64 ms, "
         "1: 0.01 ms, 31: 491 ms, 0: 655 ms",
         can_be_not_ready, 0, 31}),

    Axis{"memory", "memory", text_field<&TestCase::initiator, &EndSettings::memory>, memory,
         kMemories, "host",
         "where the initiator's messages lie: ordinary pages, huge pages of 2 MiB or 1 GiB, the "
         "device's own memory, a mapped device or file, a dma-buf, a GPU's (cuda:N, rocm:N)",
         has_memory},
    Axis{"peer-memory", "peer_memory", text_field<&TestCase::responder, &EndSettings::memory>,
         memory, kMemories, "host", "where the responder's messages lie", on_verbs},
    Axis{"gpu-registration", "gpu_registration", registration<&RegistrationSettings::gpu>, choice,
         kGpuRegistrations, "auto",
         "how a GPU's memory is registered: as a dma-buf, by its address (pointer), through mlx5's "
         "data-direct engine; auto: dmabuf, else pointer; pointer-first: pointer, else dmabuf",
         has_gpu},
    Axis{"mr-per-qp", "mr_per_qp", registration<&RegistrationSettings::mr_per_qp>, choice, kOffOn,
         "off", "a separate memory region for each QP", on_verbs},
    Axis{
        "relaxed-ordering", "relaxed_ordering",
        registration<&RegistrationSettings::relaxed_ordering>, choice, kOrderings, "auto",
        "let PCIe writes into the memory overtake each other; auto: on, but not for write_lat, nor "
        "among ranks",
        has_memory},
    Axis{"odp", "odp", registration<&RegistrationSettings::odp>, choice, kOffOn, "off",
         "register memory for on-demand paging instead of pinning it", has_memory},

    Axis{"device", "device", text_field<&TestCase::initiator, &EndSettings::device>, name, kNone,
         "auto",
         "verbs device; auto: the first with an active port; several of one case: A+B, or all that "
         "reach the peer",
         has_device},
    Axis{"port-num", "port_num", number_field<&TestCase::initiator, &EndSettings::port_num>, count,
         kFound, "auto", "port of the device; auto: the first active one", has_device, 1, 255},
    Axis{"gid-index", "gid_index", number_field<&TestCase::initiator, &EndSettings::gid_index>,
         count, kFound, "auto",
         "GID table entry; auto: of the peer's type and subnet, RoCE v2 first", has_device, 0, 255},
    Axis{"core", "core", text_field<&TestCase::initiator, &EndSettings::core>, cpus, kPlacements,
         "auto",
         "CPUs to pin the measuring threads to: N and those after it; a list (0-3+8); free ones of "
         "the device's NUMA node (numa); auto: numa where that is possible; off: not pinned",
         not_topology, 0, 8191},
    Axis{"peer-device", "peer_device", text_field<&TestCase::responder, &EndSettings::device>, name,
         kNone, "auto", "the responder's --device", has_peer_device},
    Axis{"peer-port-num", "peer_port_num",
         number_field<&TestCase::responder, &EndSettings::port_num>, count, kFound, "auto",
         "the responder's --port-num", has_peer_device, 1, 255},
    Axis{"peer-gid-index", "peer_gid_index",
         number_field<&TestCase::responder, &EndSettings::gid_index>, count, kFound, "auto",
         "the responder's --gid-index", has_peer_device, 0, 255},
    Axis{"peer-core", "peer_core", text_field<&TestCase::responder, &EndSettings::core>, cpus,
         kPlacements, "auto", "the responder's --core", traffic, 0, 8191},
};

}  // namespace

std::span<const Axis> axes() {
  return kAxes;
}

}  // namespace rdmameter
