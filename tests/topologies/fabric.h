// SPDX-License-Identifier: Apache-2.0
// Ranks in one thread, over QPs of the null device that move real bytes: the measured path of all
// of them runs unchanged, in any order that a test likes.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "core/engine/null/null_device.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/ranks/loop/deliver.h"
#include "topologies/ranks/loop/loops.h"
#include "topologies/ranks/rank_queues.h"

namespace rdmameter {
namespace null_verbs {  // by whose name instructions are counted without it

/// A QP of the null device that has a peer.
struct FabricQp {
  NullQp base;  // first: null_qp() finds it
  FabricQp* peer = nullptr;
  std::uint64_t not_ready = 0;  ///< messages that found no receive: an RNR NAK each
  std::uint64_t lose = 0;       ///< so many messages get lost from now on, as on UC
};

/// Moves one message. @return  has it left?
inline bool move(FabricQp& qp, const ibv_send_wr& wr) {
  const auto* const from = reinterpret_cast<const void*>(wr.sg_list[0].addr);
  if (wr.opcode == IBV_WR_RDMA_WRITE) {
    std::memcpy(reinterpret_cast<void*>(wr.wr.rdma.remote_addr), from, wr.sg_list[0].length);
    return true;
  }
  if (qp.lose > 0) {
    --qp.lose;
    return true;
  }
  NullQp& peer = qp.peer->base;
  if (peer.receives_in == peer.receives_out) {
    ++qp.peer->not_ready;
    return false;
  }
  const std::uint64_t wr_id = peer.receives[peer.receives_out++ & (peer.receives.size() - 1)];
  std::memcpy(reinterpret_cast<MessageBuffer*>(wr_id)->data, from, wr.sg_list[0].length);
  complete(*peer.recv_cq, peer, wr_id, IBV_WC_RECV, IBV_WC_SUCCESS, wr.imm_data);
  return true;
}

inline int post_send(ibv_qp* verbs_qp, ibv_send_wr* wr, ibv_send_wr**) {
  NullQp& qp = null_qp(verbs_qp);
  ++qp.posts;
  for (; wr != nullptr; wr = wr->next)
    if (move(reinterpret_cast<FabricQp&>(qp), *wr) && (wr->send_flags & IBV_SEND_SIGNALED) != 0)
      complete(*qp.send_cq, qp, wr->wr_id,
               wr->opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
  return 0;
}

/// @param context  whose operations the CQ has
inline void prepare(NullCq& cq, ibv_context& context) {
  cq.cq.context = &context;
  cq.ring.resize(1 << 12);
}

}  // namespace null_verbs

/// One rank: the program's own queues, on imaginary QPs.
class FakeRank : public RankQueues {
 public:
  FakeRank(const RankPlan& plan, ibv_context& context);

  /// @param other  by rank
  void connect(const std::function<FakeRank&(Rank)>& other);
  /// The message that it sends.
  std::uint8_t* source() { return memory_.data(); }
  std::deque<null_verbs::FabricQp>& qps() { return fabric_qps_; }
  NullCq& cq() { return cq_; }
  /// A hop of that message over one edge. Stays where it is.
  Hop& add_hop();

 private:
  std::uint64_t address() { return reinterpret_cast<std::uint64_t>(memory_.data()); }

  NullCq cq_;
  std::deque<null_verbs::FabricQp> fabric_qps_;
  std::vector<std::uint8_t> memory_;
  ibv_sge source_sge_{};
  std::deque<Hop> hops_;
};

/// All ranks of a case.
class Fabric {
 public:
  explicit Fabric(const TestCase& test_case);
  Fabric(Fabric&&) = delete;

  const TopologyPlan& plan() const { return plan_; }
  std::vector<std::unique_ptr<FakeRank>>& ranks() { return ranks_; }
  FakeRank& rank(std::uint32_t number) { return *ranks_[number]; }
  std::uint32_t classes() const { return hop_classes(plan_); }

  /// A message that begins at a rank; sent at once, or as soon as there is room.
  void send_from(std::uint32_t from, std::uint32_t to);
  /// A step of each rank in turn, again and again, until nothing is left to do or so many rounds
  /// are over.
  /// @return  messages delivered
  std::uint64_t run(std::uint64_t max_rounds);
  std::uint64_t rnr_naks() const;
  bool quiet() const;
  /// Has a CQ held more than it has room for?
  bool overrun() const { return overrun_; }

 private:
  const TopologyPlan plan_;
  ibv_context context_{};
  bool overrun_ = false;
  std::deque<RankPlan> plans_;
  std::vector<std::unique_ptr<FakeRank>> ranks_;
};

}  // namespace rdmameter
