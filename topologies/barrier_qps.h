// SPDX-License-Identifier: Apache-2.0
// The QPs of the barrier over RDMA, apart from those of the graph: always RC, whatever the graph.
#pragma once

#include <span>
#include <vector>

#include "core/endpoint.h"
#include "core/memory.h"
#include "topologies/barrier.h"
#include "topologies/graph.h"

namespace rdmameter {

/// The ranks that a rank's barrier has to do with: those 2^k ahead and behind, each once,
/// ascending.
std::vector<Rank> barrier_partners(Rank rank, Rank ranks);

class BarrierQps {
 public:
  /// Creates a QP for each partner.
  /// @throws VerbsError, Unsupported
  BarrierQps(OpenDevice& device, const Case& one_case, Rank rank, Rank ranks);
  BarrierQps(BarrierQps&&) = delete;

  const EndpointInfo& info() const { return info_; }
  /// @param peers  what each rank has told, by rank; only the partners' is looked at
  void connect(std::span<const EndpointInfo> peers);
  Barrier& barrier() { return barrier_; }
  std::size_t count() const { return qps_.size(); }

 private:
  OpenDevice& device_;
  const Case case_;
  const Rank rank_, ranks_;
  const std::vector<Rank> partners_;
  MessageMemory memory_;
  Pd pd_;
  Mr mr_;
  Cq cq_;
  std::vector<Qp> qps_;
  EndpointInfo info_;
  std::vector<BarrierStep> steps_;
  ibv_sge epoch_sge_{};
  Barrier barrier_;
};

}  // namespace rdmameter
