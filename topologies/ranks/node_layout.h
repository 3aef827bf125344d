// SPDX-License-Identifier: Apache-2.0
// How long a rank's queues are and where what lies in its memory, for one case: numbers alone, so
// that they are the same on a device and in a simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result/row.h"
#include "topologies/ranks/loop/payload.h"
#include "topologies/ranks/loop/relay.h"
#include "topologies/ranks/rank_plan.h"
#include "topologies/traffic/connection_memory.h"

namespace rdmameter {

class NodeLayout {
 public:
  /// @param plan, mine  borrowed, also by copies
  /// @param seed        of all ranks' payloads
  /// @param max_qp_wr   of the device
  /// @param immediate   messages carry immediate data, else their label among their bytes
  NodeLayout(const TestCase& test_case, const TopologyPlan& plan, const RankPlan& mine, Rank rank,
             std::uint64_t seed, std::uint64_t max_qp_wr, bool immediate = true);

  ReceiveMode receive_mode() const { return receive_mode_; }
  std::uint64_t link_count() const { return link_count_; }
  std::uint64_t qp_count() const {
    return receive_mode_ == ReceiveMode::datagram ? 1 : link_count_;
  }
  std::uint64_t cq_count() const;
  std::size_t memory_size() const;
  /// Offset in the memory of the words that neighbours credit.
  std::size_t credited_at() const { return areas().credited; }
  const MessagePattern& pattern() const { return pattern_; }

  /// Computed from what was asked for, by kind: what the connections take whatever the traffic
  /// ("buffers", "qps", "cqs", "mrs"), and what comes on top for messages that are relayed
  /// ("buffers", "queues"); empty: none are.
  NamedCounts connection_bytes() const;
  NamedCounts relay_bytes() const;

 protected:
  using Areas = RankAreas;
  /// Queue entries of posted requests: first-class messages alone, or relayed ones, too.
  struct QueueEntries {
    std::uint64_t sends = 0, receives = 0;
  };
  /// The completions that can be outstanding.
  static std::uint64_t completions(const QueueEntries& entries) {
    return entries.sends + entries.receives;
  }
  QueueEntries entries_of(std::uint64_t link, std::uint32_t classes) const;
  QueueEntries entries(std::uint32_t classes) const;
  std::uint64_t places() const;
  /// The most messages from this rank that can be under way, each with a label of its own.
  std::uint64_t own_hops() const;
  /// Offset in the memory of these messages' labels.
  std::size_t labels_at() const;
  std::uint64_t receives() const;
  Areas areas(std::uint64_t links) const;
  Areas areas() const { return areas(link_count_); }

  const TestCase case_;
  const TopologyPlan& plan_;
  const RankPlan& mine_;
  const Rank rank_;
  const std::vector<Rank>& neighbours_;
  const ReceiveMode receive_mode_;
  const std::uint32_t classes_;
  const std::uint64_t link_count_;
  const std::uint32_t ud_receives_;
  const MessagePattern pattern_;

 private:
  std::uint64_t room(const std::vector<std::uint64_t>& rooms, std::uint64_t link,
                     std::uint32_t classes) const;
};

}  // namespace rdmameter
