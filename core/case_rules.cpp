// SPDX-License-Identifier: Apache-2.0
// What the standard (ibv_post_send(3): opcodes by transport) or this program rules out, whatever
// the device.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/case.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kLargestMtu = 4096;
/// WRs of a prebuilt chain: its pattern of signaled WRs repeats only after this many.
constexpr std::uint64_t kLongestChain = 65536;

std::string why_not_on_transport(const Case& c) {
  if (c.service() == Transport::ud && c.one_sided())
    return "UD carries sends only: use --transport rc, or a send test";
  if (c.service() == Transport::uc && c.returns_data())
    return fmt::format("UC has no {}, since nothing answers on it: use --transport rc",
                       c.atomic() ? "atomics" : "reads");
  const bool mtu_known = c.mtu_bytes != kAuto;
  const std::uint64_t mtu = std::min(c.mtu_bytes, kLargestMtu);
  if (c.service() == Transport::ud && c.size_bytes > mtu)
    return fmt::format(
        "a UD message is one packet: {} bytes are more than the {}MTU of {}; use --size {} or "
        "less, or "
        "--transport rc",
        c.size_bytes, mtu_known ? "" : "largest ", mtu, mtu);
  return {};
}

/// One QP sends to many, or each to one.
std::string why_not_to_peers(const Case& c) {
  if (c.peers == 1) return {};
  if (c.qps != 1 || c.threads != 1 || c.both_ways())
    return "one QP sends to all --peers, one way: use --qps 1, --threads 1 and --bidirectional off";
  if (c.service() != Transport::ud || c.one_sided())
    return "a connected QP has one peer: use --transport ud and a send test, or --peers 1";
  return {};
}

/// A piece of no bytes is none, and a length of 0 in an SGE means 2^31 to some devices.
std::string why_not_split(const Case& c) {
  const auto more_than_bytes = [&](std::uint64_t sges) {
    return sges != kMax && sges > c.size_bytes;
  };
  if (c.atomic() || (!more_than_bytes(c.sge) && (c.one_sided() || !more_than_bytes(c.recv_sge))))
    return {};
  return fmt::format("{} bytes cannot be split over more SGEs than that: use a larger --size",
                     c.size_bytes);
}

/// Who finds a message by its last byte, and who writes a number into each, is the CPU.
std::string why_not_in_memory(const Case& c) {
  const bool pongs = c.shape() == Pattern::ping_pong;
  const bool by_memory = pongs && !c.takes_receive();
  const bool numbered = pongs && !c.reliable() && !c.immediate();
  const bool device = c.memory == kDeviceMemory || c.peer_memory == kDeviceMemory;
  if (by_memory && c.waiting() == Wait::event)
    return "an RDMA WRITE raises no event where it arrives: use write_imm_lat, or another --wait";
  if (by_memory && c.relaxed_ordering != 0)
    return "with relaxed ordering a message's last byte may arrive before the others, and by it "
           "the message is found: use write_imm_lat";
  if (device && (by_memory || numbered))
    return fmt::format(
        "the CPU {} each message, and does not reach device memory: use the same test with "
        "immediate{}",
        by_memory ? "looks for the last byte of" : "writes a number into",
        by_memory ? "" : ", or --transport rc");
  if ((c.memory == kDeviceMemory || (c.peer_memory == kDeviceMemory && pongs)) &&
      c.inline_bytes != 0 && !c.returns_data())
    return "inline data is copied by the CPU, which does not reach device memory: use --inline off";
  if (c.peer_memory.starts_with(kFileMemory))
    return "a file of the responder's machine is not the initiator's to name: --peer-memory takes "
           "host, huge, huge1g or device";
  return {};
}

/// The interrupt ends the loops of the end that has it.
std::string why_not_until_interrupted(const Case& c) {
  if (!c.until_interrupted() || !c.both_ways()) return {};
  return "what the responder sends goes on when the initiator is interrupted: with --bidirectional "
         "give a --duration other than 0, or --iterations";
}

/// Lists tile the receive queue.
std::string why_not_received(const Case& c) {
  if (!c.takes_receive() || c.recv_post_list == kAuto || c.rx_depth % c.recv_post_list == 0)
    return {};
  return fmt::format(
      "a receive queue of {} is not made of lists of {}: use a --recv-post-list that --rx-depth is "
      "a multiple of",
      c.rx_depth, c.recv_post_list);
}

/// A completion comes only after `signal_every` WRs, and a list of `post_list` is posted whole:
/// with less room than this the queue fills up before the first signaled WR is in it.
std::string why_not_in_queue(const Case& c) {
  const std::uint64_t need = c.signal_every - 1 + c.post_list;
  if (c.depth < c.post_list)
    return fmt::format("a list of {} WRs does not fit a send queue of {}: use --depth {} or more",
                       c.post_list, c.depth, need);
  if (c.depth < need)
    return fmt::format(
        "with --signal-every {} and --post-list {} a send queue of {} fills up before its first "
        "signaled WR, and nothing ever completes: use --depth {} or more (twice --signal-every to "
        "keep "
        "it busy), or a smaller --signal-every",
        c.signal_every, c.post_list, c.depth, need);
  const std::uint64_t chain =
      std::lcm(std::lcm(c.signal_every, c.post_list), c.multicast() ? 1 : c.peers);
  if (chain > kLongestChain)
    return fmt::format(
        "--signal-every {}, --post-list {} and --peers {} fall together only every {} WRs, more "
        "than "
        "the {} that are prebuilt: make one a multiple of the other",
        c.signal_every, c.post_list, c.peers, chain, kLongestChain);
  return {};
}

/// What topologies have rules for beyond these, their own folder knows.
std::string why_not_among_ranks(const Case& c) {
  if (c.service() == Transport::ud && c.graph != kDatagramGraph)
    return fmt::format("a {} is made of connections, which UD has not: use --transport rc, or {}",
                       c.graph, kDatagramGraph);
  if (c.waiting() == Wait::event)
    return "a rank looks after several queues at once: use --wait spin or yield";
  if (c.memory == kDeviceMemory)
    return "ranks check and pass on what the CPU reaches, and it does not reach device memory: use "
           "--memory host or huge";
  return {};
}

}  // namespace

std::string why_impossible(const Case& one_case) {
  if (one_case.over_tcp() || one_case.control()) return {};
  if (one_case.topology()) {
    const std::string why = why_not_among_ranks(one_case);
    return why.empty() ? why_not_on_transport(one_case) : why;
  }
  std::string why = why_not_on_transport(one_case);
  if (why.empty()) why = why_not_to_peers(one_case);
  if (why.empty()) why = why_not_split(one_case);
  if (why.empty()) why = why_not_in_memory(one_case);
  if (why.empty()) why = why_not_received(one_case);
  if (why.empty()) why = why_not_until_interrupted(one_case);
  if (why.empty() && one_case.shape() == Pattern::bandwidth) why = why_not_in_queue(one_case);
  return why;
}

}  // namespace rdmameter
