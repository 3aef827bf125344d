// SPDX-License-Identifier: Apache-2.0
// The measured path of a rank: takes what arrives, delivers it or passes it on out of the very
// buffer it arrived in, gives buffers back.
#pragma once

#include <cstddef>
#include <ctime>

#include "topologies/ranks/loop/rank_state.h"

namespace rdmameter {

/// Counts what a comparison has found. @param origin  where the message began
inline void count_checked(RankState& state, std::uint64_t wrong, std::uint64_t compared,
                          std::uint32_t origin) noexcept {
  if (wrong != 0 && state.wrong_bytes == 0) [[unlikely]]
    state.wrong_from = origin;
  state.wrong_bytes += wrong;
  state.checked_bytes += compared;
}

inline MessageBuffer& buffer_of(std::uint64_t wr_id) noexcept {
  return *reinterpret_cast<MessageBuffer*>(wr_id);
}

inline Hop& hop_of(const ibv_send_wr& wr) noexcept {
  static_assert(offsetof(Hop, wr) == 0);
  return *reinterpret_cast<Hop*>(const_cast<ibv_send_wr*>(&wr));
}

template <ReceiveMode kReceive>
[[gnu::always_inline]] inline void set_label(Hop& hop, std::uint32_t label) noexcept {
  if constexpr (kReceive == ReceiveMode::labelled)
    put_label(hop.label, label);
  else
    hop.wr.imm_data = htonl(label);
}

template <ReceiveMode kReceive>
[[gnu::always_inline]] inline std::uint32_t label_of(const ibv_wc& wc) noexcept {
  if constexpr (kReceive == ReceiveMode::labelled)
    return take_label(buffer_of(wc.wr_id).hops->label);
  else
    return ntohl(wc.imm_data);
}

/// Looks anew how far a window is open. @return  is it?
inline bool open_window(CreditWindow& credit_window) noexcept {
  const std::uint32_t credited = *credit_window.credited + credit_window.reclaimed,
                      retired = credit_window.retired;
  const bool credited_less = static_cast<std::int32_t>(credited - retired) < 0;
  credit_window.limit = (credited_less ? credited : retired) + credit_window.room;
  return credit_window.limit != credit_window.sent;
}

/// Sends the list of a link. Its last WR alone gives a completion, and stands for all of them.
inline void post_list(RankState& state, Link& link) noexcept {
  ++state.lists;
  Hop& last = *link.last;
  last.wr.next = nullptr;
  last.wr.send_flags = IBV_SEND_SIGNALED;
  last.wr.wr_id = reinterpret_cast<std::uint64_t>(link.first);
  link.listed = 0;
  ibv_send_wr* bad;
  if (const int error = ibv_post_send(link.qp, &link.first->wr, &bad); error != 0) [[unlikely]]
    state.end = post_failure(error);
}

/// Sends whatever is listed: to be called after send(), before anything is waited for.
inline void post_lists(RankState& state) noexcept {
  for (std::uint32_t i = 0; i < state.listing_count; ++i) {
    Link& link = *state.listing[i];
    link.listing = false;
    if (link.listed != 0) [[likely]]
      post_list(state, link);
  }
  state.listing_count = 0;
}

/// Puts a hop on its link's list. A full list leaves at once, so that the buffers of its messages
/// come back in batches, as they are credited.
template <ReceiveMode kReceive>
[[gnu::always_inline]] inline void list_hop(RankState& state, Link& link,
                                            CreditWindow& credit_window, Hop& hop) noexcept {
  if constexpr (kReceive == ReceiveMode::datagram) {
    hop.wr.wr.ud.ah = link.ah;
    hop.wr.wr.ud.remote_qpn = link.remote_qpn;
    hop.wr.wr.ud.remote_qkey = link.remote_qkey;
  }
  if constexpr (kReceive == ReceiveMode::none) {
    hop.wr.wr.rdma.remote_addr = link.remote_address + hop.remote_offset;
    hop.wr.wr.rdma.rkey = link.remote_key;
  }
  ++credit_window.sent;
  hop.wr.send_flags = 0;
  if (link.listed == 0) {
    link.first = &hop;
    if (!link.listing) state.listing[state.listing_count++] = &link;
    link.listing = true;
  } else {
    link.last->wr.next = &hop.wr;
  }
  link.last = &hop;
  if (++link.listed == link.max_listed) post_list(state, link);
}

/// A window that seems closed: it may have been opened since, unless others wait for it already.
template <ReceiveMode kReceive>
[[gnu::noinline]] void send_or_wait(RankState& state, Link& link, CreditWindow& credit_window,
                                    Hop& hop) noexcept {
  if (credit_window.first == nullptr && open_window(credit_window)) {
    list_hop<kReceive>(state, link, credit_window, hop);
    return;
  }
  hop.behind = nullptr;
  (credit_window.first == nullptr ? credit_window.first : credit_window.last->behind) = &hop;
  credit_window.last = &hop;
  credit_window.limit = credit_window.sent;
  if (link.waiting++ == 0) state.blocked[state.blocked_count++] = &link;
}

/// Lists a hop for its link, or lets it wait for room. The caller posts the lists.
template <ReceiveMode kReceive>
[[gnu::always_inline]] inline void send(RankState& state, Hop& hop,
                                        std::uint32_t hop_class) noexcept {
  Link& link = *hop.link;
  CreditWindow& credit_window = link.credit_windows[hop_class];
  hop.credit_window = &credit_window;
  if (credit_window.sent != credit_window.limit) [[likely]]
    list_hop<kReceive>(state, link, credit_window, hop);
  else
    send_or_wait<kReceive>(state, link, credit_window, hop);
}

/// Lists what waits and has room by now; what has come furthest goes first.
template <ReceiveMode kReceive>
[[gnu::noinline]] void send_waiting(RankState& state) noexcept {
  for (std::uint32_t i = state.blocked_count; i-- > 0;) {
    Link& link = *state.blocked[i];
    for (std::uint32_t hop_class = state.classes; hop_class-- > 0;) {
      CreditWindow& credit_window = link.credit_windows[hop_class];
      if (credit_window.first == nullptr || !open_window(credit_window)) continue;
      while (credit_window.first != nullptr && credit_window.sent != credit_window.limit) {
        Hop& hop = *credit_window.first;
        credit_window.first = hop.behind;
        --link.waiting;
        list_hop<kReceive>(state, link, credit_window, hop);
      }
      if (credit_window.first != nullptr) credit_window.limit = credit_window.sent;
    }
    if (link.waiting == 0) state.blocked[i] = state.blocked[--state.blocked_count];
  }
}

inline void send_credit(RankState& state, Link& link) noexcept {
  if (link.crediting) {
    link.credit_again = true;
    return;
  }
  link.crediting = true;
  link.credit_again = false;
  ++state.credits;
  ibv_send_wr* bad;
  if (const int error = ibv_post_send(link.qp, &link.credit, &bad); error != 0) [[unlikely]]
    state.end = post_failure(error);
}

/// Posts a link's emptied buffers, then credits the peer with them: in this order, so that a peer
/// with a credit finds a receive, and no RNR NAK is ever due.
template <ReceiveMode kReceive>
[[gnu::noinline]] void give_back(RankState& state, Link& link) noexcept {
  ibv_recv_wr* bad;
  const int error = kReceive == ReceiveMode::shared
                        ? ibv_post_srq_recv(link.srq, link.emptied, &bad)
                        : ibv_post_recv(link.qp, link.emptied, &bad);
  if (error != 0) [[unlikely]]
    state.end = post_failure(error);
  if constexpr (kReceive == ReceiveMode::datagram) {
    link.credit_batches->emptied = 0;
  } else {
    for (const ibv_recv_wr* wr = link.emptied; wr != nullptr; wr = wr->next) {
      const std::uint32_t hop_class = buffer_of(wr->wr_id).hop_class;
      ++link.freed[hop_class];
      link.credit_batches[hop_class].emptied = 0;
    }
    send_credit(state, link);
  }
  link.emptied = nullptr;
}

/// The buffer is free.
template <ReceiveMode kReceive>
[[gnu::always_inline]] inline void empty(RankState& state, MessageBuffer& buffer) noexcept {
  Link& link = *buffer.home;
  buffer.receive.next = link.emptied;
  link.emptied = &buffer.receive;
  CreditBatch& batch = link.credit_batches[buffer.hop_class];
  if (++batch.emptied == batch.size) give_back<kReceive>(state, link);
}

template <ReceiveMode kReceive>
[[gnu::always_inline]] inline void pass_on(RankState& state, Hop& hop, Edge& edge,
                                           std::uint32_t next) noexcept {
  set_label<kReceive>(hop, next);
  hop.link = edge.take();
  send<kReceive>(state, hop, class_of(next));
}

template <ReceiveMode kReceive>
[[gnu::always_inline]] inline void take_arrival(RankState& state, const ibv_wc& wc) noexcept {
  MessageBuffer& buffer = buffer_of(wc.wr_id);
  const std::uint32_t arrived = label_of<kReceive>(wc);
  if constexpr (kReceive == ReceiveMode::shared)
    buffer.home = state.link_of_qpn[wc.qp_num & state.qpn_mask];
  buffer.hop_class = class_of(arrived);
  const Route& route = state.routes[arrived >> state.route_shift & kRankMask];
  buffer.leaving = route.count;
  if constexpr (kReceive == ReceiveMode::sized) buffer.hops->wr.sg_list->length = wc.byte_len;
  if (route.only != nullptr) [[likely]] {
    pass_on<kReceive>(state, *buffer.hops, *route.only, arrived + kNextClass);
    return;
  }
  for (std::uint32_t i = 0; i < route.count; ++i)
    pass_on<kReceive>(state, buffer.hops[i], *route.edges[i], arrived + kNextClass);
  if (route.here && state.deliver(state, buffer, arrived)) return;
  if (buffer.leaving == 0) empty<kReceive>(state, buffer);
}

/// Handles the completion of a list's last WR: the whole list has left.
template <ReceiveMode kReceive>
[[gnu::always_inline]] inline void take_sent(RankState& state, const ibv_wc& wc) noexcept {
  for (const auto* wr = reinterpret_cast<const ibv_send_wr*>(wc.wr_id); wr != nullptr;) {
    Hop& hop = hop_of(*wr);
    wr = wr->next;
    const std::uint32_t retired = ++hop.credit_window->retired;
    // Where there are no credits, what has left makes room.
    if constexpr (kReceive == ReceiveMode::datagram || kReceive == ReceiveMode::none)
      *hop.credit_window->credited = retired;
    if (hop.buffer == nullptr) {
      hop.busy = false;
      --state.leaving;
    } else if (--hop.buffer->leaving == 0) {
      empty<kReceive>(state, *hop.buffer);
    }
  }
}

/// On UC a lost message takes its buffer's credit with it. A link that has waited for so long takes
/// all of its credits back: at worst it overruns a slow peer, which then loses more.
[[gnu::cold]] [[gnu::noinline]] inline void reclaim_lost_credits(RankState& state) noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::uint64_t now = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                            static_cast<std::uint64_t>(time.tv_nsec);
  if (state.blocked_since_ns == 0) state.blocked_since_ns = now;
  if (now - state.blocked_since_ns < state.reclaim_after_ns) return;
  state.blocked_since_ns = 0;
  for (std::uint32_t i = 0; i < state.blocked_count; ++i) {
    Link& link = *state.blocked[i];
    for (std::uint32_t hop_class = 0; hop_class < state.classes; ++hop_class) {
      CreditWindow& credit_window = link.credit_windows[hop_class];
      credit_window.reclaimed = credit_window.sent - *credit_window.credited;
    }
  }
}

