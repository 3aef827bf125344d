// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/metric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/result/row_json.h"
#include "reports/summary/line_rate.h"

namespace rdmameter {
namespace {

using Told = LatencySummary;

double min_of(const HistogramData& data) {
  return static_cast<double>(data.min_ns);
}
double max_of(const HistogramData& data) {
  return static_cast<double>(data.max_ns);
}

template <double (*Of)(const HistogramData&), double Told::*Statistic>
Number latency(const Row& row) {
  if (!row.latency) return std::nullopt;
  const LatencyData& data = *row.latency;
  if ((data.told ? data.told->count : data.histogram.count) == 0) return std::nullopt;
  return (data.told ? (*data.told).*Statistic : Of(data.histogram)) / latency_divisor(row);
}

/// @return nothing where too few samples stand behind it
template <int PerTenThousand, Number Told::*Statistic>
Number percentile_of(const LatencyData& data) {
  if (data.told) return (*data.told).*Statistic;
  return reported_percentile(data.histogram, PerTenThousand / 100.0);
}

template <int PerTenThousand, Number Told::*Statistic>
Number latency_percentile(const Row& row) {
  const Number value =
      row.latency ? percentile_of<PerTenThousand, Statistic>(*row.latency) : std::nullopt;
  return value ? Number(*value / latency_divisor(row)) : std::nullopt;
}

template <double (*Rate)(const BandwidthData&)>
Number rate(const Row& row) {
  if (!row.bandwidth || row.bandwidth->window_ns == 0) return std::nullopt;
  return Rate(*row.bandwidth);
}

/// Of a part that the row may lack: a member, or what a function says of it.
template <auto Part, auto Of>
Number number_in(const Row& row) {
  const auto& part = row.*Part;
  return part ? Number(std::invoke(Of, *part)) : std::nullopt;
}

template <LatencyData LoadData::*Part, int PerTenThousand, Number Told::*Statistic>
Number load_percentile(const Row& row) {
  return row.load ? percentile_of<PerTenThousand, Statistic>((*row.load).*Part) : std::nullopt;
}

std::span<const MetricInfo> between(Metric first, Metric last) {
  const auto at = static_cast<std::size_t>(first);
  return std::span(metrics()).subspan(at, static_cast<std::size_t>(last) - at + 1);
}

}  // namespace

Unit time_unit(double typical_ns) {
  if (typical_ns < 100) return {"ns", 1};
  if (typical_ns < 10e6) return {"µs", 1e3};
  if (typical_ns < 10e9) return {"ms", 1e6};
  return {"s", 1e9};
}

int decimals_for(std::span<const double> values, int max) {
  double smallest = 0;
  for (const double value : values)
    if (value > 0 && (smallest == 0 || value < smallest)) smallest = value;
  if (smallest == 0) return 1;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(smallest))), 1, max);
}

int max_decimals(const Unit& time_unit) {
  return time_unit.size <= 1 ? 1 : 3;
}

