// SPDX-License-Identifier: Apache-2.0
#include "core/result/row_json.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/result/row_fields.h"

namespace rdmameter {

using Json = nlohmann::ordered_json;

namespace {

/// @return bytes or messages per ns
double rate(std::uint64_t amount, std::uint64_t window_ns) {
  return window_ns == 0 ? 0.0 : static_cast<double>(amount) / static_cast<double>(window_ns);
}

}  // namespace

/// A row without a measurement has zeros where Google Benchmark leaves out keys that its own
/// compare.py needs.
Json row_to_json(const Row& row) {
  if (row.status == Row::Status::ok) return write_fields(row);
  Row zeroed = row;
  zeroed.iterations = 0;
  zeroed.real_time_ns = zeroed.cpu_time_ns = 0;
  return write_fields(zeroed);
}

Row row_from_json(const Json& json, const std::string& where) {
  return read_fields<Row>(CheckedJson(json, where));
}

Row row_without_bulk(const Json& json, const std::string& where) {
  return read_fields<Row>(CheckedJson(json, where, Reading::metrics));
}

void complete(Row& row, const CheckedJson& json) {
  const CheckedJson test_case = json.at("case");
  // Readers compare and print these as texts, and look at no other key without its type.
  using namespace std::string_view_literals;
  for (const auto key : {"test"sv, "transport"sv, "graph"sv, "traffic"sv, "schedule"sv})
    if (const auto axis = row.case_object.find(key);
        axis != row.case_object.end() && !axis->is_null() && !axis->is_string())
      test_case.at(key).text();
  const auto error = json.find("error_occurred"), skipped = json.find("skipped");
  if (error && error->flag()) {
    row.status = Row::Status::error;
    row.message = json.at("error_message").text();
  } else if (skipped && skipped->flag()) {
    row.status = Row::Status::skipped;
    row.message = json.at("skip_message").text();
  }
  const CheckedJson name = json.at("name");
  if (name.text() != row.name + std::string(name_suffix(row.status)))
    name.fail(fmt::format("is not `run_name` and \"{}\"", name_suffix(row.status)));
}

std::string_view name_suffix(Row::Status status) {
  switch (status) {
    case Row::Status::ok:
      return "";
    case Row::Status::error:
      return "/error";
    case Row::Status::skipped:
      return "/skipped";
  }
  return "";
}

const char* counted_by_name(BandwidthData::CountedBy end) {
  switch (end) {
    case BandwidthData::CountedBy::initiator:
      return "initiator";
    case BandwidthData::CountedBy::receiver:
      return "receiver";
  }
  return "";
}

const char* ended_name(UntilData::Ended ended) {
  switch (ended) {
    case UntilData::Ended::reached:
      return "reached";
    case UntilData::Ended::repetitions:
      return "repetitions";
    case UntilData::Ended::budget:
      return "budget";
    case UntilData::Ended::noise:
      return "noise";
    case UntilData::Ended::not_measured:
      return "not_measured";
  }
  return "";
}

double bandwidth_gbps(std::uint64_t bytes, std::uint64_t window_ns) {
  return 8.0 * rate(bytes, window_ns);
}

double bandwidth_gbps(const BandwidthData& data) {
  return bandwidth_gbps(data.bytes, data.window_ns);
}

double bandwidth_mib_per_s(const BandwidthData& data) {
  return rate(data.bytes, data.window_ns) * 1e9 / (1 << 20);
}

double bandwidth_mmsg_per_s(std::uint64_t messages, std::uint64_t window_ns) {
  return rate(messages, window_ns) * 1e3;
}

double bandwidth_mmsg_per_s(const BandwidthData& data) {
  return bandwidth_mmsg_per_s(data.messages, data.window_ns);
}

std::optional<std::uint64_t> bandwidth_lost(const BandwidthData& data) {
  if (!data.sent || !data.received) return std::nullopt;
  const std::uint64_t twice = std::min(data.duplicated.value_or(0), *data.received);
  const std::uint64_t arrived = *data.received - twice;
  return *data.sent > arrived ? *data.sent - arrived : 0;
}

std::optional<double> settled_share(const SettledMetric& settled) {
  if (!settled.low || !settled.high || !settled.median || !(*settled.median > 0))
    return std::nullopt;
  return (*settled.high - *settled.low) / 2 / *settled.median;
}

double background_per_s(const BackgroundData& data) {
  return rate(data.operations, data.window_ns) * 1e9;
}

std::optional<double> bound_percent(const DeviceData& data) {
  if (!data.bound_gbps || *data.bound_gbps <= 0) return std::nullopt;
  return 100 * bandwidth_gbps(data.bytes, data.window_ns) / *data.bound_gbps;
}

double background_gbps(const BackgroundData& data) {
  return rate(data.bytes, data.window_ns) * 8;
}

double load_part_gbps(const LoadPart& part) {
  return part.reached_per_s * static_cast<double>(part.size_bytes) * 8 / 1e9;
}

double load_offered_per_s(const LoadData& data) {
  return rate(data.due, data.window_ns) * 1e9;
}

double load_reached_per_s(const LoadData& data) {
  return rate(data.completed, data.completing_ns) * 1e9;
}

std::optional<double> load_reached_share(const LoadData& data) {
  const double offered = load_offered_per_s(data);
  return offered > 0 ? std::optional(load_reached_per_s(data) / offered) : std::nullopt;
}

bool load_saturated(const LoadData& data) {
  constexpr double kKeptUp = 0.99;
  return data.unsent * 100 > data.due ||
         load_reached_per_s(data) < kKeptUp * load_offered_per_s(data);
}

}  // namespace rdmameter
