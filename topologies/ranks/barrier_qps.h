// SPDX-License-Identifier: Apache-2.0
// The QPs of the barrier over RDMA, apart from those of the graph: always RC, whatever the graph.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/engine/endpoint.h"
#include "core/verbs/memory/memory.h"
#include "topologies/graphs/graph.h"
#include "topologies/ranks/loop/barrier.h"
#include "topologies/ranks/lost_pairs.h"
#include "topologies/ranks/qp_maker.h"

namespace rdmameter {

/// A step of a rank's barrier.
struct BarrierMeeting {
  Rank ahead, behind;  ///< it sends to `ahead` and receives from `behind`
  std::uint32_t word;  ///< of those that `ahead` hears: which step of its own it is there
};

/// A rank's steps. Dissemination; where it would need an avoided pair, up and down a tree
/// that has none.
/// @throws MeasurementError  no tree reaches all ranks
std::vector<BarrierMeeting> barrier_meetings(Rank rank, Rank ranks, const RankPairs& avoided);

/// The ranks that a rank's barrier has to do with, each once, ascending.
std::vector<Rank> barrier_partners(const std::vector<BarrierMeeting>& meetings);

/// A step over that QP.
/// @param epoch           its own word of the barrier
/// @param received        the word that the rank behind writes
/// @param remote_address  where the rank ahead hears of it
BarrierStep barrier_step(ibv_qp* qp, ibv_sge& epoch, const volatile std::uint64_t* received,
                         std::uint64_t remote_address, std::uint32_t rkey, unsigned inline_flag);

class BarrierQps {
 public:
  /// Creates a QP for each partner.
  /// @throws VerbsError, Unsupported
  BarrierQps(OpenDevice& device, const TestCase& test_case, Rank rank, Rank ranks,
             const RankPairs& avoided);
  BarrierQps(BarrierQps&&) = delete;

  const std::vector<Rank>& partners() const { return partners_; }
  /// The data that a partner needs of this rank: of its QPs only that between the two.
  EndpointInfo info_for(Rank partner) const;
  ibv_qp* qp_with(Rank partner) const { return qps_[place_of(partners_, partner)].get(); }
  /// Connects the QPs as DeviceQueues::connect() does.
  /// @param peers    the info_for() this rank of each partner
  /// @param refused  as DeviceQueues::connect()'s
  void connect(const std::map<Rank, EndpointInfo>& peers,
               std::map<Rank, std::string>* refused = nullptr);
  Barrier& barrier() { return barrier_; }
  std::size_t count() const { return qps_.size(); }
  /// The rank towards which a QP has failed, to be asked when nothing of the barrier is
  /// needed any more.
  std::optional<Rank> failed_towards();
  /// Are the QPs of a thread domain? As DeviceQueues::has_thread_domain().
  bool has_thread_domain() const { return domain_.parent() != nullptr; }
  /// Time of a QP creation that was tried in vain, to see whether words can go inline.
  std::uint64_t trial_ns() const { return maker_.trial_ns(); }

 private:
  void bring_up(std::size_t place, const EndpointInfo& peer);

  OpenDevice& device_;
  const TestCase case_;
  const Rank rank_;
  const std::vector<BarrierMeeting> meetings_;
  const std::vector<Rank> partners_;
  MessageMemory memory_;
  ProtectionDomain domain_;
  Mr mr_;
  CompletionQueues cqs_;
  QpMaker maker_;
  std::vector<Qp> qps_;
  EndpointInfo info_;
  std::vector<BarrierStep> steps_;
  ibv_sge epoch_sge_{};
  Barrier barrier_;
};

}  // namespace rdmameter
