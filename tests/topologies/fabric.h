// SPDX-License-Identifier: Apache-2.0
// Ranks in one thread, over imaginary QPs that move real bytes: the measured path of all of them
// runs unchanged, in any order that a test likes.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "topologies/deliver.h"
#include "topologies/loops.h"
#include "topologies/rank_plan.h"

namespace rdmameter {
namespace null_verbs {  // a name of its own, by which instructions are counted without it

struct FakeCq {
  ibv_cq cq{};
  std::vector<ibv_wc> ring = std::vector<ibv_wc>(1 << 12);
  std::uint32_t in = 0, out = 0;
  std::uint32_t overrun = 0;
};

struct FakeQp {
  ibv_qp qp{};
  FakeCq* cq = nullptr;
  FakeQp* peer = nullptr;
  std::vector<ibv_recv_wr> receives = std::vector<ibv_recv_wr>(1 << 10);
  std::uint32_t receives_in = 0, receives_out = 0;
  std::uint64_t not_ready = 0;  ///< messages that found no receive: an RNR NAK each
  std::uint64_t lose = 0;       ///< so many messages get lost from now on, as on UC
  std::uint64_t lists = 0;      ///< calls of post_send
};

inline FakeCq& fake(ibv_cq* cq) {
  return *reinterpret_cast<FakeCq*>(cq);
}
inline FakeQp& fake(ibv_qp* qp) {
  return *reinterpret_cast<FakeQp*>(qp);
}

inline void complete(FakeCq& cq, std::uint64_t wr_id, ibv_wc_opcode opcode, std::uint32_t imm,
                     std::uint32_t qp_num) {
  ibv_wc& wc = cq.ring[cq.in++ & (cq.ring.size() - 1)];
  wc.wr_id = wr_id;
  wc.status = IBV_WC_SUCCESS;
  wc.opcode = opcode;
  wc.imm_data = imm;
  wc.qp_num = qp_num;
  cq.overrun += cq.in - cq.out > cq.ring.size() ? 1 : 0;
}

/// Moves one message. @return  has it left?
inline bool move(FakeQp& qp, const ibv_send_wr& wr) {
  const auto* const from = reinterpret_cast<const void*>(wr.sg_list[0].addr);
  if (wr.opcode == IBV_WR_RDMA_WRITE) {
    std::memcpy(reinterpret_cast<void*>(wr.wr.rdma.remote_addr), from, wr.sg_list[0].length);
    return true;
  }
  if (qp.lose > 0) {
    --qp.lose;
    return true;
  }
  FakeQp& peer = *qp.peer;
  if (peer.receives_in == peer.receives_out) {
    ++peer.not_ready;
    return false;
  }
  const ibv_recv_wr& receive = peer.receives[peer.receives_out++ & (peer.receives.size() - 1)];
  std::memcpy(reinterpret_cast<void*>(receive.sg_list[0].addr), from, wr.sg_list[0].length);
  complete(*peer.cq, receive.wr_id, IBV_WC_RECV, wr.imm_data, peer.qp.qp_num);
  return true;
}

inline int post_send(ibv_qp* verbs_qp, ibv_send_wr* wr, ibv_send_wr**) {
  FakeQp& qp = fake(verbs_qp);
  ++qp.lists;
  for (; wr != nullptr; wr = wr->next)
    if (move(qp, *wr) && (wr->send_flags & IBV_SEND_SIGNALED) != 0)
      complete(*qp.cq, wr->wr_id, wr->opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE : IBV_WC_SEND,
               0, qp.qp.qp_num);
  return 0;
}

inline int post_recv(ibv_qp* verbs_qp, ibv_recv_wr* wr, ibv_recv_wr**) {
  FakeQp& qp = fake(verbs_qp);
  for (; wr != nullptr; wr = wr->next)
    qp.receives[qp.receives_in++ & (qp.receives.size() - 1)] = *wr;
  return 0;
}

inline int poll_cq(ibv_cq* verbs_cq, int most, ibv_wc* wcs) {
  FakeCq& cq = fake(verbs_cq);
  int taken = 0;
  for (; taken < most && cq.out != cq.in; ++taken)
    wcs[taken] = cq.ring[cq.out++ & (cq.ring.size() - 1)];
  return taken;
}

}  // namespace null_verbs

/// One rank: what Node builds on a device, on imaginary QPs.
struct FakeRank {
  std::uint32_t rank = 0;
  RankPlan plan;
  null_verbs::FakeCq cq;
  std::deque<null_verbs::FakeQp> qps;
  std::vector<Link> links;
  std::vector<std::uint32_t> granted, freed;
  std::vector<HopGate> gates;
  std::vector<ibv_sge> grant_sges, parcel_sges;
  std::vector<Edge> edges;
  std::vector<std::vector<Edge*>> way_edges;
  std::vector<Way> ways;
  std::vector<Parcel> parcels;
  std::vector<Leg> legs;
  std::vector<std::uint8_t> bytes;
  std::vector<Link*> listing, blocked;
  std::vector<std::uint64_t> received;
  std::vector<std::uint8_t> awaited;
  std::vector<std::uint8_t> source;
  ibv_sge source_sge{};
  std::deque<Leg> own;
  ibv_cq* cq_pointer = nullptr;
  MessagePattern pattern;
  Relay relay;
};

/// All ranks of a case.
class Fabric {
 public:
  explicit Fabric(const Case& one_case);
  Fabric(Fabric&&) = delete;

  const TopologyPlan& plan() const { return plan_; }
  std::vector<std::unique_ptr<FakeRank>>& ranks() { return ranks_; }
  FakeRank& rank(std::uint32_t number) { return *ranks_[number]; }
  std::uint32_t classes() const { return classes_; }

  /// A message that begins at a rank; sent at once, or as soon as there is room.
  void send_from(std::uint32_t from, std::uint32_t to);
  /// A step of each rank in turn, again and again, until nothing is left to do or so many rounds
  /// are over.
  /// @return  messages delivered
  std::uint64_t run(std::uint64_t most_rounds);
  std::uint64_t rnr_naks() const;
  std::uint64_t passed_on(std::uint32_t rank) const;
  bool quiet() const;

 private:
  void build(FakeRank& rank);
  void connect();

  const Case case_;
  const TopologyPlan plan_;
  const std::uint32_t classes_;
  ibv_context context_{};
  std::vector<std::unique_ptr<FakeRank>> ranks_;
};

}  // namespace rdmameter
