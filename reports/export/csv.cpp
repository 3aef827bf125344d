// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/base/parse_value.h"
#include "core/result/row_json.h"
#include "reports/export/format.h"
#include "reports/figures/figures.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  return fmt::format("\"{}\"", fmt::join(split(text, "\""), "\"\""));
}

/// A text of any origin. A spreadsheet takes one that begins so for a formula; the apostrophe makes
/// it a text.
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

constexpr const char* kHalf = "/latency/half_round_trip";

struct CsvRow {
  const ResultFile& file;
  const Row& row;
  Json json;             ///< of the row: a column cannot say other than the file
  const LinkRate& link;  ///< the result's

  std::string at(const Json::json_pointer& where) const {
    return json.contains(where) ? cell(json.at(where)) : "";
  }
  bool is_half() const { return latency_divisor(row) > 1; }
};

struct CsvColumn {
  std::string head;
  std::function<std::string(const CsvRow&)> cell;
};
using CsvColumns = std::vector<CsvColumn>;

void add(CsvColumns& columns, const std::vector<FigureCsv>& list) {
  for (const FigureCsv& one : list)
    columns.push_back({one.head, [where = Json::json_pointer(one.pointer)](const CsvRow& row) {
                         return row.at(where);
                       }});
}

/// Columns of texts, by their heads.
void add_texts(CsvColumns& columns, std::initializer_list<std::string_view> heads) {
  using Text = std::function<std::string(const CsvRow&)>;
  static const std::map<std::string_view, Text> kTexts{
      {"file", [](const CsvRow& at) { return at.file.path; }},
      {"name", [](const CsvRow& at) { return at.row.name; }},
      {"test", [](const CsvRow& at) { return test_of(at.row); }},
      {"transport", [](const CsvRow& at) { return transport_of(at.row); }},
      {"message", [](const CsvRow& at) { return at.row.message; }},
      {"status", [](const CsvRow& at) {
         return at.row.status == Row::Status::ok      ? "ok"
                : at.row.status == Row::Status::error ? "error"
                                                      : "skipped";
       }}};
  for (const std::string_view head : heads)
    columns.push_back({std::string(head),
                       [&text = kTexts.at(head)](const CsvRow& at) { return csv_text(text(at)); }});
}

std::vector<FigureCsv> statistics(std::string_view prefix, std::string_view object) {
  return csv_of_keys(prefix, object,
                     {"min", "p50", "p90", "p99", "p99.9", "p99.99", "max", "mean", "stddev"},
                     "_ns");
}

/// Of kinds of figures whose cases have one line.
void add_kinds(CsvColumns& columns, bool early) {
  for (const Figures& each : figures())
    for (std::size_t i = 0; each.parts == nullptr && i < each.csv.size(); ++i)
      if ((i < each.csv_early) == early) add(columns, {each.csv[i]});
}

/// Of kinds of figures; of a collective among ranks, and of any traffic the barrier: the same
/// columns in both forms of CSV.
void add_figure_columns(CsvColumns& columns) {
  add_kinds(columns, true);
  add(columns, csv_of_keys("collective_", "/topology/collective",
                           {"bytes", "steps", "step_bytes", "messages", "sent_bytes",
                            "relayed_hops", "rank_min_ns", "rank_mean_ns", "rank_max_ns",
                            "algbw_gb_per_s", "busbw_gb_per_s"}));
  add(columns, {{"barrier_ns", "/topology/barrier_ns"}});
}

/// Of the other kinds, for as many parts as any row has.
void add_parts(CsvColumns& columns, const std::vector<ResultFile>& files) {
  for (const Figures& each : figures()) {
    if (each.parts == nullptr) continue;
    std::size_t parts = 0;
    for (const ResultFile& file : files)
      for (const Row& row : file.rows) parts = std::max(parts, each.parts(row));
    for (std::size_t part = 0; part < parts; ++part)
      for (const FigureCsv& one : each.csv)
        add(columns, {{fmt::format(fmt::runtime(one.head), part),
                       fmt::format(fmt::runtime(one.pointer), part)}});
  }
}

/// The share of the line rate, which is the context's and the row's together, and what came after
/// it: the last columns of both forms of CSV.
void add_last(CsvColumns& columns) {
  columns.push_back({"bandwidth_line_percent", [](const CsvRow& row) {
                       const auto percent = line_percent(row.link, row.row);
                       return percent ? fmt::format("{:.4g}", *percent) : "";
                     }});
  add_kinds(columns, false);
}

