// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/connections_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "bench/doctor/examination_text.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/lines/run_output.h"
#include "bench/running/measurers.h"
#include "bench/running/result_context.h"
#include "bench/running/runner.h"
#include "core/base/error.h"
#include "core/base/lists.h"
#include "core/base/parse_value.h"
#include "core/engine/case_memory.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"
#include "reports/topology/connections.h"

namespace rdmameter {
namespace {

/// Where a curve ends, if not at --max-qps.
struct CurveEnd {
  std::uint64_t active;
  std::string reason;  ///< empty: --max-qps
};

std::optional<std::uint64_t> max_qp_of(const Json& environment) {
  const Json& told = fact_at(environment, "/device/max_qp");
  return told.is_number_unsigned() ? std::optional(told.get<std::uint64_t>()) : std::nullopt;
}

bool share_device(const Json& a, const Json& b) {
  return std::ranges::all_of(std::array{"/boot_id", "/device/name"}, [&](const char* path) {
    return fact_at(a, path).is_string() && fact_at(a, path) == fact_at(b, path);
  });
}

CurveEnd curve_end(const ConnectionsRequest& request, const ConnectionKind& kind,
                   const ConnectionOpcode& opcode, const DeviceQps& qps) {
  CurveEnd end{request.max_qps, ""};
  const auto at_most = [&end](std::uint64_t active, const std::string& reason) {
    if (active < end.active) end = {active, reason};
  };
  at_most(kind.max, "rdmameter takes no more");
  if (qps.responder) at_most(*qps.responder, qps.reason);
  if (qps.initiator && kind.name != "ud") at_most(*qps.initiator, qps.reason);
  at_most(most_within(request.memory_budget_bytes, end.active, kind, opcode, request.settings),
          fmt::format("more would take more than {} of memory at one end (--memory-budget)",
                      bytes_text(request.memory_budget_bytes)));
  return end;
}

/// The devices' limits of QPs, from the environments of both ends. Two ends on one device have half
/// of its QPs each.
DeviceQps device_qps(const Measurer& measurer) {
  const auto mine = measurer.initiator_environment(), theirs = measurer.responder_environment();
  DeviceQps qps{max_qp_of(mine), max_qp_of(theirs), "the devices have no more QPs (max_qp)"};
  if (qps.initiator && qps.responder && share_device(mine, theirs)) {
    *qps.initiator /= 2;
    *qps.responder /= 2;
    qps.reason = "both ends share one device, which has no more QPs (max_qp)";
  }
  return qps;
}

}  // namespace

ConnectionPlan plan_connections(const ConnectionsRequest& request, const DeviceQps& qps) {
  ConnectionPlan plan;
  std::uint64_t most = 0;
  for (const ConnectionOpcode& opcode : request.opcodes)
    for (const ConnectionKind& kind : request.kinds) {
      if (!kind.carries(opcode.opcode)) continue;
      const CurveEnd end = curve_end(request, kind, opcode, qps);
      if (!end.reason.empty())
        plan.limits.push_back({{"kind", fmt::format("{}, {}", opcode.name, kind.name)},
                               {"active", end.active},
                               {"reason", end.reason}});
      for (const std::uint64_t active : doubling_to(end.active))
        for (const bool rate : {true, false})
          if (rate || request.settings.iterations != 0)
            plan.cases.push_back(connection_case(kind, opcode, active, rate, request.settings));
      most = std::max(most, end.active);
    }
  if (plan.cases.empty())
    throw UsageError(
        most == 0 && !plan.limits.empty()
            ? fmt::format("not even one connection fits: {}",
                          plan.limits.front().at("reason").get<std::string>())
            : "--over srq and ud carry sends alone: add rc or shared, or --opcode send");
  refuse_unused(request.settings.given, mapped(plan.cases, &ConnectionCase::planned));
  return plan;
}

namespace {

constexpr double kNarrow = 1.02;  ///< a knee between numbers of a smaller ratio is found

/// Writes into each row which point of which curve it is.
class CurveRows final : public RunOutput {
 public:
  /// @param cases  borrowed; more may come to them
  CurveRows(const std::string& output, const Json& context,
            const std::vector<ConnectionCase>& cases)
      : RunOutput(output, context, {}), cases_(cases) {
    keep_without_lines();
  }

  void row(const Row& row) override {
    const ConnectionCase& about = cases_[row.family_index];
    const TestCase& test_case = about.planned.test_case;
    Row marked = row;
    marked.extra["connections"] = {
        {"kind", about.kind},
        {"opcode", about.opcode},
        {"active", about.active},
        {"memory_bytes", case_memory_bytes(DeviceCase::usual(test_case, Role::initiator))},
        {"peer_memory_bytes", case_memory_bytes(DeviceCase::usual(test_case, Role::responder))}};
    RunOutput::row(marked);
  }

