// SPDX-License-Identifier: Apache-2.0
// A rank's verbs objects for one case: QPs to its neighbours, CQ, memory, and the prebuilt work of
// its measured path. All of it is made before the clock starts, and grows with the rank's degree.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/endpoint.h"
#include "core/result/row.h"
#include "core/verbs/memory.h"
#include "topologies/ranks/loop/loops.h"
#include "topologies/ranks/loop/payload.h"
#include "topologies/ranks/qp_maker.h"
#include "topologies/ranks/rank_collective.h"
#include "topologies/ranks/rank_plan.h"
#include "topologies/ranks/stopwatch.h"

namespace rdmameter {

/// The path of a QP to another rank. @param peer  what it says of itself
/// @throws Unsupported  as agreed_mtu()
QpPath path_to_rank(const OpenDevice& device, const TestCase& test_case, EndpointInfo peer);

/// What a rank has sent of itself. @throws MeasurementError  nothing
const EndpointInfo& info_of(const std::map<Rank, EndpointInfo>& peers, Rank rank);

class Node {
 public:
  /// Creates everything and posts the receives; QPs are in INIT.
  /// @param seed  of all ranks' payloads
  /// @throws Unsupported, VerbsError  with how many QPs there were, where one could not be made
  Node(OpenDevice& device, const TestCase& test_case, const TopologyPlan& plan,
       const RankPlan& mine, Rank rank, std::uint64_t seed);
  Node(Node&&) = delete;  // posted WRs point into it

  /// What a neighbour must know of this rank: of its QPs only those between the two.
  EndpointInfo info_for(Rank neighbour) const;

  /// Brings the QPs to RTS. @param peers  the info_for() this rank of each neighbour
  void connect(const std::map<Rank, EndpointInfo>& peers);

  RankWork& work() { return work_; }
  Relay& relay() { return relay_; }
  ReceiveMode receive_mode() const { return receive_mode_; }
  /// Null: the traffic is none.
  RankCollective* collective() { return collective_.get(); }

  /// Where this rank's round trips go first, from now on.
  void begin_round_trip_to(Rank first);
  /// By source, the next stop of a round trip that has come here, from now on. Borrowed.
  void reply_to(const std::vector<std::uint32_t>& by_source);
  /// How messages for this rank are delivered from now on: where a round trip begins, or at any
  /// other stop.
  void deliver_round_trips(bool begun_here);

  /// Of RDMA WRITEs and READs, once all have passed a barrier: compares what lies in the places
  /// that they were for, and counts it in relay().
  /// @param senders  ranks that have written here; not looked at for reads
  /// @throws MeasurementError  nothing of one of them is there
  void check_places(std::span<const Rank> senders);

  /// Messages posted so far; of them, those that ranks behind and ahead have exchanged over this
  /// one.
  std::uint64_t sent() const;
  std::uint64_t passed_on() const;
  std::uint64_t qp_count() const { return qps_.size(); }
  std::uint32_t mtu_bytes() const { return mtu_bytes_; }
  /// What the calls of "create_qp", "create_ah" and "modify_qp" for the graph's QPs have taken.
  NamedCounts connect_ns() const;
  /// Of a QP that was tried in vain, to see whether credits can go inline.
  std::uint64_t trial_ns() const { return maker_.trial_ns(); }
  /// Are its QPs of a thread domain, so that the provider takes no locks?
  bool has_thread_domain() const { return domain_.parent() != nullptr; }
  /// Computed from what was asked for, by kind: what the connections take whatever the traffic
  /// ("buffers", "qps", "cqs", "mrs"), and what comes on top for messages that are relayed
  /// ("buffers", "queues"); empty: none are.
  NamedCounts connection_bytes() const;
  NamedCounts relay_bytes() const;
  /// "QP 0x12 towards rank 3 on rxe0/1"
  std::string qp_text(std::uint32_t qp_num) const;

 private:
  struct Areas {
    std::size_t credited, freed, buffers, stride;
  };
  /// Of posted requests: first-class messages alone, or relayed ones, too.
  struct QueueEntries {
    std::uint64_t sends = 0, receives = 0;
  };
  /// That can be outstanding.
  static std::uint64_t completions(const QueueEntries& entries) {
    return entries.sends + entries.receives;
  }
  std::size_t memory_size() const;
  void create_memory();
  void create_queues();
  void create_cqs();
  Qp create_qp(std::uint64_t number, std::uint64_t all);
  void build_links();
  void build_buffers();
  void build_routes();
  void build_rounds();
  void build_window();
  void build_collective();
  void choose_delivery();
  Hop hop_of_source();
  std::uint64_t room(const std::vector<std::uint64_t>& rooms, std::uint64_t link,
                     std::uint32_t classes) const;
  QueueEntries entries_of(std::uint64_t link, std::uint32_t classes) const;
  QueueEntries entries(std::uint32_t classes) const;
  std::uint64_t places() const;
  std::uint64_t receives() const;
  Areas areas(std::uint64_t links) const;
  Areas areas() const { return areas(link_count_); }
  void bring_up(ibv_qp& qp, const QpPath& path, std::uint32_t remote_qpn, std::uint32_t remote_psn,
                std::uint32_t psn);
  void connect_memory(Link& link, const EndpointInfo& peer, std::uint64_t theirs);
  bool check_place(std::uint64_t place, Rank origin);

  OpenDevice& device_;
  const TestCase case_;
  const TopologyPlan& plan_;
  const RankPlan& mine_;
  const Rank rank_;
  const std::vector<Rank>& neighbours_;
  const ReceiveMode receive_mode_;
  const std::string where_;
  const std::uint32_t classes_;
  std::uint64_t link_count_;
  std::uint32_t ud_receives_ = 0;
  std::uint32_t mtu_bytes_ = 0;
  QpMaker maker_;
  Stopwatch create_ah_, modify_qp_;
  EndpointInfo info_;

  MessageMemory memory_;
  ProtectionDomain domain_;
  Mr mr_;
  std::optional<CompletionQueues> cqs_;  ///< one for all QPs, or each QP's own
  Srq srq_;
  std::vector<Ah> ahs_;
  std::vector<Qp> qps_;

  MessagePattern pattern_;
  std::vector<Link> links_;
  Link datagrams_;              ///< ReceiveMode::datagram: where all receives are at home...
  CreditBatch datagram_batch_;  ///< ...and posted again
  std::vector<CreditWindow> credit_windows_;
  std::vector<CreditBatch> credit_batches_;
  std::vector<ibv_sge> credit_sges_;
  std::vector<Edge> edges_;
  std::vector<Edge*> route_edges_;
  std::vector<Route> routes_;
  std::vector<MessageBuffer> buffers_;
  std::vector<Hop> buffer_hops_;
  std::vector<ibv_sge> buffer_sges_;
  std::vector<Link*> listing_, blocked_, link_of_qpn_;
  std::vector<std::uint64_t> received_;
  std::vector<std::uint8_t> awaited_;
  ibv_sge source_sge_{};
  std::deque<Hop> own_hops_;  // others point to them
  std::vector<std::vector<Hop*>> round_hops_;
  std::vector<RoundWork> rounds_;
  std::vector<Hop*> window_;
  std::vector<ibv_sge> window_sges_;  ///< of reads: each brings its message to a place of its own
  std::unique_ptr<RankCollective> collective_;
  std::vector<ibv_cq*> cq_pointers_;
  Relay relay_;
  RankWork work_;
};

}  // namespace rdmameter
