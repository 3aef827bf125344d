// SPDX-License-Identifier: Apache-2.0
// A rank's queues on a device: registered memory, CQs, QPs to its neighbours.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/endpoint.h"
#include "core/verbs/memory/memory.h"
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

/// Why no message gets to a rank, or comes from it.
using RefusedPeers = std::map<Rank, std::string>;

class DeviceQueues : public RankQueues {
 public:
  /// Creates everything and posts the receives; QPs are in INIT.
  /// @param plan  borrowed
  /// @param seed  of all ranks' payloads
  /// @throws Unsupported, VerbsError  with how many QPs there were, where one could not be made
  DeviceQueues(OpenDevice& device, const RankPlan& plan, std::uint64_t seed);

  /// The data that a neighbour needs of this rank: of its QPs only those between the two.
  EndpointInfo info_for(Rank neighbour) const;

  /// The QPs between the two.
  std::vector<ibv_qp*> qps_with(Rank neighbour) const;

  /// Brings the QPs to RTS. Of iWARP they are there, and those that this rank has called for send.
  /// @param peers    the info_for() this rank of each neighbour
  /// @param refused  each neighbour whose QP made a verb fail is added to it, with the error; null:
  ///                 the first such failure is thrown
  void connect(const std::map<Rank, EndpointInfo>& peers, RefusedPeers* refused = nullptr);

  std::uint32_t mtu_bytes() const { return mtu_bytes_; }
  /// The time of the calls of "create_qp", "create_ah" and "modify_qp" for the graph's QPs.
  NamedCounts connect_ns() const;
  /// Time of a QP creation that was tried in vain, to see whether credits can go inline.
  std::uint64_t trial_ns() const { return maker_.trial_ns(); }
  /// See gpu_facts_of().
  nlohmann::ordered_json gpu_facts() const { return gpu_facts_of(memory_, device_.port.device); }
  /// Are its QPs of a thread domain, so that the provider can leave out locks?
  bool has_thread_domain() const { return domain_.parent() != nullptr; }

 private:
  void create_memory();
  void create_words();
  void create_qp_of(std::uint64_t number);
  void create_collective();
  void create_queues();
  void require_reads() const;
  void create_cqs();
  Qp create_qp(std::uint64_t number, std::uint64_t all);
  void connect_to(std::uint64_t number, const EndpointInfo& peer);
  void bring_up(ibv_qp& qp, const QpPath& path, std::uint32_t remote_qpn, std::uint32_t remote_psn,
                std::uint32_t psn);

  OpenDevice& device_;
  std::uint32_t mtu_bytes_ = 0;
  std::uint16_t pkey_index_ = 0;
  QpMaker maker_;
  Stopwatch create_ah_, modify_qp_;
  EndpointInfo info_;

  MessageMemory memory_;
  std::optional<MessageMemory> word_memory_;  ///< where the CPU does not reach `memory_`
  ProtectionDomain domain_;
  Mr mr_, words_mr_;
  std::optional<CompletionQueues> own_cqs_;  ///< one for all QPs, or each QP's own
  Srq own_srq_;
  std::vector<Ah> ahs_;
  std::vector<Qp> own_qps_;
  std::unique_ptr<RankCollective> own_collective_;
};

}  // namespace rdmameter
