// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/topo_simulate.h"

#include "bench/running/benchmark_flags.h"
#include "bench/running/result_context.h"
#include "bench/running/run_output.h"
#include "bench/running/runner.h"
#include "topologies/ranks/rank_plan.h"
#include "topologies/simulator/simulator.h"

namespace rdmameter {
namespace {

class SimulatedMeasurer final : public Measurer {
 public:
  explicit SimulatedMeasurer(const SimNetwork& network) : network_(network) {}

  Outcome measure(const TestCase& test_case) override {
    Outcome outcome = simulate(test_case, network_);
    outcome.extra["path"] = "simulated";
    return outcome;
  }
  bool usable() const override { return true; }
  nlohmann::ordered_json initiator_environment() const override { return nullptr; }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }

 private:
  const SimNetwork network_;
};

/// All samples of one pair, or exchange, are alike, but a p50 takes 20 of all ranks; a stream needs
/// time to fill its queues.
void set_counts(TestCase& test_case, const SimulatedRun& run) {
  const TrafficMode mode = read_traffic(test_case.traffic).row->traffic_mode;
  const bool streams = mode == TrafficMode::stream || mode == TrafficMode::drawn;
  if (!run.iterations_given) test_case.iterations = streams ? 512 : 2 + 20 / test_case.ranks;
  if (!run.warmup_given) test_case.warmup = streams ? 64 : 1;
}

}  // namespace

ExitStatus simulate_cases(std::vector<PlannedCase> cases, const SimulatedRun& run,
                          const Invocation& invocation) {
  SimulatedMeasurer measurer(read_network(run.network));
  for (PlannedCase& planned : cases) {
    planned.name += "/simulated";
    // So that no row is taken for one of the same case that was measured.
    planned.test_case.initiator.device = "simulated:" + run.network;
    set_counts(planned.test_case, run);
    if (planned.why_skipped.empty()) planned.why_skipped = why_not_simulated(planned.test_case);
  }
  const BenchmarkFlags flags = initialize_benchmark({}, 1);
  check_writable(run.output);
  RunOutput output(run.output,
                   result_context(invocation.command_line, {}, flags, choose_clock(), measurer),
                   cases);
  const RunTally tally = run_cases(cases, flags, measurer, invocation.interrupt.word(), output);
  output.finish(tally);
  return tally.status();
}

}  // namespace rdmameter
