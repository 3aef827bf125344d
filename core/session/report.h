// SPDX-License-Identifier: Apache-2.0
// What an end reports once the traffic has ended: to the wire and back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine/side.h"
#include "core/result/json_text.h"
#include "core/result/row_fields.h"
#include "core/wire/message.h"

namespace rdmameter {

/// Messages of each thread.
using Totals = std::vector<std::uint64_t>;

/// The most messages that are counted; a double holds each number.
inline constexpr std::uint64_t kMaxMessages = 1ULL << 53;
inline constexpr std::size_t kMaxPeers = 4096;  ///< the axis's range
inline constexpr std::uint64_t kMaxTime_ns = 1ULL << 62;

/// The counts of an end, for itself and for its peer.
struct Report {
  std::uint64_t operations = 0, elapsed_ns = 0, traffic_ns = 0;
  Totals totals;
  Totals arrivals;  ///< of each receive queue, where there are several peers; else empty
  std::optional<std::uint64_t> duplicated,
      reordered;                 ///< of what arrived, where it carries numbers
  std::optional<PeakData> peak;  ///< of what it sent
  std::optional<Json> counters;  ///< of its device: counts by name
  std::optional<std::string> gpu_registration, gpu_pcie_path;  ///< see gpu_facts_of()
  bool data_in_order = false;  ///< promised, of a case whose messages are seen in memory
  WatchData watched;           ///< of a case with `blame`: gaps, without their times
  std::optional<Verdict> verdict;
  std::vector<Report> devices;  ///< the counts of each of several

  std::uint64_t total() const;  ///< of all threads
};

void list_fields(auto& fields, Is<Verdict> auto& verdict) {
  const FieldRule bytes{.max = kMaxMessages};
  fields("checked_bytes", verdict.checked_bytes, bytes);
  fields("missing_bytes", verdict.missing_bytes, bytes);
  fields("wrong_bytes", verdict.wrong_bytes, bytes);
  fields("guard_bytes_hit", verdict.guard_bytes_hit, bytes);
  fields("whole_slots", verdict.whole_slots, bytes);
  fields("first_fault", verdict.first_fault, {.max_size = 200});
}

/// Three numbers for each: its message, its length [ns], and 2 if it was found plus 1 if it was
/// first. A list of thousands would be too long with keys.
Json gaps_to_json(const std::vector<WatchData::Gap>& gaps);
std::vector<WatchData::Gap> gaps_from_json(const CheckedJson& json);

void list_fields(auto& fields, Is<Report> auto& report) {
  const FieldRule messages{.max = kMaxMessages}, time{.max = kMaxTime_ns};
  fields("operations", report.operations, messages);
  fields("elapsed_ns", report.elapsed_ns, time);
  fields("traffic_ns", report.traffic_ns, time);
  fields("total", report.totals, messages);
  fields("arrivals", report.arrivals, {.max = kMaxMessages, .max_size = kMaxPeers});
  fields("duplicated", report.duplicated, messages);
  fields("reordered", report.reordered, messages);
  fields("peak", report.peak);
  fields("counters", report.counters);
  fields("gpu_registration", report.gpu_registration, {.max_size = 16 * kMostDevices});
  fields("gpu_pcie_path", report.gpu_pcie_path, {.max_size = 16 * kMostDevices});
  fields("data_in_order", report.data_in_order);
  fields("gap_limit_ns", report.watched.gap_limit_ns, messages);
  fields.coded("gaps", report.watched.gaps, gaps_to_json, gaps_from_json);
  fields("verdict", report.verdict);
  fields("devices", report.devices, {.max_size = kMostDevices});
}

/// @throws MeasurementError  its counters are no counts by plain names
void complete(const Report& report, const CheckedJson& json);

/// What the loops of this end's side counted.
Report report_of(const Side& side, const TestCase& test_case);

/// The report for the peer: report_of(), with device counters, gaps and the result of verification.
/// @param sent  by each of the peer's threads; what arrived here, where nothing at this end counts
Report report_for_peer(const Side& side, const TestCase& test_case, const Totals& sent);

/// Leaves of a peer's report what such a case has.
/// @param test_case  as it is in truth, its SGEs known
/// @param whole      a report of all; else of a device, which counts and tells no more
/// @throws MeasurementError  it lacks some of that
void keep_what_the_case_has(Report& report, const TestCase& test_case, bool whole = true);

/// @throws MeasurementError  they are not of so many threads
void require_totals_of(const Totals& totals, std::uint64_t threads);

}  // namespace rdmameter
