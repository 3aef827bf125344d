// SPDX-License-Identifier: Apache-2.0
// What the standard (ibv_post_send(3): opcodes by transport) or this program rules out, whatever
// the device.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "core/test_case/flow_label.h"
#include "core/test_case/peak_times.h"
#include "core/test_case/test_case.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kLargestMtu = 4096;
/// QPs that take turns, each with the next number: 256 later a QP would have its last one again.
constexpr std::uint64_t kMostByOneByte = 255;
/// WRs of a prebuilt chain: its pattern of signaled WRs repeats only after this many.
constexpr std::uint64_t kLongestChain = 65536;

std::string why_not_on_transport(const TestCase& c) {
  if (c.transport == Transport::ud && c.one_sided())
    return "UD carries sends only: use --transport rc, or a send test";
  if (c.transport == Transport::uc && has_part(c, &OpcodeTraits::counts_as_read))
    return fmt::format("UC has no {}, since nothing answers on it: use --transport rc",
                       traits(c.opcode).noun);
  const bool mtu_known = c.path.mtu_bytes != kAuto;
  const std::uint64_t mtu = std::min(c.path.mtu_bytes, kLargestMtu);
  if (c.transport == Transport::ud && c.size_bytes > mtu)
    return fmt::format(
        "a UD message is one packet: {} bytes are more than the {}MTU of {}; use --size {} or "
        "less{}",
        c.size_bytes, mtu_known ? "" : "largest ", mtu, mtu, or_transport(c, "rc"));
  return {};
}

std::string why_not_posted(const TestCase& c) {
#ifndef RDMAMETER_IBV_WR_FLUSH
  if (c.flushes())
    return "this program was built with libibverbs " RDMAMETER_LIBIBVERBS
           ", which has no ibv_wr_flush() (45 and later have it)";
#endif
  if (!c.by_extended_alone() || c.extended_api()) return {};
  return fmt::format("this test posts by {} alone: use --api extended", traits(c.opcode).posted_by);
}

/// One QP sends to many, or each to one.
std::string why_not_to_peers(const TestCase& c) {
  if (c.peers == 1) return {};
  if (c.qps != 1 || c.threads != 1 || c.bidirectional)
    return "one QP sends to all --peers, one way: use --qps 1, --threads 1 and --bidirectional off";
  if (c.transport != Transport::ud || c.one_sided())
    return "a connected QP has one peer: use --transport ud and a send test, or --peers 1";
  return {};
}

/// One address handle, one answer of rdma_cm, one path between two ranks: one label.
std::string why_not_labelled(const TestCase& c) {
  if (!FlowLabels(c.path.flow_label).per_qp()) return {};
  if (c.topology()) return "ranks have one flow label: use --flow-label N";
  if (c.transport == Transport::ud)
    return fmt::format(
        "over UD a flow label belongs to the address handle, which all QPs share: use "
        "--flow-label N{}",
        or_transport(c, "rc or uc"));
  if (c.by_cm()) return "rdma_cm gives all QPs one path: use --flow-label N, or --connect tcp";
  return {};
}

/// A piece of no bytes is none, and a length of 0 in an SGE means 2^31 to some devices.
std::string why_not_split(const TestCase& c) {
  const auto more_than_bytes = [&](std::uint64_t sges) {
    return sges != kDeviceMax && sges > c.size_bytes;
  };
  const bool sent = more_than_bytes(c.queues.sge);
  if (!sent && (c.one_sided() || !more_than_bytes(c.queues.recv_sge))) return {};
  return fmt::format("{} byte{} cannot be split over {} SGEs: use a larger --size", c.size_bytes,
                     c.size_bytes == 1 ? "" : "s", sent ? c.queues.sge : c.queues.recv_sge);
}

/// Of the memory of the two that the CPU does not reach.
std::string_view apart_noun(const TestCase& c) {
  return is_gpu(cpu_reaches(c.initiator.memory) ? c.responder.memory : c.initiator.memory)
             ? "GPU"
             : "device";
}

