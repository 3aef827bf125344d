// SPDX-License-Identifier: Apache-2.0
// The table of axes: an option is declared here and nowhere else.
#include <array>

#include "core/case.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;

constexpr std::span<const Word> kNone;
constexpr std::array kTransports{Word{"rc", 0}, Word{"uc", 1}, Word{"ud", 2}};
constexpr std::array kWaits{Word{"auto", 0}, Word{"spin", 1}, Word{"yield", 2}};
constexpr std::array kOffOn{Word{"off", 0}, Word{"on", 1}};
constexpr std::array kInline{Word{"off", 0}, Word{"max", kMax}};
constexpr std::array kOff{Word{"off", 0}};
constexpr std::array kFound{Word{"auto", kAuto}};
constexpr std::array kMtus{Word{"auto", kAuto}, Word{"256", 256},   Word{"512", 512},
                           Word{"1024", 1024},  Word{"2048", 2048}, Word{"4096", 4096}};
static_assert(kTransports[2].value == static_cast<std::uint64_t>(Transport::ud));
static_assert(kWaits[2].value == static_cast<std::uint64_t>(Wait::yield));

bool always(const Case&) {
  return true;
}
bool bandwidth(const Case& c) {
  return c.shape() == Pattern::bandwidth;
}
bool receives(const Case& c) {
  return c.op() == Opcode::send;
}
bool sends_data(const Case& c) {
  return c.op() != Opcode::rdma_read;
}
/// A completion latency signals every WR by definition.
bool may_leave_unsignaled(const Case& c) {
  return c.shape() != Pattern::completion_latency;
}
bool may_lose_a_pong(const Case& c) {
  return c.shape() == Pattern::ping_pong && !c.reliable();
}

using enum AxisKind;

// Limits: a message is at most 2^31 bytes (IBTA vol. 1, message size); port and GID numbers are 8
// bits wide in ibv_ah_attr; signal_every is bounded by what a chain of prebuilt WRs may hold
// (why_impossible).
const std::array kAxes{
    Axis{"transport", "transport", &Case::transport, choice, 0, 2, kTransports, "rc", "rc",
         "QP type: reliable or unreliable connection, unreliable datagram", always},
    Axis{"size", "size_bytes", &Case::size_bytes, bytes, 1, 1ULL << 31, kNone, "64", "64K",
         "payload of one message [bytes]", always},
    Axis{"qps", "qps", &Case::qps, count, 1, 65536, kNone, "1", "1",
         "queue pairs that share the traffic", bandwidth},
    Axis{"depth", "depth", &Case::depth, count, 1, 1ULL << 20, kNone, "1", "128",
         "send queue depth: requests in flight per QP [WRs]; unless given, as much more as "
         "--signal-every and --post-list need",
         bandwidth},
    Axis{"rx-depth", "rx_depth", &Case::rx_depth, count, 1, 1ULL << 20, kNone, "512", "512",
         "receive queue depth per QP [WRs]", receives},
    Axis{"post-list", "post_list", &Case::post_list, count, 1, 65536, kNone, "1", "1",
         "WRs linked into one post, so per doorbell", bandwidth},
    Axis{"signal-every", "signal_every", &Case::signal_every, count, 1, 65536, kNone, "1", "32",
         "ask for a completion of every n-th WR; unless given, at most half of --depth",
         may_leave_unsignaled},
    Axis{"inline", "inline_bytes", &Case::inline_bytes, bytes, 1, 65536, kInline, "off", "off",
         "copy payloads up to this into the WQE [bytes]", sends_data},
    Axis{"mtu", "mtu_bytes", &Case::mtu_bytes, choice, 256, 4096, kMtus, "auto", "auto",
         "path MTU [bytes]; auto: the lesser of both ports' active ones", always},
    Axis{"iterations", "iterations", &Case::iterations, count, 1, 1ULL << 40, kNone, "10000",
         "10000", "measured operations", always},
    Axis{"duration", "duration_ns", &Case::duration_ns, seconds, 1'000'000, 30 * 86400 * kSecond_ns,
         kOff, "off", "off", "measure for this long instead of counting iterations [s]", always},
    Axis{"warmup", "warmup", &Case::warmup, count, 0, 1ULL << 32, kNone, "100", "256",
         "operations before the measured ones", always},
    Axis{"wait", "wait", &Case::wait, choice, 0, 2, kWaits, "auto", "auto",
         "between empty polls; auto: yield where both ends share one core, else spin", always},
    Axis{"verify", "verify", &Case::verify, choice, 0, 1, kOffOn, "off", "off",
         "check every byte at the receiver, off the measured path", always},
    Axis{"loss-timeout", "loss_timeout_ns", &Case::loss_timeout_ns, seconds, 1'000,
         3600 * kSecond_ns, kNone, "100ms", "100ms", "a UC or UD pong later than this is lost [s]",
         may_lose_a_pong},

    Axis{"device", "device", &Case::device, text, 0, 0, kNone, "auto", "auto",
         "verbs device; auto: the first with an active port", always},
    Axis{"port-num", "port_num", &Case::port_num, count, 1, 255, kFound, "auto", "auto",
         "port of the device; auto: the first active one", always},
    Axis{"gid-index", "gid_index", &Case::gid_index, count, 0, 255, kFound, "auto", "auto",
         "GID table entry; auto: RoCE v2 over IPv4, then v2 over IPv6, then v1", always},
    Axis{"core", "core", &Case::core, count, 0, 8191, kFound, "auto", "auto",
         "CPU to pin the measuring thread to; auto: not pinned", always},
    Axis{"peer-device", "peer_device", &Case::peer_device, text, 0, 0, kNone, "auto", "auto",
         "the responder's --device", always},
    Axis{"peer-port-num", "peer_port_num", &Case::peer_port_num, count, 1, 255, kFound, "auto",
         "auto", "the responder's --port-num", always},
    Axis{"peer-gid-index", "peer_gid_index", &Case::peer_gid_index, count, 0, 255, kFound, "auto",
         "auto", "the responder's --gid-index", always},
    Axis{"peer-core", "peer_core", &Case::peer_core, count, 0, 8191, kFound, "auto", "auto",
         "the responder's --core", always},
};

}  // namespace

std::span<const Axis> axes() {
  return kAxes;
}

}  // namespace rdmameter
