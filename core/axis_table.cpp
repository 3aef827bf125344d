// SPDX-License-Identifier: Apache-2.0
// The table of axes: an option is declared here and nowhere else.
#include <array>

#include "core/case.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;

constexpr std::span<const Word> kNone;
constexpr std::array kTransports{Word{"rc", 0}, Word{"uc", 1}, Word{"ud", 2}};
constexpr std::array kWaits{Word{"auto", 0}, Word{"spin", 1}, Word{"yield", 2}, Word{"event", 3}};
constexpr std::array kInterfaces{Word{"classic", 0}, Word{"extended", 1}};
constexpr std::array kRecvQueues{Word{"rq", 0}, Word{"srq", 1}};
constexpr std::array kConnects{Word{"tcp", 0}, Word{"cm", 1}};
constexpr std::array kSplits{Word{"even", 0}, Word{"uneven", 1}, Word{"page", 2}};
constexpr std::array kPayloads{Word{"random", 0}, Word{kZeroPayload, 0}};
constexpr std::array kCqSharings{Word{"shared", 0}, Word{"per-qp", 1}};
constexpr std::array kRankOpcodes{Word{"send", 0}, Word{"write", 1}, Word{"read", 2}};
constexpr std::array kDurations{Word{"off", 0}, Word{"0", kUntilInterrupted}};
constexpr std::array kMost{Word{"max", kMax}};
constexpr std::array kMemories{Word{"host", 0}, Word{kHugePages, 0}, Word{kHugePages1G, 0},
                               Word{kDeviceMemory, 0}};
constexpr std::array kOff{Word{"off", 0}};
constexpr std::array kOffOn{Word{"off", 0}, Word{"on", 1}};
constexpr std::array kInline{Word{"off", 0}, Word{"max", kMax}};
constexpr std::array kFound{Word{"auto", kAuto}};
constexpr std::array kMtus{Word{"auto", kAuto}, Word{"256", 256},   Word{"512", 512},
                           Word{"1024", 1024},  Word{"2048", 2048}, Word{"4096", 4096}};
static_assert(kTransports[2].value == static_cast<std::uint64_t>(Transport::ud));
static_assert(kWaits[3].value == static_cast<std::uint64_t>(Wait::event));
static_assert(kInterfaces[1].value == static_cast<std::uint64_t>(Interface::extended));
static_assert(kRecvQueues[1].value == static_cast<std::uint64_t>(RecvQueue::srq));
static_assert(kConnects[1].value == static_cast<std::uint64_t>(Connect::cm));
static_assert(kSplits[2].value == static_cast<std::uint64_t>(Split::page));
static_assert(kRankOpcodes[2].value == static_cast<std::uint64_t>(RankOpcode::read));
static_assert(kCqSharings[1].value == static_cast<std::uint64_t>(CqSharing::per_qp));

