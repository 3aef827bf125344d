// SPDX-License-Identifier: Apache-2.0
#include "reports/export/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <set>
#include <span>
#include <string_view>

#include "core/base/printable.h"
#include "core/result/row_json.h"
#include "reports/figures/figures.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::string_view_literals;

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

/// A text, which may be anybody's. A spreadsheet takes one that begins so for a formula; the
/// apostrophe makes it a text.
std::string csv_text(std::string_view text) {
  const std::string plain = printable(text);
  const bool formula = !plain.empty() && std::string_view("=+-@").find(plain[0]) != plain.npos;
  return csv_quoted(formula ? "'" + plain : plain);
}

/// A scalar as it is, null as an empty cell.
std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_text(value.get_ref<const std::string&>());
  return csv_quoted(printable(value.dump()));
}

const char* status_text(Row::Status status) {
  switch (status) {
    case Row::Status::ok:
      return "ok";
    case Row::Status::error:
      return "error";
    case Row::Status::skipped:
      return "skipped";
  }
  return "";
}

struct Column {
  std::string head;
  Json::json_pointer pointer;  ///< into the row's JSON
};

constexpr std::array kStatistics{"min"sv,    "p50"sv, "p90"sv,  "p99"sv,   "p99.9"sv,
                                 "p99.99"sv, "max"sv, "mean"sv, "stddev"sv};

/// Adds a column for each of these keys of an object in the row.
void add_columns(std::vector<Column>& list, std::string_view prefix, std::string_view object,
                 std::span<const std::string_view> keys, std::string_view unit = "") {
  for (const std::string_view key : keys)
    list.push_back({fmt::format("{}{}{}", prefix, key, unit),
                    Json::json_pointer(fmt::format("{}/{}", object, key))});
}

/// Of kinds of figures whose cases have one line: the same columns in both forms of CSV.
std::vector<Column> figure_columns() {
  std::vector<Column> list;
  for (const Figures& each : figures())
    if (each.parts == nullptr)
      for (const FigureCsv& one : each.csv)
        list.push_back({one.head, Json::json_pointer(one.pointer)});
  return list;
}

/// Of the others, for as many parts as any row has.
std::vector<Column> part_columns(const std::vector<ResultFile>& files) {
  std::vector<Column> list;
  for (const Figures& each : figures()) {
    if (each.parts == nullptr) continue;
    std::size_t parts = 0;
    for (const ResultFile& file : files)
      for (const Row& row : file.rows) parts = std::max(parts, each.parts(row));
    for (std::size_t part = 0; part < parts; ++part)
      for (const FigureCsv& one : each.csv)
        list.push_back({fmt::format(fmt::runtime(one.head), part),
                        Json::json_pointer(fmt::format(fmt::runtime(one.pointer), part))});
  }
  return list;
}

/// Of a collective among ranks, and of any traffic the barrier: the same columns in both forms of
/// CSV.
std::vector<Column> collective_columns() {
  static constexpr std::array kKeys{"bytes"sv,          "steps"sv,         "step_bytes"sv,
                                    "messages"sv,       "sent_bytes"sv,    "relayed_hops"sv,
                                    "rank_min_ns"sv,    "rank_mean_ns"sv,  "rank_max_ns"sv,
                                    "algbw_gb_per_s"sv, "busbw_gb_per_s"sv};
  std::vector<Column> list;
  add_columns(list, "collective_", "/topology/collective", kKeys);
  list.push_back({"barrier_ns", Json::json_pointer("/topology/barrier_ns")});
  return list;
}

/// The share of the line rate, which is the context's and the row's together: the last column of
/// both forms of CSV.
constexpr std::string_view kLinePercent = "bandwidth_line_percent";

std::string line_percent_cell(std::optional<double> line_rate, const Row& row) {
  const auto percent = line_percent(line_rate, row);
  return percent ? fmt::format(",{:.4g}", *percent) : ",";
}

std::string cell_at(const Json& row, const Column& column) {
  return row.contains(column.pointer) ? cell(row.at(column.pointer)) : "";
}

/// Read from the JSON of the row, so that a column cannot say other than the file.
std::vector<Column> all_columns() {
  std::vector<Column> list = {{"repetition", Json::json_pointer("/repetition_index")}};
  const auto add = [&list](std::string_view prefix, std::string_view object,
                           std::initializer_list<std::string_view> keys,
                           std::string_view unit = "") {
    add_columns(list, prefix, object, {keys.begin(), keys.size()}, unit);
  };
  add("", "", {"repetitions", "iterations"});
  add("", "", {"real_time", "cpu_time"}, "_ns");
  add("", "/case",
      {"size_bytes", "qps", "depth", "post_list", "signal_every", "inline_bytes", "mtu_bytes"});
  add("latency_", "/latency", {"definition", "count"});
  add_columns(list, "latency_", "/latency", kStatistics, "_ns");
  add_columns(list, "half_round_trip_", "/latency/half_round_trip", kStatistics, "_ns");
  add("", "", {"lost"});
  add("bandwidth_", "/bandwidth",
      {"messages", "bytes", "window_ns", "gbps", "mib_per_s", "mmsg_per_s", "counted_by",
       "injected", "sent", "received", "lost"});
  add("", "", {"case"});
  add("bandwidth_", "/bandwidth", {"duplicated", "reordered", "short_window"});
  add("", "", {"interrupted"});
  std::ranges::move(figure_columns(), std::back_inserter(list));
  std::ranges::move(collective_columns(), std::back_inserter(list));
  return list;
}