std::string csv_of(const std::vector<ResultFile>& files, const CsvColumns& columns) {
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    text += fmt::format("{}\n", fmt::join(mapped(columns, cell_of), ","));
  };
  add_line([](const CsvColumn& column) { return column.head; });
  for (const ResultFile& file : files) {
    const LinkRate link = link_rate(file.context);
    for (const Row& row : file.rows)
      add_line([at = CsvRow{file, row, row_to_json(row), link}](const CsvColumn& column) {
        return column.cell(at);
      });
  }
  return text;
}

/// The axes of all cases, as they first appear, without the transport, which all rows have.
std::vector<std::string> axis_keys(const std::vector<ResultFile>& files) {
  std::vector<std::string> keys;
  for (const ResultFile& file : files)
    for (const Row& row : file.rows)
      for (const auto& [key, value] : row.case_object.items())
        if (key != "test" && key != "transport") add_once(keys, key);
  return keys;
}

/// "half_round_trip" where the test's figures are halves: those are then in its columns.
void add_tidy_latency(CsvColumns& columns) {
  static const Json::json_pointer kDefinition("/latency/definition");
  columns.push_back({"latency", [](const CsvRow& row) {
                       return row.is_half() ? "half_round_trip" : row.at(kDefinition);
                     }});
  add(columns, {{"latency_count", "/latency/count"}});
  const auto whole = statistics("", "/latency"), half = statistics("", kHalf);
  for (std::size_t i = 0; i < whole.size(); ++i)
    columns.push_back(
        {whole[i].head,
         [whole = Json::json_pointer(whole[i].pointer), half = Json::json_pointer(half[i].pointer)](
             const CsvRow& row) { return row.at(row.is_half() ? half : whole); }});
}

}  // namespace

// ---- tidy: each variable is a column

std::string to_tidy_csv(const std::vector<ResultFile>& files) {
  CsvColumns columns;
  add_texts(columns, {"file", "test", "transport"});
  for (const std::string& axis : axis_keys(files))
    columns.push_back({csv_quoted(printable(axis)), [axis](const CsvRow& row) {
                         return cell(row.row.case_object.value(axis, Json()));
                       }});
  add(columns, {{"repetition", "/repetition_index"}});
  add_texts(columns, {"status"});
  add_tidy_latency(columns);
  add(columns, {{"latency_lost", "/lost"}});
  add(columns,
      csv_of_keys("bandwidth_", "/bandwidth",
                  {"messages", "bytes", "window_ns", "gbps", "mib_per_s", "mmsg_per_s", "injected",
                   "sent", "received", "lost", "duplicated", "reordered", "short_window"}));
  add_figure_columns(columns);
  add_parts(columns, files);
  columns.push_back(
      {"interrupted", [](const CsvRow& at) { return fmt::format("{}", at.row.interrupted); }});
  add_texts(columns, {"name", "message"});
  add_last(columns);
  return csv_of(files, columns);
}

std::string to_csv(const std::vector<ResultFile>& files) {
  CsvColumns columns;
  add_texts(columns, {"file", "name", "test", "transport", "status", "message"});
  add(columns, {{"repetition", "/repetition_index"}});
  add(columns, csv_of_keys("", "", {"repetitions", "iterations"}));
  add(columns, csv_of_keys("", "", {"real_time", "cpu_time"}, "_ns"));
  add(columns, csv_of_keys("", "/case",
                           {"size_bytes", "qps", "depth", "post_list", "signal_every",
                            "inline_bytes", "mtu_bytes"}));
  add(columns, csv_of_keys("latency_", "/latency", {"definition", "count"}));
  add(columns, statistics("latency_", "/latency"));
  add(columns, statistics("half_round_trip_", kHalf));
  add(columns, {{"lost", "/lost"}});
  add(columns, csv_of_keys("bandwidth_", "/bandwidth",
                           {"messages", "bytes", "window_ns", "gbps", "mib_per_s", "mmsg_per_s",
                            "counted_by", "injected", "sent", "received", "lost"}));
  add(columns, {{"case", "/case"}});
  add(columns,
      csv_of_keys("bandwidth_", "/bandwidth", {"duplicated", "reordered", "short_window"}));
  add(columns, {{"interrupted", "/interrupted"}});
  add_figure_columns(columns);
  add_last(columns);
  return csv_of(files, columns);
}

}  // namespace rdmameter