/// Who finds a message by its last byte, and who writes a number into each, is the CPU.
std::string why_not_in_memory(const TestCase& c) {
  const bool pongs = c.pattern == Pattern::ping_pong;
  const bool by_memory = c.seen_in_memory();
  const bool numbered = pongs && !c.reliable() && !c.immediate();
  const bool apart = !cpu_reaches(c.initiator.memory) || !cpu_reaches(c.responder.memory);
  if (by_memory && c.qps > kMostByOneByte)
    return fmt::format(
        "a byte tells a message from the QP's last one, and with more than {0} QPs in turn it does "
        "not: use --qps {0} or fewer, or write_imm_lat",
        kMostByOneByte);
  if (by_memory && !c.reliable() && c.qps > 1)
    return "over UC a lost message leaves the two ends at different QPs, each waiting for the "
           "other: use --qps 1, write_imm_lat, or --transport rc";
  if (by_memory && c.wait == Wait::event)
    return "an RDMA WRITE raises no event where it arrives: use write_imm_lat, or another --wait";
  if (by_memory && c.relaxes_ordering())
    return "with relaxed ordering a message's last byte, by which this test recognises it, may "
           "arrive before the others: use write_imm_lat";
  if (apart && (by_memory || numbered))
    return fmt::format(
        "the CPU {} each message, and does not reach {} memory: use {}{}",
        by_memory ? "looks for the last byte of" : "writes a number into", apart_noun(c),
        c.ud_alone() ? "--memory host and --peer-memory host" : "the same test with immediate",
        by_memory ? "" : or_transport(c, "rc"));
  // Opened memory is each machine's own, in both directions.
  const bool sent_apart = !cpu_reaches(c.initiator.memory) ||
                          (!cpu_reaches(c.responder.memory) && pongs) ||
                          (c.bidirectional && is_gpu(c.responder.memory));
  if (sent_apart && c.queues.inline_bytes != 0 && c.queues.inline_bytes != kAuto &&
      !c.returns_data())
    return fmt::format(
        "inline data is copied by the CPU, which does not reach {} memory: use --inline off",
        apart_noun(c));
  if (c.by_value() && sent_apart)
    return fmt::format(
        "the CPU hands an atomic write its 8 bytes, and does not reach {} memory: use {} host",
        apart_noun(c), cpu_reaches(c.initiator.memory) ? "--peer-memory" : "--memory");
  if (is_opened(c.responder.memory) && !is_gpu(c.responder.memory))
    return "a client must not name a file or a heap of the responder's machine: --peer-memory "
           "takes host, huge, huge1g, device or a GPU's";
  return {};
}

/// A list comes back to its owner by its one completion, from whichever thread polls that.
std::string why_not_shared(const TestCase& c) {
  if (!c.shares_qps()) return {};
  if (c.threads != 1 || c.bidirectional)
    return "--sharers are threads of one group of QPs, one way: use --threads 1 and "
           "--bidirectional off";
  if (c.wait == Wait::event)
    return "an event wakes one of the --sharers, and another one may wait for what that one "
           "polls: use --wait spin or yield";
  if (c.queues.thread_domain == 1)
    return "QPs of a thread domain are for one thread: use --thread-domain off, or --sharers 1";
  if (c.latency_over_time())
    return "--sharers keep no latencies over time: use a --duration above 0, and no --interval";
  if (c.pattern != Pattern::bandwidth) return {};
  if (c.queues.signal_every != c.queues.post_list)
    return fmt::format(
        "each list of a sharer ends with a signaled WR, which brings it back to its owner: use "
        "--signal-every {}, as --post-list",
        c.queues.post_list);
  if (c.depth_of_sharer() != 0) return {};
  return fmt::format(
      "{} sharers with lists of {} do not fit a send queue of {}: use --depth {} or more",
      c.sharers, c.queues.post_list, c.queues.depth, c.sharers * c.queues.post_list);
}

/// Lists tile the receive queue.
std::string why_not_received(const TestCase& c) {
  if (!c.takes_receive() || c.queues.recv_post_list == kAuto ||
      c.queues.rx_depth % c.queues.recv_post_list == 0)
    return {};
  return fmt::format(
      "a receive queue of {} cannot be filled by lists of {}: use a --rx-depth that is a multiple "
      "of --recv-post-list",
      c.queues.rx_depth, c.queues.recv_post_list);
}

/// A completion comes only after `signal_every` WRs, and a list of `post_list` is posted whole:
/// with less room than this the queue fills up before the first signaled WR is in it.
std::string why_not_in_queue(const TestCase& c) {
  if (c.pattern != Pattern::bandwidth) return {};
  const std::uint64_t need = c.queues.signal_every - 1 + c.queues.post_list;
  if (c.queues.depth < c.queues.post_list)
    return fmt::format("a list of {} WRs does not fit a send queue of {}: use --depth {} or more",
                       c.queues.post_list, c.queues.depth, need);
  if (c.queues.depth < need)
    return fmt::format(
        "with --signal-every {} and --post-list {} a send queue of {} fills up before its first "
        "signaled WR, and nothing ever completes: use --depth {} or more (twice --signal-every to "
        "keep it busy), or a smaller --signal-every",
        c.queues.signal_every, c.queues.post_list, c.queues.depth, need);
  const std::uint64_t chain =
      std::lcm(std::lcm(c.queues.signal_every, c.queues.post_list), c.multicast() ? 1 : c.peers);
  if (chain > kLongestChain)
    return fmt::format(
        "--signal-every {}, --post-list {} and --peers {} fall together only every {} WRs, more "
        "than the {} that are prebuilt: make one a multiple of the other",
        c.queues.signal_every, c.queues.post_list, c.peers, chain, kLongestChain);
  return {};
}

