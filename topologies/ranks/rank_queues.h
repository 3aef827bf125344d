// SPDX-License-Identifier: Apache-2.0
// A rank's queues for one case: how long they are and where what lies in its memory, links and
// their credit windows, buffers with a receive posted for each, hops, rounds; and its barrier's
// steps, over QPs that carry nothing else. All of it is made before the clock starts, and grows
// with the rank's degree.
//
// Memory, CQs and QPs belong to a device (device_queues.h) or to the simulator's fabric: a class that
// derives from RankQueues creates them and calls build(); then it calls plan_barrier(), creates the
// barrier's QPs, and calls build_barrier().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result/row.h"
#include "topologies/ranks/loop/payload.h"
#include "topologies/ranks/loop/rank_state.h"
#include "topologies/ranks/rank_plan.h"
#include "topologies/schedule/barrier_meetings.h"
#include "topologies/traffic/connection_memory.h"

namespace rdmameter {

class RankCollective;

class RankQueues {
 public:
  /// Computes sizes and offsets; creates nothing yet.
  /// @param plan       borrowed
  /// @param seed       of all ranks' payloads
  /// @param max_qp_wr  of the device
  /// @param immediate  messages carry immediate data, else their label among their bytes
  RankQueues(const RankPlan& plan, std::uint64_t seed, std::uint64_t max_qp_wr,
             bool immediate = true);
  RankQueues(RankQueues&&) = delete;  // posted WRs point into it

  const RankPlan& plan() const { return mine_; }
  ReceiveMode receive_mode() const { return receive_mode_; }
  std::uint64_t qp_count() const { return datagram_ ? 1 : link_count_; }

  /// The ranks that its barrier has to do with, each once, ascending.
  const std::vector<Rank>& barrier_partners() const { return barrier_partners_; }

  /// Computed from what was asked for, by kind: what the connections take whatever the traffic
  /// ("buffers", "qps", "cqs", "mrs"), and what comes on top for messages that are relayed
  /// ("buffers", "queues"); empty: none are.
  NamedCounts connection_bytes() const;
  NamedCounts relay_bytes() const;

  // After build().

  RankState& state() { return state_; }
  std::vector<Link>& links() { return links_; }
  /// The link over which messages to that rank begin, if all begin over one.
  Link* link_to(Rank to) { return routes_[to].edges[0]->next; }
  /// Null: the traffic is none.
  RankCollective* collective() { return collective_; }

  /// Where this rank's round trips go first, from now on.
  void begin_round_trip_to(Rank first);
  /// How messages for this rank are delivered from now on: where a round trip begins, or at any
  /// other stop.
  void deliver_round_trips(bool begun_here);

  /// Compares the destinations of RDMA WRITEs and READs with what they should hold, once all ranks
  /// have passed a barrier, and counts it in state().
  /// @param senders  ranks that have written here; not looked at for reads
  /// @throws MeasurementError  nothing of one of them is there
  void check_places(std::span<const Rank> senders);

  /// Messages posted so far; of them, those that this rank has passed on: a message that begins
  /// here is of the first class, one that is passed on of a later one.
  std::uint64_t sent(std::uint32_t least_class = 0) const;
  std::uint64_t passed_on() const { return sent(1); }
  /// "QP 0x12 towards rank 3 on rxe0/1"
  std::string qp_text(std::uint32_t qp_num) const;

 protected:
  /// Registered memory.
  struct Memory {
    std::byte* host = nullptr;  ///< null: the CPU does not reach it
    std::uint64_t address = 0;  ///< as verbs know it
    std::uint32_t lkey = 0;
  };
  /// Entries of queues: of first-class messages alone, or of relayed ones, too.
  struct Entries {
    std::uint64_t sends = 0, receives = 0;
    /// The completions that can be outstanding.
    std::uint64_t completions() const { return sends + receives; }
  };

  /// Of a message, words of 0, buffers.
  std::size_t memory_size() const;
  std::uint64_t cq_count() const {
    return cq_per_qp_ ? std::max<std::uint64_t>(link_count_, 1) : 1;
  }
  Entries entries_of(std::uint64_t link, std::uint32_t classes) const;
  Entries entries(std::uint32_t classes) const;
  std::uint64_t receives() const { return entries(classes_).receives; }
  /// @param links  of a rank, this one or a peer
  RankAreas areas_of(std::uint64_t links) const {
    return rank_areas(links, classes_, plan_.message_bytes, datagram_);
  }

