// SPDX-License-Identifier: Apache-2.0
#include "core/session/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/wire/fields.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMax = 1ULL << 53;
constexpr std::uint64_t kMaxCpuNumber = 1U << 16;
/// See gpu_facts_of().
constexpr const char* kGpuFacts[] = {"gpu_registration", "gpu_pcie_path"};
constexpr std::size_t kMaxPeers = 1024;  // the axis's range

nlohmann::json verdict_to_wire(const Verdict& verdict) {
  return {{"checked_bytes", verdict.checked_bytes}, {"missing_bytes", verdict.missing_bytes},
          {"wrong_bytes", verdict.wrong_bytes},     {"guard_bytes_hit", verdict.guard_bytes_hit},
          {"whole_slots", verdict.whole_slots},     {"first_fault", verdict.first_fault}};
}

Verdict verdict_from_wire(const nlohmann::json& wire) {
  return {.checked_bytes = require_uint(wire, "checked_bytes", 0, kMax),
          .missing_bytes = require_uint(wire, "missing_bytes", 0, kMax),
          .wrong_bytes = require_uint(wire, "wrong_bytes", 0, kMax),
          .guard_bytes_hit = require_uint(wire, "guard_bytes_hit", 0, kMax),
          .whole_slots = require_uint(wire, "whole_slots", 0, kMax),
          .first_fault = require_string(wire, "first_fault", 200)};
}

constexpr std::uint64_t kMaxGap_ns = 1ULL << 53;

/// Three numbers for each gap: its message, its length, and 2 if it was found plus 1 if it was
/// first.
nlohmann::json gaps_to_wire(const WatchData& watched) {
  auto gaps = nlohmann::json::array();
  for (const WatchData::Gap& gap : watched.gaps)
    for (const std::uint64_t number :
         {gap.message, std::min(gap.length_ns, kMaxGap_ns),
          std::uint64_t{(gap.found ? 2U : 0U) + (gap.first ? 1U : 0U)}})
      gaps.push_back(number);
  return gaps;
}

WatchData gaps_from_wire(const nlohmann::json& wire) {
  WatchData watched{.gap_limit_ns = require_uint(wire, "gap_limit_ns", 0, kMaxGap_ns)};
  const nlohmann::json& gaps = require_array(wire, "gaps", 3 * kMaxPollGaps);
  const bool numbers =
      gaps.size() % 3 == 0 && std::ranges::all_of(gaps, [](const auto& each) {
        return each.is_number_unsigned() && each.template get<std::uint64_t>() <= kMax;
      });
  if (!numbers) throw MeasurementError("the peer's message: `gaps` must be three numbers for each");
  for (std::size_t i = 0; i < gaps.size(); i += 3) {
    const auto flags = gaps[i + 2].get<std::uint64_t>();
    watched.gaps.push_back({.message = gaps[i].get<std::uint64_t>(),
                            .length_ns = gaps[i + 1].get<std::uint64_t>(),
                            .found = (flags & 2) != 0,
                            .first = (flags & 1) != 0});
  }
  return watched;
}

}  // namespace

nlohmann::json report_to_wire(const EndpointRunner& runner, const TestCase& test_case,
                              const Totals& sent) {
  const LoopTally& tally = runner.tally();
  nlohmann::json object = {{"operations", tally.operations},
                           {"elapsed_ns", tally.elapsed_ns},
                           {"traffic_ns", tally.traffic_ns},
                           {"total", runner.totals()},
                           {"counters", runner.counters()}};
  if (numbers_read(test_case) != NumberPlace::none) {
    object["duplicated"] = tally.duplicated;
    object["reordered"] = tally.reordered;
  }
  if (const auto peak = runner.peak())
    object["peak"] = {{"messages", peak->messages}, {"window_ns", peak->window_ns}};
  if (test_case.seen_in_memory())
    object["data_in_order"] = runner.facts().value("data_in_order", false);
  if (is_gpu(test_case.responder.memory))
    for (const char* key : kGpuFacts) object[key] = runner.facts().at(key);
  if (test_case.peers > 1) object["arrivals"] = runner.arrivals();
  if (const WatchData* const watched = runner.watched(); watched != nullptr) {
    object["gap_limit_ns"] = watched->gap_limit_ns;
    object["gaps"] = gaps_to_wire(*watched);
  }
  if (!test_case.verify) return object;
  // A mix's responder has answered its sends alone.
  const bool counts = runner.has_loop() && !test_case.mixed();
  if (const auto verdict = runner.verify(counts ? runner.totals() : sent))
    object["verdict"] = verdict_to_wire(*verdict);
  return object;
}

Report report_of(const EndpointRunner& runner, const TestCase& test_case) {
  const LoopTally& tally = runner.tally();
  Report report{.operations = tally.operations,
                .elapsed_ns = tally.elapsed_ns,
                .traffic_ns = tally.traffic_ns,
                .totals = runner.totals(),
                .total = tally.total,
                .peak = runner.peak()};
  if (numbers_read(test_case) == NumberPlace::none) return report;
  report.duplicated = tally.duplicated;
  report.reordered = tally.reordered;
  return report;
}

