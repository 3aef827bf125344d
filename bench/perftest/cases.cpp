// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/cases.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/test_case/peak_times.h"

namespace rdmameter {
namespace {

/// What no option says. A default of `rdmameter run` that changes must not change perftest mode:
/// whatever perftest has an option for, or does in one way alone, is set here. (As axes that are
/// given they would all be in the names of rows.)
constexpr std::pair<std::string_view, const char*> kUnsaid[] = {{"threads", "1"},
                                                                {"sharers", "1"},
                                                                {"bidirectional", "off"},
                                                                {"peers", "1"},
                                                                {"recv-post-list", "auto"},
                                                                {"sge", "1"},
                                                                {"recv-sge", "1"},
                                                                {"cq", "classic"},
                                                                {"cq-sharing", "shared"},
                                                                {"outstanding-reads", "auto"},
                                                                {"timestamps", "off"},
                                                                {"recv", "rq"},
                                                                {"gpu-registration", "auto"},
                                                                {"mtu", "auto"},
                                                                {"wait", "auto"},
                                                                {"comp-vector", "0"},
                                                                {"verify", "off"},
                                                                {"sl", "0"},
                                                                {"tclass", "0"},
                                                                {"flow-label", "0"},
                                                                {"pkey-index", "0"},
                                                                {"qp-timeout", "14"},
                                                                {"retry-count", "7"},
                                                                {"rnr-retry", "7"},
                                                                {"min-rnr-timer", "12"},
                                                                {"memory", "host"},
                                                                {"peer-memory", "host"},
                                                                {"mr-per-qp", "off"},
                                                                {"odp", "off"},
                                                                {"peak", "off"},
                                                                {"blame", "off"}};

}  // namespace

std::vector<PlannedCase> perftest_cases(const PerftestPlan& plan) {
  std::vector<PlannedCase> cases = plan_cases(plan.tests, plan.axes);
  for (PlannedCase& planned : cases) {
    for (const auto& [name, text] : kUnsaid) {
      const Axis& axis = *find_axis(name);
      if (find_given(plan.axes, name) == nullptr && axis.applies(planned.test_case))
        set_axis(planned.test_case, axis, text);
    }
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
