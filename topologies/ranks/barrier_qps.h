// SPDX-License-Identifier: Apache-2.0
// The QPs of the barrier over RDMA, apart from those of the graph: always RC, whatever the graph.
#pragma once

#include <map>
#include <vector>

#include "core/engine/endpoint.h"
#include "core/verbs/memory/memory.h"
#include "topologies/graphs/graph.h"
#include "topologies/ranks/loop/barrier.h"
#include "topologies/ranks/qp_maker.h"

namespace rdmameter {

/// The ranks that a rank's barrier has to do with: those 2^k ahead and behind, each once,
/// ascending.
std::vector<Rank> barrier_partners(Rank rank, Rank ranks);

class BarrierQps {
 public:
  /// Creates a QP for each partner.
  /// @throws VerbsError, Unsupported
  BarrierQps(OpenDevice& device, const TestCase& test_case, Rank rank, Rank ranks);
  BarrierQps(BarrierQps&&) = delete;

  const std::vector<Rank>& partners() const { return partners_; }
  /// What a partner must know of this rank: of its QPs only that between the two.
  EndpointInfo info_for(Rank partner) const;
  /// @param peers  the info_for() this rank of each partner
  void connect(const std::map<Rank, EndpointInfo>& peers);
  Barrier& barrier() { return barrier_; }
  std::size_t count() const { return qps_.size(); }
  /// As Node's.
  bool has_thread_domain() const { return domain_.parent() != nullptr; }
  /// Of a QP that was tried in vain, to see whether words can go inline.
  std::uint64_t trial_ns() const { return maker_.trial_ns(); }

 private:
  OpenDevice& device_;
  const TestCase case_;
  const Rank rank_, ranks_;
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
