// SPDX-License-Identifier: Apache-2.0
// The measured path of a rank: takes what arrives, delivers it or passes it on out of the very
// buffer it arrived in, gives buffers back.
#pragma once

#include <cstddef>
#include <ctime>

#include "core/loop/step.h"
#include "topologies/parcel.h"

namespace rdmameter {

/// How a rank's QPs receive; what differs costs only the instance that has it.
enum class Inbox {
  own,       ///< a receive queue per link
  shared,    ///< one for all links: the completion says which it was
  datagram,  ///< one UD QP: nobody grants anything
  none,      ///< RDMA WRITEs and READs: nothing arrives, what has completed is there
};

struct Relay;

/// Takes a message that is for this rank. @return  is its buffer kept (sent on)?
using Deliver = bool (*)(Relay&, Parcel&, std::uint32_t label);

struct Relay {
  static constexpr int kPollAtOnce = 16;

  ibv_cq** cqs = nullptr;
  std::uint32_t cq_count = 0, cq_at = 0;  ///< which was looked at last; the next one is the next's
  std::uint32_t empty_cqs = 0;            ///< looked at in turn, and nothing found
  std::uint32_t classes = 1;
  const Way* ways = nullptr;  ///< by source or destination:
  unsigned way_shift = 0;     ///< kRankBits: by source; 0: by destination
  Deliver deliver = nullptr;
  Link** listing = nullptr;  ///< links with legs that are yet to be posted; room for all
  std::uint32_t listing_count = 0;
  Link** blocked = nullptr;  ///< links where legs wait; room for all
  std::uint32_t blocked_count = 0;
  std::uint64_t forgive_ns = 0;  ///< UC: a grant later than this was lost with its message; 0: none
  std::uint64_t blocked_since_ns = 0;
  Link* const* link_of_qpn = nullptr;  ///< Inbox::shared
  std::uint32_t qpn_mask = 0;

