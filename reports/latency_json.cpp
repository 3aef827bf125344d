// SPDX-License-Identifier: Apache-2.0
// Writing a latency.
#include "reports/latency_json.h"

#include <optional>
#include <utility>

#include "reports/json_numbers.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// Null where there are no samples, or too few for a percentile.
Json statistics(const HistogramData& data, unsigned divisor) {
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

}  // namespace

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

}  // namespace rdmameter
