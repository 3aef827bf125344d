// SPDX-License-Identifier: Apache-2.0
// A latency: the statistics that are written beside its histogram, and the checks of what is read.
#include <fmt/core.h>

#include <algorithm>

#include "core/instrument/histogram.h"
#include "core/result/row_fields.h"

namespace rdmameter {

using Json = nlohmann::ordered_json;

namespace {

/// The non-empty buckets: as many indexes as counts, ascending, none of them 0.
void read_buckets(const CheckedJson& json, HistogramData& data) {
  const CheckedJson index = json.at("index"), n = json.at("n");
  const std::size_t size = index.array_size();
  if (n.array_size() != size)
    n.fail(fmt::format("has {} elements, `index` {}", n.array_size(), size));
  std::uint64_t total = data.overflow, min = 0;
  data.buckets.reserve(std::min(size, kHistogramBuckets));
  for (std::size_t i = 0; i < size; ++i) {
    const auto bucket = index.count_at(i, 0, kHistogramBuckets - 1);
    if (bucket < min) index.at(i).fail("is not greater than the one before it");
    min = bucket + 1;
    const std::uint64_t samples = n.count_at(i, 1, kMaxExactCount);
    data.buckets.push_back({static_cast<std::uint32_t>(bucket), samples});
    total += samples;
    if (total > data.count) break;  // never wraps: count and samples are below 2^54
  }
  if (total != data.count)
    n.fail(fmt::format("and `overflow` do not sum to `count` ({})", data.count));
}

/// min, max and sum against the buckets: an exact value lies within its bucket.
void check_extremes(const CheckedJson& json, const HistogramData& data) {
  if (data.count == 0) {
    if (data.sum_ns != 0 || data.min_ns != 0 || data.max_ns != 0)
      json.fail("has no samples, but a sum, min or max");
    return;
  }
  constexpr std::uint64_t kNoBucket = 1ULL << kHistogramMaxBits;
  const auto in_bucket = [](std::uint64_t value, std::uint32_t bucket) {
    return value < kNoBucket && histogram_index(value) == bucket;
  };
  if (data.min_ns > data.max_ns) json.at("min").fail("is greater than `max`");
  const bool only_overflow = data.buckets.empty();
  if (only_overflow ? data.min_ns < kNoBucket : !in_bucket(data.min_ns, data.buckets.front().first))
    json.at("min").fail("is not in the first bucket");
  if (data.overflow > 0 ? data.max_ns < kNoBucket
                        : !in_bucket(data.max_ns, data.buckets.back().first))
    json.at("max").fail("is not in the last bucket");
  constexpr double kRounding = 1e-9;
  if (mean(data) < static_cast<double>(data.min_ns) * (1 - kRounding) ||
      mean(data) > static_cast<double>(data.max_ns) * (1 + kRounding))
    json.at("sum").fail("gives a mean outside min to max");
}

/// What statistics_to_json() wrote.
LatencySummary told_summary(const CheckedJson& json) {
  const auto known = [&json](const char* key) -> std::optional<double> {
    const auto found = json.object().find(std::string_view(key));
    if (found == json.object().end() || found->is_null()) return std::nullopt;
    if (found->is_number() && found->get<double>() >= 0) return found->get<double>();
    return json.at(key).not_negative();  // refuses it
  };
  return {.count = json.at("count").count(),
          .min = known("min").value_or(0),
          .max = known("max").value_or(0),
          .mean = known("mean").value_or(0),
          .stddev = known("stddev").value_or(0),
          .p50 = known("p50"),
          .p90 = known("p90"),
          .p99 = known("p99"),
          .p99_9 = known("p99.9"),
          .p99_99 = known("p99.99")};
}

}  // namespace

Json statistics_to_json(const HistogramData& data, unsigned divisor) {
  const LatencySummary summary = summarize(data, divisor);
  const auto known = [&](double value) { return data.count == 0 ? Json() : number_to_json(value); };
  const auto reported = [](const std::optional<double>& value) {
    return value ? number_to_json(*value) : Json();
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

const char* definition_name(LatencyData::Definition definition) {
  switch (definition) {
    case LatencyData::Definition::round_trip:
      return "round_trip";
    case LatencyData::Definition::completion:
      return "completion";
    case LatencyData::Definition::call:
      return "call";
    case LatencyData::Definition::exchange:
      return "exchange";
    case LatencyData::Definition::collective:
      return "collective";
    case LatencyData::Definition::response:
      return "response";
    case LatencyData::Definition::service:
      return "service";
    case LatencyData::Definition::lateness:
      return "lateness";
  }
  return "";
}

void complete(HistogramData& data, const CheckedJson& json) {
  read_buckets(json, data);
  check_extremes(json, data);
}

void complete(LatencyData& data, const CheckedJson& json) {
  if (!json.has_bulk()) data.told = std::make_shared<const LatencySummary>(told_summary(json));
  const auto half = json.find("half_round_trip");
  data.half_round_trip = half.has_value();
  if (half && data.definition != LatencyData::Definition::round_trip)
    half->fail("is present although the definition is not \"round_trip\"");
}

void complete(OverTimeData& data, const CheckedJson& json) {
  const std::size_t intervals = data.count.size();
  const bool alike = data.p50_ns.size() == intervals && data.p99_ns.size() == intervals &&
                     data.max_ns.size() == intervals &&
                     (data.lost.empty() || data.lost.size() == intervals);
  if (intervals == 0 || !alike) json.fail("has not one number for each interval");
}

void complete(BlameData& data, const CheckedJson& json) {
  if (data.local.count + data.peer.count + data.path.count + data.undecided.count != data.late)
    json.at("late").fail("is not the sum of the four causes' counts");
  if (data.both + data.not_kept != data.undecided.count)
    json.at("undecided").fail("is not the sum of `both` and `not_kept`");
}

}  // namespace rdmameter