  /// Builds links, buffers, hops and the state of the loops on the members from `qps_` to `where_`,
  /// and posts the receives. @pre the derived class has set these members
  /// @throws VerbsError
  void build();
  /// Where the credits of a link go, and of RDMA WRITEs and READs the messages.
  /// @param peer_address  of the words that this rank credits, in the neighbour's memory
  /// @param inline_flag   of credits
  void connect_link(std::uint64_t number, std::uint64_t peer_address, std::uint32_t peer_rkey,
                    unsigned inline_flag);

  static constexpr std::size_t kBarrierWord = sizeof(std::uint64_t);
  /// In the barrier's memory the epoch's own word stands first, apart from those that others write.
  static constexpr std::size_t kBarrierHeardAt = 64;
  /// Chooses whom it meets; the rest of the barrier comes after it.
  /// @throws MeasurementError  as barrier_meetings()
  void plan_barrier(const RankPairs& avoided) {
    barrier_meetings_ = barrier_meetings(rank_, plan_.graph.ranks(), avoided);
    barrier_partners_ = rdmameter::barrier_partners(barrier_meetings_);
  }
  std::size_t barrier_memory_size() const {
    return kBarrierHeardAt + (barrier_meetings_.size() + 1) * kBarrierWord;
  }
  /// Builds the barrier on its QPs, words and CQ, which the derived class has set.
  /// @param heard_at  address and rkey of what a partner hears, in its memory
  void build_barrier(
      const std::function<std::pair<std::uint64_t, std::uint32_t>(Rank partner)>& heard_at,
      unsigned inline_flag);

  const RankPlan& mine_;
  const TopologyPlan& plan_ = mine_.all;
  const TestCase& case_ = plan_.test_case;
  const Rank rank_ = mine_.rank;
  const std::vector<Rank>& neighbours_ = plan_.graph.neighbours[rank_];
  const ReceiveMode receive_mode_;
  const bool datagram_ = receive_mode_ == ReceiveMode::datagram;
  const bool cq_per_qp_ = case_.queues.cq_sharing == CqSharing::per_qp && !datagram_;
  const std::uint32_t classes_ = hop_classes(plan_);
  const EdgeQps edge_qps_ = edge_qps(case_);
  const std::uint64_t link_count_ = neighbours_.size() * edge_qps_.all;
  const RankAreas areas_ = areas_of(link_count_);
  const std::uint32_t ud_receives_;
  const MessagePattern pattern_;

  // Set by the derived class, which owns what they point to.
  std::vector<ibv_qp*> qps_;
  std::vector<ibv_cq*> cqs_;
  ibv_srq* srq_ = nullptr;
  Memory messages_;  ///< where the message and the buffers are
  Memory words_;     ///< where the words are: the same, or host memory that is laid out alike
  std::string where_;
  RankCollective* collective_ = nullptr;
  std::vector<ibv_qp*> barrier_qps_;  ///< by partner
  Memory barrier_words_;
  Barrier barrier_;  ///< its `cq`

  // Set by plan_barrier().
  std::vector<BarrierMeeting> barrier_meetings_;
  std::vector<Rank> barrier_partners_;

 private:
  std::uint64_t room(const std::vector<std::uint64_t>& rooms, std::uint64_t link,
                     std::uint32_t classes) const;
  /// Buffers for what comes in.
  std::uint64_t places() const {
    return receive_mode_ == ReceiveMode::none ? link_count_ * case_.queues.depth : receives();
  }
  std::uint64_t own_hops() const;
  std::size_t labels_at() const { return areas_.buffers + places() * areas_.stride; }
  void build_links();
  void build_buffers();
  void build_routes();
  void build_rounds();
  void build_window();
  void choose_delivery();
  void index_links();
  std::uint8_t* message_byte(std::size_t offset) const;
  Hop hop_of_source();
  ibv_wr_opcode send_opcode() const {
    return receive_mode_ == ReceiveMode::labelled ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
  }
  void set_label(Hop& hop, std::uint32_t label) const;
  bool check_place(std::uint64_t place, Rank origin);

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
  std::vector<ibv_sge> labelled_sges_;  ///< of own hops: the message up to its label, and that
  std::deque<Hop> own_hops_;            // others point to them
  std::vector<std::vector<Hop*>> round_hops_;
  std::vector<RoundWork> rounds_;
  std::vector<Hop*> window_;
  std::vector<ibv_sge> window_sges_;  ///< of reads: each brings its message to a place of its own
  std::vector<BarrierStep> barrier_steps_;
  ibv_sge epoch_sge_{};
  RankState state_;
};

}  // namespace rdmameter
