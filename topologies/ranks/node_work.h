// SPDX-License-Identifier: Apache-2.0
// What a rank's measured path works on: links and their credit windows, buffers with a receive
// posted for each, hops, rounds. Built once, before any QP is connected, on QPs and memory of
// whatever kind; it grows with the rank's degree.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "topologies/ranks/loop/loops.h"
#include "topologies/ranks/node_layout.h"

namespace rdmameter {

class RankCollective;

/// Registered memory of NodeLayout::memory_size(): a message, words of 0, buffers.
struct RankMemory {
  std::byte* host = nullptr;  ///< null: the CPU does not reach it
  std::uint64_t address = 0;  ///< as verbs know it
  std::uint32_t lkey = 0;
};

/// The objects that a NodeWork uses. Borrowed.
struct NodeParts {
  std::vector<ibv_qp*> qps;
  std::vector<ibv_cq*> cqs;
  ibv_srq* srq = nullptr;
  RankMemory messages;  ///< where the message and the buffers are
  RankMemory words;     ///< where the words are: the same, or host memory that is laid out alike
  std::string where;
};

class NodeWork : NodeLayout {
 public:
  /// Posts the receives. @throws VerbsError
  NodeWork(const NodeLayout& layout, NodeParts parts);
  NodeWork(NodeWork&&) = delete;  // posted WRs point into it

  RankWork& work() { return work_; }
  Relay& relay() { return relay_; }
  std::vector<Link>& links() { return links_; }
  /// The link over which messages to that rank begin, if all begin over one.
  Link* link_to(Rank to) { return routes_[to].edges[0]->next; }
  /// Null: the traffic is none.
  RankCollective* collective() { return collective_; }
  /// Messages are taken as this one's from now on. Borrowed.
  void take_part_in(RankCollective& collective);

  /// Where the credits of a link go, and of RDMA WRITEs and READs the messages.
  /// @param peer_address  of the words that this rank credits, in the neighbour's memory
  /// @param inline_flag   of credits
  void connect_link(std::uint64_t number, std::uint64_t peer_address, std::uint32_t peer_rkey,
                    unsigned inline_flag);

  /// Where this rank's round trips go first, from now on.
  void begin_round_trip_to(Rank first);
  /// Sets, by source, the next stop of a round trip that has come here. Borrowed.
  void reply_to(const std::vector<std::uint32_t>& by_source);
  /// How messages for this rank are delivered from now on: where a round trip begins, or at any
  /// other stop.
  void deliver_round_trips(bool begun_here);

  /// Compares the destinations of RDMA WRITEs and READs with what they should hold, once all ranks
  /// have passed a barrier, and counts it in relay().
  /// @param senders  ranks that have written here; not looked at for reads
  /// @throws MeasurementError  nothing of one of them is there
  void check_places(std::span<const Rank> senders);

  /// Messages posted so far; of them, those that ranks behind and ahead have exchanged
  /// over this one.
  std::uint64_t sent() const;
  std::uint64_t passed_on() const;
  /// "QP 0x12 towards rank 3 on rxe0/1"
  std::string qp_text(std::uint32_t qp_num) const;

 private:
  void build_links();
  void build_buffers();
  void build_routes();
  void build_rounds();
  void build_window();
  void choose_delivery();
  void index_links();
  std::uint8_t* message_byte(std::size_t offset) const;
  Hop hop_of_source();
  ibv_wr_opcode send_opcode() const;
  void set_label(Hop& hop, std::uint32_t label) const;
  void connect_memory(Link& link, std::uint64_t peer_address, std::uint32_t peer_rkey,
                      std::uint64_t theirs);
  bool check_place(std::uint64_t place, Rank origin);

  NodeParts parts_;
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
  RankCollective* collective_ = nullptr;
  Relay relay_;
  RankWork work_;
};

}  // namespace rdmameter
