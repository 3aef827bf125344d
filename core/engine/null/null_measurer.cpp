// SPDX-License-Identifier: Apache-2.0
#include "core/engine/null/null_measurer.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/engine/account/interval_thread.h"
#include "core/engine/blame/judge.h"
#include "core/engine/endpoint_runner.h"
#include "core/engine/loop/table.h"
#include "core/engine/null/null_device.h"
#include "core/engine/placement/placement.h"
#include "core/engine/work.h"
#include "core/instrument/histogram_data.h"
#include "core/test_case/flow_label.h"
#include "core/verbs/environment.h"
#include "core/wire/watcher.h"

namespace rdmameter {
namespace {

struct NullRun {
  LoopResult end;
  LoopTally tally;
  std::unique_ptr<Histogram> latency = std::make_unique<Histogram>();
  std::unique_ptr<LatencySeries> over_time;
  std::optional<NullEndpoint> endpoint;
  std::optional<Work> work;
  std::vector<LoopPlace> place;
  bool interrupted = false;
};

void run_on_null(NullRun& run, const DeviceCase& test_case, const ClockChoice& clock,
                 const StopFlag& stop, const IntervalListener& on_interval = {},
                 std::optional<unsigned> cpu = {}) {
  auto pinned = std::make_unique<Pinned>(cpu, "--core");
  run.endpoint.emplace(test_case, Role::initiator);
  Work& work =
      run.work.emplace(test_case, Role::initiator, run.endpoint->layout(), run.endpoint->view());
  work.post_receives();
  auto scratch = std::make_unique<Histogram>();
  run.tally.latency = run.latency.get();
  run.tally.scratch = scratch.get();
  run.over_time = make_latency_series(test_case);
  run.tally.over_time = run.over_time.get();
  LoopPlan plan;
  fill_plan(plan, test_case);
  pinned.reset();  // the thread of `lines` is to run elsewhere
  const IntervalThread lines{test_case, [&] { return run.tally.progress.load(); }, on_interval,
                             run.over_time.get()};
  pinned = std::make_unique<Pinned>(cpu, "--core");
  if (work.watch() != nullptr) work.watch()->begin(clock);
  run.end = choose_loop(test_case, Role::initiator, test_case->wait, clock.kind)(
      work.loop_state(), plan, clock, stop, run.tally);
  run.place = place_now();
}

/// What the null device cannot do.
std::string why_not_null(const TestCase& test_case) {
  if (test_case.over_tcp()) return "the null device has no TCP: use --loopback";
  if (test_case.control())
    return "the null device has no objects to create: control path tests need a verbs device";
  if (test_case.verify) return "the null device moves no data: there is nothing to --verify";
  if (test_case.wait == Wait::event) return "the null device raises no events: use another --wait";
  if (test_case.devices() > 1 || test_case.initiator.device == kAllDevices)
    return "the null device is one: use no --device";
  if (test_case.threads > 1 || test_case.shares_qps() || test_case.bidirectional)
    return "the null device has one thread and an imaginary peer: use --threads 1, --sharers 1, "
           "and no --bidirectional";
  if (test_case.shared_receives()) return "the null device has no SRQ: use --recv rq";
  if (!test_case.initiator.memory.empty() || !test_case.responder.memory.empty() ||
      test_case.registration.odp || test_case.registration.mr_per_qp ||
      test_case.registration.relaxed_ordering == 1)
    return "the null device registers no memory: --memory host is all there is";
  if (test_case.queues.thread_domain == 1) return "the null device has no thread domains";
  if (test_case.queues.timestamps) return "the null device gives no completion timestamps";
  if (test_case.peers != 1) return "the null device has one imaginary peer: use --peers 1";
  if (test_case.by_cm()) return "the null device has no peer for rdma_cm: use --connect tcp";
  if (test_case.queues.sge == kDeviceMax || test_case.queues.recv_sge == kDeviceMax)
    return "the null device has no limit of SGEs: give their number";
  return {};
}

class NullMeasurer final : public Measurer {
 public:
  NullMeasurer(const ClockChoice& clock, const InterruptSource& interrupt,
               const IntervalListener& on_interval)
      : clock_(clock), interrupt_(interrupt), on_interval_(on_interval) {}

