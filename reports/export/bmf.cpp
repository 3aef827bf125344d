// SPDX-License-Identifier: Apache-2.0
// Bencher Quantity Format: {"case": {"measure": {"value", "lower_value", "upper_value"}}}.
// https://bencher.dev/docs/reference/bencher-metric-format: `latency` [ns] and `throughput`
// [operations/s] are there in every project, other measures are made when first seen.
#include <algorithm>

#include "core/result/json_text.h"
#include "reports/export/format.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

struct Measure {
  std::string name;
  double scale = 1;  ///< from the metric's unit
};

/// "p99.9_ns" is latency-p99-9, "slo_rate_per_s" slo-rate-per-s: words that Bencher makes slugs of.
Measure measure_of(const MetricInfo& metric) {
  if (metric.key == "p50_ns") return {"latency"};
  if (metric.key == "mmsg_per_s") return {"throughput", 1e6};
  if (metric.key == "gbps") return {"bandwidth-gbps"};
  std::string name(is_latency(metric) ? metric.name : metric.key);
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '_'; }, '-');
  return {is_latency(metric) ? "latency-" + name : name};
}

}  // namespace

std::string to_bmf(std::span<const ResultFile> files) {
  Json json = Json::object();
  for (const CaseNumbers& values : case_numbers(files.front().rows))
    for (const CaseNumber& value : values.values) {
      const Measure measure = measure_of(*value.metric);
      Json& entry = json[values.name][measure.name];
      entry = {{"value", value.median * measure.scale}};
      if (values.summary.repetitions.size() < 2) continue;
      entry["lower_value"] = value.min * measure.scale;
      entry["upper_value"] = value.max * measure.scale;
    }
  return json_text(json, 1) + "\n";
}

}  // namespace rdmameter
