// SPDX-License-Identifier: Apache-2.0
// A rank's verbs objects for one case: QPs to its neighbours, CQ, memory, and the prebuilt work of
// its measured path. All of it is made before the clock starts, and grows with the rank's degree.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/endpoint.h"
#include "core/memory.h"
#include "topologies/loops.h"
#include "topologies/payload.h"
#include "topologies/rank_plan.h"

namespace rdmameter {

class Node {
 public:
  /// Creates everything and posts the receives; QPs are in INIT.
  /// @param seed  of all ranks' payloads
  /// @throws Unsupported, VerbsError  with how many QPs there were, where one could not be made
  Node(OpenDevice& device, const Case& one_case, const TopologyPlan& plan, const RankPlan& mine,
       Rank rank, std::uint64_t seed);
  Node(Node&&) = delete;  // posted WRs point into it

  const EndpointInfo& info() const { return info_; }

  /// Brings the QPs to RTS. @param peers  what each rank has told, by rank
  void connect(std::span<const EndpointInfo> peers);

  RankWork& work() { return work_; }
  Relay& relay() { return relay_; }
  Inbox inbox() const { return inbox_; }

  /// Whom a walk goes to first, from now on.
  void begin_walk_to(Rank first);
  /// How messages for this rank are delivered from now on: where a walk begins, or anywhere else.
  void deliver_walks(bool begun_here);

  /// Of RDMA WRITEs and READs, once all have passed a barrier: compares what lies in the places
  /// that they were for, and counts it in relay().
  /// @param senders  ranks that have written here; of reads nobody counts
  /// @throws MeasurementError  nothing of one of them is there
  void check_places(std::span<const Rank> senders);

  /// Messages posted so far; of them, those that ranks behind and ahead have exchanged over this
  /// one.
  std::uint64_t sent() const;
  std::uint64_t passed_on() const;
  std::uint64_t qp_count() const { return qps_.size(); }
  std::uint32_t mtu_bytes() const { return mtu_bytes_; }
  /// "buffers", "qps", "cqs", "mrs", in bytes: computed from what was asked for.
  std::vector<std::pair<std::string, std::uint64_t>> memory_bytes() const;
  /// "QP 0x12 towards rank 3 on rxe0/1"
  std::string qp_text(std::uint32_t qp_num) const;

 private:
  struct Areas {
    std::size_t granted, freed, parcels, stride, total;
  };
  Areas areas() const;
  void create_memory();
  void create_queues();
  void create_cqs();
  Qp create_qp(std::uint64_t number, std::uint64_t all);
  void build_links();
  void build_parcels();
  void build_ways();
  void build_rounds();
  void build_window();
  void choose_delivery();
  Leg leg_of_source();
  std::uint64_t places(std::uint64_t links) const;
  std::uint64_t receives() const;
  Areas areas(std::uint64_t links) const;
  void connect_memory(Link& link, const EndpointInfo& peer, std::uint64_t theirs);
  bool check_place(std::uint64_t place, Rank origin);

  OpenDevice& device_;
  const Case case_;
  const TopologyPlan& plan_;
  const RankPlan& mine_;
  const Rank rank_;
  const std::vector<Rank>& neighbours_;
  const Inbox inbox_;
  const std::string where_;
  const std::uint32_t classes_;
  std::uint64_t link_count_;
  std::uint32_t ud_receives_ = 0;
  std::uint32_t mtu_bytes_ = 0;
  EndpointInfo info_;

  MessageMemory memory_;
  Pd pd_;
  Mr mr_;
  std::vector<Cq> cqs_;  ///< one for all QPs, or each QP's own
  Srq srq_;
  std::vector<Ah> ahs_;
  std::vector<Qp> qps_;

  MessagePattern pattern_;
  std::vector<Link> links_;
  Link datagrams_;  ///< Inbox::datagram: where all receives are at home
  std::vector<HopGate> gates_;
  std::vector<ibv_sge> grant_sges_;
  std::vector<Edge> edges_;
  std::vector<Edge*> way_edges_;
  std::vector<Way> ways_;
  std::vector<Parcel> parcels_;
  std::vector<Leg> parcel_legs_;
  std::vector<ibv_sge> parcel_sges_;
  std::vector<Link*> listing_, blocked_, link_of_qpn_;
  std::vector<std::uint64_t> received_;
  std::vector<std::uint8_t> awaited_;
  ibv_sge source_sge_{};
  std::deque<Leg> own_legs_;  // others point to them
  std::vector<std::vector<Leg*>> round_legs_;
  std::vector<RoundWork> rounds_;
  std::vector<Leg*> window_;
  std::vector<ibv_sge> window_sges_;  ///< of reads: each brings its message to a place of its own
  std::vector<ibv_cq*> cq_pointers_;
  Relay relay_;
  RankWork work_;
};

}  // namespace rdmameter
