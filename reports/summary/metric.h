// SPDX-License-Identifier: Apache-2.0
// The numbers of a repetition that reports show, compare and keep, each with its unit and
// direction; units and decimals of columns.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/row.h"
#include "reports/stats/sample.h"

namespace rdmameter {

/// A value in this unit is the value in the base unit divided by `size`.
struct Unit {
  std::string_view name;
  double size = 1;
};

/// ns, µs, ms or s, by the smallest typical value of what is to be printed. µs is the field's, so
/// it stays from 100 ns to 10 ms.
Unit time_unit(double typical_ns);

/// The number of decimals that gives the smallest value (but 0) three significant digits:
/// 1 to `max`.
int decimals_for(std::span<const double> values, int max = 4);

/// Decimals of times in this unit that still tell something: samples are whole ns, halves of them
/// at the least.
int max_decimals(const Unit& time_unit);

std::string fixed(double value, int decimals);

/// Three digits that mean something, and at most so many decimals.
std::string three_digits(double value, int most_decimals);

/// "100 ms", "1.5 s": a span of time in running text.
std::string time_text(double ns);

/// Latencies are of round trips or completions here; half round trips are half of them.
enum class Metric : std::size_t {
  min,
  p50,
  p90,
  p99,
  p99_9,
  p99_99,
  max,
  mean,
  stddev,
  gbps,
  mib_per_s,
  mmsg_per_s,
  lost,
  of_line,
  of_bound,
  offered,
  reached,
  reached_share,
  backlog,
  unsent,
  service_p50,
  service_p99,
  lateness_p50,
  lateness_p99,
  saturation,
  slo_rate,
  unloaded_p99,
};
inline constexpr auto kMetrics = static_cast<std::size_t>(Metric::unloaded_p99) + 1;

/// A number of a repetition; nothing: it has none.
using RowNumber = std::function<Number(const Row&)>;

/// How cases are judged by a metric. Both factors are multiples of what p50 has: tails differ more
/// from batch to batch, and a change of them matters less.
struct MetricJudging {
  bool judges;    ///< the others are for gates, and for those who ask for all
  double batch;   ///< of the deviation among batches that is assumed until it is measured
  double margin;  ///< of the change that must be ruled out for a pass
};

/// Where a metric stands in a row, what it is called, which way is better.
struct MetricInfo {
  Metric metric;
  std::string_view path;  ///< "latency.p50", "load.service.p99", "lost"
  std::string_view key;   ///< "p50_ns", "gbps": the unit ends it
  std::string_view name;  ///< "p50", "bandwidth"
  std::string_view unit;  ///< "ns", "Gb/s"
  bool higher_is_better;
  MetricJudging judging;
  bool exported;  ///< to other tools, to a page, and to a history
  /// The value of one repetition; nothing: it has none. Half round trips of ping-pong tests.
  Number (*value)(const Row&);
};
const std::array<MetricInfo, kMetrics>& metrics();

/// Latencies, then rates. The first that a case has is the one to watch: p50, or bandwidth (whose
/// rows may have latencies, too).
const std::vector<MetricInfo>& exported_metrics();

const MetricInfo& info_of(Metric metric);

/// The metric of a typed name: those of latencies ("p50", "p99.9", "mean"), and "bandwidth". Null:
/// it is none.
const MetricInfo* typed_metric(std::string_view name);
std::string typed_metric_names();  ///< "min, p50, ..., bandwidth"

/// The one to watch, the first of exported_metrics(): bandwidth, where the row has it. Null:
/// it has none.
const MetricInfo* watched_metric(const Row& row);

/// The metrics of how an open loop kept up: offered to lateness_p99.
std::span<const MetricInfo> load_metrics();

/// The metrics of where latency over load bends: saturation to unloaded_p99.
std::span<const MetricInfo> sweep_metrics();

bool is_time(Metric metric);

/// Of a whole that is 1.
bool is_share(Metric metric);

/// A time of the row's `latency`: such a number has a half round trip, too.
bool is_latency(const MetricInfo& info);

/// The unit in which a rate is read, by the largest one that stands beside it: Gb/s, Mb/s or kb/s,
/// and so on. Of any other metric: its own.
Unit rate_unit(Metric metric, double largest);

/// Half round trips are what ping-pong tests print: 2, else 1.
double latency_divisor(const Row& row);

/// "3.12 µs", "92.4 Gb/s", "31.2 Mb/s": with three significant digits.
std::string metric_text(Metric metric, double value);

/// "+8.3 %" of a ratio of 1.083; "×12.5" of one beyond 10.
std::string change_text(double ratio);

}  // namespace rdmameter