  // What has happened; read and reset by the loops between their steps.
  std::uint64_t leaving = 0;                ///< own messages not yet retired
  std::uint64_t arrived = 0;                ///< messages for this rank
  std::uint64_t* received = nullptr;        ///< by source
  std::uint64_t target = 0;                 ///< of `received`, in the exchange under way
  std::uint64_t missing = 0;                ///< sources that this round still waits for...
  std::uint8_t* awaited = nullptr;          ///< ...1 for each of them
  const std::uint32_t* reply_to = nullptr;  ///< by source: where a walk goes on from here
  bool back = false;                        ///< a walk has come back...
  std::uint8_t number = 0;                  ///< ...if it carries this (UC, UD)
  std::uint32_t me = 0;
  std::uint32_t last_byte = 0;  ///< offset of a message's number
  std::uint64_t polls = 0, cqes = 0, grants = 0, lists = 0;
  const void* checker = nullptr;  ///< what a checking `deliver` needs
  std::uint64_t wrong_bytes = 0, checked_bytes = 0;
  LoopEnd end;  ///< Why::done while all is well
};

inline Parcel& parcel_of(std::uint64_t wr_id) noexcept {
  return *reinterpret_cast<Parcel*>(wr_id);
}

inline Leg& leg_of(const ibv_send_wr& wr) noexcept {
  static_assert(offsetof(Leg, wr) == 0);
  return *reinterpret_cast<Leg*>(const_cast<ibv_send_wr*>(&wr));
}

/// Looks anew how far a gate is open. @return  is it?
inline bool open_gate(const Link& link, HopGate& gate) noexcept {
  const std::uint32_t granted = *gate.granted + gate.forgiven, retired = gate.retired;
  const bool granted_less = static_cast<std::int32_t>(granted - retired) < 0;
  gate.limit = (granted_less ? granted : retired) + link.depth;
  return gate.limit != gate.sent;
}

/// Sends the list of a link. Its last WR alone gives a completion, and stands for all of them.
inline void post_list(Relay& relay, Link& link) noexcept {
  ++relay.lists;
  Leg& last = *link.last;
  last.wr.next = nullptr;
  last.wr.send_flags = IBV_SEND_SIGNALED;
  last.wr.wr_id = reinterpret_cast<std::uint64_t>(link.first);
  link.listed = 0;
  ibv_send_wr* bad;
  if (const int error = ibv_post_send(link.qp, &link.first->wr, &bad); error != 0) [[unlikely]]
    relay.end = post_failure(error);
}

/// Sends whatever is listed: to be called after send(), before anything is waited for.
inline void post_lists(Relay& relay) noexcept {
  for (std::uint32_t i = 0; i < relay.listing_count; ++i) {
    Link& link = *relay.listing[i];
    link.listing = false;
    if (link.listed != 0) [[likely]]
      post_list(relay, link);
  }
  relay.listing_count = 0;
}

/// Puts a leg on its link's list. A full list leaves at once, so that the buffers of its messages
/// come back in lots, as they are granted.
template <Inbox kInbox>
[[gnu::always_inline]] inline void list_leg(Relay& relay, Link& link, HopGate& gate,
                                            Leg& leg) noexcept {
  if constexpr (kInbox == Inbox::datagram) {
    leg.wr.wr.ud.ah = link.ah;
    leg.wr.wr.ud.remote_qpn = link.remote_qpn;
    leg.wr.wr.ud.remote_qkey = link.remote_qkey;
  }
  if constexpr (kInbox == Inbox::none) {
    leg.wr.wr.rdma.remote_addr = link.remote_address + leg.remote_offset;
    leg.wr.wr.rdma.rkey = link.remote_key;
  }
  ++gate.sent;
  leg.wr.send_flags = 0;
  if (link.listed == 0) {
    link.first = &leg;
    if (!link.listing) relay.listing[relay.listing_count++] = &link;
    link.listing = true;
  } else {
    link.last->wr.next = &leg.wr;
  }
  link.last = &leg;
  if (++link.listed == link.lot) post_list(relay, link);
}

/// A gate that seems closed: it may have been opened since, unless others wait there already.
template <Inbox kInbox>
[[gnu::noinline]] void send_or_wait(Relay& relay, Link& link, HopGate& gate, Leg& leg) noexcept {
  if (gate.first == nullptr && open_gate(link, gate)) {
    list_leg<kInbox>(relay, link, gate, leg);
    return;
  }
  leg.behind = nullptr;
  (gate.first == nullptr ? gate.first : gate.last->behind) = &leg;
  gate.last = &leg;
  gate.limit = gate.sent;
  if (link.waiting++ == 0) relay.blocked[relay.blocked_count++] = &link;
}

/// Lists a leg for its link, or lets it wait for room. Whoever calls posts the lists.
template <Inbox kInbox>
[[gnu::always_inline]] inline void send(Relay& relay, Leg& leg, std::uint32_t hop_class) noexcept {
  Link& link = *leg.link;
  HopGate& gate = link.gates[hop_class];
  leg.gate = &gate;
  if (gate.sent != gate.limit) [[likely]]
    list_leg<kInbox>(relay, link, gate, leg);
  else
    send_or_wait<kInbox>(relay, link, gate, leg);
}

/// Lists what waits and has room by now; what is furthest on its way goes first.
template <Inbox kInbox>
[[gnu::noinline]] void send_waiting(Relay& relay) noexcept {
  for (std::uint32_t i = relay.blocked_count; i-- > 0;) {
    Link& link = *relay.blocked[i];
    for (std::uint32_t hop_class = relay.classes; hop_class-- > 0;) {
      HopGate& gate = link.gates[hop_class];
      if (gate.first == nullptr || !open_gate(link, gate)) continue;
      while (gate.first != nullptr && gate.sent != gate.limit) {
        Leg& leg = *gate.first;
        gate.first = leg.behind;
        --link.waiting;
        list_leg<kInbox>(relay, link, gate, leg);
      }
      if (gate.first != nullptr) gate.limit = gate.sent;
    }
    if (link.waiting == 0) relay.blocked[i] = relay.blocked[--relay.blocked_count];
  }
}

inline void send_grant(Relay& relay, Link& link) noexcept {
  if (link.granting) {
    link.grant_again = true;
    return;
  }
  link.granting = true;
  link.grant_again = false;
  ++relay.grants;
  ibv_send_wr* bad;
  if (const int error = ibv_post_send(link.qp, &link.grant, &bad); error != 0) [[unlikely]]
    relay.end = post_failure(error);
}

/// Posts a link's emptied buffers, then tells the peer of them: in this order, so that whoever has
/// a grant finds a receive, and no RNR NAK is ever due.
template <Inbox kInbox>
[[gnu::noinline]] void give_back(Relay& relay, Link& link) noexcept {
  ibv_recv_wr* bad;
  const int error = kInbox == Inbox::shared ? ibv_post_srq_recv(link.srq, link.emptied, &bad)
                                            : ibv_post_recv(link.qp, link.emptied, &bad);
  if (error != 0) [[unlikely]]
    relay.end = post_failure(error);
  if constexpr (kInbox != Inbox::datagram) {
    for (const ibv_recv_wr* wr = link.emptied; wr != nullptr; wr = wr->next)
      ++link.freed[parcel_of(wr->wr_id).hop_class];
    send_grant(relay, link);
  }
  link.emptied = nullptr;
  link.emptied_count = 0;
}

/// A parcel's buffer is free.
template <Inbox kInbox>
[[gnu::always_inline]] inline void empty(Relay& relay, Parcel& parcel) noexcept {
  Link& link = *parcel.home;
  parcel.receive.next = link.emptied;
  link.emptied = &parcel.receive;
  if (++link.emptied_count == link.lot) give_back<kInbox>(relay, link);
}

template <Inbox kInbox>
[[gnu::always_inline]] inline void pass_on(Relay& relay, Leg& leg, Edge& edge,
                                           std::uint32_t next) noexcept {
  leg.wr.imm_data = htonl(next);
  leg.link = edge.take();
  send<kInbox>(relay, leg, class_of(next));
}

template <Inbox kInbox>
[[gnu::always_inline]] inline void take_arrival(Relay& relay, const ibv_wc& wc) noexcept {
  Parcel& parcel = parcel_of(wc.wr_id);
  const std::uint32_t arrived = ntohl(wc.imm_data);
  if constexpr (kInbox == Inbox::shared)
    parcel.home = relay.link_of_qpn[wc.qp_num & relay.qpn_mask];
  parcel.hop_class = class_of(arrived);
  const Way& way = relay.ways[arrived >> relay.way_shift & (kMostTopologyRanks - 1)];
  parcel.leaving = way.count;
  if (way.only != nullptr) [[likely]] {
    pass_on<kInbox>(relay, *parcel.legs, *way.only, arrived + kNextClass);
    return;
  }
  for (std::uint32_t i = 0; i < way.count; ++i)
    pass_on<kInbox>(relay, parcel.legs[i], *way.edges[i], arrived + kNextClass);
  if (way.here && relay.deliver(relay, parcel, arrived)) return;
  if (parcel.leaving == 0) empty<kInbox>(relay, parcel);
}

/// What a list's last WR tells: all of it has left.
template <Inbox kInbox>
[[gnu::always_inline]] inline void take_sent(Relay& relay, const ibv_wc& wc) noexcept {
  for (const auto* wr = reinterpret_cast<const ibv_send_wr*>(wc.wr_id); wr != nullptr;) {
    Leg& leg = leg_of(*wr);
    wr = wr->next;
    const std::uint32_t retired = ++leg.gate->retired;
    // Where nobody grants anything, what has left makes room.
    if constexpr (kInbox == Inbox::datagram || kInbox == Inbox::none) *leg.gate->granted = retired;
    if (leg.parcel == nullptr) {
      leg.busy = false;
      --relay.leaving;
    } else if (--leg.parcel->leaving == 0) {
      empty<kInbox>(relay, *leg.parcel);
    }
  }
}

/// On UC a lost message takes its buffer's grant with it. A link that has waited for so long takes
/// all of its grants back: at worst it overruns a slow peer, which then loses more.
[[gnu::cold]] [[gnu::noinline]] inline void forgive(Relay& relay) noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::uint64_t now = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                            static_cast<std::uint64_t>(time.tv_nsec);
  if (relay.blocked_since_ns == 0) relay.blocked_since_ns = now;
  if (now - relay.blocked_since_ns < relay.forgive_ns) return;
  relay.blocked_since_ns = 0;
  for (std::uint32_t i = 0; i < relay.blocked_count; ++i) {
    Link& link = *relay.blocked[i];
    for (std::uint32_t hop_class = 0; hop_class < relay.classes; ++hop_class) {
      HopGate& gate = link.gates[hop_class];
      gate.forgiven = gate.sent - *gate.granted;
    }
  }
}