  Outcome measure(const TestCase& asked) override {
    if (const std::string why = why_impossible(asked); !why.empty()) throw Unsupported(why);
    if (const std::string why = why_not_null(asked); !why.empty()) throw Unsupported(why);
    if (interrupt_.requested()) throw Interrupted("interrupted");
    const DeviceCase test_case = DeviceCase::on_null_device(asked);
    const Placement placement =
        choose_placement(wish_of(test_case, Role::initiator, "", false), claims_);
    NullRun run;
    StopFlag stop;
    const OrderlyEnd orderly{interrupt_, kOrderlyEnd, [&] {
                               const bool begun = run.tally.end_now();
                               if (!begun) stop.request(StopReason::interrupted);
                               return begun;
                             }};
    run_on_null(run, test_case, clock_, stop, on_interval_, placement.first());
    run.interrupted = orderly.asked();
    if (stop.requested() || (run.interrupted && run.tally.operations == 0))
      throw Interrupted("interrupted before anything was measured");
    if (run.end.why != LoopResult::Why::done)
      throw MeasurementError(loop_result_text(run.end, "the null device"));
    if (run.tally.operations == 0) throw MeasurementError(kNothingFellDue);
    return outcome(test_case, run, placement);
  }

  Json initiator_environment() const override {
    Json environment = environment_json(clock_, nullptr);
    environment["device"] = {{"name", "null"}, {"driver", "built-in null device"}};
    return environment;
  }

 private:
  Outcome outcome(const DeviceCase& test_case, NullRun& run, const Placement& placement) const {
    const Work& work = *run.work;
    Outcome outcome;
    outcome.effective = as_measured(test_case);
    outcome.operations = run.tally.operations;
    outcome.interrupted = run.interrupted;
    outcome.elapsed_ns = run.tally.elapsed_ns;
    outcome.latency = latency_of(test_case, *run.latency);
    if (const WatchLog* const watch = work.watch(); watch != nullptr)
      outcome.blame = judge_late_samples({.samples = outcome.latency->histogram,
                                          .late_ns = test_case->late_ns,
                                          .warmup = test_case->warmup,
                                          .own = watch->data(clock_),
                                          .open_loop = test_case->open_loop()});
    outcome.load = work.load();
    outcome.over_time = over_time_of(run.over_time.get());
    std::vector<QpFigures> figures = work.per_qp(run.tally.elapsed_ns);
    const FlowLabels labels{test_case->path.flow_label};
    for (std::size_t i = 0; i < figures.size(); ++i) figures[i].flow_label = labels.of(i);
    if (!figures.empty()) outcome.per_qp = per_qp_data(figures);
    if (test_case->pattern == Pattern::bandwidth)
      outcome.bandwidth =
          BandwidthData{.messages = run.tally.operations,
                        .bytes = run.tally.operations * test_case->size_bytes,
                        .window_ns = run.tally.elapsed_ns,
                        .traffic_messages = run.tally.total,
                        .traffic_ns = run.tally.traffic_ns,
                        .peak = work.peak(test_case->size_bytes, clock_.counter.scale)};
    outcome.work = {{"polls", run.tally.polls}};
    outcome.resources = {{"buffer_bytes", run.endpoint->buffer_bytes()}};
    outcome.extra = {{"path", "null"},
                     {"placement",
                      {{"initiator", placement_json(placement_data(placement, run.place))},
                       {"responder", nullptr}}}};
    return outcome;
  }

  const ClockChoice clock_;
  const InterruptSource& interrupt_;
  const IntervalListener on_interval_;
  CpuClaims claims_;
};

}  // namespace

std::unique_ptr<Measurer> make_null_measurer(const ClockChoice& clock,
                                             const InterruptSource& interrupt,
                                             const IntervalListener& on_interval) {
  return std::make_unique<NullMeasurer>(clock, interrupt, on_interval);
}

Json instrument_overhead(const ClockChoice& clock) {
  struct Test {
    const char* key;
    Opcode opcode;
    Pattern pattern;
  };
  constexpr std::array kTests{
      Test{"send_lat_ns", Opcode::send, Pattern::ping_pong},
      Test{"write_lat_ns", Opcode::rdma_write, Pattern::ping_pong},
      Test{"read_lat_ns", Opcode::rdma_read, Pattern::completion_latency},
      Test{"write_bw_ns_per_message", Opcode::rdma_write, Pattern::bandwidth},
  };
  Json floor = {{"clock_read_ns", clock.read_ns}};
  const StopFlag never;
  for (const Test& test : kTests) {
    TestCase test_case;
    test_case.opcode = test.opcode;
    test_case.pattern = test.pattern;
    test_case.size_bytes = 8;
    test_case.qps = 1;
    test_case.queues.depth = 128;
    test_case.queues.rx_depth = 512;
    test_case.queues.post_list = 1;
    test_case.queues.signal_every = test.pattern == Pattern::bandwidth ? 32 : 1;
    test_case.iterations = 10'000;
    test_case.warmup = 1'000;
    NullRun run;
    run_on_null(run, DeviceCase::on_null_device(test_case), clock, never);
    floor[test.key] = static_cast<double>(run.tally.elapsed_ns) /
                      static_cast<double>(std::max<std::uint64_t>(run.tally.operations, 1));
  }
  return floor;
}

}  // namespace rdmameter
