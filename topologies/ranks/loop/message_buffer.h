// SPDX-License-Identifier: Apache-2.0
// What a rank's measured path works on: prebuilt work, and where messages wait for room. Plain
// data; RankQueues builds and owns it.
//
// No cycle of full ranks can block itself. A message that makes its h-th hop is of class h - 1, and
// a rank keeps `depth` buffers of each class for each of its links: what is of the last class
// leaves its buffer where it arrives, so those of the class before it find room, and so on
// (Günther, "Prevention of deadlocks in packet-switched data transport systems", 1981:
// the hop scheme).
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>

namespace rdmameter {

/// The immediate of a message, host order: hop class, source, destination. It goes with the data
/// and takes none of its bytes; of iWARP, which has none, it is the message's last four.
inline constexpr unsigned kRankBits = 12, kClassShift = 2 * kRankBits;
inline constexpr std::uint32_t kRankMask = (1U << kRankBits) - 1;
inline constexpr std::uint32_t kMaxHops = 1U << (32 - kClassShift);
inline constexpr std::uint32_t kNextClass = 1U << kClassShift;

constexpr std::uint32_t label(std::uint32_t from, std::uint32_t to) noexcept {
  return from << kRankBits | to;
}
constexpr std::uint32_t class_of(std::uint32_t label) noexcept {
  return label >> kClassShift;
}
constexpr std::uint32_t source_of(std::uint32_t label) noexcept {
  return label >> kRankBits & kRankMask;
}

inline constexpr std::uint32_t kLabelBytes = sizeof(std::uint32_t);

inline void put_label(std::uint8_t* at, std::uint32_t label) noexcept {
  const std::uint32_t wire = htonl(label);
  std::memcpy(at, &wire, sizeof wire);
}
inline std::uint32_t take_label(const std::uint8_t* at) noexcept {
  std::uint32_t wire;
  std::memcpy(&wire, at, sizeof wire);
  return ntohl(wire);
}

struct CreditWindow;
struct Edge;
struct Link;
struct MessageBuffer;

/// A message's hop over one link. Hops that leave together are one list of WRs, of which the last
/// alone is signaled: its wr_id is the address of the first.
struct Hop {
  ibv_send_wr wr;  ///< must stay the first member: wr.next is the next hop's address
  MessageBuffer* buffer = nullptr;  ///< whose buffer is sent on; null: the message begins here
  Link* link = nullptr;
  Edge* edge =
      nullptr;  ///< of an exchange or round trip, each of whose messages takes a link of it
  CreditWindow* credit_window =
      nullptr;                      ///< of the link, for the message's class; set when it is sent
  Hop* behind = nullptr;            ///< the next one that waits for the same window
  bool busy = false;                ///< of one that begins here: not yet retired
  std::uint64_t remote_offset = 0;  ///< ReceiveMode::none: of its place, behind the link's address
  std::uint8_t* label = nullptr;    ///< ReceiveMode::labelled: where among its bytes
};

/// A hop that sends what the SGE has. @param sge  borrowed
inline Hop make_hop(ibv_sge& sge, ibv_wr_opcode opcode) noexcept {
  Hop hop{};
  hop.wr.sg_list = &sge;
  hop.wr.num_sge = 1;
  hop.wr.opcode = opcode;
  return hop;
}

/// A receive and its buffer; its address is the receive's wr_id.
struct MessageBuffer {
  ibv_recv_wr receive;
  Link* home = nullptr;  ///< where it arrived
  std::uint32_t hop_class = 0;
  std::uint32_t leaving = 0;  ///< hops that still read the buffer
  Hop* hops = nullptr;        ///< one for each copy that may leave
  std::uint8_t* data = nullptr;
};

/// The flow control of one class's messages on a link. All numbers count from the
/// begin, modulo 2^32.
struct CreditWindow {
  std::uint32_t sent = 0;
  /// It is open while sent is below this: the lesser of what the peer has credited and what has
  /// left the send queue, plus the room, when that was last looked at. Closed while hops wait, so
  /// that no later one overtakes them.
  std::uint32_t limit = 0;
  std::uint32_t room = 0;  ///< of its class at most so many are in the send queue, or at the peer
  std::uint32_t retired = 0;  ///< WRs that have left the send queue
  volatile std::uint32_t* credited =
      nullptr;                  ///< buffers that the peer has emptied; it writes here
  std::uint32_t reclaimed = 0;  ///< UC: credits that were given up; see reclaim_lost_credits()
  Hop* first = nullptr;         ///< waiting, first come, first served
  Hop* last = nullptr;
};

/// Emptied buffers of one class, which are posted and credited again together.
struct CreditBatch {
  std::uint32_t emptied = 0;
  /// At most half of the class's buffers, rounded up: size - 1 wait, fewer than there are, so a
  /// credit always comes.
  std::uint32_t size = 1;
};

/// A QP towards a neighbour (or, of a UD QP, an address): what is sent over it and what comes in.
/// Arrays are by hop class.
struct alignas(64) Link {
  // State of sending.
  ibv_qp* qp = nullptr;
  CreditWindow* credit_windows = nullptr;  ///< by hop class
  std::uint32_t waiting = 0;               ///< hops that wait for its windows
  Link* next_of_edge = nullptr;            ///< messages take an edge's links in turn
  Hop* first = nullptr;                    ///< the list that leaves next...
  Hop* last = nullptr;
  std::uint32_t listed = 0;      ///< ...and its length...
  std::uint32_t max_listed = 1;  ///< ...which is at most so much
  bool listing = false;          ///< it is among RankState::listing

  // State of receiving.
  ibv_srq* srq = nullptr;
  ibv_recv_wr* emptied = nullptr;         ///< of all classes
  CreditBatch* credit_batches = nullptr;  ///< by hop class
  std::uint32_t* freed = nullptr;  ///< registered; what `credit` writes into the peer's `credited`
  ibv_send_wr credit;              ///< its wr_id is the link's address
  bool crediting = false;          ///< one is under way: its WR is the only one for credits...
  bool credit_again = false;       ///< ...and another must follow

  // For UD only.
  ibv_ah* ah = nullptr;
  std::uint32_t remote_qpn = 0, remote_qkey = 0;

  // ReceiveMode::none: where the peer's places for this link begin, or the message that it
  // lets be read.
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
struct Route {
  Edge* only = nullptr;  ///< the one edge of a message that is for another rank
  Edge* const* edges = nullptr;
  std::uint32_t count = 0;
  bool here = false;
};

}  // namespace rdmameter
