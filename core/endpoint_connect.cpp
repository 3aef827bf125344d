// SPDX-License-Identifier: Apache-2.0
// How an endpoint comes to be connected with its peer: what the two agree on, and each way there.
#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "core/endpoint.h"
#include "core/error.h"
#include "core/path_between.h"

namespace rdmameter {

QpPath path_between(const OpenDevice& device, const Case& one_case, const EndpointInfo& peer,
                    const Agreed& agreed) {
  QpPath path = path_of(one_case);
  path.mtu = *mtu_from_bytes(agreed.mtu_bytes);
  path.port_num = device.port.number;
  path.gid_index = static_cast<std::uint8_t>(device.gid.index);
  // InfiniBand within a subnet goes by LID alone, unless a GRH has something to carry.
  path.global = device.port.ethernet() || path.traffic_class != 0 || path.flow_label != 0 ||
                device.gid.value.global.subnet_prefix != peer.gid.value.global.subnet_prefix;
  path.remote_lid = peer.lid;
  path.remote_gid = peer.gid.value;
  path.outstanding_reads = static_cast<std::uint8_t>(agreed.outstanding_reads);
  return path;
}

QpPath Endpoint::path_to(const EndpointInfo& peer, const Agreed& agreed) const {
  return path_between(device_, case_, peer, agreed);
}

Agreed Endpoint::learn(const EndpointInfo& peer) {
  require_match(info_, peer, where_);
  Agreed agreed;
  agreed.mtu_bytes = std::min(info_.mtu_bytes, peer.mtu_bytes);
  if (case_.mtu_bytes != kAuto) {
    if (case_.mtu_bytes > agreed.mtu_bytes)
      throw Unsupported(fmt::format("--mtu {}: the active MTU is {} on {} and {} at the peer",
                                    case_.mtu_bytes, info_.mtu_bytes, where_, peer.mtu_bytes));
    agreed.mtu_bytes = static_cast<std::uint32_t>(case_.mtu_bytes);
  }
  if (case_.service() == Transport::ud && case_.size_bytes > agreed.mtu_bytes)
    throw Unsupported(
        fmt::format("a UD message is one packet: {} bytes are more than the path's MTU of "
                    "{}; use --size {} or less, or --transport rc",
                    case_.size_bytes, agreed.mtu_bytes, agreed.mtu_bytes));
  const std::uint32_t reads = role_ == Role::initiator ? std::min(info_.reads_out, peer.reads_in)
                                                       : std::min(peer.reads_out, info_.reads_in);
  agreed.outstanding_reads = std::clamp<std::uint32_t>(reads, 1, 255);
  if (case_.returns_data() && case_.outstanding_reads != kAuto) {
    if (case_.outstanding_reads > reads)
      throw Unsupported(fmt::format("--outstanding-reads {}: the two ends can do {}",
                                    case_.outstanding_reads, reads));
    agreed.outstanding_reads = static_cast<std::uint32_t>(case_.outstanding_reads);
  }

  // To an initiator rdma_cm tells the way, to a responder only that it is asked.
  const bool told = role_ == Role::initiator && (case_.by_cm() || case_.multicast());
  if (case_.service() == Transport::ud && !told)
    for (std::uint64_t i = 0; i < peers_per_qp(case_, role_); ++i)
      make_ah(ah_attributes(path_to(peer, agreed)), gid_text(peer.gid.value));
  if (case_.one_sided() && posts_sends(case_, role_) && peer.rkeys.size() != 1 &&
      peer.rkeys.size() != case_.qps)
    throw MeasurementError("the peer's message: rkeys must hold one, or one for each QP");
  view_.remote_address = peer.address;
  view_.remote_keys = peer.rkeys;
  view_.remote_qpns = peer.qpns;
  view_.remote_qkey = peer.qkey;
  return agreed;
}

void Endpoint::make_ah(ibv_ah_attr attributes, const std::string& towards) {
  ahs_.emplace_back(check_pointer(ibv_create_ah(pd_.get(), &attributes), "ibv_create_ah",
                                  fmt::format("towards {} on {}", towards, where_)));
  view_.ahs.push_back(ahs_.back().get());
}

CmEnd Endpoint::cm_end() const {
  CmEnd end{.transport = case_.service(),
            .address = IpAddress::of(device_.gid, device_.gid.netdev, 0, where_),
            .device = device_.port.device,
            .path = path_of(case_),
            .shared_receives = case_.shared_receives()};
  end.path.port_num = device_.port.number;
  end.path.gid_index = static_cast<std::uint8_t>(device_.gid.index);
  return end;
}

void Endpoint::connect_by_cm(CmConnector& cm, const EndpointInfo& peer, const Agreed& agreed,
                             std::uint16_t port, const std::string& nonce) {
  CmEnd end = cm_end_towards(peer, agreed);
  const auto no_more = [&](std::uint32_t most) {
    return static_cast<std::uint8_t>(std::min(agreed.outstanding_reads, most));
  };
  end.reads_in = no_more(info_.reads_in);
  end.reads_out = no_more(info_.reads_out);
  const bool datagrams = case_.service() == Transport::ud;
  if (datagrams) ready_for_datagrams(end);
  if (role_ == Role::responder) return cm.accept(end, nonce, view_.qps);
  const IpAddress there = IpAddress::of(peer.gid, device_.gid.netdev, port, "the peer");
  const std::vector<CmService> services =
      cm.connect(end, there, nonce, view_.qps, peer.qpns.size());
  if (!datagrams) return;
  view_.remote_qpns.clear();
  for (const CmService& service : services) address(service, there.host());
}

CmEnd Endpoint::cm_end_towards(const EndpointInfo& peer, const Agreed& agreed) const {
  CmEnd end = cm_end();
  end.path = path_to(peer, agreed);
  return end;
}

void Endpoint::ready_for_datagrams(const CmEnd& end) {
  for (const Qp& qp : qps_) to_rts_unconnected(*qp, end);
}

void Endpoint::address(const CmService& service, const std::string& towards) {
  make_ah(service.way, towards);
  view_.remote_qpns.push_back(service.qpn);
  view_.remote_qkey = service.qkey;
}

void Endpoint::connect_to_group(MulticastGroup& group, const CmEnd& end) {
  ready_for_datagrams(end);
  if (role_ == Role::responder) {
    for (const Qp& qp : qps_) group.attach(*qp);
    return;
  }
  view_.remote_qpns.clear();
  address(group.service(), "the multicast group");
}

void Endpoint::connect(const EndpointInfo& peer, const Agreed& agreed) {
  const QpPath path = path_to(peer, agreed);
  const bool datagrams = case_.service() == Transport::ud;  // which name no peer here
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    to_rtr(*qps_[i], case_.service(), path, datagrams ? 0 : peer.qpns[i],
           datagrams ? 0 : peer.psns[i], where_);
    to_rts(*qps_[i], case_.service(), path, info_.psns[i], where_);
  }
}

}  // namespace rdmameter
