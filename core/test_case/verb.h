// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rdmameter {

/// The verb that a control path test calls.
enum class Verb : std::uint64_t {
  reg_mr,
  dereg_mr,
  create_cq,
  destroy_cq,
  create_qp,
  destroy_qp,
  modify_qp_init,  ///< RESET -> INIT
  modify_qp_rtr,   ///< INIT -> RTR
  modify_qp_rts,   ///< RTR -> RTS
  create_ah,
  destroy_ah,
  bind_mw_1,      ///< a memory window of type 1, by ibv_bind_mw
  bind_mw_2,      ///< of type 2, by a request of the send queue
  invalidate_mw,  ///< of type 2
  // A responder takes part in these, and in none before them: see has_responder().
  connect,          ///< all of it, of one more QP
  cm_resolve_addr,  ///< rdma_cm's steps of it
  cm_resolve_route,
  cm_connect,  ///< request, answer, RTS
};

/// Does a responder take part?
constexpr bool has_responder(Verb verb) {
  return verb >= Verb::connect;
}

/// A sample ends with a completion, not with the call's return.
constexpr bool completes(Verb verb) {
  return verb == Verb::bind_mw_1 || verb == Verb::bind_mw_2 || verb == Verb::invalidate_mw;
}

}  // namespace rdmameter
