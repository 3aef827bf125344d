// SPDX-License-Identifier: Apache-2.0
#include "bench/dry_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/case_memory.h"

namespace rdmameter {
namespace {

/// Sums over the cases that would be tried.
struct Totals {
  std::uint64_t cases = 0, operations = 0, warmup = 0;
  double duration_s = 0;
  bool endless = false;  ///< one of them goes on until interrupted
  std::uint64_t initiator_bytes = 0,
                responder_bytes = 0;  ///< of the largest case: they run in turn

  void add(const Case& one_case);
};

void Totals::add(const Case& one_case) {
  ++cases;
  operations += one_case.iterations;
  warmup += one_case.warmup;
  endless |= one_case.until_interrupted();
  if (!one_case.until_interrupted()) duration_s += static_cast<double>(one_case.duration_ns) * 1e-9;
  initiator_bytes = std::max(initiator_bytes, case_memory_bytes(one_case, Role::initiator));
  responder_bytes = std::max(responder_bytes, case_memory_bytes(one_case, Role::responder));
}

std::string memory_text(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

/// How long an operation takes is what the measurement is to find out, so only that is said which
/// is known.
std::string totals_time_text(const Totals& totals, std::uint64_t repetitions) {
  std::string text;
  if (totals.duration_s > 0)
    text +=
        fmt::format("{:g} s of measuring, ", totals.duration_s * static_cast<double>(repetitions));
  if (totals.operations > 0)
    text += fmt::format("{} operations, ", totals.operations * repetitions);
  if (totals.endless) return "time: until interrupted\n";
  return fmt::format(
      "time: {}and {} operations of warm-up; at 10 us each {:.3g} s\n", text,
      totals.warmup * repetitions,
      totals.duration_s * static_cast<double>(repetitions) +
          1e-5 * static_cast<double>((totals.operations + totals.warmup) * repetitions));
}

}  // namespace

std::string dry_run_text(const std::vector<PlannedCase>& cases, std::uint64_t repetitions) {
  Totals totals;
  std::string text;
  for (const PlannedCase& planned : cases) {
    const bool skipped = !planned.why_skipped.empty();
    text += planned.name + (skipped ? "  skipped: " + planned.why_skipped : "") + "\n";
    if (!skipped) totals.add(planned.one_case);
  }
  text += fmt::format("\n{} cases", cases.size());
  if (totals.cases < cases.size()) text += fmt::format(", {} skipped", cases.size() - totals.cases);
  if (totals.cases == 0) return text + "\n";
  text += fmt::format("; {} x {} repetitions = {} measurements\n", totals.cases, repetitions,
                      totals.cases * repetitions);
  text += totals_time_text(totals, repetitions);
  return text + fmt::format("memory: up to {} at the initiator, {} at the responder\n",
                            memory_text(totals.initiator_bytes),
                            memory_text(totals.responder_bytes));
}

}  // namespace rdmameter