/// Takes what has completed, and passes it on. Sets state.end where something failed.
/// @return  completions taken
template <ReceiveMode kReceive>
int step(RankState& state) noexcept {
  ibv_wc wcs[RankState::kPollAtOnce];
  if (++state.cq_at >= state.cq_count) state.cq_at = 0;
  const int polled = ibv_poll_cq(state.cqs[state.cq_at], RankState::kPollAtOnce, wcs);
  for (int i = 0; i < polled; ++i) {
    const ibv_wc& wc = wcs[i];
    if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
      state.end = no_completion(1, wc);
      return polled;
    }
    if constexpr (kReceive == ReceiveMode::none) {
      take_sent<kReceive>(state, wc);
    } else if ((wc.opcode & IBV_WC_RECV) != 0) {
      take_arrival<kReceive>(state, wc);
    } else if (wc.opcode == IBV_WC_SEND) {
      take_sent<kReceive>(state, wc);
    } else {
      Link& link = *reinterpret_cast<Link*>(wc.wr_id);
      link.crediting = false;
      if (link.credit_again) send_credit(state, link);
    }
  }
  if (polled < 0) [[unlikely]]
    state.end = {.why = LoopResult::Why::poll_failed, .error = polled};
  if (state.blocked_count != 0) {
    send_waiting<kReceive>(state);
    if (state.reclaim_after_ns != 0) {
      if (polled == 0)
        reclaim_lost_credits(state);
      else
        state.blocked_since_ns = 0;
    }
  }
  post_lists(state);
  return polled;
}

}  // namespace rdmameter
