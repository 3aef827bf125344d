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
  if (c.service() == Transport::uc && c.op() == Opcode::rdma_read)
    return "UC has no reads, since nothing answers on it: use --transport rc";
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
  const std::uint64_t chain = std::lcm(c.signal_every, c.post_list);
  if (chain > kLongestChain)
    return fmt::format(
        "--signal-every {} and --post-list {} fall together only every {} WRs, more than the {} "
        "that "
        "are prebuilt: make one a multiple of the other",
        c.signal_every, c.post_list, chain, kLongestChain);
  return {};
}

}  // namespace

std::string why_impossible(const Case& one_case) {
  std::string why = why_not_on_transport(one_case);
  if (why.empty() && one_case.shape() == Pattern::bandwidth) why = why_not_in_queue(one_case);
  return why;
}

}  // namespace rdmameter
