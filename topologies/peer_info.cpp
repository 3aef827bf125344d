// SPDX-License-Identifier: Apache-2.0
#include "topologies/peer_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "core/error.h"
#include "core/path_between.h"

namespace rdmameter {

EndpointInfo port_info(const OpenDevice& device) {
  EndpointInfo info;
  info.lid = device.port.lid;
  info.gid = device.gid;
  info.link_layer = device.port.link_layer;
  info.mtu_bytes = device.port.active_mtu_bytes;
  info.reads_in = device.limits.max_qp_rd_atom;
  info.reads_out = device.limits.max_qp_init_rd_atom;
  info.qkey = kQkey;
  return info;
}

QpPath path_between(const OpenDevice& device, const Case& one_case, const EndpointInfo& peer) {
  const std::string where = device.port.where();
  if (peer.link_layer != device.port.link_layer)
    throw Unsupported(fmt::format("{} is {} and the port of another rank is {}: choose --device",
                                  where, link_layer_name(device.port.link_layer),
                                  link_layer_name(peer.link_layer)));
  if (const std::string why = check_gid_match(device.gid, peer.gid); !why.empty())
    throw Unsupported(why);
  const std::uint32_t both = std::min(device.port.active_mtu_bytes, peer.mtu_bytes);
  if (one_case.mtu_bytes != kAuto && one_case.mtu_bytes > both)
    throw Unsupported(fmt::format("--mtu {}: the active MTU is {} on {} and {} at another rank",
                                  one_case.mtu_bytes, device.port.active_mtu_bytes, where,
                                  peer.mtu_bytes));
  const std::uint64_t mtu = one_case.mtu_bytes == kAuto ? both : one_case.mtu_bytes;
  if (one_case.service() == Transport::ud && one_case.size_bytes > mtu)
    throw Unsupported(fmt::format(
        "a UD message is one packet: {} bytes are more than the path's MTU of {}; use --size {} or "
        "less",
        one_case.size_bytes, mtu, mtu));
  Agreed agreed{.mtu_bytes = static_cast<std::uint32_t>(mtu)};
  // Both ends take and make as many: the least of all four.
  if (one_case.between_ranks() == RankOpcode::read)
    agreed.outstanding_reads =
        std::clamp<std::uint32_t>(std::min({device.limits.max_qp_rd_atom, peer.reads_in,
                                            device.limits.max_qp_init_rd_atom, peer.reads_out}),
                                  1, 255);
  return path_between(device, one_case, peer, agreed);
}

std::uint32_t random_psn() {
  static std::random_device random;
  return random() & 0xffffff;  // 24 bits wide
}

}  // namespace rdmameter
