// SPDX-License-Identifier: Apache-2.0
#include "core/test_case/catalog.h"

#include <algorithm>
#include <array>

namespace rdmameter {
namespace {

constexpr Test call(std::string_view name, Verb verb, std::string_view description) {
  return {name, {}, Pattern::control, description, verb};
}

constexpr std::array kCatalog{
    Test{"send_lat", Opcode::send, Pattern::ping_pong, "SEND and RECEIVE, round trips"},
    Test{"send_cqe_lat", Opcode::send, Pattern::completion_latency,
         "SEND and RECEIVE, from post to completion"},
    Test{"send_bw", Opcode::send, Pattern::bandwidth, "SEND and RECEIVE, bandwidth"},
    Test{"send_imm_lat", Opcode::send_imm, Pattern::ping_pong, "SEND with immediate, round trips"},
    Test{"send_imm_bw", Opcode::send_imm, Pattern::bandwidth, "SEND with immediate, bandwidth"},
    Test{"write_lat", Opcode::rdma_write, Pattern::ping_pong,
         "RDMA WRITE, round trips: each end polls its memory"},
    Test{"write_cqe_lat", Opcode::rdma_write, Pattern::completion_latency,
         "RDMA WRITE, from post to completion"},
    Test{"write_bw", Opcode::rdma_write, Pattern::bandwidth, "RDMA WRITE, bandwidth"},
    Test{"write_imm_lat", Opcode::write_imm, Pattern::ping_pong,
         "RDMA WRITE with immediate, round trips: each end awaits a receive"},
    Test{"write_imm_bw", Opcode::write_imm, Pattern::bandwidth,
         "RDMA WRITE with immediate, bandwidth"},
    Test{"read_lat", Opcode::rdma_read, Pattern::completion_latency,
         "RDMA READ, from post to completion"},
    Test{"read_bw", Opcode::rdma_read, Pattern::bandwidth, "RDMA READ, bandwidth"},
    Test{"fetch_add_lat", Opcode::fetch_add, Pattern::completion_latency,
         "atomic fetch and add, from post to completion"},
    Test{"fetch_add_bw", Opcode::fetch_add, Pattern::bandwidth,
         "atomic fetch and add, bandwidth: each QP adds to its own word"},
    Test{"cmp_swap_lat", Opcode::cmp_swap, Pattern::completion_latency,
         "atomic compare and swap, from post to completion"},
    Test{"cmp_swap_bw", Opcode::cmp_swap, Pattern::bandwidth,
         "atomic compare and swap, bandwidth: each swap finds the value of the one before"},
    Test{"atomic_write_lat", Opcode::atomic_write, Pattern::ping_pong,
         "atomic write of 8 bytes, round trips: each end polls its memory"},
    Test{"atomic_write_cqe_lat", Opcode::atomic_write, Pattern::completion_latency,
         "atomic write of 8 bytes, from post to completion"},
    Test{"atomic_write_bw", Opcode::atomic_write, Pattern::bandwidth,
         "atomic write of 8 bytes, bandwidth"},
    Test{"flush_lat", Opcode::flush, Pattern::completion_latency,
         "RDMA WRITE and FLUSH of its bytes, from post to completion of the FLUSH"},
    Test{"flush_bw", Opcode::flush, Pattern::bandwidth,
         "RDMA WRITE and FLUSH of its bytes, bandwidth"},
    Test{"send_load", Opcode::send, Pattern::open_loop,
         "SEND and RECEIVE at a --rate, from due time to answer"},
    Test{"write_load", Opcode::rdma_write, Pattern::open_loop,
         "RDMA WRITE at a --rate, from due time to completion"},
    Test{"read_load", Opcode::rdma_read, Pattern::open_loop,
         "RDMA READ at a --rate, from due time to completion"},
    Test{"fetch_add_load", Opcode::fetch_add, Pattern::open_loop,
         "atomic fetch and add at a --rate, from due time to completion"},
    Test{"cmp_swap_load", Opcode::cmp_swap, Pattern::open_loop,
         "atomic compare and swap at a --rate, from due time to completion"},
    Test{"mix_load", Opcode::mix, Pattern::open_loop,
         "a --mix of requests at a --rate, from due time to completion or answer"},
    Test{"mcast_lat", Opcode::mcast_send, Pattern::ping_pong,
         "SEND to a multicast group, until its last receiver has answered"},
    Test{"mcast_bw", Opcode::mcast_send, Pattern::bandwidth,
         "SEND to a multicast group, bandwidth of all its receivers together"},
    Test{"tcp_lat", Opcode::tcp_send, Pattern::ping_pong,
         "no verbs: TCP between the same ends, round trips"},
    Test{"tcp_bw", Opcode::tcp_send, Pattern::bandwidth,
         "no verbs: TCP between the same ends, bandwidth"},
    call("reg_mr", Verb::reg_mr, "control path: registering memory"),
    call("dereg_mr", Verb::dereg_mr, "control path: deregistering memory"),
    call("create_cq", Verb::create_cq, "control path: creating a CQ of --depth entries"),
    call("destroy_cq", Verb::destroy_cq, "control path: destroying a CQ"),
    call("create_qp", Verb::create_qp, "control path: creating a QP"),
    call("destroy_qp", Verb::destroy_qp, "control path: destroying a QP"),
    call("modify_qp_init", Verb::modify_qp_init, "control path: a QP's step from RESET to INIT"),
    call("modify_qp_rtr", Verb::modify_qp_rtr,
         "control path: a QP's step from INIT to RTR, connected to itself"),
    call("modify_qp_rts", Verb::modify_qp_rts, "control path: a QP's step from RTR to RTS"),
    call("create_ah", Verb::create_ah,
         "control path: creating an address handle to the port itself"),
    call("destroy_ah", Verb::destroy_ah, "control path: destroying an address handle"),
    call("bind_mw_1", Verb::bind_mw_1, "control path: binding a memory window of type 1"),
    call("bind_mw_2", Verb::bind_mw_2, "control path: binding a memory window of type 2"),
    call("invalidate_mw", Verb::invalidate_mw,
         "control path: invalidating a memory window of type 2"),
    call("connect", Verb::connect,
         "control path: connecting one more QP, by the session (TCP) or by rdma_cm"),
    call("cm_resolve_addr", Verb::cm_resolve_addr,
         "control path: rdma_cm's first step, resolving the address"),
    call("cm_resolve_route", Verb::cm_resolve_route,
         "control path: rdma_cm's second step, resolving the route"),
    call("cm_connect", Verb::cm_connect,
         "control path: rdma_cm's third step, from the request until both QPs are in RTS"),
};
static_assert(std::ranges::max(kCatalog, {}, &Test::opcode).opcode <= kOpcodes.back().opcode,
              "an opcode lacks its entry in kOpcodes");

}  // namespace

TestCase Test::default_case() const {
  TestCase test_case = pattern == Pattern::control ? rdmameter::default_case(verb)
                                                   : rdmameter::default_case(opcode, pattern);
  test_case.test = name;
  return test_case;
}

bool Test::can_have(const Axis& axis) const {
  TestCase test_case = default_case();
  test_case.queues.sge = 2;
  test_case.queues.cq = Interface::extended;
  test_case.qps = 2;
  test_case.wait = Wait::event;
  test_case.rate = kSweep;
  if (axis.applies(test_case)) return true;
  if (!find_axis("transport")->applies(test_case)) return false;
  return std::ranges::any_of(std::array{Transport::uc, Transport::ud}, [&](Transport transport) {
    test_case.transport = transport;
    return axis.applies(test_case);
  });
}

std::span<const Test> catalog() {
  return kCatalog;
}

const Test* find_test(const TestCase& test_case) {
  const auto found = std::ranges::find_if(kCatalog, [&](const Test& test) {
    return test.opcode == test_case.opcode && test.pattern == test_case.pattern &&
           test.verb == test_case.verb;
  });
  return found == kCatalog.end() ? nullptr : found;
}

}  // namespace rdmameter