/// Receives that wait for their list to be posted again are not there for what arrives.
std::string why_not_answered(const TestCase& c) {
  constexpr std::uint64_t kLongestList = 16;
  if (!c.answered()) return {};
  if (c.shared_receives())
    return "an open loop's answer goes to the QP that its request came over, which an SRQ does not "
           "tell: use --recv rq";
  const std::uint64_t list = c.queues.recv_post_list == kAuto
                                 ? std::min(kLongestList, c.queues.rx_depth)
                                 : c.queues.recv_post_list;
  if (c.queues.depth + list - 1 <= c.queues.rx_depth) return {};
  return fmt::format(
      "{} requests in flight may find no receive among {} that are posted in lists of up to {}: "
      "use --rx-depth {} or more, or a smaller --depth",
      c.queues.depth, c.queues.rx_depth, list, c.queues.depth + list - 1);
}

/// Its requests differ in what they ask for, and where their data lies.
std::string why_not_mixed(const TestCase& c) {
  constexpr std::uint64_t kMostMixedLists = 1ULL << 20;
  if (!c.mixed()) return {};
  if (c.sweeps())
    return "a sweep of a mix has no curve for each of its parts: use --rate with a list of rates";
  if (c.extended_api())
    return "ibv_wr_* posts by a function for each operation, and a mix has several: use "
           "--api classic";
  if (c.queues.sge != 1) return "a mix splits no messages: use --sge 1";
  const std::uint64_t lists = mix_of(c).size() * c.queues.depth * c.qps;
  if (lists > kMostMixedLists)
    return fmt::format(
        "each part of a mix has --depth requests prebuilt on each QP, {} in all, more than {}: use "
        "fewer --qps, a smaller --depth or fewer parts",
        lists, kMostMixedLists);
  return {};
}

std::string why_not_open_loop(const TestCase& c) {
  constexpr double kLongestPause_s = 5;  // a session takes a longer one for a peer that is gone
  if (!c.open_loop()) return {};
  if (!c.reliable())
    return "an open loop tells requests apart by the order of their answers or completions, and "
           "counts on each: use --transport rc";
  if (c.wait == Wait::event)
    return "a loop that sleeps until an event misses the time when its next request is due: use "
           "--wait spin or yield";
  constexpr std::uint64_t kFewestForP99 = 1000;
  if (c.sweeps() && c.iterations < kFewestForP99)
    return fmt::format("a sweep judges p99, which takes {} requests: use --iterations {} or more",
                       kFewestForP99, kFewestForP99);
  const double pause_s = static_cast<double>(c.burst() * c.threads * c.devices()) /
                         (c.sweeps() ? double{kFirstOfSweep} : messages_per_s(c));
  if (c.sweeps() && pause_s > kLongestPause_s)
    return fmt::format(
        "a sweep begins at {} requests a second, of which some would be due only every {:.1f} s: "
        "use a smaller burst, or fewer --threads",
        kFirstOfSweep, pause_s);
  if (pause_s > kLongestPause_s)
    return fmt::format(
        "requests would be due only every {:.1f} s{}: use a higher --rate, so that it "
        "is at most every {} s",
        pause_s, c.threads * c.devices() > 1 ? " in a thread" : "", kLongestPause_s);
  const std::string why = why_not_mixed(c);
  return why.empty() ? why_not_answered(c) : why;
}

/// What topologies have rules for beyond these, their own folder knows.
std::string why_not_among_ranks(const TestCase& c) {
  if (c.wait == Wait::event)
    return "a rank polls several queues, so it cannot sleep until an event of one: use --wait spin "
           "or yield";
  if (cpu_reaches(c.initiator.memory) || (!c.verify && c.rank_opcode == RankOpcode::send))
    return {};
  return fmt::format(
      "the CPU does not reach {} memory, and {}, or --memory host", apart_noun(c),
      c.verify ? "ranks compare messages with the CPU: use --verify off"
               : "beside the places of messages lie words that the CPU reads: use --opcode send");
}

/// A GPU for each device, in the order in which the devices are named.
std::string why_not_a_gpu_each(const TestCase& c) {
  for (const Role role : {Role::initiator, Role::responder}) {
    const std::size_t gpus = split_memory(c.end(role).memory).size();
    if (gpus == 1 || gpus == split_devices(c.end(role).device).size()) continue;
    return fmt::format(
        "--{0}memory names {1} GPUs, one for each device in order: name {1} devices by "
        "--{0}device A+B, or one GPU for all",
        role == Role::initiator ? "" : "peer-", gpus);
  }
  return {};
}