std::string fixed(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

std::string three_digits(double value, int most_decimals) {
  const int decimals = value > 0 ? 2 - static_cast<int>(std::floor(std::log10(value))) : 0;
  return fixed(value, std::clamp(decimals, 0, most_decimals));
}

std::string time_text(double ns) {
  for (const Unit unit : {Unit{"s", 1e9}, Unit{"ms", 1e6}, Unit{"µs", 1e3}})
    if (ns >= unit.size) return fmt::format("{:.6g} {}", ns / unit.size, unit.name);
  return fmt::format("{:.6g} ns", ns);
}

const std::array<MetricInfo, kMetrics>& metrics() {
  using enum Metric;
  constexpr MetricJudging kMiddle{true, 1, 1}, kTail{true, 10.0 / 3, 3},
      kFarTail{true, 20.0 / 3, 5}, kRateIfAsked{false, 1, 1}, kIfAsked{false, 10.0 / 3, 3},
      kShare{true, 1.0 / 3, 0.5};
  static constexpr std::array<MetricInfo, kMetrics> kAll{{
      {min, "latency.min", "min_ns", "min", "ns", false, kIfAsked, false,
       latency<min_of, &Told::min>},
      {p50, "latency.p50", "p50_ns", "p50", "ns", false, kMiddle, true,
       latency_percentile<5000, &Told::p50>},
      {p90, "latency.p90", "p90_ns", "p90", "ns", false, kIfAsked, true,
       latency_percentile<9000, &Told::p90>},
      {p99, "latency.p99", "p99_ns", "p99", "ns", false, kTail, true,
       latency_percentile<9900, &Told::p99>},
      {p99_9, "latency.p99.9", "p99.9_ns", "p99.9", "ns", false, kFarTail, true,
       latency_percentile<9990, &Told::p99_9>},
      {p99_99, "latency.p99.99", "p99.99_ns", "p99.99", "ns", false, kIfAsked, true,
       latency_percentile<9999, &Told::p99_99>},
      {max, "latency.max", "max_ns", "max", "ns", false, kIfAsked, false,
       latency<max_of, &Told::max>},
      {mean, "latency.mean", "mean_ns", "mean", "ns", false, kMiddle, true,
       latency<rdmameter::mean, &Told::mean>},
      {stddev, "latency.stddev", "stddev_ns", "stddev", "ns", false, kIfAsked, false,
       latency<standard_deviation, &Told::stddev>},
      {gbps, "bandwidth.gbps", "gbps", "bandwidth", "Gb/s", true, kMiddle, true,
       rate<bandwidth_gbps>},
      {mib_per_s, "bandwidth.mib_per_s", "mib_per_s", "mib_per_s", "MiB/s", true, kRateIfAsked,
       false, rate<bandwidth_mib_per_s>},
      {mmsg_per_s, "bandwidth.mmsg_per_s", "mmsg_per_s", "message rate", "Mmsg/s", true,
       kRateIfAsked, true, rate<bandwidth_mmsg_per_s>},
      {lost, "lost", "lost", "lost", "", false, kIfAsked, false,
       number_in<&Row::lost, std::identity{}>},
      {of_line, "of_line", "of_line", "share of the line", "", true, kIfAsked, false,
       share_of_line},
      {of_bound, "of_bound", "of_bound", "share of the bound", "", true, kIfAsked, false,
       share_of_bound},
      {offered, "load.offered_per_s", "offered_per_s", "offered", "msg/s", true, kRateIfAsked,
       false, number_in<&Row::load, load_offered_per_s>},
      {reached, "load.reached_per_s", "reached_per_s", "reached", "msg/s", true, kRateIfAsked,
       false, number_in<&Row::load, load_reached_per_s>},
      {reached_share, "load.reached_share", "reached_share", "reached share", "", true, kShare,
       false, number_in<&Row::load, load_reached_share>},
      {backlog, "load.backlog_max", "backlog_max", "backlog", "", false, kIfAsked, false,
       number_in<&Row::load, &LoadData::backlog_max>},
      {unsent, "load.unsent", "unsent", "unsent", "", false, kIfAsked, false,
       number_in<&Row::load, &LoadData::unsent>},
      {service_p50, "load.service.p50", "service_p50_ns", "service p50", "ns", false, kIfAsked,
       false, load_percentile<&LoadData::service, 5000, &Told::p50>},
      {service_p99, "load.service.p99", "service_p99_ns", "service p99", "ns", false, kIfAsked,
       false, load_percentile<&LoadData::service, 9900, &Told::p99>},
      {lateness_p50, "load.lateness.p50", "lateness_p50_ns", "late p50", "ns", false, kIfAsked,
       false, load_percentile<&LoadData::lateness, 5000, &Told::p50>},
      {lateness_p99, "load.lateness.p99", "lateness_p99_ns", "late p99", "ns", false, kIfAsked,
       false, load_percentile<&LoadData::lateness, 9900, &Told::p99>},
      {saturation, "sweep.saturation_per_s", "saturation_per_s", "saturation", "msg/s", true,
       kMiddle, true, number_in<&Row::sweep, &SweepData::saturation_per_s>},
      {slo_rate, "sweep.slo_rate_per_s", "slo_rate_per_s", "rate within SLO", "msg/s", true, kTail,
       true, number_in<&Row::sweep, &SweepData::slo_rate_per_s>},
      {unloaded_p99, "sweep.unloaded_p99_ns", "unloaded_p99_ns", "p99 without load", "ns", false,
       kTail, true, number_in<&Row::sweep, &SweepData::unloaded_p99_ns>},
  }};
  static_assert(std::ranges::is_sorted(kAll, {}, &MetricInfo::metric));  // info_of() counts on it
  return kAll;
}

const std::vector<MetricInfo>& exported_metrics() {
  static const auto exported = filtered(metrics(), &MetricInfo::exported);
  return exported;
}

const MetricInfo& info_of(Metric metric) {
  return metrics()[static_cast<std::size_t>(metric)];
}

const MetricInfo* typed_metric(std::string_view name) {
  for (const MetricInfo& info : metrics())
    if (is_latency(info) && info.name == name) return &info;
  return name == info_of(Metric::gbps).name ? &info_of(Metric::gbps) : nullptr;
}

std::string typed_metric_names() {
  const auto latencies = mapped(filtered(metrics(), is_latency), &MetricInfo::name);
  return fmt::format("{}, {}", fmt::join(latencies, ", "), info_of(Metric::gbps).name);
}

const MetricInfo* watched_metric(const Row& row) {
  if (row.bandwidth) return &info_of(Metric::gbps);
  const auto found = std::ranges::find_if(
      exported_metrics(), [&](const MetricInfo& info) { return info.value(row).has_value(); });
  return found == exported_metrics().end() ? nullptr : &*found;
}

std::span<const MetricInfo> load_metrics() {
  return between(Metric::offered, Metric::lateness_p99);
}

std::span<const MetricInfo> sweep_metrics() {
  return between(Metric::saturation, Metric::unloaded_p99);
}

bool is_time(Metric metric) {
  return info_of(metric).unit == "ns";
}

bool is_latency(const MetricInfo& info) {
  return info.path.starts_with("latency.");
}

Unit rate_unit(Metric metric, double largest) {
  static constexpr std::pair<Metric, std::array<Unit, 3>> kRates[] = {
      {Metric::gbps, {{{"Gb/s", 1}, {"Mb/s", 1e-3}, {"kb/s", 1e-6}}}},
      {Metric::mib_per_s, {{{"MiB/s", 1}, {"KiB/s", 0x1p-10}, {"B/s", 0x1p-20}}}},
      {Metric::mmsg_per_s, {{{"Mmsg/s", 1}, {"kmsg/s", 1e-3}, {"msg/s", 1e-6}}}}};
  for (const auto& [known, units] : kRates) {
    if (known != metric) continue;
    for (const Unit& unit : units)
      if (largest >= unit.size) return unit;
    return largest > 0 ? units.back() : units.front();
  }
  return {info_of(metric).unit, 1};
}

bool is_share(Metric metric) {
  return metric == Metric::reached_share || metric == Metric::of_line || metric == Metric::of_bound;
}

std::string metric_text(Metric metric, double value) {
  if (metric == Metric::lost || metric == Metric::backlog || metric == Metric::unsent)
    return fmt::format("{:.0f}", value);
  if (is_share(metric)) return fmt::format("{:.1f} %", value * 100);
  const Unit unit = is_time(metric) ? time_unit(value) : rate_unit(metric, value);
  const std::array scaled{value / unit.size};
  return fmt::format("{} {}", fixed(scaled[0], decimals_for(scaled)), unit.name);
}

std::string change_text(double ratio) {
  if (ratio >= 1e6) return fmt::format("×{:.1e}", ratio);
  if (ratio >= 10) return fmt::format("×{:.1f}", ratio);
  return fmt::format("{:+.1f} %", (ratio - 1) * 100);
}

double latency_divisor(const Row& row) {
  return row.latency && row.latency->half_round_trip ? 2 : 1;
}

}  // namespace rdmameter
