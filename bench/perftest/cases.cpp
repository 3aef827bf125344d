// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/cases.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/test_case/peak_times.h"

namespace rdmameter {

// What perftest has no option for is as `run` has it by default. Where that changes,
// golden_defaults.txt tells, and translate() has to say what perftest does.
std::vector<PlannedCase> perftest_cases(const PerftestPlan& plan) {
  std::vector<PlannedCase> cases = plan_cases(plan.tests, plan.axes);
  for (PlannedCase& planned : cases) {
    planned.test_case.queues.signal_by_default = !(plan.tool->bandwidth && plan.has("cq-mod"));
    // What would take too much memory for its times has none.
    planned.test_case.peak = plan.report.peak && peak_bytes(planned.test_case) <= kMaxPeakBytes;
    planned.why_skipped = why_impossible(planned.test_case);
  }
  return cases;
}

void fit_datagrams(const PerftestPlan& plan, std::vector<PlannedCase>& cases,
                   std::optional<std::uint64_t> mtu_bytes) {
  // Sizes that -a asks for are left out where they do not fit.
  if (plan.has("size") || plan.has("all")) return;
  for (PlannedCase& planned : cases) {
    TestCase& test_case = planned.test_case;
    if (test_case.transport != Transport::ud) continue;
    const std::uint64_t most = std::min(test_case.path.mtu_bytes, mtu_bytes.value_or(4096));
    if (test_case.size_bytes <= most) continue;
    test_case.size_bytes = most;
    planned.why_skipped = why_impossible(test_case);
  }
}

void require_possible(const std::vector<PlannedCase>& cases) {
  if (!cases.front().why_skipped.empty()) throw UsageError(cases.front().why_skipped);
}

std::vector<PlannedCase> possible_perftest_cases(const PerftestPlan& plan) {
  std::vector<PlannedCase> cases = perftest_cases(plan);
  fit_datagrams(plan, cases, std::nullopt);
  require_possible(cases);
  return cases;
}

}  // namespace rdmameter
