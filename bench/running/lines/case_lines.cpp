// SPDX-License-Identifier: Apache-2.0
#include "bench/running/lines/case_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "bench/running/status_line.h"
#include "core/base/printable.h"
#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"
#include "reports/stats/sample.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"
#include "reports/text/environment_text.h"
#include "reports/text/text.h"
#include "reports/text/until_text.h"

namespace rdmameter {

namespace {

/// "half RTT", "RTT", "completion"...: what the latency is of.
std::string latency_name(const LatencyData& latency) {
  if (latency.half_round_trip) return "half RTT";
  if (latency.definition == LatencyData::Definition::round_trip) return "RTT";
  return std::string(name_in(kDefinitionNames, latency.definition));
}

std::string latency_text(const LatencyData& latency) {
  const LatencySummary summary = summarize(latency.histogram, latency.half_round_trip ? 2 : 1);
  std::string text = latency_name(latency);
  const auto add = [&text](std::string_view name, const std::optional<double>& value) {
    if (value) text += fmt::format(" {} {} ", name, metric_text(Metric::p50, *value));
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

constexpr const char *kInjected = "  (injected: delivery is unknown)",
                     *kShortWindow = "  (short window)";

std::string bandwidth_text(const BandwidthData& bandwidth) {
  std::string text = metric_text(Metric::gbps, bandwidth_gbps(bandwidth)) + "  " +
                     metric_text(Metric::mmsg_per_s, bandwidth_mmsg_per_s(bandwidth));
  if (bandwidth.injected) text += kInjected;
  if (bandwidth.short_window) text += kShortWindow;
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

/// Did another client use the server during the repetition? What lines say of it then.
bool shares_responder(const Row& row) {
  return row.extra.contains("shared_responder");
}
constexpr const char* kSharedResponder = "  (another client used the server)";

std::string per_second(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}/s", *value) : "not found";
}

std::string sweep_text(const SweepData& sweep) {
  std::string text = fmt::format("saturation {}", per_second(sweep.saturation_per_s));
  if (!sweep.slo_ns) return text;
  return text + fmt::format("  p99 within {} up to {}", metric_text(Metric::p99, *sweep.slo_ns),
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
  if (row.latency) add_item(text, latency_text(*row.latency), "  ");
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

std::string_view headline(std::string_view message) {
  return message.substr(0, message.find(". "));
}

std::string row_line(const Row& row, std::size_t name_width) {
  return fmt::format("{:<{}}  {}", row.name, name_width, row_text(row));
}

namespace {

constexpr std::size_t kTimeWidth = 11;      // "±1234.5 µs"
constexpr std::size_t kRateWidth = 12;      // "±123.4 Gb/s"
constexpr std::size_t kMessagesWidth = 14;  // "123.4 kmsg/s"
constexpr std::array kLatencyColumns{Metric::p50, Metric::p99, Metric::p99_9, Metric::max};
constexpr std::array kBandwidthColumns{Metric::gbps, Metric::mmsg_per_s};

std::span<const Metric> columns_of(bool bandwidth) {
  if (bandwidth) return kBandwidthColumns;
  return kLatencyColumns;
}

std::size_t width_of(Metric metric) {
  if (is_time(metric)) return kTimeWidth;
  return metric == Metric::mmsg_per_s ? kMessagesWidth : kRateWidth;
}

/// Half the range of the repetitions.
std::string range_cell(const std::vector<double>& numbers, Metric metric, bool repeated) {
  if (!repeated) return "";
  if (numbers.empty()) return pad_left("–", width_of(metric));
  const auto [min, max] = std::ranges::minmax(numbers);
  return pad_left("±" + metric_text(metric, (max - min) / 2), width_of(metric));
}

}  // namespace

CaseTable::CaseTable(std::size_t name_width, std::size_t width, const LinkRate& link,
                     std::vector<std::string> told)
    : name_width_(std::max(name_width, std::string_view("completion latency").size())),
      width_(width),
      link_(link),
      told_(std::move(told)) {}

std::string CaseTable::add(const Row& row) {
  const auto [at, begins] = cases_.try_emplace(row.family_index);
  Case& one = at->second;
  const bool measured = row.status == Row::Status::ok;
  if (begins) one.name = printable(shorten_name(row.name, told_));
  one.repetitions = row.repetitions;
  if (measured) {
    ++one.measured;
    one.bandwidth = row.bandwidth.has_value();
    one.kind = one.bandwidth ? "bandwidth" : latency_name(*row.latency);
    if (one.bandwidth) one.line_rate_gbps = line_rate_gbps(link_, row).value_or(0);
    one.shared = one.shared || shares_responder(row);
    one.lost += row.lost.value_or(0);
    if (row.load && load_saturated(*row.load)) ++one.saturated;
    if (row.topology && !row.topology->failed_pairs.empty() && one.failed_pairs.empty())
      one.failed_pairs = failed_pairs_text(*row.topology);
    if (row.bandwidth) {
      one.lost += bandwidth_lost(*row.bandwidth).value_or(0);
      one.duplicated += row.bandwidth->duplicated.value_or(0);
      one.reordered += row.bandwidth->reordered.value_or(0);
      one.injected = one.injected || row.bandwidth->injected;
      one.short_window = one.short_window || row.bandwidth->short_window;
    }
    const auto columns = columns_of(one.bandwidth);
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (const auto value = info_of(columns[i]).value(row)) one.numbers[i].push_back(*value);
  }
  return ++one.ended < row.repetitions ? "" : ended(at);
}

std::string CaseTable::rest() {
  std::string text;
  while (!cases_.empty()) text += ended(cases_.begin());
  return text;
}

std::string CaseTable::line(const std::string& name, const std::string& cells,
                            const std::string& remarks) const {
  const bool fits = std::max(name_width_, text_width(name)) + text_width(cells) <= width_;
  std::string text;
  if (!fits && !name.empty()) text = name_lines(name, width_);
  std::string numbers = pad_right(fits ? name : "", fits ? name_width_ : 0) + cells;
  if (!remarks.empty() && text_width(numbers) + text_width(remarks) > width_)
    return text + numbers + "\n" + wrap("    ", remarks, width_);
  return text + numbers + remarks + "\n";
}

std::string CaseTable::header(const Case& ended_case) {
  const std::string kind = ended_case.kind + (ended_case.repetitions > 1 ? " ±" : "");
  if (kind == kind_) return "";
  kind_ = kind;
  std::string cells;
  for (const Metric metric : columns_of(ended_case.bandwidth)) {
    if (!cells.empty() && ended_case.bandwidth && link_.gbps)
      cells += pad_left("of the line", kRateWidth);
    cells += pad_left(metric == Metric::mmsg_per_s ? "messages" : info_of(metric).name,
                      width_of(metric));
    if (ended_case.repetitions > 1 && cells.size() == width_of(metric))
      cells += pad_left("±", width_of(metric));
  }
  const std::string title = ended_case.bandwidth ? "" : ended_case.kind;
  return line(title, cells);
}

std::string CaseTable::ended(std::map<std::uint64_t, Case>::iterator at) {
  const Case one = std::move(at->second);
  cases_.erase(at);
  const auto columns = columns_of(one.bandwidth);
  if (one.kind.empty()) return "";  // no repetition was measured
  std::string cells;
  std::string doubt;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool all = one.numbers[i].size() == one.measured;
    const std::vector<double> numbers = all ? one.numbers[i] : std::vector<double>();
    cells += pad_left(numbers.empty() ? "–" : metric_text(columns[i], median(numbers)),
                      width_of(columns[i]));
    if (i > 0) continue;
    cells += range_cell(numbers, columns[i], one.repetitions > 1);
    if (!one.bandwidth || !link_.gbps) continue;
    if (one.line_rate_gbps <= 0 || numbers.empty()) {
      cells += pad_left("–", kRateWidth);
      continue;
    }
    const double percent = 100 * median(numbers) / one.line_rate_gbps;
    doubt = line_doubt(*link_.gbps, percent);
    cells += pad_left(doubt.empty() ? fmt::format("{:.1f} %", percent) : "–", kRateWidth);
  }
  std::string remarks;
  if (!doubt.empty()) remarks += "  " + doubt;
  if (one.injected) remarks += kInjected;
  if (one.short_window) remarks += kShortWindow;
  if (one.lost > 0) remarks += fmt::format("  lost {}", one.lost);
  if (one.duplicated > 0) remarks += fmt::format("  duplicated {}", one.duplicated);
  if (one.reordered > 0) remarks += fmt::format("  reordered {}", one.reordered);
  if (one.saturated > 0)
    remarks += one.repetitions == 1
                   ? "  (saturated)"
                   : fmt::format("  (saturated in {} of {})", one.saturated, one.measured);
  if (!one.failed_pairs.empty()) remarks += "  " + one.failed_pairs;
  if (one.measured < one.repetitions)
    remarks += fmt::format("  ({} of {} repetitions)", one.measured, one.repetitions);
  if (one.shared) remarks += kSharedResponder;
  return header(one) + line(one.name, cells, remarks);
}

std::string run_header(const Json& context, const std::vector<std::string>& common,
                       std::size_t width) {
  std::string text;
  for (const auto& [end, environment] : two_ends(context.at("rdmameter"))) {
    const Json device = environment.value("device", Json());
    if (!device.is_object()) continue;
    const Json host = environment.value("hostname", Json());
    text += wrap(
        fmt::format("{}  ", printable(end)),
        (host.is_string() ? printable(host.get<std::string>()) + " " : "") + device_line(device),
        width);
  }
  if (!common.empty())
    text += wrap("all cases  ", printable(fmt::format("{}", fmt::join(common, ", "))), width);
  return text;
}

std::string run_summary(const RunCount& count, double elapsed_s, const std::string& output,
                        std::size_t width) {
  const RunTally& rows = count.rows;
  std::string line = count_text(count.cases, "case") + " measured";
  if (rows.measured > count.cases) line += fmt::format(" ({} repetitions)", rows.measured);
  if (rows.skipped > 0) line += fmt::format(", {} skipped", rows.skipped);
  if (rows.failed > 0) line += fmt::format(", {} failed", count_text(rows.failed, "measurement"));
  line += fmt::format(" in {}", clock_text(elapsed_s));
  std::string text = wrap("", line, width);
  if (count.reasons.size() > 1)
    for (const auto& [reason, cases] : count.reasons)
      text += wrap(fmt::format("  {} skipped: ", cases), printable(reason), width);
  if (!output.empty() && output != "-")
    text += wrap("", fmt::format("'rdmameter show {}' prints tables", printable(output)), width);
  return text;
}

}  // namespace rdmameter