/// Devices of one case are measured together, each with one of the peer's.
std::string why_not_on_devices(const TestCase& c) {
  if (std::string why = why_not_a_gpu_each(c); !why.empty()) return why;
  if (!names_several(c.initiator) && !names_several(c.responder)) return {};
  if (c.topology()) return "each rank has one device: use --device NAME";
  if (c.control())
    return "a call is made on one device: use --device A,B for a case on each of several";
  if (c.pattern != Pattern::bandwidth && !c.open_loop())
    return "latencies of several devices have no sum: use --device A,B for a case on each";
  if (c.peers != 1) return "a QP sends to --peers on one device: use --device NAME";
  if (c.shares_qps()) return "--sharers are of one group of QPs: use --device NAME";
  if (c.peak) return "--peak is of the posts of one thread: use --device NAME";
  if (c.watched()) return "--blame watches one loop of each end: use --device NAME";
  const auto open = [](const EndSettings& end) {
    return end.device.empty() || end.device == kAllDevices;
  };
  const std::size_t mine = split_devices(c.initiator.device).size(),
                    theirs = split_devices(c.responder.device).size();
  if (!open(c.initiator) && !open(c.responder) && mine != theirs)
    return fmt::format(
        "--device and --peer-device are paired in order, and name {} and {}: name as many at both "
        "ends, or leave one of the options out",
        mine, theirs);
  if (c.threads * c.devices() > kMostEndpoints)
    return fmt::format(
        "{} threads on each of {} devices are more than {} in all: use fewer --threads", c.threads,
        c.devices(), kMostEndpoints);
  return {};
}

std::string why_not_paged(const TestCase& c) {
  const auto has_pages = [](const EndSettings& end) {
    return cpu_reaches(end.memory) && !end.memory.starts_with(kDmabufMemory);
  };
  if (!c.registration.odp || (has_pages(c.initiator) && has_pages(c.responder))) return {};
  return "on-demand paging is of pages of the host: use --odp off, or --memory host and "
         "--peer-memory host";
}

/// Messages are numbered by counting them, each loop's in its order.
std::string why_not_blamed(const TestCase& c) {
  if (!c.watched()) return {};
  if (c.sweeps()) return "--blame is about one rate: give rates instead of --rate sweep";
  if (c.mixed()) return "--blame does not follow the parts of a mix: use another test";
  if (!c.reliable())
    return "--blame counts messages, of which none may be lost: use --transport rc";
  if (c.threads != 1) return "--blame watches one loop of each end: use --threads 1";
  if (c.shares_qps()) return "--blame watches one loop of each end: use --sharers 1";
  if (c.qps != 1 && !(c.open_loop() && !c.answered()))
    return "--blame counts messages in the order of one QP: use --qps 1";
  if (c.wait == Wait::event)
    return "--blame watches a loop that polls, and --wait event sleeps: use another --wait";
  if (c.queues.timestamps) return "--blame keeps no timestamps: use --timestamps off";
  return {};
}

/// Its loop keeps the time of each post and completion in memory that is made before.
std::string why_no_peak(const TestCase& c) {
  if (!c.peak) return {};
  if (c.duration_ns != 0)
    return "--peak keeps the time of each post and completion, so their number must be known: use "
           "--iterations instead of --duration";
  if (c.threads != 1) return "--peak is of the posts of one thread: use --threads 1";
  if (c.shares_qps()) return "--peak is of the posts of one thread: use --sharers 1";
  if (const std::uint64_t bytes = peak_bytes(c); bytes > kMaxPeakBytes)
    return fmt::format("--peak would keep {} MiB of times, more than {}: use fewer --iterations",
                       bytes >> 20, kMaxPeakBytes >> 20);
  return {};
}

}  // namespace

std::string why_impossible(const TestCase& test_case) {
  using Rule = std::string (*)(const TestCase&);
  static constexpr Rule kOfRanks[]{why_not_among_ranks, why_not_labelled, why_not_on_transport};
  static constexpr Rule kOfTwoEnds[]{why_not_on_transport, why_not_posted,    why_not_to_peers,
                                     why_not_labelled,     why_not_split,     why_not_in_memory,
                                     why_not_received,     why_not_open_loop, why_not_blamed,
                                     why_not_shared,       why_no_peak,       why_not_in_queue};
  if (test_case.over_tcp()) return {};
  std::string why = why_not_on_devices(test_case);
  if (why.empty()) why = why_not_paged(test_case);
  if (test_case.control()) return why;
  const std::span<const Rule> rules =
      test_case.topology() ? std::span<const Rule>(kOfRanks) : std::span<const Rule>(kOfTwoEnds);
  for (const Rule rule : rules)
    if (why.empty()) why = rule(test_case);
  return why;
}

}  // namespace rdmameter
