// SPDX-License-Identifier: Apache-2.0
#include "core/session/report.h"

#include <numeric>

#include "core/error.h"
#include "core/session/fields.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMost = 1ULL << 53;
constexpr std::size_t kMostPeers = 1024;  // the axis's range

nlohmann::json verdict_to_wire(const Verdict& verdict) {
  return {{"checked_bytes", verdict.checked_bytes}, {"missing_bytes", verdict.missing_bytes},
          {"wrong_bytes", verdict.wrong_bytes},     {"guard_bytes_hit", verdict.guard_bytes_hit},
          {"whole_slots", verdict.whole_slots},     {"first_fault", verdict.first_fault}};
}

Verdict verdict_from_wire(const nlohmann::json& wire) {
  return {.checked_bytes = require_uint(wire, "checked_bytes", 0, kMost),
          .missing_bytes = require_uint(wire, "missing_bytes", 0, kMost),
          .wrong_bytes = require_uint(wire, "wrong_bytes", 0, kMost),
          .guard_bytes_hit = require_uint(wire, "guard_bytes_hit", 0, kMost),
          .whole_slots = require_uint(wire, "whole_slots", 0, kMost),
          .first_fault = require_string(wire, "first_fault", 200)};
}

}  // namespace

nlohmann::json report_to_wire(const Side& side, const Case& one_case, const Totals& sent) {
  const LoopTally& tally = side.tally();
  nlohmann::json made = {{"operations", tally.operations},
                         {"elapsed_ns", tally.elapsed_ns},
                         {"traffic_ns", tally.traffic_ns},
                         {"total", side.totals()},
                         {"counters", side.counters()}};
  if (numbers_read(one_case) != NumberPlace::none) {
    made["duplicated"] = tally.duplicated;
    made["reordered"] = tally.reordered;
  }
  if (one_case.peers > 1) made["arrivals"] = side.arrivals();
  if (one_case.verify == 0) return made;
  if (const auto verdict = side.verify(side.has_loop() ? side.totals() : sent))
    made["verdict"] = verdict_to_wire(*verdict);
  return made;
}

Report report_of(const Side& side, const Case& one_case) {
  const LoopTally& tally = side.tally();
  Report report{.operations = tally.operations,
                .elapsed_ns = tally.elapsed_ns,
                .traffic_ns = tally.traffic_ns,
                .totals = side.totals(),
                .total = tally.total};
  if (numbers_read(one_case) == NumberPlace::none) return report;
  report.duplicated = tally.duplicated;
  report.reordered = tally.reordered;
  return report;
}

Report report_from_wire(const nlohmann::json& wire, std::uint64_t threads) {
  Report report{.operations = require_uint(wire, "operations", 0, kMost),
                .elapsed_ns = require_uint(wire, "elapsed_ns", 0, 1ULL << 62),
                .traffic_ns = require_uint(wire, "traffic_ns", 0, 1ULL << 62),
                .totals = totals_from_wire(wire, "total", threads)};
  report.total = std::accumulate(report.totals.begin(), report.totals.end(), std::uint64_t{0});
  if (wire.contains("duplicated")) {
    report.duplicated = require_uint(wire, "duplicated", 0, kMost);
    report.reordered = require_uint(wire, "reordered", 0, kMost);
  }
  if (wire.contains("arrivals"))
    report.arrivals =
        totals_from_wire(wire, "arrivals", require_array(wire, "arrivals", kMostPeers).size());
  if (wire.contains("verdict")) report.verdict = verdict_from_wire(require_object(wire, "verdict"));
  return report;
}

Totals totals_from_wire(const nlohmann::json& message, std::string_view key,
                        std::uint64_t threads) {
  Totals totals;
  for (const nlohmann::json& element : require_array(message, key, threads, threads)) {
    if (!element.is_number_unsigned() || element.get<std::uint64_t>() > kMost)
      throw MeasurementError("the peer's message: a total is no number of messages");
    totals.push_back(element.get<std::uint64_t>());
  }
  return totals;
}

}  // namespace rdmameter