Report report_from_wire(const nlohmann::json& wire, const TestCase& test_case) {
  Report report{.operations = require_uint(wire, "operations", 0, kMax),
                .elapsed_ns = require_uint(wire, "elapsed_ns", 0, 1ULL << 62),
                .traffic_ns = require_uint(wire, "traffic_ns", 0, 1ULL << 62),
                .totals = totals_from_wire(wire, "total", test_case.threads)};
  report.total = std::accumulate(report.totals.begin(), report.totals.end(), std::uint64_t{0});
  if (numbers_read(test_case) != NumberPlace::none) {
    report.duplicated = require_uint(wire, "duplicated", 0, kMax);
    report.reordered = require_uint(wire, "reordered", 0, kMax);
  }
  if (test_case.peak && wire.contains("peak")) {
    const nlohmann::json& peak = require_object(wire, "peak");
    report.peak = {.messages = require_uint(peak, "messages", 1, kMax / test_case.size_bytes),
                   .window_ns = require_uint(peak, "window_ns", 1, 1ULL << 62)};
    report.peak->bytes = report.peak->messages * test_case.size_bytes;
  }
  if (test_case.seen_in_memory()) report.data_in_order = require_bool(wire, "data_in_order");
  if (is_gpu(test_case.responder.memory))
    for (const char* key : kGpuFacts) report.gpu[key] = require_string(wire, key, 16);
  if (test_case.peers > 1)
    report.arrivals =
        totals_from_wire(wire, "arrivals", require_array(wire, "arrivals", kMaxPeers).size());
  if (test_case.watched() && test_case.answered()) report.watched = gaps_from_wire(wire);
  if (test_case.verify && wire.contains("verdict"))
    report.verdict = verdict_from_wire(require_object(wire, "verdict"));
  return report;
}

nlohmann::ordered_json counters_from_wire(const nlohmann::json& wire) {
  constexpr std::size_t kMaxCounters = 4096, kMaxNameBytes = 64;
  const auto found = wire.find("counters");
  if (found == wire.end() || found->is_null()) return nullptr;
  const nlohmann::json& counters = require_object(wire, "counters");
  auto result = nlohmann::ordered_json::object();
  for (const auto& [name, value] : counters.items()) {
    const bool plain = name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char each) {
                         return std::isalnum(static_cast<unsigned char>(each)) != 0 ||
                                std::string_view{"_-."}.find(each) != std::string_view::npos;
                       });
    if (!plain || !value.is_number_unsigned() || result.size() == kMaxCounters)
      throw MeasurementError("the peer's message: `counters` must be counts, by name");
    result[name] = value;
  }
  return result;
}

std::vector<unsigned> cpus_from_wire(const nlohmann::json& message, std::string_view key) {
  constexpr std::size_t kMaxLoops = 2048;
  std::vector<unsigned> numbers;
  for (const nlohmann::json& each : require_array(message, key, kMaxLoops)) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() > kMaxCpuNumber)
      throw MeasurementError(
          fmt::format("the peer's message: of `{}` one is no number of a CPU or node", key));
    numbers.push_back(each.get<unsigned>());
  }
  return numbers;
}

nlohmann::ordered_json placement_from_wire(const nlohmann::json& wire) {
  constexpr std::size_t kMaxTextBytes = 1024;
  const nlohmann::json& placement = require_object(wire, "placement");
  const bool pinned = require_bool(placement, "pinned");
  nlohmann::ordered_json result{{"pinned", pinned}};
  const auto is_null = [&](const char* key) {
    const auto found = placement.find(key);
    return found != placement.end() && found->is_null();
  };
  const auto text = [&](const char* key) {
    result[key] = nullptr;
    if (!is_null(key)) result[key] = printable(require_string(placement, key, kMaxTextBytes, 1));
  };
  text("reason");
  if (pinned != is_null("reason"))
    throw MeasurementError("the peer's message: a placement has a reason where it is not pinned");
  for (const char* key : {"cpus", "numa_nodes"}) result[key] = cpus_from_wire(placement, key);
  result["device_numa_node"] = nullptr;
  if (!is_null("device_numa_node"))
    result["device_numa_node"] = require_uint(placement, "device_numa_node", 0, kMaxCpuNumber);
  text("device_cpus");
  return result;
}

Totals totals_from_wire(const nlohmann::json& message, std::string_view key,
                        std::uint64_t threads) {
  Totals totals;
  for (const nlohmann::json& element : require_array(message, key, threads, threads)) {
    if (!element.is_number_unsigned() || element.get<std::uint64_t>() > kMax)
      throw MeasurementError("the peer's message: a total is not a number of messages");
    totals.push_back(element.get<std::uint64_t>());
  }
  return totals;
}

nlohmann::json connected_to_wire(const TestCase& test_case, const nlohmann::json& local,
                                 const nlohmann::json& remote) {
  TestCase sendable = test_case;
  if (sendable.path.mtu_bytes == 0) sendable.path.mtu_bytes = kAuto;  // of iWARP, which has none
  return {{"case", case_to_wire(sendable)}, {"local", local}, {"remote", remote}};
}

}  // namespace rdmameter
