// SPDX-License-Identifier: Apache-2.0
#include "bench/outcome_row.h"

namespace rdmameter {
namespace {

double ratio(std::uint64_t dividend, std::uint64_t divisor) {
  return divisor == 0 ? 0.0 : static_cast<double>(dividend) / static_cast<double>(divisor);
}

Row bare_row(const RowPlace& place, const Case& one_case) {
  Row row;
  row.name = place.planned.name;
  row.case_object = case_json(one_case);
  row.family_index = place.family_index;
  row.repetition = place.repetition;
  row.repetitions = place.repetitions;
  return row;
}

Row unmeasured_row(const RowPlace& place, Row::Status status, const std::string& message) {
  Row row = bare_row(place, place.planned.one_case);
  row.status = status;
  row.message = message;
  return row;
}

LatencyData::Definition definition_of(const Case& one_case) {
  switch (one_case.shape()) {
    case Pattern::ping_pong:
      return LatencyData::Definition::round_trip;
    case Pattern::completion_latency:
    case Pattern::bandwidth:
      return LatencyData::Definition::completion;
    case Pattern::control:
      return completes(one_case.calls()) ? LatencyData::Definition::completion
                                         : LatencyData::Definition::call;
  }
  return LatencyData::Definition::completion;
}

LatencyData latency_of(const Histogram& histogram, const Case& one_case) {
  return {.definition = definition_of(one_case),
          .histogram = snapshot(histogram),
          .half_round_trip = one_case.shape() == Pattern::ping_pong};
}

BandwidthData bandwidth_of(const BandwidthTally& tally, std::uint64_t size_bytes) {
  return {.messages = tally.messages,
          .bytes = tally.messages * size_bytes,
          .window_ns = tally.window_ns,
          .counted_by = tally.by_receiver ? BandwidthData::CountedBy::receiver
                                          : BandwidthData::CountedBy::initiator,
          .injected = tally.injected,
          .traffic_messages = tally.traffic_messages,
          .traffic_ns = tally.traffic_ns,
          .sent = tally.sent,
          .received = tally.received,
          .duplicated = tally.duplicated,
          .reordered = tally.reordered};
}

double time_per_operation_ns(const Row& row) {
  if (row.bandwidth) return ratio(row.bandwidth->window_ns, row.bandwidth->messages);
  if (!row.latency) return 0.0;
  const HistogramData& samples = row.latency->histogram;
  return ratio(samples.sum_ns, samples.count) / (row.latency->half_round_trip ? 2 : 1);
}

}  // namespace

Row measured_row(const RowPlace& place, const Outcome& outcome) {
  Row row = bare_row(place, outcome.effective);
  if (outcome.latency) row.latency = latency_of(*outcome.latency, outcome.effective);
  if (outcome.bandwidth)
    row.bandwidth = bandwidth_of(*outcome.bandwidth, outcome.effective.size_bytes);
  row.iterations = outcome.operations;
  row.real_time_ns = time_per_operation_ns(row);
  row.cpu_time_ns = ratio(outcome.cpu_ns, outcome.operations);
  row.lost = outcome.lost;
  row.device_counters = outcome.device_counters;
  row.work = outcome.work;
  row.resources = outcome.resources;
  row.more = outcome.more;
  return row;
}

Row skipped_row(const RowPlace& place, const std::string& reason) {
  return unmeasured_row(place, Row::Status::skipped, reason);
}

Row error_row(const RowPlace& place, const std::string& message) {
  return unmeasured_row(place, Row::Status::error, message);
}

}  // namespace rdmameter
