// SPDX-License-Identifier: Apache-2.0
// The state of a rank's measured path: what it works on, and what has happened. RankQueues builds
// it, the loops use it, RankRun reads and resets it between loops.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "topologies/ranks/loop/barrier.h"
#include "topologies/ranks/loop/message_buffer.h"

namespace rdmameter {

/// How a rank's QPs receive; what differs costs only the instance that has it.
enum class ReceiveMode {
  own,       ///< a receive queue per link
  shared,    ///< one for all links: the completion says which it was
  datagram,  ///< one UD QP: there are no credits
  none,      ///< RDMA WRITEs and READs: nothing arrives, what has completed is there
  sized,     ///< a receive queue per link, and each message has a length of its own
  labelled,  ///< as `own`, without immediate data: a message's last bytes are its label
};

struct RankState;
struct CollectiveWork;

/// Takes a message that is for this rank. @return  is its buffer kept (sent on)?
using Deliver = bool (*)(RankState&, MessageBuffer&, std::uint32_t label);

/// A round of an exchange: what is sent, and from which ranks something is awaited.
struct RoundWork {
  std::span<Hop* const> hops;
  std::span<const std::uint32_t> sources;
};

struct RankState {
  static constexpr int kPollAtOnce = 16;

  ibv_cq** cqs = nullptr;
  std::uint32_t cq_count = 0, cq_at = 0;  ///< which was looked at last; the next one is the next's
  std::uint32_t empty_cqs = 0;            ///< looked at in turn, and nothing found
  std::uint32_t classes = 1;
  const Route* routes = nullptr;  ///< by source or destination:
  unsigned route_shift = 0;       ///< kRankBits: by source; 0: by destination
  Deliver deliver = nullptr;
  Link** listing = nullptr;  ///< links with hops that are yet to be posted; room for all
  std::uint32_t listing_count = 0;
  Link** blocked = nullptr;  ///< links where hops wait; room for all
  std::uint32_t blocked_count = 0;
  /// UC: a credit later than this was lost with its message; 0: none.
  std::uint64_t reclaim_after_ns = 0;
  std::uint64_t blocked_since_ns = 0;
  Link* const* link_of_qpn = nullptr;  ///< ReceiveMode::shared
  std::uint32_t qpn_mask = 0;

  // What has happened since the queues were built; read and reset by the loops between their steps.
  std::uint64_t leaving = 0;                ///< own messages not yet retired
  std::uint64_t arrived = 0;                ///< messages for this rank
  std::uint64_t* received = nullptr;        ///< by source
  std::uint64_t target = 0;                 ///< of `received`, in the exchange under way
  std::uint64_t missing = 0;                ///< sources that this round still waits for...
  std::uint8_t* awaited = nullptr;          ///< ...1 for each of them
  const std::uint32_t* reply_to = nullptr;  ///< by source: the next stop of a round trip
  bool back = true;                         ///< a round trip has ended, or none is under way...
  std::uint8_t number = 0;                  ///< ...if it carries this (UC, UD)
  MessageBuffer* held = nullptr;            ///< its message's, to be emptied after its sample
  std::uint32_t me = 0;
  std::uint32_t last_byte = 0;  ///< offset of a message's number
  std::uint64_t polls = 0, cqes = 0, credits = 0, lists = 0;
  const void* checker = nullptr;  ///< what a checking `deliver` needs
  std::uint64_t wrong_bytes = 0, checked_bytes = 0;
  std::uint32_t wrong_from = 0;  ///< where the first wrong message began
  LoopResult end;                ///< Why::done while all is well

  // What a loop works on. Which fields count depends on the loop.
  Barrier* barrier = nullptr;
  CollectiveWork* collective = nullptr;
  // A round trip: its first hop, and where a message's number goes (UC, UD; else null).
  Hop* first = nullptr;
  std::uint8_t* departure = nullptr;
  std::span<const RoundWork> rounds;  ///< of an exchange
  // A stream: hops that are used in turn, and the ranks that messages go to, again and again.
  Hop* const* window = nullptr;
  std::uint32_t window_length = 0;
  const std::uint32_t* partners = nullptr;
  std::uint32_t partner_count = 0;  ///< 0: this rank sends nothing
  std::uint64_t expected = 0;       ///< messages for this rank by the end, since the first of all

  // What a loop has measured.
  Histogram* latency = nullptr;
  std::uint64_t operations = 0, lost = 0;
  std::uint64_t elapsed_ns = 0;  ///< of the whole loop
  std::uint64_t sending_ns = 0;  ///< up to the last completion of what this rank sent
  alignas(64) std::atomic<std::uint64_t> progress{0};  ///< so that a watchdog sees that all is well
};

}  // namespace rdmameter
