// SPDX-License-Identifier: Apache-2.0
// Reading a row from a file that anybody may have written.
#include <fmt/core.h>

#include "core/histogram.h"
#include "reports/checked_json.h"
#include "reports/latency_json.h"
#include "reports/row_json.h"
#include "reports/topology_json.h"

namespace rdmameter {
namespace {

BandwidthData read_bandwidth(const CheckedJson& json) {
  BandwidthData data;
  data.messages = json.at("messages").count();
  data.bytes = json.at("bytes").count();
  data.window_ns = json.at("window_ns").count();
  const CheckedJson counted_by = json.at("counted_by");
  if (counted_by.text() == "receiver")
    data.counted_by = BandwidthData::CountedBy::receiver;
  else if (counted_by.text() != "initiator")
    counted_by.fail("is neither \"initiator\" nor \"receiver\"");
  if (const auto injected = json.find("injected")) data.injected = injected->flag();
  data.traffic_messages = json.at("traffic_messages").count();
  data.traffic_ns = json.at("traffic_ns").count();
  if (const auto sent = json.find("sent")) data.sent = sent->count();
  if (const auto received = json.find("received")) data.received = received->count();
  if (const auto twice = json.find("duplicated")) data.duplicated = twice->count();
  if (const auto late = json.find("reordered")) data.reordered = late->count();
  return data;
}

void read_status(const CheckedJson& json, Row& row) {
  const auto error = json.find("error_occurred"), skipped = json.find("skipped");
  if (error && error->flag()) {
    row.status = Row::Status::error;
    row.message = json.at("error_message").text();
  } else if (skipped && skipped->flag()) {
    row.status = Row::Status::skipped;
    row.message = json.at("skip_message").text();
  }
  row.name = json.at("run_name").text();
  const CheckedJson name = json.at("name");
  if (name.text() != row.name + std::string(name_suffix(row.status)))
    name.fail(fmt::format("is not `run_name` and \"{}\"", name_suffix(row.status)));
}

void read_google_benchmark_keys(const CheckedJson& json, Row& row) {
  constexpr std::uint64_t kMost = 1ULL << 53;
  if (json.at("run_type").text() != "iteration") json.at("run_type").fail("is not \"iteration\"");
  if (json.at("time_unit").text() != "ns") json.at("time_unit").fail("is not \"ns\"");
  row.family_index = json.at("family_index").count_within(0, kMost);
  row.repetitions = json.at("repetitions").count_within(1, kMost);
  row.repetition = json.at("repetition_index").count_within(0, row.repetitions - 1);
  row.iterations = json.at("iterations").count_within(0, kMost);
  row.real_time_ns = json.at("real_time").not_negative();
  row.cpu_time_ns = json.at("cpu_time").not_negative();
}

}  // namespace

Row row_from_json(const nlohmann::ordered_json& value, const std::string& where) {
  const CheckedJson json(value, where);
  Row row;
  read_status(json, row);
  read_google_benchmark_keys(json, row);
  row.case_object = json.at("case").object();
  unsigned precision_bits = kHistogramPrecisionBits;
  if (const auto latency = json.find("latency"))
    row.latency = read_latency(*latency, precision_bits);
  if (const auto bandwidth = json.find("bandwidth")) row.bandwidth = read_bandwidth(*bandwidth);
  if (const auto topology = json.find("topology"))
    row.topology = read_topology(*topology, precision_bits);
  if (const auto lost = json.find("lost")) row.lost = lost->count();
  if (const auto counters = json.find("device_counters")) row.device_counters = counters->object();
  if (const auto work = json.find("work")) row.work = work->object();
  if (const auto resources = json.find("resources")) row.resources = resources->object();
  for (const auto& [key, kept] : value.items())
    if (!is_row_key(key)) row.more[key] = kept;
  if (precision_bits != kHistogramPrecisionBits) row.more[kRecordedPrecision] = precision_bits;
  return row;
}

}  // namespace rdmameter
