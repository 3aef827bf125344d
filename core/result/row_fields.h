// SPDX-License-Identifier: Apache-2.0
// The keys of a row, struct by struct. A new one is a line here; docs/results.md and
// reports/result.schema.json describe it. row_json.cpp has the functions complete().
#pragma once

#include <limits>

#include "core/result/field_list.h"
#include "core/result/row.h"
#include "core/result/row_json.h"

namespace rdmameter {

inline constexpr FieldRule kExactCount{.max = kMaxExactCount};

void list_fields(auto& fields, Is<HistogramData> auto& data) {
  using Bucket = decltype(HistogramData::buckets)::value_type;
  const auto column = [&data](auto Bucket::*part) {
    auto json = Json::array();
    for (const Bucket& bucket : data.buckets) json.push_back(count_to_json(bucket.*part));
    return json;
  };
  fields.constant("type", "log_linear");
  fields.constant("precision_bits", kHistogramPrecisionBits);
  fields("count", data.count, kExactCount);
  fields("sum", data.sum_ns);
  fields("min", data.min_ns);
  fields("max", data.max_ns);
  fields("overflow", data.overflow, {.max = data.count});
  fields.derived("index", [&] { return column(&Bucket::first); });  // read by complete()
  fields.derived("n", [&] { return column(&Bucket::second); });
}
/// The buckets, and whether they agree with the other numbers. @throws UsageError
void complete(HistogramData& data, const CheckedJson& json);

/// Null without samples, or with too few for a percentile. @param divisor  2: half round trips
Json statistics_to_json(const HistogramData& data, unsigned divisor);

void list_fields(auto& fields, Is<LatencyData> auto& data) {
  fields.named("definition", data.definition, kDefinitionNames);
  fields.beside([&] { return statistics_to_json(data.histogram, 1); });
  fields.derived("half_round_trip", [&] {
    return data.half_round_trip ? statistics_to_json(data.histogram, 2) : Json();
  });
  fields.bulk("histogram", data.histogram);
}
void complete(LatencyData& data, const CheckedJson& json);

void list_fields(auto& fields, Is<PeakData> auto& data) {
  fields("messages", data.messages, {.min = 1, .max = kMaxExactCount});
  fields("bytes", data.bytes);
  fields("window_ns", data.window_ns, {.min = 1});
  fields.derived("gbps", [&] { return bandwidth_gbps(data); });
  fields.derived("mmsg_per_s", [&] { return bandwidth_mmsg_per_s(data); });
}

void list_fields(auto& fields, Is<BandwidthData> auto& data) {
  fields("messages", data.messages);
  fields("bytes", data.bytes);
  fields("window_ns", data.window_ns);
  fields.derived("gbps", [&] { return bandwidth_gbps(data); });
  fields.derived("mib_per_s", [&] { return bandwidth_mib_per_s(data); });
  fields.derived("mmsg_per_s", [&] { return bandwidth_mmsg_per_s(data); });
  fields.named("counted_by", data.counted_by, kCountedByNames);
  fields("injected", data.injected);
  fields("short_window", data.short_window);
  fields("traffic_messages", data.traffic_messages);
  fields("traffic_ns", data.traffic_ns);
  fields("sent", data.sent);
  fields("received", data.received);
  fields("duplicated", data.duplicated);
  fields("reordered", data.reordered);
  fields.derived("lost", [&] { return bandwidth_lost(data); });
  fields("peak", data.peak);
}

void list_fields(auto& fields, Is<OverTimeData> auto& data) {
  const FieldRule rule{.max = kMaxExactCount, .max_size = 1024, .short_form = true};
  fields("interval_ns", data.interval_ns, {.min = 1, .max = kMaxExactCount});
  fields("count", data.count, rule);
  fields("p50", data.p50_ns, rule);
  fields("p99", data.p99_ns, rule);
  fields("max", data.max_ns, rule);
  fields("lost", data.lost, rule);
}
/// Checks that all vectors have the same number of elements. @throws UsageError
void complete(OverTimeData& data, const CheckedJson& json);

void list_fields(auto& fields, Is<BlameData::Stall> auto& stall) {
  fields("duration_ns", stall.duration_ns, kExactCount);
  fields("monotonic_ns", stall.monotonic_ns);  // since the machine's start: 2^53 is 104 days
  fields("utc", stall.utc);
}

void list_fields(auto& fields, Is<PollGaps> auto& gaps) {
  fields("limit_ns", gaps.limit_ns, kExactCount);
  fields.bulk("histogram", gaps.histogram);
}

void list_fields(auto& fields, Is<BlameData> auto& data) {
  fields("limit_ns", data.limit_ns, kExactCount);
  fields("p50_ns", data.p50_ns, kExactCount);
  fields("late", data.late, kExactCount);
  fields("local", data.local);
  fields("peer", data.peer);
  fields("path", data.path);
  fields("undecided", data.undecided);
  fields("both", data.both, {.max = data.undecided.count});
  fields("not_kept", data.not_kept, {.max = data.undecided.count});
  fields("local_gaps", data.local_gaps);
  fields("peer_gaps", data.peer_gaps);
  fields("stalls", data.stalls, {.max_size = 64});
}
/// The causes sum to what is late. @throws UsageError
void complete(BlameData& data, const CheckedJson& json);

void list_fields(auto& fields, Is<LoadPart> auto& part) {
  fields("operation", part.operation);
  fields("size_bytes", part.size_bytes, {.min = 1, .max = kMaxExactCount});
  fields("weight", part.weight, {.min = 1, .max = kMaxExactCount});
  fields("due", part.due, kExactCount);
  fields("completed", part.completed, {.max = part.due});
  fields("offered_per_s", part.offered_per_s);
  fields("reached_per_s", part.reached_per_s);
  fields.derived("reached_gbps", [&] { return load_part_gbps(part); });
  fields("response", part.response);
  fields("service", part.service);
  fields("lateness", part.lateness);
}

void list_fields(auto& fields, Is<LoadData> auto& data) {
  fields("due", data.due, kExactCount);
  fields("window_ns", data.window_ns, kExactCount);
  fields.derived("offered_per_s", [&] { return load_offered_per_s(data); });
  fields("completed", data.completed, {.max = data.due});
  fields("completing_ns", data.completing_ns, kExactCount);
  fields.derived("reached_per_s", [&] { return load_reached_per_s(data); });
  fields.derived("reached_share", [&] { return load_reached_share(data); });
  fields.derived("saturated", [&] { return load_saturated(data); });
  fields("unsent", data.unsent, {.max = data.due});
  fields("backlog_max", data.backlog_max, kExactCount);
  fields("interval_ns", data.interval_ns, kExactCount);
  fields("backlog", data.backlog, {.max = kMaxExactCount, .max_size = 1024});
  fields("service", data.service);
  fields("lateness", data.lateness);
  fields("mix", data.mix, {.max_size = 16});
}

void list_fields(auto& fields, Is<SweepPoint> auto& point) {
  fields("rate_per_s", point.rate_per_s, kExactCount);
  fields("offered_per_s", point.offered_per_s);
  fields("reached_per_s", point.reached_per_s);
  fields("p50_ns", point.p50_ns);
  fields("p99_ns", point.p99_ns);
  fields("saturated", point.saturated);
}

void list_fields(auto& fields, Is<SweepData> auto& data) {
  fields("saturation_per_s", data.saturation_per_s);
  fields("unloaded_p99_ns", data.unloaded_p99_ns);
  fields("slo_ns", data.slo_ns);
  fields("slo_rate_per_s", data.slo_rate_per_s);
  fields("slo_missed_per_s", data.slo_missed_per_s);
  fields("slo_missed_below", data.slo_missed_below);
  fields.bulk("points", data.points, {.max_size = 4096});
}

void list_fields(auto& fields, Is<BackgroundData> auto& data) {
  fields("operations", data.operations, kExactCount);
  fields("window_ns", data.window_ns, kExactCount);
  fields("bytes", data.bytes);
  fields.derived("operations_per_s", [&] { return background_per_s(data); });
  fields.derived("gbps", [&] { return bandwidth_gbps(data); });
  fields("alone_per_s", data.alone_per_s);
}

void list_fields(auto& fields, Is<PerQpData::Spread> auto& spread) {
  fields("of", spread.of);
  fields("min", spread.min);
  fields("p10", spread.p10);
  fields("p50", spread.p50);
  fields("p90", spread.p90);
  fields("max", spread.max);
}

/// Calls act(key, list, max) for each list that has an element for each QP that is listed: with its
/// key in a row, and the largest number in it.
void for_each_qp_list(auto& data, const auto& act) {
  constexpr auto kAny = std::numeric_limits<std::uint64_t>::max();
  act("flow_labels", data.flow_labels, (1U << 20) - 1);
  act("udp_source_ports", data.udp_source_ports, 65535);
  act("messages_per_s", data.messages_per_s, kAny);
  act("mean_ns", data.mean_ns, kAny);
  act("p50_ns", data.p50_ns, kAny);
  act("p99_ns", data.p99_ns, kAny);
  act("max_ns", data.max_ns, kAny);
}

void list_fields(auto& fields, Is<PerQpData> auto& data) {
  constexpr std::size_t kListed = kMaxListedQps;
  fields("qps", data.qps, {.min = 1, .max = 1ULL << 24});
  fields("numbers", data.numbers, {.max = data.qps - 1, .max_size = kListed});
  for_each_qp_list(data, [&](const char* key, auto& list, std::uint64_t max) {
    fields(key, list, {.max = max, .max_size = kListed, .short_form = true});
  });
  fields("spread", data.spread, {.max_size = 8});
  fields("jain", data.jain, {.max = 1});
  fields("slowest", data.slowest, {.max = data.qps - 1});
  fields("slow", data.slow, {.max = data.qps - 1, .max_size = kListed});
}
/// Lists that apply have one element for each QP that is listed. @throws UsageError
void complete(PerQpData& data, const CheckedJson& json);

void list_fields(auto& fields, Is<DeviceData> auto& data) {
  fields("device", data.device, {.max_size = 64});
  fields("peer_device", data.peer_device, {.max_size = 64});
  fields("messages", data.messages, kExactCount);
  fields("bytes", data.bytes);
  fields("window_ns", data.window_ns, kExactCount);
  fields.derived("gbps", [&] { return bandwidth_gbps(data); });
  fields.derived("mmsg_per_s", [&] { return bandwidth_mmsg_per_s(data); });
  fields("bound_gbps", data.bound_gbps);
  fields.derived("bound_percent", [&] { return bound_percent(data); });
  fields("line_gbps", data.line_gbps);
  fields("slot_bound_gbps", data.slot_bound_gbps);
  fields("slot_gbps", data.slot_gbps);
  fields.derived("slot_percent", [&] { return slot_percent(data); });
}

/// Null: not known.
void list_fields(auto& fields, Is<PayloadBoundData> auto& bound) {
  using Gbps = std::optional<double>;
  const auto to_json = [](const Gbps& gbps) { return gbps ? Json(*gbps) : Json(); };
  const auto from_json = [](const CheckedJson& json) {
    return json.null() ? Gbps() : Gbps(json.not_negative());
  };
  fields.coded("initiator", bound.initiator, to_json, from_json);
  fields.coded("responder", bound.responder, to_json, from_json);
}

void list_fields(auto& fields, Is<SettledMetric> auto& settled) {
  fields("metric", settled.metric);
  fields("goal", settled.goal);
  fields.derived("reached", [&] { return settled_share(settled); });
  fields("median", settled.median);
  fields("low", settled.low);
  fields("high", settled.high);
}

void list_fields(auto& fields, Is<UntilData> auto& data) {
  fields.named("ended", data.ended, kEndedNames);
  fields("metrics", data.metrics, {.max_size = 32});
}

void list_fields(auto& fields, Is<Hops> auto& hops) {
  fields("max", hops.max, {.max = kMaxRanks});
  fields("mean", hops.mean, {.max = hops.max});
}

void list_fields(auto& fields, Is<TopologyData::AtDistance> auto& distance) {
  fields("hops", distance.hops, {.max = kMaxRanks});
  fields("latency", distance.latency);
}

void list_fields(auto& fields, Is<MatrixSummary::Pair> auto& pair) {
  fields("from", pair.from, {.max = kMaxRanks - 1});
  fields("to", pair.to, {.max = kMaxRanks - 1});
  fields("hops", pair.hops, {.max = kMaxRanks});
  fields("ns", pair.ns);
  fields("of_median", pair.of_median);
}

void list_fields(auto& fields, Is<MatrixSummary> auto& summary) {
  fields("pairs", summary.pairs, kExactCount);
  fields("min_ns", summary.min_ns);
  fields("p10_ns", summary.p10_ns);
  fields("p50_ns", summary.p50_ns);
  fields("p90_ns", summary.p90_ns);
  fields("p99_ns", summary.p99_ns);
  fields("max_ns", summary.max_ns);
  fields("slowest", summary.slowest, {.max_size = kMaxSlowestPairs});
}

void list_fields(auto& fields, Is<FailedPair> auto& pair) {
  fields("from", pair.from, {.max = kMaxRanks - 1});
  fields("to", pair.to, {.max = kMaxRanks - 1});
  fields("reason", pair.reason);
}

void list_fields(auto& fields, Is<CollectiveData> auto& data) {
  fields("bytes", data.bytes, kExactCount);
  fields("steps", data.steps, kExactCount);
  fields("step_bytes", data.step_bytes, kExactCount);
  fields("messages", data.messages, kExactCount);
  fields("sent_bytes", data.sent_bytes, kExactCount);
  fields("relayed_hops", data.relayed_hops, kExactCount);
  fields("rank_min_ns", data.rank_min_ns);
  fields("rank_mean_ns", data.rank_mean_ns);
  fields("rank_max_ns", data.rank_max_ns);
  fields("algbw_gb_per_s", data.algbw_gb_per_s);
  fields("busbw_gb_per_s", data.busbw_gb_per_s);
}

void list_fields(auto& fields, Is<Straggler> auto& straggler) {
  fields.named("verdict", straggler.verdict, kStragglerNames);
  fields("rank", straggler.rank, {.max = kMaxRanks - 1});
  fields("to", straggler.to, {.max = kMaxRanks - 1});
  fields("factor", straggler.factor);
  fields("measured_again", straggler.measured_again, kExactCount);
  fields("reason", straggler.reason);
}
/// Which ranks it names goes with the verdict. @throws UsageError
void complete(Straggler& straggler, const CheckedJson& json);

void list_fields(auto& fields, Is<TopologyData> auto& data) {
  fields("graph", data.graph);
  fields("traffic", data.traffic);
  fields("schedule", data.schedule);
  fields("ranks", data.ranks, {.min = 1, .max = kMaxRanks});
  fields("edges", data.edges, {.max = data.ranks - 1, .max_size = kMaxEdges});
  fields("hops", data.hops);
  fields("qps_per_rank", data.qps_per_rank, {.max = 1ULL << 32});
  fields("qps_total", data.qps_total, kExactCount);
  fields("barrier_qps", data.barrier_qps, kExactCount);
  fields("connect_ns", data.connect_ns, kExactCount);
  fields("setup_ns", data.setup_ns, kExactCount);
  fields("connection_bytes", data.connection_bytes, kExactCount);
  fields("relay_bytes", data.relay_bytes, kExactCount);
  fields("kernel", data.kernel, kExactCount);
  fields("barrier_ns", data.barrier_ns, {.short_form = true});
  fields("matrix_ns", data.matrix_ns, {.max_size = kMaxMatrixRanks, .short_form = true});
  fields("matrix_summary", data.matrix_summary);
  fields("failed_pairs", data.failed_pairs, {.max_size = kMaxFailedPairs});
  fields("rounds", data.rounds, kExactCount);
  fields("straggler", data.straggler);
  fields("by_hops", data.by_hops);
  fields("collective", data.collective);
  fields("rank_gbps", data.rank_gbps);
  fields("jain", data.jain, {.max = 1});
  fields("model_share", data.model_share);
  fields("yielding", data.yielding);
  fields.extra(data.extra);
}
/// One element for each rank, edges of two ranks, distances ascending. @throws UsageError
void complete(TopologyData& data, const CheckedJson& json);

/// Google Benchmark 1.7's keys first, in its order; then ours.
void list_fields(auto& fields, Is<Row> auto& row) {
  using Status = Row::Status;
  const auto message_of = [&row](Status status) {
    return row.status == status ? std::optional(row.message) : std::nullopt;
  };
  fields.derived("name",
                 [&] { return row.name + std::string(name_in(kNameSuffixes, row.status)); });
  fields("family_index", row.family_index, kExactCount);
  fields.derived("per_family_instance_index", [] { return std::uint64_t{0}; });
  fields("run_name", row.name);
  fields.constant("run_type", "iteration");
  fields("repetitions", row.repetitions, {.min = 1, .max = kMaxExactCount});
  fields("repetition_index", row.repetition, {.max = row.repetitions - 1});
  fields.derived("threads", [] { return std::uint64_t{1}; });
  fields("iterations", row.iterations, kExactCount);
  fields("real_time", row.real_time_ns);
  fields("cpu_time", row.cpu_time_ns);
  fields.constant("time_unit", "ns");
  fields.derived("error_occurred", [&] { return row.status == Status::error; });
  fields.derived("error_message", [&] { return message_of(Status::error); });
  fields.derived("skipped", [&] { return row.status == Status::skipped; });
  fields.derived("skip_message", [&] { return message_of(Status::skipped); });
  fields("case", row.case_object);
  fields("interrupted", row.interrupted);
  fields("until", row.until);
  fields("latency", row.latency);
  fields("bandwidth", row.bandwidth);
  fields("over_time", row.over_time);
  fields("blame", row.blame);
  fields("load", row.load);
  fields("sweep", row.sweep);
  fields("background", row.background);
  fields("per_qp", row.per_qp);
  fields("per_device", row.per_device, {.max_size = 64});
  fields("topology", row.topology);
  fields("lost", row.lost);
  fields.bulk("device_counters", row.device_counters);
  fields("work", row.work);
  fields.bulk("resources", row.resources);
  fields("bound_gbps", row.bound_gbps);
  fields("line_gbps", row.line_gbps);
  fields.extra(row.extra);
}
/// Status and message, and whether the name agrees with them. @throws UsageError
void complete(Row& row, const CheckedJson& json);

}  // namespace rdmameter
