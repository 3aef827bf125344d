// SPDX-License-Identifier: Apache-2.0
// What a rank's measured path works on: prebuilt work, and where messages wait for room. Plain
// data; topologies/node.h builds and owns it.
//
// No cycle of full ranks can block itself. A message that makes its h-th hop is of class h - 1, and
// a rank keeps `depth` buffers of each class for each of its links: what is of the last class
// leaves its buffer where it arrives, so those of the class before it find room, and so on
// (Günther, "Prevention of deadlocks in packet-switched data transport systems", 1981: the hop
// scheme).
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstdint>

namespace rdmameter {

/// The immediate of a message, host order: hop class, source, destination. It goes with the data
/// and takes none of its bytes.
inline constexpr unsigned kRankBits = 12, kClassShift = 2 * kRankBits;
inline constexpr std::uint32_t kMostTopologyRanks = 1U << kRankBits;
inline constexpr std::uint32_t kMostHops = 1U << (32 - kClassShift);
inline constexpr std::uint32_t kNextClass = 1U << kClassShift;

constexpr std::uint32_t label(std::uint32_t from, std::uint32_t to) noexcept {
  return from << kRankBits | to;
}
constexpr std::uint32_t class_of(std::uint32_t label) noexcept {
  return label >> kClassShift;
}
constexpr std::uint32_t source_of(std::uint32_t label) noexcept {
  return label >> kRankBits & (kMostTopologyRanks - 1);
}
constexpr std::uint32_t destination_of(std::uint32_t label) noexcept {
  return label & (kMostTopologyRanks - 1);
}

struct HopGate;
struct Link;
struct Parcel;

/// A message's way over one link. Legs that leave together are one list of WRs, of which the last
/// alone is signaled: its wr_id is the address of the first.
struct Leg {
  ibv_send_wr wr;            ///< must stay the first member: wr.next is the next leg's address
  Parcel* parcel = nullptr;  ///< whose buffer is sent on; null: the message begins here
  Link* link = nullptr;
  HopGate* gate = nullptr;          ///< of the link, for the message's class; set when it is sent
  Leg* behind = nullptr;            ///< the next one that waits at the same gate
  bool busy = false;                ///< of one that begins here: not yet retired
  std::uint64_t remote_offset = 0;  ///< Inbox::none: of its place, behind the link's address
};

/// A receive and its buffer; its address is the receive's wr_id.
struct Parcel {
  ibv_recv_wr receive;
  Link* home = nullptr;  ///< where it arrived
  std::uint32_t hop_class = 0;
  std::uint32_t leaving = 0;  ///< legs that still read the buffer
  Leg* legs = nullptr;        ///< as many as ways may part
  std::uint8_t* data = nullptr;
};

/// What lets the messages of one class onto a link. All numbers count from the begin, modulo 2^32.
struct HopGate {
  std::uint32_t sent = 0;
  /// It is open while sent is below this: the lesser of what the peer has granted and what has left
  /// the send queue, plus the link's depth, when that was last looked at. Closed while legs wait,
  /// so that nobody overtakes them.
  std::uint32_t limit = 0;
  std::uint32_t retired = 0;                  ///< WRs that have left the send queue
  volatile std::uint32_t* granted = nullptr;  ///< buffers that the peer has emptied; it writes here
  std::uint32_t forgiven = 0;                 ///< UC: grants that were given up; see forgive()
  Leg* first = nullptr;                       ///< waiting, first come, first served
  Leg* last = nullptr;
};

/// A QP towards a neighbour (or, of a UD QP, an address): what is sent over it and what comes in.
/// Arrays are by hop class.
struct alignas(64) Link {
  // Sending. Of each class at most `depth` messages are in the send queue, or in buffers at the
  // peer.
  ibv_qp* qp = nullptr;
  HopGate* gates = nullptr;  ///< by hop class
  std::uint32_t depth = 0;
  std::uint32_t waiting = 0;     ///< legs at its gates
  Link* next_of_edge = nullptr;  ///< messages take an edge's links in turn
  Leg* first = nullptr;          ///< the list that leaves next...
  Leg* last = nullptr;
  std::uint32_t listed = 0;  ///< ...and its length: at most `lot`
  bool listing = false;      ///< it is among Relay::listing

  // Receiving. Emptied buffers are posted and granted anew in lots.
  ibv_srq* srq = nullptr;
  ibv_recv_wr* emptied = nullptr;
  std::uint32_t emptied_count = 0;
  std::uint32_t lot = 1;           ///< at most half of depth, rounded up
  std::uint32_t* freed = nullptr;  ///< registered; what `grant` writes into the peer's `granted`
  ibv_send_wr grant;               ///< its wr_id is the link's address
  bool granting = false;           ///< one is under way: its WR is the only one kept for grants...
  bool grant_again = false;        ///< ...and another must follow

  // UD.
  ibv_ah* ah = nullptr;
  std::uint32_t remote_qpn = 0, remote_qkey = 0;

  // Inbox::none: where the peer's places for this link begin, or the message that it lets be read.
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;

  std::uint32_t peer = 0;  ///< its rank
};

/// The links to one neighbour.
struct Edge {
  Link* next = nullptr;

  Link* take() noexcept {
    Link* const taken = next;
    next = taken->next_of_edge;
    return taken;
  }
};

/// What to do with a message: pass it on over these edges, and is it for this rank?
struct Way {
  Edge* only = nullptr;  ///< the one edge of a message that is for another rank
  Edge* const* edges = nullptr;
  std::uint32_t count = 0;
  bool here = false;
};

/// @param edges  borrowed
inline Way way_over(Edge* const* edges, std::uint32_t count, bool here) noexcept {
  return {.only = count == 1 && !here ? edges[0] : nullptr,
          .edges = edges,
          .count = count,
          .here = here};
}

}  // namespace rdmameter
