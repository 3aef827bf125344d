// SPDX-License-Identifier: Apache-2.0
// Reading a latency from a file that anybody may have written.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/histogram.h"
#include "reports/histogram_precision.h"
#include "reports/latency_json.h"

namespace rdmameter {
namespace {

/// Big enough for any histogram in truth; small enough that no sum of them wraps around.
constexpr std::uint64_t kMostSamples = 1ULL << 53;

/// The non-empty buckets: as many indexes as counts, ascending, none of them 0.
void read_buckets(const CheckedJson& json, unsigned precision_bits, HistogramData& data) {
  const CheckedJson index = json.at("index"), n = json.at("n");
  const std::size_t size = index.array_size();
  if (n.array_size() != size)
    n.fail(fmt::format("has {} elements, `index` {}", n.array_size(), size));
  std::uint64_t total = data.overflow, least = 0;
  const std::uint64_t buckets = bucket_count(precision_bits);
  data.buckets.reserve(std::min<std::uint64_t>(size, buckets));
  for (std::size_t i = 0; i < size; ++i) {
    const auto bucket = index.at(i).count_within(0, buckets - 1);
    if (bucket < least) index.at(i).fail("is not greater than the one before it");
    least = bucket + 1;
    const std::uint64_t samples = n.at(i).count_within(1, kMostSamples);
    data.buckets.emplace_back(static_cast<std::uint32_t>(bucket), samples);
    total += samples;
    if (total > data.count) break;  // never wraps: count and samples are below 2^54
  }
  if (total != data.count)
    n.fail(fmt::format("and `overflow` do not sum to `count` ({})", data.count));
}

/// min, max and sum against the buckets: an exact value lies within its bucket.
void check_extremes(const CheckedJson& json, unsigned precision_bits, const HistogramData& data) {
  if (data.count == 0) {
    if (data.sum_ns != 0 || data.min_ns != 0 || data.max_ns != 0)
      json.fail("has no samples, but a sum, min or max");
    return;
  }
  constexpr std::uint64_t kNoBucket = 1ULL << kHistogramMaxBits;
  const auto in_bucket = [=](std::uint64_t value, std::uint32_t bucket) {
    return value < kNoBucket && bucket_of(value, precision_bits) == bucket;
  };
  if (data.min_ns > data.max_ns) json.at("min").fail("is greater than `max`");
  const bool only_overflow = data.buckets.empty();
  if (only_overflow ? data.min_ns < kNoBucket : !in_bucket(data.min_ns, data.buckets.front().first))
    json.at("min").fail("is not in the first bucket");
  if (data.overflow > 0 ? data.max_ns < kNoBucket
                        : !in_bucket(data.max_ns, data.buckets.back().first))
    json.at("max").fail("is not in the last bucket");
  const double mean = static_cast<double>(data.sum_ns) / static_cast<double>(data.count);
  constexpr double kRounding = 1e-9;
  if (mean < static_cast<double>(data.min_ns) * (1 - kRounding) ||
      mean > static_cast<double>(data.max_ns) * (1 + kRounding))
    json.at("sum").fail("gives a mean outside min to max");
}

/// @param precision_bits  that it was recorded with; what is returned has ours
HistogramData read_histogram(const CheckedJson& json, unsigned& precision_bits) {
  if (json.at("type").text() != "log_linear") json.at("type").fail("is not \"log_linear\"");
  precision_bits = static_cast<unsigned>(
      json.at("precision_bits").count_within(kLeastPrecisionBits, kMostPrecisionBits));
  HistogramData data;
  data.count = json.at("count").count_within(0, kMostSamples);
  data.sum_ns = json.at("sum").count();
  data.min_ns = json.at("min").count();
  data.max_ns = json.at("max").count();
  data.overflow = json.at("overflow").count_within(0, data.count);
  read_buckets(json, precision_bits, data);
  check_extremes(json, precision_bits, data);
  return precision_bits == kHistogramPrecisionBits ? data
                                                   : with_our_precision(data, precision_bits);
}

}  // namespace

LatencyData read_latency(const CheckedJson& json, unsigned& precision_bits) {
  LatencyData data;
  const CheckedJson definition = json.at("definition");
  if (definition.text() == "completion")
    data.definition = LatencyData::Definition::completion;
  else if (definition.text() == "call")
    data.definition = LatencyData::Definition::call;
  else if (definition.text() == "exchange")
    data.definition = LatencyData::Definition::exchange;
  else if (definition.text() != "round_trip")
    definition.fail("is neither \"round_trip\", \"completion\", \"call\" nor \"exchange\"");
  data.half_round_trip = json.find("half_round_trip").has_value();
  if (data.half_round_trip && data.definition != LatencyData::Definition::round_trip)
    json.at("half_round_trip").fail("stands beside a definition that is not \"round_trip\"");
  data.histogram = read_histogram(json.at("histogram"), precision_bits);
  return data;
}

}  // namespace rdmameter
