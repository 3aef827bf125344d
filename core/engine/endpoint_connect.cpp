// SPDX-License-Identifier: Apache-2.0
// How an endpoint is connected with its peer: what the two agree on, and each way to connect.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/engine/endpoint.h"
#include "core/test_case/flow_label.h"
#include "core/verbs/check.h"
#include "core/verbs/cm/cm_address.h"
#include "core/verbs/device.h"

namespace rdmameter {

void require_match(const EndpointInfo& mine, const EndpointInfo& peer, const std::string& where,
                   const PeerNoun& names) {
  if (peer.link_layer != mine.link_layer)
    throw Unsupported("{} is {} and the port of {} is {}: they cannot be connected; choose {}",
                      where, link_layer_name(mine.link_layer), names.noun,
                      link_layer_name(peer.link_layer), names.device_options);
  if (const std::string why = check_gid_match(mine.gid, peer.gid); !why.empty())
    throw Unsupported(why);
}

std::uint32_t agreed_mtu(const TestCase& test_case, const EndpointInfo& mine,
                         const EndpointInfo& peer, const std::string& where,
                         const PeerNoun& names) {
  require_match(mine, peer, where, names);
  if (mine.link_layer == IBV_LINK_LAYER_INFINIBAND && !test_case.by_cm() &&
      !test_case.multicast() &&
      mine.gid.value.global.subnet_prefix != peer.gid.value.global.subnet_prefix)
    throw Unsupported(
        "{} and the port of {} are in two InfiniBand subnets, and rdma_cm alone learns the LID of "
        "the router between them: use --connect cm",
        where, names.noun);
  const std::uint64_t both = std::min(mine.mtu_bytes, peer.mtu_bytes);
  const std::uint64_t wanted = test_case.path.mtu_bytes;
  if (wanted != kAuto && wanted > both)
    throw Unsupported("--mtu {}: the active MTU is {} on {} and {} at {}", wanted, mine.mtu_bytes,
                      where, peer.mtu_bytes, names.noun);
  const std::uint64_t mtu = wanted == kAuto ? both : wanted;
  require_one_packet(test_case, mtu);
  return static_cast<std::uint32_t>(mtu);
}

void require_one_packet(const TestCase& test_case, std::uint64_t mtu_bytes) {
  if (test_case.transport == Transport::ud && test_case.size_bytes > mtu_bytes)
    throw Unsupported(
        "a UD message is one packet: {} bytes are more than the path's MTU of {}; use --size {} or "
        "less{}",
        test_case.size_bytes, mtu_bytes, mtu_bytes,
        test_case.topology() ? "" : or_transport(test_case, "rc"));
}

QpPath path_between(const EndpointInfo& mine, std::uint8_t port_num, const TestCase& test_case,
                    const EndpointInfo& peer, const Agreed& agreed) {
  QpPath path = path_of(test_case);
  path.mtu = *mtu_from_bytes(agreed.mtu_bytes);
  path.port_num = port_num;
  path.gid_index = static_cast<std::uint8_t>(mine.gid.index);
  // InfiniBand within a subnet goes by LID alone, unless a port needs a GRH or it has
  // something to carry.
  path.global = mine.needs_grh || peer.needs_grh || path.asks_for_grh() ||
                mine.gid.value.global.subnet_prefix != peer.gid.value.global.subnet_prefix;
  path.remote_lid = peer.lid;
  path.remote_gid = peer.gid.value;
  const auto reads = [&](std::uint32_t made, std::uint32_t taken) {
    return static_cast<std::uint8_t>(std::min({made, taken, agreed.outstanding_reads, kMostReads}));
  };
  path.reads_out = reads(mine.reads_out, peer.reads_in);
  path.reads_in = reads(mine.reads_in, peer.reads_out);
  return path;
}

QpPath Endpoint::path_to(const EndpointInfo& peer, const Agreed& agreed) const {
  return path_between(info_, device_.port.number, case_, peer, agreed);
}

Agreed Endpoint::negotiate(const EndpointInfo& peer) {
  if (const auto pair = choose_gid_pair(info_.gids, peer.gids)) info_.gid = pair->mine;
  Agreed agreed{.mtu_bytes = agreed_mtu(case_, info_, peer, where_),
                .inline_bytes = view_.inline_bytes,
                .pkey_index = pkey_.index};
  const std::uint32_t reads = role_ == Role::initiator ? std::min(info_.reads_out, peer.reads_in)
                                                       : std::min(peer.reads_out, info_.reads_in);
  agreed.outstanding_reads = std::clamp<std::uint32_t>(reads, 1, kMostReads);
  const bool reads_remotely = has_part(case_, &OpcodeTraits::counts_as_read);
  if (reads_remotely && reads == 0)
    throw Unsupported("{} and the peer can have no read or atomic under way: choose another device",
                      where_);
  if (reads_remotely && case_.queues.outstanding_reads != kAuto) {
    if (case_.queues.outstanding_reads > reads)
      throw Unsupported("--outstanding-reads {}: the two ends allow at most {}",
                        case_.queues.outstanding_reads, reads);
    agreed.outstanding_reads = static_cast<std::uint32_t>(case_.queues.outstanding_reads);
  }

  // rdma_cm gives an initiator the address handle's attributes, and a responder none.
  const bool by_cm = role_ == Role::initiator && (case_.by_cm() || case_.multicast());
  if (case_.transport == Transport::ud && !by_cm)
    for (std::uint64_t i = 0; i < peers_per_qp(case_, role_); ++i)
      make_ah(ah_attributes(path_to(peer, agreed)), gid_text(peer.gid.value));
  if (case_.one_sided() && posts_sends(case_, role_) && peer.rkeys.size() != 1 &&
      peer.rkeys.size() != case_.qps)
    throw MeasurementError("the peer's message: rkeys must hold one, or one for each QP");
  if (credits_) {
    if (peer.credit_address == 0)
      throw MeasurementError("the peer's message: credit_address must name memory");
    credits_->aim(view_.qps, peer.credit_address, peer.credit_rkey);
  }
  view_.remote_address = peer.address;
  view_.remote_keys = peer.rkeys;
  view_.remote_qpns = peer.qpns;
  view_.remote_qkey = peer.qkey;
  return agreed;
}

void Endpoint::make_ah(ibv_ah_attr attributes, const std::string& towards) {
  ahs_.emplace_back(check_pointer([&] { return ibv_create_ah(&domain_.plain(), &attributes); },
                                  "ibv_create_ah",
                                  fmt::format("towards {} on {}", towards, where_)));
  view_.ahs.push_back(ahs_.back().get());
}

CmAddressTerms Endpoint::cm_terms(std::uint16_t port) const {
  return {
      .transport = case_.transport, .port = port, .pkey = pkey_.value, .netdev = info_.gid.netdev};
}

CmEndpoint Endpoint::cm_endpoint() const {
  const bool by_ipoib = case_.multicast() && info_.link_layer == IBV_LINK_LAYER_INFINIBAND;
  CmEndpoint end{.transport = case_.transport,
                 .address = by_ipoib
                                ? ipoib_address(info_.gid.value, pkey_.value, where_)
                                : cm_address_of(info_.gid, info_.link_layer, cm_terms(0), where_),
                 .device = device_.port.device,
                 .path = path_of(case_),
                 .mtu_of_route =
                     info_.link_layer == IBV_LINK_LAYER_INFINIBAND && case_.path.mtu_bytes == kAuto,
                 .shared_receives = case_.shared_receives(),
                 .ethernet = info_.link_layer == IBV_LINK_LAYER_ETHERNET,
                 .iwarp = is_iwarp(*device_.context)};
  end.path.port_num = device_.port.number;
  end.path.gid_index = static_cast<std::uint8_t>(info_.gid.index);
  return end;
}

void Endpoint::connect_by_cm(CmConnector& cm, const EndpointInfo& peer, const Agreed& agreed,
                             std::uint16_t port, const std::string& nonce) {
  const CmEndpoint end = cm_endpoint_towards(peer, agreed);
  const bool datagrams = case_.transport == Transport::ud;
  if (datagrams) ready_for_datagrams(end);
  if (role_ == Role::responder) return cm.accept(end, nonce, view_.qps);
  const CmAddress there = cm_address_of(peer.gid, peer.link_layer, cm_terms(port), "the peer");
  const std::vector<CmService> services =
      cm.connect(end, there, nonce, view_.qps, peer.qpns.size());
  if (!datagrams) return;
  view_.remote_qpns.clear();
  for (const CmService& service : services) address(service, there.host());
}

CmEndpoint Endpoint::cm_endpoint_towards(const EndpointInfo& peer, const Agreed& agreed) const {
  CmEndpoint end = cm_endpoint();
  end.path = path_to(peer, agreed);
  return end;
}

void Endpoint::ready_for_datagrams(const CmEndpoint& end) {
  for (const Qp& qp : qps_) to_rts_unconnected(*qp, end);
}

void Endpoint::address(const CmService& service, const std::string& towards) {
  make_ah(service.way, towards);
  view_.remote_qpns.push_back(service.qpn);
  view_.remote_qkey = service.qkey;
}

void Endpoint::connect_to_group(MulticastGroup& group, const CmEndpoint& end) {
  ready_for_datagrams(end);
  if (role_ == Role::responder) {
    for (const Qp& qp : qps_) group.attach(*qp);
    return;
  }
  view_.remote_qpns.clear();
  address(group.service(), "the multicast group");
}

void Endpoint::connect(const EndpointInfo& peer, const Agreed& agreed) {
  const bool datagrams = case_.transport == Transport::ud;  // which name no peer here
  const FlowLabels labels{case_.path.flow_label};
  QpPath path = path_to(peer, agreed);
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    path.flow_label = labels.of(case_.path.first_qp + i);
    path.global = path.global || path.flow_label != 0;
    to_rts(*qps_[i], case_.transport, path, datagrams ? 0 : peer.qpns[i],
           datagrams ? 0 : peer.psns[i], info_.psns[i], where_);
  }
}

}  // namespace rdmameter
