// SPDX-License-Identifier: Apache-2.0
// OpenMetrics 1.0 text. Only gauges and summaries, so that Prometheus' older text format, which the
// node exporter's textfile collector reads, takes it as well.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "reports/export/format.h"
#include "reports/summary/facts.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

/// Lines, backslashes and quotes escaped as the format has it; what else a terminal could obey
/// gives way.
std::string label(std::string_view name, std::string_view value) {
  std::string text;
  for (const char c : printable_lines(value)) {
    if (c == '\\' || c == '"' || c == '\n') text += '\\';
    text += c == '\n' ? 'n' : c;
  }
  return fmt::format("{}=\"{}\"", name, text);
}

/// [a-zA-Z_][a-zA-Z0-9_]*
std::string label_name(std::string_view key) {
  std::string name = key.empty() || std::isdigit(static_cast<unsigned char>(key[0])) ? "_" : "";
  for (const char c : key) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

/// The case, its test and transport, and as labels of their own the axes that its
/// name gives: size="64".
std::string labels_of(const CaseNumbers& values) {
  const Row& row = values.summary.first();
  std::string text = label("case", values.name) + "," + label("test", test_of(row)) + "," +
                     label("transport", transport_of(row));
  std::vector<std::string> used = {"case", "test", "transport", "quantile"};
  for (const std::string_view part : split(row.name, "/")) {
    const std::size_t colon = part.find(':');
    if (colon == part.npos) continue;
    const std::string name = label_name(part.substr(0, colon));
    if (add_once(used, name)) text += "," + label(name, part.substr(colon + 1));
  }
  return text;
}

/// One metric family: its head once, and its samples together.
class Family {
 public:
  Family(std::string_view name, std::string_view type, std::string_view help)
      : name_(name), head_(fmt::format("# TYPE {0} {1}\n# HELP {0} {2}\n", name, type, help)) {}
  void add(std::string_view suffix, std::string_view labels, double value) {
    samples_ += fmt::format("{}{}{{{}}} {}\n", name_, suffix, labels, value);
  }
  std::string text() const { return samples_.empty() ? "" : head_ + samples_; }

 private:
  std::string name_, head_, samples_;
};

std::string latencies(const std::vector<CaseNumbers>& cases) {
  Family summary("rdmameter_latency_seconds", "summary",
                 "Half round trips of ping-pong tests, else post to completion; the samples of all "
                 "repetitions.");
  Family min("rdmameter_latency_min_seconds", "gauge", "The smallest sample.");
  Family largest("rdmameter_latency_max_seconds", "gauge", "The largest sample.");
  for (const CaseNumbers& values : cases) {
    const HistogramData data = merged_latency(values.summary);
    if (data.count == 0) continue;
    const std::string labels = labels_of(values);
    const double scale = latency_divisor(values.summary.first()) * kNsPerSecond;
    for (const double percent : {50.0, 90.0, 99.0, 99.9, 99.99})
      if (const auto value = reported_percentile(data, percent, scale))
        summary.add("", labels + fmt::format(",quantile=\"{:.6g}\"", percent / 100), *value);
    summary.add("_count", labels, static_cast<double>(data.count));
    summary.add("_sum", labels, static_cast<double>(data.sum_ns) / scale);
    min.add("", labels, static_cast<double>(data.min_ns) / scale);
    largest.add("", labels, static_cast<double>(data.max_ns) / scale);
  }
  return summary.text() + min.text() + largest.text();
}

std::string rates(const std::vector<CaseNumbers>& cases) {
  Family bandwidth("rdmameter_bandwidth_bits_per_second", "gauge",
                   "Payload over window; median of the repetitions.");
  Family messages("rdmameter_messages_per_second", "gauge", "Median of the repetitions.");
  for (const CaseNumbers& values : cases) {
    if (const CaseNumber* value = values.find("gbps"))
      bandwidth.add("", labels_of(values), value->median * 1e9);
    if (const CaseNumber* value = values.find("mmsg_per_s"))
      messages.add("", labels_of(values), value->median * 1e6);
  }
  return bandwidth.text() + messages.text();
}

/// How many rows were measured, skipped and failed; when; by which version where.
std::string about(const ResultFile& file) {
  Family rows("rdmameter_rows", "gauge", "Repetitions in the result, by how they ended.");
  for (const auto& [name, status] :
       {std::pair{"ok", Row::Status::ok}, std::pair{"skipped", Row::Status::skipped},
        std::pair{"error", Row::Status::error}})
    rows.add("", label("status", name),
             static_cast<double>(std::ranges::count(file.rows, status, &Row::status)));
  Family info("rdmameter_result_info", "gauge", "1; the labels say what measured.");
  info.add("",
           label("version", text_at(file.context.at("rdmameter"), "version")) + "," +
               label("host", text_at(file.context, "host_name")),
           1);
  Family time("rdmameter_result_timestamp_seconds", "gauge",
              "When the run began, in seconds since 1970.");
  if (const auto seconds = epoch_seconds(text_at(file.context, "date")))
    time.add("", label("host", text_at(file.context, "host_name")), static_cast<double>(*seconds));
  return rows.text() + info.text() + time.text();
}

}  // namespace

std::string to_openmetrics(std::span<const ResultFile> files) {
  const std::vector<CaseNumbers> cases = case_numbers(files.front().rows);
  return latencies(cases) + rates(cases) + about(files.front()) + "# EOF\n";
}

}  // namespace rdmameter
