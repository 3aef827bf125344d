// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rdmameter {

/// The operation of a request. Its number is sent to the peer, so a new one goes to the end.
enum class Opcode : std::uint64_t {
  send,
  rdma_write,
  rdma_read,
  send_imm,
  write_imm,
  fetch_add,
  cmp_swap,
  tcp_send,    ///< over a socket, not over verbs
  mcast_send,  ///< to a multicast group
  mix,         ///< of several opcodes, each request as drawn: see core/test_case/mix.h
  atomic_write,
  flush,  ///< an RDMA WRITE, and a FLUSH of its bytes behind it
};

/// The properties of an opcode that the rest of the program needs. How it is posted stands
/// in core/engine/loop/table_post.cpp, what a device can do in core/verbs/capability.cpp.
struct OpcodeTraits {
  Opcode opcode;
  std::string_view name;  ///< in the log
  /// Has each message its place at the other end? (It names memory there; over TCP, whose messages
  /// come in their order, both ends take the places in turn.)
  bool one_sided = false;
  bool takes_receive = false;
  bool immediate = false;
  bool atomic = false;
  bool returns_data = false;
  bool counts_as_read = false;      ///< against those that a QP may have under way at its peer
  bool by_value = false;            ///< 8 bytes that ibv_wr_...() takes itself, and no SGE has
  bool flushes = false;             ///< each message is a request more, which completes for both
  bool ud_alone = false;            ///< no other transport has it, so --transport does not apply
  std::string_view needs = {};      ///< key of a capability; empty: every device has it
  std::string_view posted_by = {};  ///< the ibv_wr_...() by which alone it is posted
  std::string_view noun = "reads";  ///< of those that counts_as_read: "UC has no reads"
};

inline constexpr std::array kOpcodes{
    OpcodeTraits{.opcode = Opcode::send, .name = "send", .takes_receive = true},
    OpcodeTraits{.opcode = Opcode::rdma_write, .name = "write", .one_sided = true},
    OpcodeTraits{.opcode = Opcode::rdma_read,
                 .name = "read",
                 .one_sided = true,
                 .returns_data = true,
                 .counts_as_read = true},
    OpcodeTraits{
        .opcode = Opcode::send_imm, .name = "send_imm", .takes_receive = true, .immediate = true},
    OpcodeTraits{.opcode = Opcode::write_imm,
                 .name = "write_imm",
                 .one_sided = true,
                 .takes_receive = true,
                 .immediate = true},
    OpcodeTraits{.opcode = Opcode::fetch_add,
                 .name = "fetch_add",
                 .one_sided = true,
                 .atomic = true,
                 .returns_data = true,
                 .counts_as_read = true,
                 .needs = "atomics",
                 .noun = "atomics"},
    OpcodeTraits{.opcode = Opcode::cmp_swap,
                 .name = "cmp_swap",
                 .one_sided = true,
                 .atomic = true,
                 .returns_data = true,
                 .counts_as_read = true,
                 .needs = "atomics",
                 .noun = "atomics"},
    OpcodeTraits{.opcode = Opcode::tcp_send, .name = "tcp_send", .one_sided = true},
    OpcodeTraits{.opcode = Opcode::mcast_send,
                 .name = "mcast_send",
                 .takes_receive = true,
                 .ud_alone = true},
    OpcodeTraits{.opcode = Opcode::mix, .name = "mix", .one_sided = true},
    OpcodeTraits{.opcode = Opcode::atomic_write,
                 .name = "atomic_write",
                 .one_sided = true,
                 .counts_as_read = true,
                 .by_value = true,
                 .needs = "atomic_write",
                 .posted_by = "ibv_wr_atomic_write()",
                 .noun = "atomic writes"},
    OpcodeTraits{.opcode = Opcode::flush,
                 .name = "flush",
                 .one_sided = true,
                 .counts_as_read = true,
                 .flushes = true,
                 .needs = "flush",
                 .posted_by = "ibv_wr_flush()",
                 .noun = "FLUSH"},
};

/// Does entry i of a table belong to opcode i?
template <typename Table>
constexpr bool in_order_of_opcodes(const Table& table) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].opcode != static_cast<Opcode>(i)) return false;
  return true;
}
static_assert(in_order_of_opcodes(kOpcodes));

/// @param opcode  one of the list, which a number from the wire need not be
constexpr const OpcodeTraits& traits(Opcode opcode) {
  return kOpcodes[static_cast<std::size_t>(opcode)];
}

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
  // A responder takes part in these: see has_responder().
  connect,          ///< all of it, of one more QP
  cm_resolve_addr,  ///< rdma_cm's steps of it
  cm_resolve_route,
  cm_connect,  ///< request, answer, RTS
};

/// What a control path test calls its verb for.
enum class ControlObject : std::uint8_t { memory, cq, qp, ah, window, connection };

/// @param verb  one of the list, which a number from the wire need not be
constexpr ControlObject object_of(Verb verb) {
  switch (verb) {
    using enum Verb;
    case reg_mr:
    case dereg_mr:
      return ControlObject::memory;
    case create_cq:
    case destroy_cq:
      return ControlObject::cq;
    case create_qp:
    case destroy_qp:
    case modify_qp_init:
    case modify_qp_rtr:
    case modify_qp_rts:
      return ControlObject::qp;
    case create_ah:
    case destroy_ah:
      return ControlObject::ah;
    case bind_mw_1:
    case bind_mw_2:
    case invalidate_mw:
      return ControlObject::window;
    case connect:
    case cm_resolve_addr:
    case cm_resolve_route:
    case cm_connect:
      break;
  }
  return ControlObject::connection;
}

/// Does a responder take part?
constexpr bool has_responder(Verb verb) {
  return object_of(verb) == ControlObject::connection;
}

/// A sample ends with a completion, not with the call's return.
constexpr bool completes(Verb verb) {
  return object_of(verb) == ControlObject::window;
}

}  // namespace rdmameter
