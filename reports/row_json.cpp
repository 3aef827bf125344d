// SPDX-License-Identifier: Apache-2.0
// Writing a row.
#include "reports/row_json.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/histogram_data.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has neither NaN nor Infinity, and compare.py stops at null.
double finite(double value) {
  return std::isfinite(value) ? value : 0.0;
}

/// A whole number without ".0": shorter, and the same to every reader.
Json number(double value) {
  constexpr double kExact = 1ULL << 53;
  if (value < kExact && value == std::floor(value)) return static_cast<std::uint64_t>(value);
  return value;
}

/// Null where there are no samples, or too few for a percentile.
Json statistics(const HistogramData& data, unsigned divisor) {
  const LatencySummary summary = summarize(data, divisor);
  const auto known = [&](double value) { return data.count == 0 ? Json() : number(value); };
  const auto reported = [](const std::optional<double>& value) {
    return value ? number(*value) : Json();
  };
  return {{"unit", "ns"},
          {"count", count_to_json(summary.count)},
          {"min", known(summary.min)},
          {"max", known(summary.max)},
          {"mean", known(summary.mean)},
          {"stddev", known(summary.stddev)},
          {"p50", reported(summary.p50)},
          {"p90", reported(summary.p90)},
          {"p99", reported(summary.p99)},
          {"p99.9", reported(summary.p99_9)},
          {"p99.99", reported(summary.p99_99)}};
}

Json histogram_to_json(const HistogramData& data) {
  Json index = Json::array(), n = Json::array();
  for (const auto& [bucket_index, bucket_n] : data.buckets) {
    index.push_back(bucket_index);
    n.push_back(count_to_json(bucket_n));
  }
  return {{"type", "log_linear"},
          {"precision_bits", kHistogramPrecisionBits},
          {"count", count_to_json(data.count)},
          {"sum", count_to_json(data.sum_ns)},
          {"min", count_to_json(data.min_ns)},
          {"max", count_to_json(data.max_ns)},
          {"overflow", count_to_json(data.overflow)},
          {"index", std::move(index)},
          {"n", std::move(n)}};
}

const char* definition_name(LatencyData::Definition definition) {
  switch (definition) {
    case LatencyData::Definition::round_trip:
      return "round_trip";
    case LatencyData::Definition::completion:
      return "completion";
    case LatencyData::Definition::call:
      return "call";
  }
  return "";
}

Json latency_to_json(const LatencyData& data) {
  Json json = {{"definition", definition_name(data.definition)}};
  json.update(statistics(data.histogram, 1));
  if (data.half_round_trip) json["half_round_trip"] = statistics(data.histogram, 2);
  json["histogram"] = histogram_to_json(data.histogram);
  return json;
}

Json bandwidth_to_json(const BandwidthData& data) {
  const bool receiver = data.counted_by == BandwidthData::CountedBy::receiver;
  Json json = {{"messages", count_to_json(data.messages)},
               {"bytes", count_to_json(data.bytes)},
               {"window_ns", count_to_json(data.window_ns)},
               {"gbps", bandwidth_gbps(data)},
               {"mib_per_s", bandwidth_mib_per_s(data)},
               {"mmsg_per_s", bandwidth_mmsg_per_s(data)},
               {"counted_by", receiver ? "receiver" : "initiator"}};
  if (data.injected) json["injected"] = true;
  json["traffic_messages"] = count_to_json(data.traffic_messages);
  json["traffic_ns"] = count_to_json(data.traffic_ns);
  if (data.sent) json["sent"] = count_to_json(*data.sent);
  if (data.received) json["received"] = count_to_json(*data.received);
  if (const auto lost = bandwidth_lost(data)) json["lost"] = count_to_json(*lost);
  return json;
}

/// Google Benchmark 1.7's keys, in its order, but for `iterations` and the times of a row that
/// failed, which it leaves out and its own compare.py cannot do without.
Json google_benchmark_keys(const Row& row) {
  const bool ok = row.status == Row::Status::ok;
  Json json = {{"name", row.name + std::string(name_suffix(row.status))},
               {"family_index", row.family_index},
               {"per_family_instance_index", 0},
               {"run_name", row.name},
               {"run_type", "iteration"},
               {"repetitions", row.repetitions},
               {"repetition_index", row.repetition},
               {"threads", 1},
               {"iterations", ok ? row.iterations : 0},
               {"real_time", ok ? finite(row.real_time_ns) : 0.0},
               {"cpu_time", ok ? finite(row.cpu_time_ns) : 0.0},
               {"time_unit", "ns"}};
  if (row.status == Row::Status::error) {
    json["error_occurred"] = true;
    json["error_message"] = row.message;
  } else if (row.status == Row::Status::skipped) {
    json["skipped"] = true;
    json["skip_message"] = row.message;
  }
  return json;
}

/// @return bytes or messages per ns
double rate(std::uint64_t amount, std::uint64_t window_ns) {
  return window_ns == 0 ? 0.0 : static_cast<double>(amount) / static_cast<double>(window_ns);
}

}  // namespace

Json row_to_json(const Row& row) {
  Json json = google_benchmark_keys(row);
  json["case"] = row.case_object.is_object() ? row.case_object : Json::object();
  if (row.latency) json["latency"] = latency_to_json(*row.latency);
  if (row.bandwidth) json["bandwidth"] = bandwidth_to_json(*row.bandwidth);
  if (row.lost) json["lost"] = count_to_json(*row.lost);
  if (!row.device_counters.is_null()) json["device_counters"] = row.device_counters;
  if (!row.work.is_null()) json["work"] = row.work;
  if (!row.resources.is_null()) json["resources"] = row.resources;
  if (row.more.is_null()) return json;
  for (const auto& [key, value] : row.more.items()) {
    if (is_row_key(key)) throw std::logic_error("row_to_json: `more` repeats the key " + key);
    json[key] = value;
  }
  return json;
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

bool is_row_key(std::string_view key) {
  static constexpr std::string_view kKeys[] = {"name",
                                               "family_index",
                                               "per_family_instance_index",
                                               "run_name",
                                               "run_type",
                                               "repetitions",
                                               "repetition_index",
                                               "threads",
                                               "iterations",
                                               "real_time",
                                               "cpu_time",
                                               "time_unit",
                                               "error_occurred",
                                               "error_message",
                                               "skipped",
                                               "skip_message",
                                               "case",
                                               "latency",
                                               "bandwidth",
                                               "lost",
                                               "device_counters",
                                               "work",
                                               "resources"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

Json count_to_json(std::uint64_t count) {
  constexpr std::uint64_t kExactInDouble = 1ULL << 53;
  return count < kExactInDouble ? Json(count) : Json(std::to_string(count));
}

double bandwidth_gbps(const BandwidthData& data) {
  return 8.0 * rate(data.bytes, data.window_ns);
}

double bandwidth_mib_per_s(const BandwidthData& data) {
  return rate(data.bytes, data.window_ns) * 1e9 / (1 << 20);
}

double bandwidth_mmsg_per_s(const BandwidthData& data) {
  return rate(data.messages, data.window_ns) * 1e3;
}

std::optional<std::uint64_t> bandwidth_lost(const BandwidthData& data) {
  if (!data.sent || !data.received) return std::nullopt;
  return *data.sent > *data.received ? *data.sent - *data.received : 0;
}

}  // namespace rdmameter
