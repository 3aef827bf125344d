// SPDX-License-Identifier: Apache-2.0
#include "bench/running/lines/case_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "bench/running/lines/row_line.h"
#include "core/base/printable.h"
#include "core/result/row_json.h"
#include "reports/stats/sample.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"
#include "reports/text/text.h"

namespace rdmameter {
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

std::string cell(std::string_view text, std::size_t width) {
  return pad_left(text, width);
}

std::size_t width_of(Metric metric) {
  if (is_time(metric)) return kTimeWidth;
  return metric == Metric::mmsg_per_s ? kMessagesWidth : kRateWidth;
}

/// Half the range of the repetitions.
std::string range_cell(const std::vector<double>& numbers, Metric metric, bool repeated) {
  if (!repeated) return "";
  const auto [min, max] = std::ranges::minmax(numbers);
  return cell("±" + metric_text(metric, (max - min) / 2), width_of(metric));
}

}  // namespace

CaseTable::CaseTable(std::size_t name_width, std::size_t width,
                     std::optional<double> line_rate_gbps, std::vector<std::string> told)
    : name_width_(std::max(name_width, std::string_view("completion latency").size())),
      width_(width),
      line_rate_gbps_(line_rate_gbps),
      told_(std::move(told)) {}

std::string CaseTable::add(const Row& row) {
  const auto at = cases_.try_emplace(row.family_index).first;
  Case& one = at->second;
  one.name = printable(shorten_name(row.name, told_));
  one.repetitions = row.repetitions;
  one.bandwidth = row.bandwidth.has_value();
  one.kind = one.bandwidth ? "bandwidth" : latency_name(*row.latency);
  if (one.bandwidth) one.line_rate_gbps = line_rate_gbps(line_rate_gbps_, row).value_or(0);
  one.shared = one.shared || shares_responder(row);
  one.lost += row.lost.value_or(0);
  if (row.bandwidth) one.lost += bandwidth_lost(*row.bandwidth).value_or(0);
  const auto columns = columns_of(one.bandwidth);
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (const auto value = info_of(columns[i]).value(row)) one.numbers[i].push_back(*value);
  return ++one.ended < one.repetitions ? "" : ended(at);
}

std::string CaseTable::add_failed(const Row& row) {
  const auto at = cases_.find(row.family_index);
  if (at == cases_.end()) {
    if (row.repetitions > 1)
      cases_[row.family_index] = {.name = printable(shorten_name(row.name, told_)),
                                  .ended = 1,
                                  .repetitions = row.repetitions};
    return "";
  }
  return ++at->second.ended < row.repetitions ? "" : ended(at);
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
    if (!cells.empty() && ended_case.line_rate_gbps > 0) cells += cell("of the line", kRateWidth);
    cells +=
        cell(metric == Metric::mmsg_per_s ? "messages" : info_of(metric).name, width_of(metric));
    if (ended_case.repetitions > 1 && cells.size() == width_of(metric))
      cells += cell("±", width_of(metric));
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
    const auto& numbers = one.numbers[i];
    cells += cell(numbers.empty() ? "–" : metric_text(columns[i], median(numbers)),
                  width_of(columns[i]));
    if (i > 0 || numbers.empty()) continue;
    cells += range_cell(numbers, columns[i], one.repetitions > 1);
    if (one.line_rate_gbps <= 0) continue;
    const double percent = 100 * median(numbers) / one.line_rate_gbps;
    doubt = line_doubt(*line_rate_gbps_, percent);
    cells += cell(doubt.empty() ? fmt::format("{:.1f} %", percent) : "–", kRateWidth);
  }
  std::string remarks;
  if (!doubt.empty()) remarks += "  " + doubt;
  if (one.lost > 0) remarks += fmt::format("  lost {}", one.lost);
  if (one.numbers[0].size() < one.repetitions)
    remarks += fmt::format("  ({} of {} repetitions)", one.numbers[0].size(), one.repetitions);
  if (one.shared) remarks += kSharedResponder;
  return header(one) + line(one.name, cells, remarks);
}

}  // namespace rdmameter
