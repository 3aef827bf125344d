// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/topo_simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/running/status_line.h"
#include "core/base/error.h"
#include "reports/text/terminal_lines.h"
#include "topologies/simulator/simulator.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

/// What one takes, roughly: it depends on how many ranks share the caches.
constexpr double kMessage_s = 2e-6;
constexpr double kLong_s = 60;

void tell_if_long(std::uint64_t messages) {
  const double seconds = static_cast<double>(messages) * kMessage_s;
  if (seconds < kLong_s) return;
  tell_lines(
      "rdmameter: this case simulates {:.0f} million messages, which takes about {} or more; fewer "
      "--iterations, no --warmup, another --traffic or --pairs sampled:K take less; "
      "Ctrl-C ends it\n",
      static_cast<double>(messages) / 1e6, clock_text(seconds));
}

class SimulatedMeasurer final : public Measurer {
 public:
  SimulatedMeasurer(const SimNetwork& network, const StopFlag& stop)
      : network_(network), stop_(stop) {}

  Outcome measure(const TestCase& test_case) override {
    Outcome outcome = simulate(test_case, network_, stop_, tell_if_long);
    outcome.extra["path"] = "simulated";
    return outcome;
  }
  bool usable() const override { return true; }
  nlohmann::ordered_json initiator_environment() const override { return nullptr; }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }

 private:
  const SimNetwork network_;
  const StopFlag& stop_;
};

/// Those that change what a simulation does, or that it refuses with a reason of its own.
constexpr std::string_view kKnownAxes[] = {
    "transport",  "traffic",      "pairs",      "schedule", "ranks", "inflate",
    "active",     "qps-per-edge", "opcode",     "seed",     "size",  "depth",
    "cq-sharing", "recv",         "iterations", "warmup",   "verify"};

bool is_given(std::span<const GivenAxis> given, std::string_view option) {
  return std::ranges::find(given, option, &GivenAxis::option) != given.end();
}

/// All samples of a pair are alike, and those of an exchange begin at a barrier; but a p50 takes 20
/// of all ranks. A stream needs time to fill its queues.
void set_counts(TestCase& test_case, std::span<const GivenAxis> given) {
  const TrafficMode mode = read_traffic(test_case.traffic).entry->traffic_mode;
  const bool streams = mode == TrafficMode::stream || mode == TrafficMode::drawn;
  if (!is_given(given, "iterations"))
    test_case.iterations = streams ? 512 : 1 + 20 / test_case.ranks;
  if (!is_given(given, "warmup")) test_case.warmup = streams ? 64 : 0;
}

}  // namespace

std::unique_ptr<Measurer> make_simulated_measurer(const std::string& network,
                                                  const StopFlag& stop) {
  return std::make_unique<SimulatedMeasurer>(read_network(network), stop);
}

void make_simulated(std::vector<PlannedCase>& cases, const std::string& network,
                    std::span<const GivenAxis> given) {
  read_network(network);  // a dry run refuses it, too
  for (const GivenAxis& axis : given)
    if (std::ranges::find(kKnownAxes, axis.option()) == std::end(kKnownAxes))
      throw UsageError(fmt::format(
          "--simulate, --{}: the simulated network does not know it; leave one of them out",
          axis.option()));
  for (PlannedCase& planned : cases) {
    planned.name += "/simulated";
    planned.test_case.initiator.device = "simulated:" + network;
    set_counts(planned.test_case, given);
    if (planned.why_skipped.empty()) planned.why_skipped = why_not_simulated(planned.test_case);
  }
}

}  // namespace rdmameter