std::string line_of(const ResultFile& file, const Row& row, const std::vector<Column>& columns,
                    std::optional<double> line_rate) {
  std::string line;
  for (const std::string& first : {file.path, row.name, test_of(row), transport_of(row),
                                   std::string(status_text(row.status)), row.message})
    line += (line.empty() ? "" : ",") + csv_text(first);
  const Json json = row_to_json(row);
  for (const Column& column : columns) line += "," + cell_at(json, column);
  return line + line_percent_cell(line_rate, row) + "\n";
}

// ---- tidy: each variable is a column

/// The axes of all cases, as they first appear, without the transport, which all rows have.
std::vector<std::string> axis_keys(const std::vector<ResultFile>& files) {
  std::vector<std::string> keys;
  std::set<std::string> known{"test", "transport"};
  for (const ResultFile& file : files)
    for (const Row& row : file.rows)
      for (const auto& item : row.case_object.items())
        if (known.insert(item.key()).second) keys.push_back(item.key());
  return keys;
}

constexpr std::array kTraffic{"messages"sv,    "bytes"sv,      "window_ns"sv,  "gbps"sv,
                              "mib_per_s"sv,   "mmsg_per_s"sv, "injected"sv,   "sent"sv,
                              "received"sv,    "lost"sv,       "duplicated"sv, "reordered"sv,
                              "short_window"sv};

std::string tidy_head(const std::vector<std::string>& axes, const std::vector<Column>& parts) {
  std::string text = "file,test,transport";
  for (const std::string& axis : axes) text += "," + csv_quoted(printable(axis));
  text += ",repetition,status,latency,latency_count";
  for (const std::string_view statistic : kStatistics) text += fmt::format(",{}_ns", statistic);
  text += ",latency_lost";
  for (const std::string_view key : kTraffic) text += fmt::format(",bandwidth_{}", key);
  for (const Column& column : figure_columns()) text += "," + column.head;
  for (const Column& column : collective_columns()) text += "," + column.head;
  for (const Column& column : parts) text += "," + column.head;
  return text + fmt::format(",interrupted,name,message,{}\n", kLinePercent);
}

/// "half_round_trip" where the test's figures are halves: those are then in its columns.
std::string tidy_latency(const Json& row) {
  std::string text;
  const bool any = row.contains("latency") && row.at("latency").is_object();
  const Json latency = any ? row.at("latency") : Json::object();
  const bool half =
      latency.contains("half_round_trip") && latency.at("half_round_trip").is_object();
  const Json& numbers = half ? latency.at("half_round_trip") : latency;
  text += "," + (half ? "half_round_trip" : cell(latency.value("definition", Json())));
  text += "," + cell(latency.value("count", Json()));
  for (const std::string_view statistic : kStatistics)
    text += "," + cell(numbers.value(std::string(statistic), Json()));
  return text;
}

std::string tidy_line(const ResultFile& file, const Row& row, const std::vector<std::string>& axes,
                      const std::vector<Column>& parts, std::optional<double> line_rate) {
  const auto text_cell = [](std::string_view text) { return csv_text(text); };
  std::string line =
      text_cell(file.path) + "," + text_cell(test_of(row)) + "," + text_cell(transport_of(row));
  for (const std::string& axis : axes) line += "," + cell(row.case_object.value(axis, Json()));
  const Json json = row_to_json(row);
  line += fmt::format(",{},{}", row.repetition, status_text(row.status)) + tidy_latency(json) +
          "," + cell(json.value("lost", Json()));
  const Json bandwidth = json.value("bandwidth", Json());
  for (const std::string_view key : kTraffic)
    line += "," + (bandwidth.is_object() ? cell(bandwidth.value(std::string(key), Json())) : "");
  for (const Column& column : figure_columns()) line += "," + cell_at(json, column);
  for (const Column& column : collective_columns()) line += "," + cell_at(json, column);
  for (const Column& column : parts) line += "," + cell_at(json, column);
  return line + fmt::format(",{},", row.interrupted) + text_cell(row.name) + "," +
         text_cell(row.message) + line_percent_cell(line_rate, row) + "\n";
}

}  // namespace

std::string to_tidy_csv(const std::vector<ResultFile>& files) {
  const std::vector<std::string> axes = axis_keys(files);
  const std::vector<Column> parts = part_columns(files);
  std::string text = tidy_head(axes, parts);
  for (const ResultFile& file : files) {
    const auto line_rate = line_rate_gbps(file.context);
    for (const Row& row : file.rows) text += tidy_line(file, row, axes, parts, line_rate);
  }
  return text;
}

std::string to_csv(const std::vector<ResultFile>& files) {
  const std::vector<Column> columns = all_columns();
  std::string text = "file,name,test,transport,status,message";
  for (const Column& column : columns) text += fmt::format(",{}", column.head);
  text += fmt::format(",{}\n", kLinePercent);
  for (const ResultFile& file : files) {
    const auto line_rate = line_rate_gbps(file.context);
    for (const Row& row : file.rows) text += line_of(file, row, columns, line_rate);
  }
  return text;
}

}  // namespace rdmameter
