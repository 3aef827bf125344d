// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/connections_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

/// Where a curve ends, if not at --max-qps.
struct CurveEnd {
  std::uint64_t active;
  std::string reason;  ///< empty: --max-qps
};

std::optional<std::uint64_t> max_qp_of(const nlohmann::ordered_json& environment) {
  const nlohmann::ordered_json::json_pointer max_qp("/device/max_qp");
  if (!environment.is_object() || !environment.contains(max_qp) ||
      !environment.at(max_qp).is_number_unsigned())
    return std::nullopt;
  return environment.at(max_qp).get<std::uint64_t>();
}

bool share_device(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b) {
  for (const char* path : {"/boot_id", "/device/name"}) {
    const nlohmann::ordered_json::json_pointer pointer(path);
    if (!a.contains(pointer) || !b.contains(pointer) || a.at(pointer) != b.at(pointer))
      return false;
  }
  return true;
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

}  // namespace

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
  std::vector<PlannedCase> planned;
  for (const ConnectionCase& one : plan.cases) planned.push_back(one.planned);
  refuse_unused(request.settings.given, planned);
  return plan;
}

}  // namespace rdmameter