/// Takes what has completed, and passes it on. Sets relay.end where something failed.
/// @return  completions taken
template <Inbox kInbox>
int step(Relay& relay) noexcept {
  ibv_wc wcs[Relay::kPollAtOnce];
  if (++relay.cq_at >= relay.cq_count) relay.cq_at = 0;
  const int polled = ibv_poll_cq(relay.cqs[relay.cq_at], Relay::kPollAtOnce, wcs);
  for (int i = 0; i < polled; ++i) {
    const ibv_wc& wc = wcs[i];
    if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
      relay.end = no_completion(1, wc);
      return polled;
    }
    if constexpr (kInbox == Inbox::none) {
      take_sent<kInbox>(relay, wc);
    } else if ((wc.opcode & IBV_WC_RECV) != 0) {
      take_arrival<kInbox>(relay, wc);
    } else if (wc.opcode == IBV_WC_SEND) {
      take_sent<kInbox>(relay, wc);
    } else {
      Link& link = *reinterpret_cast<Link*>(wc.wr_id);
      link.granting = false;
      if (link.grant_again) send_grant(relay, link);
    }
  }
  if (polled < 0) [[unlikely]]
    relay.end = {.why = LoopEnd::Why::poll_failed, .error = polled};
  if (relay.blocked_count != 0) {
    send_waiting<kInbox>(relay);
    if (relay.forgive_ns != 0) {
      if (polled == 0)
        forgive(relay);
      else
        relay.blocked_since_ns = 0;
    }
  }
  post_lists(relay);
  return polled;
}

}  // namespace rdmameter
