// SPDX-License-Identifier: Apache-2.0
// Connections that are made when they are first used, one edge of the graph after the other: what a
// program waits for that sends its first message to a rank.
#pragma once

#include <chrono>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "core/result/row.h"
#include "topologies/ranks/bootstrap/ranks.h"
#include "topologies/ranks/node.h"
#include "topologies/ranks/rank_result.h"

namespace rdmameter {

/// Of each edge the lower rank asks the other one, over the ranks' TCP connections, and then sends
/// the first message. Nobody else does anything meanwhile but pass on what goes through it.
class FirstUseLoop {
 public:
  /// @param patience  for a first message
  FirstUseLoop(Ranks& ranks, Node& node, const Graph& graph, std::chrono::milliseconds patience,
               const InterruptSource& interrupt)
      : ranks_(ranks), node_(node), graph_(graph), patience_(patience), interrupt_(interrupt) {}

  /// Collective: called by each rank of the graph. A verb that fails ends it for nobody.
  /// @throws MeasurementError, Interrupted  as Ranks does
  void run();

  /// What failed so that the case cannot go on. Null: nothing.
  std::exception_ptr failure() const { return failure_; }
  const RefusedPeers& refused() const { return refused_; }
  /// Of the edges that this rank has asked for.
  std::vector<FirstUse> take_times() { return std::move(times_); }
  /// To be called once nothing has failed: the ranks' addresses are kept here. @see Node
  const std::map<Rank, EndpointInfo>& peers() const { return peers_; }

 private:
  void connect(Rank asks, Rank answers);
  std::string ask(Rank peer);
  std::string answer(Rank peer, const std::string& request);
  void use(Rank peer, const std::string& answer);
  template <class Step>
  std::string attempt(Rank peer, Step step);

  Ranks& ranks_;
  Node& node_;
  const Graph& graph_;
  const std::chrono::milliseconds patience_;
  const InterruptSource& interrupt_;
  std::exception_ptr failure_;
  RefusedPeers refused_;
  std::vector<FirstUse> times_;
  std::map<Rank, EndpointInfo> peers_;
  Node::Spent begun_;  ///< when the edge was asked for
  std::chrono::steady_clock::time_point asked_;
};

/// @param results  by rank; nothing: no connection was made on first use
std::optional<FirstUseData> summarise_first_use(std::span<const RankResult> results);

}  // namespace rdmameter
