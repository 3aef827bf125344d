// SPDX-License-Identifier: Apache-2.0
// A rank's queues on a device: registered memory, CQs, QPs to its neighbours, and those of its
// barrier, which are RC whatever the graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/endpoint.h"
#include "core/verbs/memory/memory.h"
#include "topologies/ranks/lost_pairs.h"
#include "topologies/ranks/qp_maker.h"
#include "topologies/ranks/rank_collective.h"
#include "topologies/ranks/rank_plan.h"
#include "topologies/ranks/rank_queues.h"

namespace rdmameter {

/// The path of a QP to another rank. @param peer  what it says of itself
/// @throws Unsupported  as agreed_mtu()
QpPath path_to_rank(const OpenDevice& device, const TestCase& test_case, EndpointInfo peer);

/// The data that a rank has sent about itself. @throws MeasurementError  it has sent none
const EndpointInfo& info_of(const std::map<Rank, EndpointInfo>& peers, Rank rank);

class DeviceQueues : public RankQueues {
 public:
  /// Creates everything and posts the receives; QPs are in INIT.
  /// @param plan  borrowed
  /// @param seed  of all ranks' payloads
  /// @throws Unsupported, VerbsError  with how many QPs there were, where one could not be made
  DeviceQueues(OpenDevice& device, const RankPlan& plan, std::uint64_t seed);

  /// The data that a neighbour needs of this rank: of its QPs only those between the two.
  EndpointInfo info_for(Rank neighbour) const;

  /// Creates the barrier's QPs, one for each partner. To be called once.
  /// @throws Unsupported, VerbsError, and as barrier_meetings()
  void create_barrier(const RankPairs& avoided);
  /// As info_for(), of the barrier.
  EndpointInfo barrier_info_for(Rank partner) const;

  /// The QPs of RC, by the rank at the other end, which has them in the same order.
  std::map<Rank, std::vector<ibv_qp*>> qps_by_peer() const;

  /// Brings the QPs to RTS. Of iWARP they are there, and those that this rank has called for send.
  /// @param peers    the info_for() this rank of each neighbour
  /// @param refused  the edge to each neighbour whose QP made a verb fail is added to it; null: the
  ///                 first such failure is thrown
  void connect(const std::map<Rank, EndpointInfo>& peers, std::vector<RefusedEdge>* refused);
  /// As connect(), of the barrier.
  void connect_barrier(const std::map<Rank, EndpointInfo>& peers,
                       std::vector<RefusedEdge>* refused);
  /// The rank towards which a QP of the barrier has failed, to be asked when nothing of the barrier
  /// is needed any more.
  std::optional<Rank> barrier_failed_towards();

  std::uint32_t mtu_bytes() const { return mtu_bytes_; }
  /// The time of the calls of "create_qp", "create_ah" and "modify_qp" for the graph's QPs.
  NamedCounts connect_ns() const;
  /// Time of QP creations that were tried in vain, to see whether words can go inline.
  std::uint64_t trial_ns() const { return maker_.trial_ns() + barrier_maker_.trial_ns(); }
  /// See gpu_facts_of().
  Json gpu_facts() const { return gpu_facts_of(memory_, device_.port.device); }
  /// Are its QPs of a thread domain, so that the provider can leave out locks?
  bool has_thread_domain() const {
    return domain_.parent() != nullptr && barrier_domain_->parent() != nullptr;
  }

 private:
  void create_memory();
  void create_words();
  void create_queues();
  void require_reads() const;
  void create_cqs();
  Qp create_qp(std::uint64_t number);
  void keep(Qp qp, std::vector<ibv_qp*>& qps, EndpointInfo& info);
  void connect_to(std::uint64_t number, const EndpointInfo& peer);
  void bring_up(ibv_qp& qp, const QpPath& path, std::uint32_t remote_qpn, std::uint32_t remote_psn,
                std::uint32_t psn);

  OpenDevice& device_;
  std::uint32_t mtu_bytes_ = 0;
  std::uint16_t pkey_index_ = 0;
  QpMaker maker_;
  Stopwatch create_ah_, modify_qp_;
  EndpointInfo info_ = endpoint_info_of(device_);
  TestCase barrier_case_ = case_;  ///< whose messages are a word, whatever the graph's are
  QpMaker barrier_maker_{kBarrierWord};
  EndpointInfo barrier_info_ = info_;

  MessageMemory memory_;
  std::optional<MessageMemory> word_memory_;  ///< where the CPU does not reach `memory_`
  ProtectionDomain domain_;
  Mr mr_, words_mr_;
  std::optional<CompletionQueues> own_cqs_;  ///< one for all QPs, or each QP's own
  Srq own_srq_;
  std::vector<Ah> ahs_;
  std::optional<MessageMemory> barrier_memory_;
  std::optional<ProtectionDomain> barrier_domain_;
  Mr barrier_mr_;
  std::optional<CompletionQueues> barrier_cq_;
  std::vector<Qp> own_qps_;  ///< the barrier's, too
  std::unique_ptr<RankCollective> own_collective_;
};

}  // namespace rdmameter
