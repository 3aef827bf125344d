// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/engine/case_memory.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// What a message takes where nothing is known of the device: kOperationNs, and its bytes
/// at this rate.
constexpr double kOperationNs = 10e3, kAssumedGbps = 100;

/// Sums over the cases that would be tried.
struct PlanTotals {
  std::uint64_t cases = 0;
  std::uint64_t too_large = 0;  ///< of these: they need more memory than a case may
  // The rest is of those that are not too large.
  double operations = 0, operations_ns = 0, duration_ns = 0;  ///< of one repetition of each
  bool endless = false;  ///< one of them goes on until interrupted
  bool sweeps = false;   ///< one of them finds out how long it takes
  std::uint64_t initiator_bytes = 0,
                responder_bytes = 0;  ///< of the largest case: they run in turn

  void add(const TestCase& test_case) {
    ++cases;
    const std::uint64_t initiator =
        case_memory_bytes(DeviceCase::usual(test_case, Role::initiator));
    const std::uint64_t responder =
        case_memory_bytes(DeviceCase::usual(test_case, Role::responder));
    if (std::max(initiator, responder) > kMaxBytesPerCase) {
      ++too_large;
      return;
    }
    const double message_ns =
        kOperationNs + static_cast<double>(test_case.size_bytes) * 8 / kAssumedGbps;
    const auto counted = static_cast<double>(test_case.iterations + test_case.warmup);
    if (test_case.sweeps()) {
      sweeps = true;
    } else if (test_case.open_loop()) {  // its rate says how long it takes
      duration_ns += counted * static_cast<double>(test_case.threads * test_case.devices()) * 1e9 /
                     messages_per_s(test_case);
    } else {
      operations += counted;
      operations_ns += counted * message_ns;
    }
    endless |= test_case.until_interrupted();
    if (!test_case.until_interrupted()) duration_ns += static_cast<double>(test_case.duration_ns);
    initiator_bytes = std::max(initiator_bytes, initiator);
    responder_bytes = std::max(responder_bytes, responder);
  }
};

/// "312 KiB", "1.5 GiB"
std::string memory_text(std::uint64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, kUnits[unit]);
}

/// "0.3 s", "45 s", "12 min", "3 h 20 min": two digits or so.
std::string span_text(double ns) {
  const double seconds = ns * 1e-9;
  if (seconds < 10) return fmt::format("{:.1f} s", std::max(seconds, 0.1));
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  const double minutes = std::round(seconds / 60);
  if (minutes < 60) return fmt::format("{:.0f} min", minutes);
  return fmt::format("{:.0f} h {:.0f} min", std::floor(minutes / 60), std::fmod(minutes, 60));
}

/// How long an operation takes is what the measurement is to find out, so what is not known is said
/// to be assumed.
std::string totals_time_text(const PlanTotals& totals, std::uint64_t repetitions) {
  if (totals.endless) return "time: until interrupted\n";
  if (totals.sweeps) return "time: not known, as a sweep finds the rates of its measurements\n";
  const auto times = static_cast<double>(repetitions);
  const std::string assumed = span_text(totals.operations_ns * times);
  const std::string text = fmt::format("{:.0f} operations, {} at 10 us each and 100 Gb/s",
                                       totals.operations * times, assumed);
  if (totals.duration_ns == 0) return fmt::format("time: {}\n", text);
  return fmt::format("time: {} of measuring; warm-up and the like: {}\n",
                     span_text(totals.duration_ns * times), text);
}

std::string totals_memory_text(const PlanTotals& totals) {
  std::string text;
  if (totals.too_large < totals.cases)
    text = fmt::format("memory: up to {} at the initiator, {} at the responder\n",
                       memory_text(totals.initiator_bytes), memory_text(totals.responder_bytes));
  if (totals.too_large > 0)
    text += fmt::format("too large: {} need{} more than {} at one end, and would be skipped\n",
                        count_text(totals.too_large, "case"), totals.too_large == 1 ? "s" : "",
                        memory_text(kMaxBytesPerCase));
  return text;
}

}  // namespace

DryRun dry_run(const std::vector<PlannedCase>& cases, std::uint64_t repetitions,
               std::optional<std::uint64_t> budget_ns) {
  PlanTotals totals;
  std::string text;
  for (const PlannedCase& planned : cases) {
    const bool skipped = !planned.why_skipped.empty();
    text += planned.name + (skipped ? "  skipped: " + planned.why_skipped : "") + "\n";
    if (!skipped) totals.add(planned.test_case);
  }
  text += fmt::format("\n{}", count_text(cases.size(), "case"));
  if (totals.cases < cases.size()) text += fmt::format(", {} skipped", cases.size() - totals.cases);
  if (totals.cases == 0) return {text + "\n", false};
  text += fmt::format("; {} x {}{} = {}\n", totals.cases, budget_ns ? "at most " : "",
                      count_text(repetitions, "repetition"),
                      count_text(totals.cases * repetitions, "measurement"));
  const bool measures = totals.too_large < totals.cases;
  if (measures && budget_ns && !totals.endless)
    text += fmt::format("time: at most {} for each case and a repetition, {} in all\n",
                        span_text(static_cast<double>(*budget_ns)),
                        span_text(static_cast<double>(*budget_ns * totals.cases)));
  else if (measures)
    text += totals_time_text(totals, repetitions);
  return {text + totals_memory_text(totals), measures};
}

}  // namespace rdmameter
