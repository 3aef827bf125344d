// SPDX-License-Identifier: Apache-2.0
#include "bench/running/lines/row_line.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"
#include "reports/summary/metric.h"
#include "reports/text/text.h"
#include "reports/text/until_text.h"

namespace rdmameter {

std::string latency_name(const LatencyData& latency) {
  if (latency.half_round_trip) return "half RTT";
  if (latency.definition == LatencyData::Definition::round_trip) return "RTT";
  return definition_name(latency.definition);
}

namespace {

/// Three significant digits, in the unit that suits.
std::string time(double ns) {
  const Unit unit = time_unit(ns);
  const std::array scaled{ns / unit.size};
  return fmt::format("{} {}", fixed(scaled[0], decimals_for(scaled)), unit.name);
}

std::string latency_text(const LatencyData& latency) {
  const LatencySummary summary = summarize(latency.histogram, latency.half_round_trip ? 2 : 1);
  std::string text = latency_name(latency);
  const auto add = [&text](std::string_view name, const std::optional<double>& value) {
    if (value) text += fmt::format(" {} {} ", name, time(*value));
  };
  add("p50", summary.p50);
  add("p99", summary.p99);
  add("p99.9", summary.p99_9);
  if (summary.count > 0) add("max", summary.max);
  if (summary.count > 0 && !summary.p50) add("mean", summary.mean);
  if (summary.count == 0) text += " no samples ";
  text.pop_back();
  return text;
}

std::string bandwidth_text(const BandwidthData& bandwidth) {
  std::string text = metric_text(Metric::gbps, bandwidth_gbps(bandwidth)) + "  " +
                     metric_text(Metric::mmsg_per_s, bandwidth_mmsg_per_s(bandwidth));
  if (bandwidth.injected) text += "  (injected: delivery is unknown)";
  if (bandwidth.short_window) text += "  (short window)";
  if (const auto lost = bandwidth_lost(bandwidth); lost && *lost > 0)
    text += fmt::format("  lost {} of {}", *lost, *bandwidth.sent);
  if (bandwidth.duplicated.value_or(0) > 0)
    text += fmt::format("  duplicated {}", *bandwidth.duplicated);
  if (bandwidth.reordered.value_or(0) > 0)
    text += fmt::format("  reordered {}", *bandwidth.reordered);
  return text;
}

/// "2 pairs failed (from 0 to 3: ...)": the first of them.
std::string failed_pairs_text(const TopologyData& topology) {
  const auto& [from, to, reason] = topology.failed_pairs.front();
  return fmt::format("{} failed (from {} to {}; {})",
                     count_text(topology.failed_pairs.size(), "pair"), from, to,
                     printable(headline(reason)));
}

std::string load_text(const LoadData& load) {
  std::string text = fmt::format("  offered {:.0f}/s reached {:.0f}/s", load_offered_per_s(load),
                                 load_reached_per_s(load));
  if (load_saturated(load)) text += " (saturated)";
  return text;
}

std::string per_second(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}/s", *value) : "not found";
}

std::string sweep_text(const SweepData& sweep) {
  std::string text = fmt::format("saturation {}", per_second(sweep.saturation_per_s));
  if (!sweep.slo_ns) return text;
  return text + fmt::format("  p99 within {} up to {}", time(*sweep.slo_ns),
                            per_second(sweep.slo_rate_per_s));
}

}  // namespace

std::string row_text(const Row& row) {
  switch (row.status) {
    case Row::Status::error:
      return "error: " + printable(headline(row.message));
    case Row::Status::skipped:
      return "skipped: " + printable(row.message);
    case Row::Status::ok:
      break;
  }
  std::string text;
  if (row.bandwidth) text += bandwidth_text(*row.bandwidth);
  if (row.latency) text += (text.empty() ? "" : "  ") + latency_text(*row.latency);
  if (row.load) text += load_text(*row.load);
  if (row.sweep) text += sweep_text(*row.sweep);
  if (row.lost) text += fmt::format("  lost {}", *row.lost);
  if (row.topology && !row.topology->failed_pairs.empty())
    text += "  " + failed_pairs_text(*row.topology);
  if (row.until) text += "  " + until_text(row);
  if (shares_responder(row)) text += kSharedResponder;
  if (row.interrupted) text += fmt::format("  (interrupted after {} iterations)", row.iterations);
  return text;
}

bool shares_responder(const Row& row) {
  return row.extra.contains("shared_responder");
}

std::string_view headline(std::string_view message) {
  return message.substr(0, message.find(". "));
}

std::string row_line(const Row& row, std::size_t name_width) {
  return fmt::format("{:<{}}  {}", row.name, name_width, row_text(row));
}

}  // namespace rdmameter
