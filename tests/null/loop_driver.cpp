// SPDX-License-Identifier: Apache-2.0
// Runs one measured loop on the null device, for counting instructions from outside:
//   loop_driver TEST ITERATIONS [post_list [signal_every]] [wr | extended | qps] [idle] [blame |
//   peak] loop_driver due_times ITERATIONS: only what an open loop's due times cost it
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "core/engine/account/load.h"
#include "core/engine/loop/open_loop.h"
#include "tests/null/null_case.h"

namespace rdmameter {
namespace null_verbs {

constexpr unsigned kEmptyPolls = 10;
ibv_cq* idle_cq = nullptr;

/// A poll of the null device that finds nothing for the first ten times.
int poll_cq_idly(ibv_cq* cq, int max, ibv_wc* wcs) {
  static unsigned polls = 0;
  return cq == idle_cq && polls++ % (kEmptyPolls + 1) != kEmptyPolls ? 0 : poll_cq(cq, max, wcs);
}

}  // namespace null_verbs

namespace {

/// An open loop takes each due time twice: when the request arrives, and when it is posted.
/// @return  a sum that depends on all of them
template <class Clock>
[[gnu::noinline]] std::uint64_t run(const OpenLoop& load, const Clock& clock,
                                    std::uint64_t requests) noexcept {
  DueTimes<Clock> arriving(load, 0, clock), posting(load, 1, clock);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < requests; ++i) {
    sum += arriving.now() ^ posting.now();
    arriving.advance();
    posting.advance();
  }
  return sum;
}

TestCase mix_of_sends() {
  TestCase test_case = null_case(Opcode::mix, Pattern::open_loop);
  test_case.mix = "read:40+send:30+write:20+fetch_add:10";
  return test_case;
}

int draw_due_times(std::uint64_t requests) {
  TestCase test_case = null_case(Opcode::send, Pattern::open_loop);
  test_case.iterations = requests;
  OpenLoopSchedule offered(test_case, 1);
  const bool drawn = run(offered.loop(), fixed_clock().counter, requests) != 0;
  std::printf("%llu\n", static_cast<unsigned long long>(requests));
  return drawn ? 0 : 1;
}

}  // namespace
}  // namespace rdmameter

int main(int argc, char** argv) {
  using namespace rdmameter;
  const std::map<std::string, TestCase> cases{
      {"send_lat", null_case(Opcode::send, Pattern::ping_pong)},
      {"send_lat_ud", null_case(Opcode::send, Pattern::ping_pong, Transport::ud)},
      {"write_lat", null_case(Opcode::rdma_write, Pattern::ping_pong)},
      {"write_lat_uc", null_case(Opcode::rdma_write, Pattern::ping_pong, Transport::uc)},
      {"atomic_write_lat", null_case(Opcode::atomic_write, Pattern::ping_pong)},
      {"read_lat", null_case(Opcode::rdma_read, Pattern::completion_latency)},
      {"write_imm_lat", null_case(Opcode::write_imm, Pattern::ping_pong)},
      {"fetch_add_lat", null_case(Opcode::fetch_add, Pattern::completion_latency)},
      {"write_bw", null_case(Opcode::rdma_write, Pattern::bandwidth)},
      {"send_bw_ud", null_case(Opcode::send, Pattern::bandwidth, Transport::ud)},
      {"send_imm_bw_ud", null_case(Opcode::send_imm, Pattern::bandwidth, Transport::ud)},
      {"send_load", null_case(Opcode::send, Pattern::open_loop)},
      {"write_load", null_case(Opcode::rdma_write, Pattern::open_loop)},
      {"mix_load", null_case(Opcode::mix, Pattern::open_loop)},
      {"mix_load_of_sends", mix_of_sends()},
      {"receive", null_case(Opcode::send, Pattern::bandwidth)},
      {"receive_ud", null_case(Opcode::send, Pattern::bandwidth, Transport::ud)},
      {"receive_imm_ud", null_case(Opcode::send_imm, Pattern::bandwidth, Transport::ud)},
  };
  if (argc == 3 && std::string_view(argv[1]) == "due_times")
    return draw_due_times(std::strtoull(argv[2], nullptr, 10));
  if (argc < 3 || !cases.contains(argv[1])) return 2;
  TestCase test_case = cases.at(argv[1]);
  test_case.iterations = std::strtoull(argv[2], nullptr, 10);
  // All requests of an open loop are due at once: else a machine's speed would be counted, too.
  test_case.rate = 1'000'000'000;
  test_case.arrivals = ArrivalPattern::fixed;
  const auto last_is = [&](std::string_view word) {
    const bool is = word == argv[argc - 1];
    if (is) --argc;
    return is;
  };
  if (last_is("blame")) {
    test_case.blame = true;
    test_case.late_ns = 1'000'000'000;  // what valgrind is away for is not counted
  }
  test_case.peak = last_is("peak");
  const bool idle = last_is("idle");
  const std::string_view last = argv[argc - 1];
  if (last == "qps") {
    test_case.qps = 16;
    --argc;
  } else if (last == "wr" || last == "extended") {
    test_case.queues.api = Interface::extended;
    test_case.queues.cq = last == "extended" ? Interface::extended : Interface::classic;
    --argc;
  }
  if (argc > 3) test_case.queues.post_list = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4) test_case.queues.signal_every = std::strtoull(argv[4], nullptr, 10);
  const bool receives = std::string_view(argv[1]).starts_with("receive");
  NullSide runner{test_case,
                  receives ? Role::responder : Role::initiator,
                  {.silent_after = receives ? test_case.iterations : 0}};
  if (idle) {
    null_verbs::idle_cq = runner.work.loop_state().recv_cq.cq;
    null_verbs::idle_cq->context->ops.poll_cq = null_verbs::poll_cq_idly;
  }
  if (receives) {  // it ends when so many are there
    runner.plan.expected = test_case.iterations;
    runner.stop.request(StopReason::finish);
  }
  const LoopResult end = runner.run();
  const std::uint64_t done = receives ? runner.tally.total : runner.tally.operations;
  std::printf("%llu\n", static_cast<unsigned long long>(done));
  return end.why == LoopResult::Why::done ? 0 : 1;
}
