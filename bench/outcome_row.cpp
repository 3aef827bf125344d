// SPDX-License-Identifier: Apache-2.0
#include "bench/outcome_row.h"

#include <numeric>

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
    case Pattern::topology:  // its traffic decides
      break;
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

LatencyData::Definition definition_of(TopologyTally::Sample sample) {
  return sample == TopologyTally::Sample::exchange ? LatencyData::Definition::exchange
                                                   : LatencyData::Definition::round_trip;
}

LatencyData latency_of(const HistogramData& histogram, TopologyTally::Sample sample) {
  return {.definition = definition_of(sample),
          .histogram = histogram,
          .half_round_trip = sample == TopologyTally::Sample::pair};
}

TopologyData topology_of(const TopologyTally& tally, const Case& one_case) {
  TopologyData made{.graph = one_case.graph,
                    .traffic = one_case.traffic,
                    .schedule = one_case.schedule,
                    .ranks = one_case.ranks,
                    .hops = TopologyData::Hops{tally.hops_max, tally.hops_mean},
                    .qps_per_rank = tally.qps_per_rank,
                    .barrier_qps = tally.barrier_qps,
                    .setup_ns = tally.setup_ns,
                    .memory_bytes = tally.memory_bytes,
                    .kernel = tally.kernel,
                    .barrier_ns = tally.barrier_ns,
                    .rank_gbps = tally.rank_gbps,
                    .jain = tally.jain,
                    .yielding = tally.yielding};
  if (tally.edges.size() <= kMostEdges) made.edges = tally.edges;
  if (tally.matrix_ns.size() <= kMostMatrixRanks) made.matrix_ns = tally.matrix_ns;
  made.qps_total =
      std::accumulate(tally.qps_per_rank.begin(), tally.qps_per_rank.end(), std::uint64_t{0});
  for (const auto& [hops, histogram] : tally.by_hops)
    made.by_hops.push_back({hops, latency_of(histogram, tally.sample)});
  return made;
}

}  // namespace

Row measured_row(const RowPlace& place, const Outcome& outcome) {
  Row row = bare_row(place, outcome.effective);
  if (outcome.latency) row.latency = latency_of(*outcome.latency, outcome.effective);
  if (outcome.topology) {
    row.topology = topology_of(*outcome.topology, outcome.effective);
    if (outcome.topology->sample != TopologyTally::Sample::none)
      row.latency = latency_of(outcome.topology->latency, outcome.topology->sample);
  }
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