 private:
  const std::vector<ConnectionCase>& cases_;
};

class ConnectionsRun {
 public:
  ConnectionsRun(const ConnectionsRequest& request, const Invocation& invocation)
      : request_(request), invocation_(invocation) {}

  ExitStatus measure() {
    check_writable(request_.output);
    const BenchmarkFlags flags = initialize_benchmark({}, *request_.repetitions);
    const std::unique_ptr<Measurer> measurer = open();
    ConnectionPlan plan = plan_connections(request_, device_qps(*measurer));
    cases_ = std::move(plan.cases);
    Json context = result_context(invocation_.command_line, {}, flags, clock_, *measurer);
    context["rdmameter"]["order_seed"] = request_.order_seed;
    context["rdmameter"]["connections"] = {{"max_qps", request_.max_qps},
                                           {"memory_budget_bytes", request_.memory_budget_bytes},
                                           {"window", request_.settings.window},
                                           {"limits", plan.limits}};
    tell_worst_findings();
    CurveRows rows(request_.output, context, cases_);
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < cases_.size(); ++i) which.push_back(i);
    RunTally tally = measure_round(std::move(which), rows, *measurer);
    for (unsigned round = 0; round < kRoundsAtKnee; ++round) {
      if (tally.interrupted || !measurer->usable()) break;
      which = around_knees(rows.kept());
      if (which.empty()) break;
      tally += measure_round(std::move(which), rows, *measurer);
    }
    rows.finish(tally);
    if (request_.output != "-") {
      const TextStyle style = terminal_style();
      const std::string text = connection_text(
          {.path = request_.output, .context = context, .rows = rows.kept()}, style);
      print_text(style.utf8 ? text : to_ascii(text));
    }
    return tally.status();
  }

 private:
  /// By the first kind and opcode that can be measured; without one the device is not needed.
  std::unique_ptr<Measurer> open() {
    std::vector<PlannedCase> cases;
    for (const ConnectionKind& kind : request_.kinds)
      for (const ConnectionOpcode& opcode : request_.opcodes)
        if (kind.carries(opcode.opcode))
          cases.push_back(connection_case(kind, opcode, 1, true, request_.settings).planned);
    return make_measurer(*request_.host, cases, clock_, invocation_.interrupt);
  }

  RunTally measure_round(std::vector<std::size_t> which, CurveRows& rows, Measurer& measurer) {
    const auto cases = mapped(cases_, &ConnectionCase::planned);
    return run_round({cases, measurer, invocation_.interrupt.word(), rows},
                     {.which = std::move(which),
                      .repetitions = *request_.repetitions,
                      .seed = request_.order_seed + round_++},
                     earlier_);
  }

  /// The case of a rate, which is made where there is none.
  std::size_t place_of(const ConnectionCurve& curve, std::uint64_t active) {
    const auto found = std::ranges::find_if(cases_, [&](const ConnectionCase& one) {
      return one.rate && one.kind == curve.kind && one.opcode == curve.opcode &&
             one.active == active;
    });
    if (found != cases_.end()) return static_cast<std::size_t>(found - cases_.begin());
    const std::optional<ConnectionKind> kind = connection_kind(curve.kind);
    const auto opcode =
        std::ranges::find(connection_opcodes(), curve.opcode, &ConnectionOpcode::name);
    cases_.push_back(connection_case(*kind, *opcode, active, true, request_.settings));
    return cases_.size() - 1;
  }

  /// What to measure so that knees become narrower: both ends of each, what lies between them, and
  /// the rate that they were compared with, so that all were measured at the same time.
  std::vector<std::size_t> around_knees(const std::vector<Row>& rows) {
    std::vector<std::size_t> which;
    const auto add = [&](const ConnectionCurve& curve, std::uint64_t active) {
      add_once(which, place_of(curve, active));
    };
    for (const ConnectionCurve& curve : connection_curves(rows)) {
      const Knee& knee = curve.knee;
      if (!knee.found() && !knee.undecided()) continue;
      const std::uint64_t low = knee.fast, high = knee.found() ? knee.slow : knee.most;
      if (knee.found() &&
          (high - low <= 1 || static_cast<double>(high) < kNarrow * static_cast<double>(low)))
        continue;
      for (const auto& [active, point] : curve.points)
        if (!point.mmsg_per_s.empty() && ((active >= low && active <= high) || active == knee.best))
          add(curve, active);
      if (!knee.found()) continue;
      for (const std::uint64_t active : between(low, high, kNumbersAtKnee)) add(curve, active);
    }
    return which;
  }

  const ConnectionsRequest& request_;
  const Invocation& invocation_;
  const ClockChoice clock_ = choose_clock();
  std::vector<ConnectionCase> cases_;
  EarlierRounds earlier_;
  std::uint64_t round_ = 0;
};

}  // namespace

ExitStatus measure_connections(const ConnectionsRequest& request, const Invocation& invocation) {
  return ConnectionsRun(request, invocation).measure();
}

}  // namespace rdmameter
