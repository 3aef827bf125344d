// SPDX-License-Identifier: Apache-2.0
// Times of the measured path's parts on the built-in null device: what a number of rdmameter holds
// of rdmameter itself. In-process, so Google Benchmark in the ordinary way.
#include <benchmark/benchmark.h>

#include <memory>

#include "core/engine/endpoint_runner.h"
#include "core/engine/loop/table.h"
#include "core/engine/null/null_device.h"
#include "core/engine/work.h"

namespace rdmameter {
namespace {

const ClockChoice& clock_choice() {
  static const ClockChoice choice = choose_clock();
  return choice;
}

TestCase null_case(Opcode opcode, Pattern pattern, std::uint64_t post_list) {
  TestCase test_case;
  test_case.opcode = opcode;
  test_case.pattern = pattern;
  test_case.size_bytes = 8;
  test_case.qps = 1;
  test_case.queues.depth = 128;
  test_case.queues.rx_depth = 512;
  test_case.queues.post_list = post_list;
  test_case.queues.signal_every = pattern == Pattern::bandwidth ? 128 : 1;
  test_case.wait = Wait::spin;
  return test_case;
}

/// An end on the null device with its work built and its receives posted.
struct Ready {
  explicit Ready(const TestCase& test_case)
      : endpoint(test_case, Role::initiator),
        work(test_case, Role::initiator, endpoint.layout(), endpoint.view()) {
    work.post_receives();
  }
  NullEndpoint endpoint;
  Work work;
};

void counter_clock_read(benchmark::State& state) {
  const CounterClock clock = clock_choice().counter;
  for (auto _ : state) benchmark::DoNotOptimize(clock.now());
}
BENCHMARK(counter_clock_read);

void kernel_clock_read(benchmark::State& state) {
  const KernelClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.now());
}
BENCHMARK(kernel_clock_read);

void histogram_record(benchmark::State& state) {
  const auto histogram = std::make_unique<Histogram>();
  std::uint64_t value_ns = 1;
  for (auto _ : state) {
    histogram->record(1000 + (value_ns & 0xfff));
    value_ns = value_ns * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX generator
  }
}
BENCHMARK(histogram_record);

void post_and_poll(benchmark::State& state) {
  Ready ready{null_case(Opcode::rdma_write, Pattern::completion_latency, 1)};
  Lane& lane = ready.work.loop_state().lanes[0];
  ibv_send_wr* bad = nullptr;
  ibv_wc wc;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ibv_post_send(lane.qp, lane.send->head, &bad));
    benchmark::DoNotOptimize(ibv_poll_cq(ready.work.loop_state().send_cq.cq, 1, &wc));
  }
}
BENCHMARK(post_and_poll);

void empty_poll(benchmark::State& state) {
  Ready ready{null_case(Opcode::rdma_write, Pattern::completion_latency, 1)};
  ibv_wc wc;
  for (auto _ : state)
    benchmark::DoNotOptimize(ibv_poll_cq(ready.work.loop_state().send_cq.cq, 1, &wc));
}
BENCHMARK(empty_poll);

/// A whole measured loop; an item is a message (a round trip for ping-pongs).
void loop(benchmark::State& state, Opcode opcode, Pattern pattern, std::uint64_t post_list) {
  constexpr std::uint64_t kMessages = 100'000;
  TestCase test_case = null_case(opcode, pattern, post_list);
  test_case.iterations = kMessages;
  const auto latency = std::make_unique<Histogram>(), scratch = std::make_unique<Histogram>();
  const StopFlag never;
  std::uint64_t messages = 0;
  for (auto _ : state) {
    Ready ready{test_case};
    LoopTally tally;
    tally.latency = latency.get();
    tally.scratch = scratch.get();
    LoopPlan plan;
    fill_plan(plan, test_case);
    choose_loop(test_case, Role::initiator, Wait::spin, clock_choice().kind)(
        ready.work.loop_state(), plan, clock_choice(), never, tally);
    state.SetIterationTime(static_cast<double>(tally.elapsed_ns) * 1e-9);
    messages += tally.operations;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(messages));
}
BENCHMARK_CAPTURE(loop, send_lat, Opcode::send, Pattern::ping_pong, 1)->UseManualTime();
BENCHMARK_CAPTURE(loop, write_lat, Opcode::rdma_write, Pattern::ping_pong, 1)->UseManualTime();
BENCHMARK_CAPTURE(loop, read_lat, Opcode::rdma_read, Pattern::completion_latency, 1)
    ->UseManualTime();
BENCHMARK_CAPTURE(loop, write_bw, Opcode::rdma_write, Pattern::bandwidth, 1)->UseManualTime();
BENCHMARK_CAPTURE(loop, write_bw_post_list_16, Opcode::rdma_write, Pattern::bandwidth, 16)
    ->UseManualTime();

}  // namespace
}  // namespace rdmameter

BENCHMARK_MAIN();
