// SPDX-License-Identifier: Apache-2.0
#include "core/null_measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "core/environment.h"
#include "core/error.h"
#include "core/histogram_data.h"
#include "core/loop/table.h"
#include "core/null_device.h"
#include "core/side.h"
#include "core/work.h"

namespace rdmameter {
namespace {

struct NullRun {
  LoopEnd end;
  LoopTally tally;
  std::unique_ptr<Histogram> latency = std::make_unique<Histogram>();
  std::uint64_t buffer_bytes = 0;
};

/// An interrupt is the end that was asked for of what goes on until then, and stops the others.
class EndAtInterrupt {
 public:
  EndAtInterrupt(const Case& one_case, const StopWord& interrupt, LoopTally& tally)
      : interrupt_(interrupt), endless_(one_case.until_interrupted()) {
    if (!endless_) return;
    thread_ = std::jthread([&interrupt, &tally](const std::stop_token& over) {
      while (!over.stop_requested() && !interrupt.requested()) std::this_thread::sleep_for(kLook);
      tally.last_ticks = 0;
    });
  }
  /// What the loop looks at.
  const StopWord& stop() const { return endless_ ? never_ : interrupt_; }

 private:
  static constexpr std::chrono::milliseconds kLook{20};
  const StopWord& interrupt_;
  const bool endless_;
  const StopWord never_;
  std::jthread thread_;
};

void run_on_null(NullRun& run, const Case& one_case, const ClockChoice& clock, const StopWord& stop,
                 const IntervalListener& on_interval = {}) {
  NullEndpoint endpoint{one_case, Role::initiator};
  Work work{one_case, Role::initiator, endpoint.layout(), endpoint.view()};
  work.post_receives();
  auto scratch = std::make_unique<Histogram>();
  run.tally.latency = run.latency.get();
  run.tally.scratch = scratch.get();
  run.buffer_bytes = endpoint.buffer_bytes();
  LoopPlan plan;
  fill_plan(plan, one_case);
  const Wait wait = one_case.waiting() == Wait::yield ? Wait::yield : Wait::spin;
  const IntervalThread lines{one_case, [&] { return run.tally.progress.load(); }, on_interval};
  const EndAtInterrupt end{one_case, stop, run.tally};
  run.end = choose_loop(one_case, Role::initiator, wait, clock.kind)(work.traffic(), plan, clock,
                                                                     end.stop(), run.tally);
}

/// What the null device cannot do.
std::string why_not_null(const Case& one_case) {
  if (one_case.over_tcp()) return "the null device has no TCP: use --loopback";
  if (one_case.control())
    return "the null device has no objects to create: control path tests need a verbs device";
  if (one_case.verify != 0) return "the null device moves no data: there is nothing to --verify";
  if (one_case.waiting() == Wait::event)
    return "the null device raises no events: use another --wait";
  if (one_case.threads > 1 || one_case.both_ways())
    return "the null device has one thread and an imaginary peer: use --threads 1, and no "
           "--bidirectional";
  if (one_case.shared_receives()) return "the null device has no SRQ: use --recv rq";
  if (!one_case.memory.empty() || !one_case.peer_memory.empty() || one_case.odp != 0 ||
      one_case.mr_per_qp != 0 || one_case.relaxed_ordering != 0)
    return "the null device registers no memory: --memory host is all there is";
  if (one_case.timestamps != 0) return "the null device gives no completion timestamps";
  if (one_case.peers != 1) return "the null device has one imaginary peer: use --peers 1";
  if (one_case.by_cm()) return "the null device has no peer for rdma_cm: use --connect tcp";
  if (one_case.sge == kMax || one_case.recv_sge == kMax)
    return "the null device has no limit of SGEs: give their number";
  return {};
}

class NullMeasurer final : public Measurer {
 public:
  NullMeasurer(const ClockChoice& clock, const StopWord& interrupt,
               const IntervalListener& on_interval)
      : clock_(clock), interrupt_(interrupt), on_interval_(on_interval) {}

  Outcome measure(const Case& one_case) override {
    if (const std::string why = why_impossible(one_case); !why.empty()) throw Unsupported(why);
    if (const std::string why = why_not_null(one_case); !why.empty()) throw Unsupported(why);
    NullRun run;
    run_on_null(run, one_case, clock_, interrupt_, on_interval_);
    const bool stopped = run.end.why == LoopEnd::Why::stopped;
    if (stopped || run.tally.operations == 0) throw Interrupted("interrupted");
    if (run.end.why != LoopEnd::Why::done)
      throw MeasurementError(loop_end_text(run.end, "the null device"));
    return outcome(one_case, run);
  }

  bool usable() const override { return true; }
  nlohmann::ordered_json initiator_environment() const override {
    nlohmann::ordered_json environment = environment_json(clock_, nullptr);
    environment["device"] = {{"name", "null"}, {"driver", "built-in null device"}};
    return environment;
  }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }

 private:
  static Outcome outcome(const Case& one_case, NullRun& run) {
    Outcome outcome;
    outcome.effective = one_case;
    outcome.effective.device = "null";
    if (one_case.waiting() == Wait::automatic)
      outcome.effective.wait = static_cast<std::uint64_t>(Wait::spin);
    outcome.operations = run.tally.operations;
    outcome.elapsed_ns = run.tally.elapsed_ns;
    outcome.latency = std::move(run.latency);
    if (one_case.shape() == Pattern::bandwidth)
      outcome.bandwidth = BandwidthTally{.messages = run.tally.operations,
                                         .window_ns = run.tally.elapsed_ns,
                                         .traffic_messages = run.tally.total,
                                         .traffic_ns = run.tally.traffic_ns};
    outcome.work = {{"polls", run.tally.polls}};
    outcome.resources = {{"buffer_bytes", run.buffer_bytes}};
    outcome.more = {{"path", "null"}};
    return outcome;
  }

  const ClockChoice clock_;
  const StopWord& interrupt_;
  const IntervalListener on_interval_;
};

}  // namespace

std::unique_ptr<Measurer> make_null_measurer(const ClockChoice& clock, const StopWord& interrupt,
                                             const IntervalListener& on_interval) {
  return std::make_unique<NullMeasurer>(clock, interrupt, on_interval);
}

nlohmann::ordered_json instrument_floor(const ClockChoice& clock) {
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
  nlohmann::ordered_json floor = {{"clock_read_ns", clock.read_ns}};
  const StopWord never;
  for (const Test& test : kTests) {
    Case one_case;
    one_case.opcode = static_cast<std::uint64_t>(test.opcode);
    one_case.pattern = static_cast<std::uint64_t>(test.pattern);
    one_case.size_bytes = 8;
    one_case.qps = 1;
    one_case.depth = 128;
    one_case.rx_depth = 512;
    one_case.post_list = 1;
    one_case.signal_every = test.pattern == Pattern::bandwidth ? 32 : 1;
    one_case.iterations = 10'000;
    one_case.warmup = 1'000;
    NullRun run;
    run_on_null(run, one_case, clock, never);
    floor[test.key] = static_cast<double>(run.tally.elapsed_ns) /
                      static_cast<double>(std::max<std::uint64_t>(run.tally.operations, 1));
  }
  return floor;
}

}  // namespace rdmameter
