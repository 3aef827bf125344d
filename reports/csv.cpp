// SPDX-License-Identifier: Apache-2.0
#include "reports/csv.h"

#include <fmt/core.h>

#include <array>

#include "reports/row_json.h"
#include "reports/summary.h"
#include "reports/text.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

/// A scalar as it is, null as an empty cell.
std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_quoted(printable(value.get_ref<const std::string&>()));
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
  const char* head;
  const char* pointer;  ///< into the row's JSON
};

/// Read from the JSON of the row, so that a column cannot say other than the file.
constexpr std::array kColumns = {
    Column{"repetition", "/repetition_index"},
    Column{"repetitions", "/repetitions"},
    Column{"iterations", "/iterations"},
    Column{"real_time_ns", "/real_time"},
    Column{"cpu_time_ns", "/cpu_time"},
    Column{"size_bytes", "/case/size_bytes"},
    Column{"qps", "/case/qps"},
    Column{"depth", "/case/depth"},
    Column{"post_list", "/case/post_list"},
    Column{"signal_every", "/case/signal_every"},
    Column{"inline_bytes", "/case/inline_bytes"},
    Column{"mtu_bytes", "/case/mtu_bytes"},
    Column{"latency_definition", "/latency/definition"},
    Column{"latency_count", "/latency/count"},
    Column{"latency_min_ns", "/latency/min"},
    Column{"latency_p50_ns", "/latency/p50"},
    Column{"latency_p90_ns", "/latency/p90"},
    Column{"latency_p99_ns", "/latency/p99"},
    Column{"latency_p99.9_ns", "/latency/p99.9"},
    Column{"latency_p99.99_ns", "/latency/p99.99"},
    Column{"latency_max_ns", "/latency/max"},
    Column{"latency_mean_ns", "/latency/mean"},
    Column{"latency_stddev_ns", "/latency/stddev"},
    Column{"half_round_trip_min_ns", "/latency/half_round_trip/min"},
    Column{"half_round_trip_p50_ns", "/latency/half_round_trip/p50"},
    Column{"half_round_trip_p90_ns", "/latency/half_round_trip/p90"},
    Column{"half_round_trip_p99_ns", "/latency/half_round_trip/p99"},
    Column{"half_round_trip_p99.9_ns", "/latency/half_round_trip/p99.9"},
    Column{"half_round_trip_p99.99_ns", "/latency/half_round_trip/p99.99"},
    Column{"half_round_trip_max_ns", "/latency/half_round_trip/max"},
    Column{"half_round_trip_mean_ns", "/latency/half_round_trip/mean"},
    Column{"half_round_trip_stddev_ns", "/latency/half_round_trip/stddev"},
    Column{"lost", "/lost"},
    Column{"bandwidth_messages", "/bandwidth/messages"},
    Column{"bandwidth_bytes", "/bandwidth/bytes"},
    Column{"bandwidth_window_ns", "/bandwidth/window_ns"},
    Column{"bandwidth_gbps", "/bandwidth/gbps"},
    Column{"bandwidth_mib_per_s", "/bandwidth/mib_per_s"},
    Column{"bandwidth_mmsg_per_s", "/bandwidth/mmsg_per_s"},
    Column{"bandwidth_counted_by", "/bandwidth/counted_by"},
    Column{"bandwidth_injected", "/bandwidth/injected"},
    Column{"bandwidth_sent", "/bandwidth/sent"},
    Column{"bandwidth_received", "/bandwidth/received"},
    Column{"bandwidth_lost", "/bandwidth/lost"},
    Column{"case", "/case"},
    Column{"bandwidth_duplicated", "/bandwidth/duplicated"},
    Column{"bandwidth_reordered", "/bandwidth/reordered"},
};

std::string line_of(const ResultFile& file, const Row& row) {
  std::string line;
  for (const std::string& first : {file.path, row.name, test_of(row), transport_of(row),
                                   std::string(status_text(row.status)), row.message})
    line += (line.empty() ? "" : ",") + csv_quoted(printable(first));
  const Json json = row_to_json(row);
  for (const Column& column : kColumns) {
    const Json::json_pointer pointer(column.pointer);
    line += "," + (json.contains(pointer) ? cell(json.at(pointer)) : "");
  }
  return line + "\n";
}

}  // namespace

std::string to_csv(const std::vector<ResultFile>& files) {
  std::string text = "file,name,test,transport,status,message";
  for (const Column& column : kColumns) text += fmt::format(",{}", column.head);
  text += "\n";
  for (const ResultFile& file : files)
    for (const Row& row : file.rows) text += line_of(file, row);
  return text;
}

}  // namespace rdmameter