bool always(const Case&) {
  return true;
}
/// Between two ends.
bool traffic(const Case& c) {
  return !c.control() && !c.topology();
}
bool topology(const Case& c) {
  return c.topology();
}
bool sends_messages(const Case& c) {
  return !c.control();
}
/// With QPs that lead to one peer each.
bool connects_ranks(const Case& c) {
  return topology(c) && c.graph != kDatagramGraph;
}
bool can_be_inflated(const Case& c) {
  return topology(c) && c.graph == "mesh";
}
bool is_inflated(const Case& c) {
  return can_be_inflated(c) && c.inflate != 0;
}
bool has_edges_of_qps(const Case& c) {
  return connects_ranks(c) && !is_inflated(c);
}
/// In an order, or all at once: where a rank has one partner there is nothing to order.
bool is_scheduled(const Case& c) {
  return topology(c) && (c.traffic == "alltoall" || c.traffic == "neighbours");
}
/// Messages as fast as there is room for them: nobody answers, so nobody need know of them.
bool streams_to_ranks(const Case& c) {
  return connects_ranks(c) &&
         (c.traffic == "bisection" || c.traffic == "random" || c.traffic.starts_with("incast"));
}
bool is_drawn(const Case& c) {
  return topology(c) && (c.graph.starts_with("random") || c.traffic == "random");
}
bool not_topology(const Case& c) {
  return !c.topology();
}
bool on_verbs(const Case& c) {
  return traffic(c) && !c.over_tcp();
}
bool has_path(const Case& c) {
  return on_verbs(c) || topology(c);
}
bool has_device(const Case& c) {
  return !c.over_tcp();
}
bool control(const Case& c) {
  return c.control();
}
bool calls_for_memory(const Case& c) {
  return c.control() && (c.calls() == Verb::reg_mr || c.calls() == Verb::dereg_mr);
}
bool calls_for_windows(const Case& c) {
  return c.control() && completes(c.calls());
}
bool calls_for_cqs(const Case& c) {
  return c.control() && (c.calls() == Verb::create_cq || c.calls() == Verb::destroy_cq);
}
bool calls_for_qps(const Case& c) {
  return c.control() && c.calls() >= Verb::create_qp && c.calls() <= Verb::modify_qp_rts;
}
bool connects_qps(const Case& c) {
  return c.control() && c.needs_responder();
}
/// A multicast is of UD, and of one QP.
bool unicast(const Case& c) {
  return on_verbs(c) && !c.multicast();
}
bool multicast(const Case& c) {
  return on_verbs(c) && c.multicast();
}
bool sends_datagrams(const Case& c) {
  return on_verbs(c) && c.service() == Transport::ud && !c.one_sided();
}
bool has_transport(const Case& c) {
  return unicast(c) || calls_for_qps(c) || connects_qps(c) || connects_ranks(c);
}
bool has_peer_device(const Case& c) {
  return on_verbs(c) || connects_qps(c);
}
/// The others of rdma_cm's steps are by it.
bool has_connect(const Case& c) {
  return unicast(c) || (c.control() && c.calls() == Verb::connect);
}
bool any_bandwidth(const Case& c) {
  return c.shape() == Pattern::bandwidth;
}
bool bandwidth(const Case& c) {
  return on_verbs(c) && any_bandwidth(c);
}
bool unicast_bandwidth(const Case& c) {
  return bandwidth(c) && !c.multicast();
}
bool has_depth(const Case& c) {
  return bandwidth(c) || calls_for_qps(c) || calls_for_cqs(c) || connects_qps(c) || topology(c);
}
bool receives(const Case& c) {
  return traffic(c) && c.takes_receive();
}
bool has_receive_queues(const Case& c) {
  return receives(c) || (connects_ranks(c) && c.between_ranks() == RankOpcode::send);
}
bool has_rx_depth(const Case& c) {
  return receives(c) || calls_for_qps(c) || connects_qps(c);
}
/// Into its receives: an RDMA WRITE with immediate takes one and leaves its memory alone.
bool receives_data(const Case& c) {
  return traffic(c) && !c.one_sided();
}
bool sends_data(const Case& c) {
  return on_verbs(c) && !c.returns_data();
}
bool has_payload(const Case& c) {
  return sends_messages(c) && !c.atomic();
}
bool has_size(const Case& c) {
  return has_payload(c) || calls_for_memory(c) || calls_for_windows(c);
}
bool has_memory(const Case& c) {
  return on_verbs(c) || topology(c) || calls_for_memory(c);
}
bool has_sges(const Case& c) {
  return on_verbs(c) && !c.atomic();
}
bool returns_data(const Case& c) {
  return traffic(c) && c.returns_data();
}
bool is_split(const Case& c) {
  return has_sges(c) && (c.sge > 1 || (receives_data(c) && c.recv_sge > 1));
}
bool reliable(const Case& c) {
  return has_path(c) && c.reliable();
}
bool can_be_not_ready(const Case& c) {
  return reliable(c) && c.takes_receive();
}
/// A completion latency signals every WR by definition.
bool may_leave_unsignaled(const Case& c) {
  return on_verbs(c) && c.shape() != Pattern::completion_latency;
}
bool may_lose_a_pong(const Case& c) {
  return (c.shape() == Pattern::ping_pong || topology(c)) && !c.reliable();
}

/// A rank that is connected to others may always have several.
bool has_several_qps(const Case& c) {
  return (on_verbs(c) && c.qps > 1) || connects_ranks(c);
}
/// A latency that ends by a completion; of a plain write's ping-pong memory tells.
bool has_shares(const Case& c) {
  return on_verbs(c) && c.extended_cq() && !c.multicast() &&
         (c.shape() == Pattern::completion_latency ||
          (c.shape() == Pattern::ping_pong && c.takes_receive()));
}
bool sleeps(const Case& c) {
  return on_verbs(c) && c.waiting() == Wait::event;
}
bool has_intervals(const Case& c) {
  return any_bandwidth(c) || c.until_interrupted();
}

using enum AxisKind;

