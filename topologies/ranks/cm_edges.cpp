// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/cm_edges.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "core/base/error.h"
#include "core/engine/device/device_terms.h"
#include "core/verbs/check.h"
#include "topologies/ranks/device_queues.h"
#include "topologies/ranks/loop/message_buffer.h"

namespace rdmameter {

void require_iwarp_carries(const OpenDevice& device, const TopologyPlan& plan) {
  const TestCase& test_case = plan.test_case;
  if (plan.datagram())
    throw Unsupported("{} is an iWARP device, which has no UD: use another graph",
                      device.port.where());
  TestCase by_cm = test_case;
  by_cm.connect = Connect::cm;
  require_link_has(device, by_cm);
  if (test_case.rank_opcode != RankOpcode::send) return;
  const auto lacks_immediate = [&device](std::string_view so, std::string_view remedy) {
    throw Unsupported(
        "{} is an iWARP device, where a rank's message has no immediate data: its last {} "
        "bytes say where it comes from and goes to, {}: {}",
        device.port.where(), kLabelBytes, so, remedy);
  };
  if (plan.traffic_mode() == TrafficMode::collective)
    lacks_immediate("and a collective's hold its words", "use another --traffic");
  if (test_case.shared_receives()) lacks_immediate("for each QP's own receives", "use --recv rq");
  if (test_case.size_bytes < kLabelBytes)
    lacks_immediate(fmt::format("and {} are too few", test_case.size_bytes),
                    fmt::format("use --size {} or more", kLabelBytes));
}

void send_first(ibv_qp& qp, const EndpointInfo& peer, const std::string& where) {
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = peer.address;
  wr.wr.rdma.rkey = peer.rkeys.at(0);
  check_errno_value(std::abs(ibv_post_send(&qp, &wr, &bad)), "ibv_post_send", where);
  const Deadline deadline = Deadline::in(kCmTimeout);
  ibv_wc wc;
  int polled = 0;
  while ((polled = ibv_poll_cq(qp.send_cq, 1, &wc)) == 0)
    if (deadline.passed())
      throw MeasurementError(
          "the first write of QP {:#x} on {} does not complete: is "
          "the rank at the other end alive?",
          qp.qp_num, where);
  if (polled < 0 || wc.status != IBV_WC_SUCCESS)
    throw MeasurementError("the first write of QP {:#x} on {}: {}", qp.qp_num, where,
                           polled < 0 ? "ibv_poll_cq has failed" : ibv_wc_status_str(wc.status));
}

CmEdges::CmEdges(OpenDevice& device, const TestCase& test_case, Rank rank,
                 std::map<Rank, std::vector<ibv_qp*>> qps, CmWatch watch)
    : device_(device),
      case_(test_case),
      rank_(rank),
      qps_(std::move(qps)),
      above_(watch),
      below_(watch) {
  for (const auto& [peer, with_peer] : qps_) {
    if (peer < rank_) continue;
    first_[peer] = static_cast<std::uint32_t>(called_.size());
    called_.insert(called_.end(), with_peer.begin(), with_peer.end());
  }
  if (!called_.empty())
    port_ = above_.listen(end_towards(endpoint_info_of(device_)), called_.size());
}

CmEndpoint CmEdges::end_towards(const EndpointInfo& peer) const {
  const std::string where = device_.port.where();
  const EndpointInfo mine = endpoint_info_of(device_);
  CmEndpoint end{
      .transport = Transport::rc,
      .address = cm_address_of(mine.gid, mine.link_layer, {.netdev = mine.gid.netdev}, where),
      .device = device_.port.device,
      .path = path_to_rank(device_, case_, peer),
      .iwarp = true};
  end.path.gid_index = static_cast<std::uint8_t>(mine.gid.index);
  return end;
}

CmInvitation CmEdges::invitation(Rank caller) const {
  return {.listening = {.port = port_, .nonce = nonce_}, .first = first_.at(caller)};
}

void CmEdges::connect(const std::map<Rank, EndpointInfo>& peers,
                      const std::map<Rank, CmInvitation>& invitations) {
  std::map<Rank, CmEndpoint> ends;
  for (const auto& [peer, with_peer] : qps_) ends.emplace(peer, end_towards(info_of(peers, peer)));
  for (const auto& [peer, with_peer] : qps_) {
    if (peer > rank_) break;
    const auto invitation = invitations.find(peer);
    if (invitation == invitations.end())
      throw MeasurementError("rank {} has not told how to call it", peer);
    const auto& [listening, first] = invitation->second;
    const EndpointInfo& info = info_of(peers, peer);
    const CmAddress there =
        cm_address_of(info.gid, info.link_layer,
                      {.port = listening.port, .netdev = endpoint_info_of(device_).gid.netdev},
                      fmt::format("rank {}", peer));
    below_.connect(ends.at(peer), there, listening.nonce, with_peer, with_peer.size(), first);
  }
  // They differ in their reads alone, which the two drivers settle as they connect (RFC 6581).
  if (!called_.empty()) above_.accept(ends.rbegin()->second, nonce_, called_);
}

}  // namespace rdmameter
