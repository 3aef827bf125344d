// SPDX-License-Identifier: Apache-2.0
// Writing a row.
#include "reports/row_json.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "reports/json_numbers.h"
#include "reports/latency_json.h"
#include "reports/topology_json.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

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
  if (data.duplicated) json["duplicated"] = count_to_json(*data.duplicated);
  if (data.reordered) json["reordered"] = count_to_json(*data.reordered);
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
               {"real_time", ok ? finite_or_zero(row.real_time_ns) : 0.0},
               {"cpu_time", ok ? finite_or_zero(row.cpu_time_ns) : 0.0},
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
  if (row.topology) json["topology"] = topology_to_json(*row.topology);
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
                                               "topology",
                                               "lost",
                                               "device_counters",
                                               "work",
                                               "resources"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
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
  const std::uint64_t twice = std::min(data.duplicated.value_or(0), *data.received);
  const std::uint64_t arrived = *data.received - twice;
  return *data.sent > arrived ? *data.sent - arrived : 0;
}

}  // namespace rdmameter
