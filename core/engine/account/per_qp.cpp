// SPDX-License-Identifier: Apache-2.0
#include "core/engine/account/per_qp.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <numeric>

#include "core/base/lists.h"
#include "core/result/row_fields.h"

namespace rdmameter {
namespace {

/// Of more QPs than a row lists, no buckets are kept: the means alone.
bool has_buckets(std::uint64_t qps) {
  return qps <= kMaxListedQps;
}

std::uint64_t buckets_per_qp(std::uint64_t qps) {
  return has_buckets(qps) ? kQpSamplesBuckets : 1;
}

/// Six digits are more than a QP's numbers repeat to.
double rounded(double value) {
  if (!(value > 0)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 5);
  return unit >= 1 ? std::round(value / unit) * unit
                   : std::round(value * std::round(1 / unit)) / std::round(1 / unit);
}

/// As a Histogram's percentile, and reported with as many samples behind it.
std::optional<double> quantile(const QpSamples& samples, double share) {
  constexpr double kBeyond = 10 * (1 - 1e-9);
  const auto count = static_cast<double>(samples.count);
  const bool wrapped = samples.count > std::numeric_limits<std::uint32_t>::max();  // may have
  if (samples.shift != kQpSamplesShift || wrapped || (1 - share) * count < kBeyond)
    return std::nullopt;
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * count - share * count * 1e-14));
  return static_cast<double>(value_at_rank({samples.buckets, kQpSamplesBuckets}, kQpSamplesShift,
                                           rank, samples.min_ns, samples.max_ns));
}

double at_share(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[rank];
}

/// Where every QP has it. @return empty: one has not
std::vector<double> column(std::span<const QpFigures> figures,
                           std::optional<double> QpFigures::*member) {
  std::vector<double> values;
  for (const QpFigures& each : figures) {
    if (!(each.*member)) return {};
    values.push_back(rounded(*(each.*member)));
  }
  return values;
}

void add_spread(PerQpData& data, const char* of, std::vector<double> values) {
  if (values.empty()) return;
  std::ranges::sort(values);
  data.spread.push_back({.of = of,
                         .min = values.front(),
                         .p10 = at_share(values, 0.1),
                         .p50 = at_share(values, 0.5),
                         .p90 = at_share(values, 0.9),
                         .max = values.back()});
}

/// What a QP takes for a message or a sample, of each; empty: nothing tells.
std::vector<double> times_of(const PerQpData& data) {
  if (!data.p50_ns.empty()) return data.p50_ns;
  if (!data.mean_ns.empty()) return data.mean_ns;
  return mapped(data.messages_per_s, [](double rate) { return rate > 0 ? 1e9 / rate : 1e18; });
}

void name_slow(PerQpData& data, const std::vector<double>& times,
               const std::vector<std::uint64_t>& order) {
  std::vector<double> sorted = times;
  std::ranges::sort(sorted);
  const double usual = sorted[(sorted.size() - 1) / 4], spread = at_share(sorted, 0.5) - usual;
  data.slowest = order.front();
  for (const std::uint64_t qp : order)
    if (times[qp] > usual * 4 / 3 && times[qp] - usual > 4 * spread &&
        data.slow.size() < kMaxListedQps)
      data.slow.push_back(qp);
}

/// Only these are listed from here on.
template <class Value>
void keep(std::vector<Value>& values, const std::vector<std::uint64_t>& numbers) {
  if (values.empty()) return;
  values = mapped(numbers, [&](std::uint64_t number) { return values[number]; });
}

}  // namespace

QpSampleSet::QpSampleSet(std::span<Lane> lanes)
    : samples_(std::make_unique<QpSamples[]>(lanes.size())),
      buckets_(std::make_unique<std::uint32_t[]>(buckets_per_qp(lanes.size()) * lanes.size())) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    samples_[i].buckets = &buckets_[buckets_per_qp(lanes.size()) * i];
    if (!has_buckets(lanes.size())) samples_[i].shift = 63;
    lanes[i].samples = &samples_[i];
  }
}

std::uint64_t qp_samples_bytes(std::uint64_t qps) {
  return qps * (sizeof(QpSamples) + sizeof(std::uint32_t) * buckets_per_qp(qps));
}

bool counts_enough(std::span<const Lane> lanes) {
  constexpr std::uint64_t kLeastMean = 10;  // with fewer, one CQE at an edge is a tenth
  std::uint64_t cqes = 0;
  for (const Lane& lane : lanes) cqes += lane.cqes_closed - lane.cqes_opened;
  return cqes >= kLeastMean * lanes.size();
}

QpFigures qp_figures(const Lane& lane, std::uint32_t signal_every, std::uint64_t window_ns) {
  QpFigures figures;
  if (lane.samples == nullptr) {
    if (window_ns != 0)
      figures.messages_per_s = static_cast<double>(lane.cqes_closed - lane.cqes_opened) *
                               signal_every / static_cast<double>(window_ns) * 1e9;
    return figures;
  }
  const QpSamples& samples = *lane.samples;
  if (samples.count == 0) return figures;
  figures.mean_ns = static_cast<double>(samples.sum_ns) / static_cast<double>(samples.count);
  figures.p50_ns = quantile(samples, 0.5);
  figures.p99_ns = quantile(samples, 0.99);
  figures.max_ns = static_cast<double>(samples.max_ns);
  return figures;
}

PerQpData per_qp_data(std::span<const QpFigures> figures) {
  PerQpData data{.qps = figures.size()};
  const bool ports =
      std::ranges::all_of(figures, [](const QpFigures& each) { return !!each.udp_source_port; });
  for (const QpFigures& each : figures) {
    data.flow_labels.push_back(each.flow_label);
    if (ports) data.udp_source_ports.push_back(*each.udp_source_port);
  }
  if (figures.size() == 1) return data;
  data.messages_per_s = column(figures, &QpFigures::messages_per_s);
  data.mean_ns = column(figures, &QpFigures::mean_ns);
  data.p50_ns = column(figures, &QpFigures::p50_ns);
  data.p99_ns = column(figures, &QpFigures::p99_ns);
  data.max_ns = column(figures, &QpFigures::max_ns);
  for_each_qp_list(data, [&data](const char* key, const auto& list, auto) {
    if constexpr (std::same_as<decltype(list), const std::vector<double>&>)
      add_spread(data, key, list);
  });
  if (std::ranges::any_of(data.messages_per_s, [](double rate) { return rate > 0; }))
    data.jain = jain_index(data.messages_per_s);
  const std::vector<double> times = times_of(data);
  std::vector<std::uint64_t> order(data.qps);
  std::iota(order.begin(), order.end(), 0);
  if (!times.empty()) {  // the slowest first
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](auto qp) { return times[qp]; });
    name_slow(data, times, order);
  }
  if (data.qps <= kMaxListedQps) return data;
  order.resize(kMaxListedQps);
  data.numbers = order;
  for_each_qp_list(data, [&order](const char*, auto& list, auto) { keep(list, order); });
  return data;
}

}  // namespace rdmameter