// Limits: a message is at most 2^31 bytes (IBTA vol. 1, message size); port and GID numbers are 8
// bits wide in ibv_ah_attr; signal_every is bounded by what a chain of prebuilt WRs may hold
// (why_impossible).
const std::array kAxes{
    Axis{"graph", "graph", &Case::graph, shape, 0, 0, kNone, "mesh", "mesh",
         "which ranks have QPs between them", topology, true},
    Axis{"traffic", "traffic", &Case::traffic, shape, 0, 0, kNone, "pairs", "pairs",
         "which rank sends to which", topology, true},
    Axis{"schedule", "schedule", &Case::schedule, shape, 0, 0, kNone, "simultaneous",
         "simultaneous", "in which order a rank sends to the others", is_scheduled, true},
    Axis{"ranks", "ranks", &Case::ranks, count, 1, 4096, kNone, "2", "2",
         "processes that take part", topology, true},
    Axis{"inflate", "inflate", &Case::inflate, count, 2, 65536, kOff, "off", "off",
         "give each rank of a mesh the QPs that it would have in a mesh of so many ranks",
         can_be_inflated, true},
    Axis{"active", "active", &Case::active, count, 1, 65536, kMost, "max", "max",
         "QPs of an inflated rank that carry messages, in turn; the others are connected and idle",
         is_inflated, true},
    Axis{"qps-per-edge", "qps_per_edge", &Case::qps_per_edge, count, 1, 1024, kNone, "1", "1",
         "QPs of each edge; messages take them in turn", has_edges_of_qps, true},
    Axis{"opcode", "opcode", &Case::rank_opcode, choice, 0, 2, kRankOpcodes, "send", "send",
         "what moves a stream's messages: sends, or RDMA WRITEs or READs between neighbours",
         streams_to_ranks, true},
    Axis{"seed", "seed", &Case::seed, count, 0, kMax - 1, kNone, "1", "1",
         "of graphs and traffics that are drawn", is_drawn, true},
    Axis{"transport", "transport", &Case::transport, choice, 0, 2, kTransports, "rc", "rc",
         "QP type: reliable or unreliable connection, unreliable datagram", has_transport},
    Axis{"size", "size_bytes", &Case::size_bytes, bytes, 1, 1ULL << 31, kNone, "64", "64K",
         "payload of one message [bytes]; an atomic's is 8", has_size},
    Axis{
        "qps", "qps", &Case::qps, count, 1, 65536, kNone, "1", "1",
        "queue pairs of a thread that share its traffic; a latency's messages go over them in turn",
        unicast},
    Axis{"threads", "threads", &Case::threads, count, 1, 256, kNone, "1", "1",
         "threads of each end, each with --qps QPs, CQs and memory of its own, on CPUs that follow "
         "--core one by one",
         unicast},
    Axis{"bidirectional", "bidirectional", &Case::bidirectional, choice, 0, 1, kOffOn, "off", "off",
         "let the responder initiate as well, at the same time, by threads and QPs of their own",
         unicast_bandwidth},
    Axis{"peers", "peers", &Case::peers, count, 1, 1024, kNone, "1", "1",
         "UD: QPs of the responder's that one of the initiator's sends to, in turn; multicast: "
         "receivers in the group",
         sends_datagrams},
    Axis{"group", "group", &Case::group, group, 0, 0, kNone, "auto", "auto",
         "address of the multicast group; auto: one that nobody uses", multicast},
    Axis{"depth", "depth", &Case::depth, count, 1, 1ULL << 20, kNone, "1", "128",
         "send queue depth: requests in flight per QP [WRs]; unless given, as much more as "
         "--signal-every and --post-list need; CQEs of create_cq",
         has_depth},
    Axis{"rx-depth", "rx_depth", &Case::rx_depth, count, 1, 1ULL << 20, kNone, "512", "512",
         "receive queue depth per QP [WRs]", has_rx_depth},
    Axis{"recv-post-list", "recv_post_list", &Case::recv_post_list, count, 1, 65536, kFound, "auto",
         "auto",
         "receives posted again at once, which --rx-depth is a multiple of; auto: at most 16",
         receives},
    Axis{"post-list", "post_list", &Case::post_list, count, 1, 65536, kNone, "1", "1",
         "WRs linked into one post, so per doorbell", bandwidth},
    Axis{"signal-every", "signal_every", &Case::signal_every, count, 1, 65536, kNone, "1", "32",
         "ask for a completion of every n-th WR; unless given, at most half of --depth",
         may_leave_unsignaled},
    Axis{"inline", "inline_bytes", &Case::inline_bytes, bytes, 1, 65536, kInline, "off", "off",
         "copy payloads up to this into the WQE [bytes]", sends_data},
    Axis{"sge", "sge", &Case::sge, count, 1, 65535, kMost, "1", "1",
         "SGEs that a message is gathered from (what a read brings: scattered to)", has_sges},
    Axis{"recv-sge", "recv_sge", &Case::recv_sge, count, 1, 65535, kMost, "1", "1",
         "SGEs of a receive, which scatter what arrives", receives_data},
    Axis{"sge-layout", "sge_layout", &Case::split, choice, 0, 2, kSplits, "even", "even",
         "pieces of a message: even, uneven (1:2:3...), or each across a page boundary", is_split},
    Axis{"outstanding-reads", "outstanding_reads", &Case::outstanding_reads, count, 1, 255, kFound,
         "auto", "auto", "reads and atomics under way per QP; auto: the most that both ends can",
         returns_data},
    Axis{"api", "api", &Case::api, choice, 0, 1, kInterfaces, "classic", "classic",
         "post by ibv_post_send (classic) or ibv_wr_* (extended)", on_verbs},
    Axis{"cq", "cq", &Case::cq, choice, 0, 1, kInterfaces, "classic", "classic",
         "poll by ibv_poll_cq (classic) or ibv_start_poll (extended)", on_verbs},
    Axis{"cq-sharing", "cq_sharing", &Case::cq_sharing, choice, 0, 1, kCqSharings, "shared",
         "shared",
         "CQs for all QPs (of a rank one, else one for sends and one for receives), or each QP its "
         "own, polled in turn",
         has_several_qps},
    Axis{"cq-depth", "cq_depth", &Case::cq_depth, count, 1, 1ULL << 24, kFound, "auto", "auto",
         "entries of each CQ; auto: as many completions as can be outstanding", on_verbs},
    Axis{"timestamps", "timestamps", &Case::timestamps, choice, 0, 1, kOffOn, "off", "off",
         "tell post, wire and poll apart by the device's completion timestamps", has_shares},
    Axis{"recv", "recv", &Case::recv, choice, 0, 1, kRecvQueues, "rq", "rq",
         "a receive queue per QP (rq), or one that all share (srq)", has_receive_queues},
    Axis{"connect", "connect", &Case::connect, choice, 0, 1, kConnects, "tcp", "tcp",
         "connect the QPs by what the session's two ends tell each other (tcp), or by rdma_cm (cm)",
         has_connect},
    Axis{"mtu", "mtu_bytes", &Case::mtu_bytes, choice, 256, 4096, kMtus, "auto", "auto",
         "path MTU [bytes]; auto: the lesser of both ports' active ones", has_path},
    Axis{"iterations", "iterations", &Case::iterations, count, 1, 1ULL << 40, kNone, "10000",
         "10000", "measured operations", always},
    Axis{"duration", "duration_ns", &Case::duration_ns, seconds, 1'000'000, 30 * 86400 * kSecond_ns,
         kDurations, "off", "off",
         "measure for this long instead of counting iterations; 0: until interrupted [s]",
         not_topology},
    Axis{"warmup", "warmup", &Case::warmup, count, 0, 1ULL << 32, kNone, "100", "256",
         "operations before the measured ones", always},
    Axis{"objects", "objects", &Case::objects, count, 0, 4096, kNone, "0", "0",
         "objects of the same kind that are there before and during the calls", control},
    Axis{"wait", "wait", &Case::wait, choice, 0, 3, kWaits, "auto", "auto",
         "between empty polls; event: sleep until the CQ's next completion (TCP: the socket's next "
         "data); auto: yield where both "
         "ends share one core, else spin",
         sends_messages},
    Axis{"comp-vector", "comp_vector", &Case::comp_vector, count, 0, 65535, kNone, "0", "0",
         "completion vector, so interrupt, that raises the CQs' events", sleeps},
    Axis{"verify", "verify", &Case::verify, choice, 0, 1, kOffOn, "off", "off",
         "check every byte at the receiver, off the measured path", sends_messages},
    Axis{"loss-timeout", "loss_timeout_ns", &Case::loss_timeout_ns, seconds, 1'000,
         3600 * kSecond_ns, kNone, "100ms", "100ms",
         "a UC or UD pong (among ranks: any message) later than this is lost [s]", may_lose_a_pong},
    Axis{"payload", "payload", &Case::payload, source, 0, 0, kPayloads, "random", "random",
         "what messages hold; a file of the initiator's machine, over and over", has_payload},
    Axis{"interval", "interval_ns", &Case::interval_ns, seconds, 10'000'000, 3600 * kSecond_ns,
         kNone, "1s", "1s",
         "note the messages of each such while, for a series over time, and with --duration 0 for "
         "a line on stderr [s]",
         has_intervals},

    Axis{"sl", "service_level", &Case::service_level, count, 0, 15, kNone, "0", "0",
         "service level (on RoCE: the VLAN priority)", has_path},
    Axis{"tclass", "traffic_class", &Case::traffic_class, count, 0, 255, kNone, "0", "0",
         "traffic class of the GRH (on RoCE v2: the IP header's TOS, so 4 times the DSCP)",
         has_path},
    Axis{"flow-label", "flow_label", &Case::flow_label, count, 0, (1U << 20) - 1, kNone, "0", "0",
         "flow label of the GRH", has_path},
    Axis{"pkey-index", "pkey_index", &Case::pkey_index, count, 0, 65535, kNone, "0", "0",
         "entry of the port's partition table, at both ends", has_path},
    Axis{"qp-timeout", "qp_timeout", &Case::qp_timeout, count, 0, 31, kNone, "14", "14",
         "wait for an acknowledgement: 4.096 us times 2 to the power of this; 0: for ever",
         reliable},
    Axis{"retry-count", "retry_count", &Case::retry_count, count, 0, 7, kNone, "7", "7",
         "retries of a request that is not acknowledged", reliable},
    Axis{"rnr-retry", "rnr_retry", &Case::rnr_retry, count, 0, 7, kNone, "7", "7",
         "retries of a request that found no receive; 7: without end", can_be_not_ready},
    Axis{"min-rnr-timer", "min_rnr_timer", &Case::min_rnr_timer, count, 0, 31, kNone, "12", "12",
         "wait that a receiver without receives asks for: a code of IBTA's table, 12: 0.64 ms, 1: "
         "0.01 ms, 31: 491 ms, 0: 655 ms",
         can_be_not_ready},

    Axis{"memory", "memory", &Case::memory, source, 0, 0, kMemories, "host", "host",
         "where the initiator's messages lie: ordinary pages, huge pages of 2 MiB or 1 GiB, the "
         "device's own memory, a mapped file",
         has_memory},
    Axis{"peer-memory", "peer_memory", &Case::peer_memory, source, 0, 0, kMemories, "host", "host",
         "where the responder's lie", on_verbs},
    Axis{"mr-per-qp", "mr_per_qp", &Case::mr_per_qp, choice, 0, 1, kOffOn, "off", "off",
         "memory regions of each QP's own", on_verbs},
    Axis{"relaxed-ordering", "relaxed_ordering", &Case::relaxed_ordering, choice, 0, 1, kOffOn,
         "off", "off", "let PCIe writes into the memory pass each other", has_memory},
    Axis{"odp", "odp", &Case::odp, choice, 0, 1, kOffOn, "off", "off",
         "register memory for on-demand paging instead of pinning it", has_memory},

    Axis{"device", "device", &Case::device, name, 0, 0, kNone, "auto", "auto",
         "verbs device; auto: the first with an active port", has_device},
    Axis{"port-num", "port_num", &Case::port_num, count, 1, 255, kFound, "auto", "auto",
         "port of the device; auto: the first active one", has_device},
    Axis{"gid-index", "gid_index", &Case::gid_index, count, 0, 255, kFound, "auto", "auto",
         "GID table entry; auto: RoCE v2 over IPv4, then v2 over IPv6, then v1", has_device},
    Axis{"core", "core", &Case::core, count, 0, 8191, kFound, "auto", "auto",
         "CPU to pin the measuring thread to; auto: not pinned", not_topology},
    Axis{"peer-device", "peer_device", &Case::peer_device, name, 0, 0, kNone, "auto", "auto",
         "the responder's --device", has_peer_device},
    Axis{"peer-port-num", "peer_port_num", &Case::peer_port_num, count, 1, 255, kFound, "auto",
         "auto", "the responder's --port-num", has_peer_device},
    Axis{"peer-gid-index", "peer_gid_index", &Case::peer_gid_index, count, 0, 255, kFound, "auto",
         "auto", "the responder's --gid-index", has_peer_device},
    Axis{"peer-core", "peer_core", &Case::peer_core, count, 0, 8191, kFound, "auto", "auto",
         "the responder's --core", traffic},
};

}  // namespace

std::span<const Axis> axes() {
  return kAxes;
}

}  // namespace rdmameter
