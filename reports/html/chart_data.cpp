// SPDX-License-Identifier: Apache-2.0
#include "reports/html/chart_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "core/instrument/histogram.h"
#include "core/result/json_text.h"
#include "core/result/row_json.h"
#include "reports/figures/figures.h"
#include "reports/html/topology_data.h"
#include "reports/summary/facts.h"
#include "reports/text/case_text.h"

namespace rdmameter {
namespace {

constexpr int kPointsPerDecade = 20;

Json number(const Number& value, double divisor = 1) {
  return value ? short_number(*value / divisor) : Json();
}

Json curve_of(const HistogramData& data, double divisor) {
  Json curve = Json::array({short_number(static_cast<double>(data.min_ns) / divisor)});
  for (int i = 1;; ++i) {
    const double beyond = std::pow(10, static_cast<double>(i) / kPointsPerDecade);  // 1/(1-p)
    if (beyond > static_cast<double>(data.count)) return curve;
    const std::uint64_t value = percentile(data, 100 * (1 - 1 / beyond));
    curve.push_back(short_number(static_cast<double>(value) / divisor));
  }
}

/// Bins at least 0.8 % wide; wider, up to 10 %, until they hold 0.2 % of the samples. So the
/// body is drawn finely, and a thin tail takes few bins.
struct Bins {
  std::vector<double> edges;  ///< [ns]; one more than `samples`
  std::vector<double> samples;
};

Bins bins_of(const HistogramData& data) {
  const double enough = static_cast<double>(data.count) / 500;
  Bins bins;
  double begin = 0, end = 0, held = 0;
  const auto close = [&](double edge) {
    bins.samples.push_back(std::exchange(held, 0.0));
    bins.edges.push_back(edge);
  };
  for (const auto& [index, n] : data.buckets) {
    const auto low = static_cast<double>(histogram_lowest(index));
    if (bins.edges.empty()) {
      bins.edges.push_back(low);
    } else if ((low > begin * 1.008 && held >= enough) || low > begin * 1.1) {
      close(std::min(low, std::max(end, begin * 1.1)));
      if (low > bins.edges.back()) close(low);  // nothing in between
    }
    if (held == 0) begin = std::max(bins.edges.back(), 0.5);
    held += static_cast<double>(n);
    end = static_cast<double>(histogram_lowest(index + 1));
  }
  if (!bins.edges.empty()) close(end);
  return bins;
}

/// Bins as wide as each other on a logarithmic axis: ten a decade, but 12 to 40 of them, and none
/// narrower than a fiftieth of a decade.
struct LogBins {
  double least, decades;  ///< the first edge, and how far from it the last one is
  std::size_t count;

  std::size_t of(double value) const {
    const double at = std::log10(value / least) / decades * static_cast<double>(count);
    return std::min(static_cast<std::size_t>(std::max(at, 0.0)), count - 1);
  }
  Json edges() const {
    Json all = Json::array();
    for (std::size_t i = 0; i <= count; ++i)
      all.push_back(short_number(
          least * std::pow(10, decades * static_cast<double>(i) / static_cast<double>(count))));
    return all;
  }
};

LogBins log_bins(double least, double most) {
  const double decades = std::max(std::log10(most / least), 0.0) + 1e-3;
  const double more_than = std::clamp(10 * decades, std::min(11.0, 50 * decades), 39.0);
  return {least, decades, static_cast<std::size_t>(more_than) + 1};
}

Json file_data(const CaseNumbers& numbers) {
  Json values = Json::object();
  for (const CaseNumber& value : numbers.values)
    values[std::string(value.metric->key)] = {short_number(value.min), short_number(value.median),
                                              short_number(value.max)};
  Json data = {{"repetitions", numbers.summary.repetitions.size()}, {"values", std::move(values)}};
  for (const auto& [key, make] :
       {std::pair{"over_time", &rates_over_time},
        std::pair{"latency_over_time", &latencies_over_time}, std::pair{"blame", &late_by_cause}})
    if (Json made = make(numbers); !made.empty()) data[key] = std::move(made);
  const HistogramData latency = merged_latency(numbers.summary);
  if (latency.count == 0) return data;
  data["latency"] =
      packed_curves(latency_curves(latency, latency_divisor(numbers.summary.first())));
  data["latency"]["kind"] = latency_kind(numbers);
  return data;
}

Json case_data(const PageCase& one, const std::vector<std::string>& axes) {
  Json chosen = Json::object();
  const Json& all = one.first().summary.case_object;
  for (const std::string& key : axes)
    if (const auto found = all.find(key); found != all.end() && found->is_primitive())
      chosen[key] = *found;
  Json files = Json::array();
  for (const auto& numbers : one.of_file) files.push_back(numbers ? file_data(*numbers) : Json());
  return {{"name", one.name},           {"label", one.label},        {"test", one.test},
          {"transport", one.transport}, {"axes", std::move(chosen)}, {"files", std::move(files)}};
}

/// The row's `series`, or nothing where it has none of two intervals and more. A key that the
/// reader keeps without a look at it, so all of it is doubted here.
Json rates_of(const Row& row) {
  constexpr std::size_t kMaxPoints = 200;
  const Json& series = fact_at(row.extra, "series");
  const auto counts = [&series](const char* key) {
    std::vector<double> list;
    for (const Json& one : fact_at(series, key))
      if (one.is_number_unsigned()) list.push_back(one.get<double>());
    return list;
  };
  const std::vector<double> end_ns = counts("end_ns"), messages = counts("messages");
  Json rates = Json::array();
  if (end_ns.size() != messages.size() || end_ns.size() < 2) return rates;
  const std::size_t together = (end_ns.size() + kMaxPoints - 1) / kMaxPoints;
  double begin_ns = 0, sum = 0;
  for (std::size_t i = 0; i < end_ns.size(); ++i) {
    sum += messages[i];
    if ((i + 1) % together != 0 && i + 1 < end_ns.size()) continue;
    if (end_ns[i] <= begin_ns) return Json::array();
    rates.push_back(
        {short_number(end_ns[i] / 1e9), short_number(1e3 * sum / (end_ns[i] - begin_ns))});
    begin_ns = end_ns[i];
    sum = 0;
  }
  return rates;
}

Json sweep_load(const CaseSummary& summary, Json load) {
  Json points = Json::array();
  for (const CurvePoint& point : curve_of(summary))
    points.push_back({point.rate_per_s, short_number(point.reached_per_s), number(point.p50_ns),
                      number(point.p99_ns), point.saturated});
  load["points"] = std::move(points);
  for (const auto& [key, of] :
       {std::pair("saturation", &SweepData::saturation_per_s),
        std::pair("slo_ns", &SweepData::slo_ns), std::pair("slo_rate", &SweepData::slo_rate_per_s)})
    if (const auto value =
            median_of(summary, [part = of](const Row& row) { return (*row.sweep).*part; }))
      load[key] = short_number(*value);
  return load;
}

/// A rate of a list, all its repetitions together.
Json rate_point(const CaseSummary& summary) {
  Json point = Json::array();
  for (const Metric metric : {Metric::offered, Metric::reached, Metric::p50, Metric::p99})
    point.push_back(number(median_of(summary, info_of(metric).value)));
  const auto saturated = std::ranges::count_if(
      summary.repetitions, [](const Row* row) { return load_saturated(*row->load); });
  point.push_back(2 * static_cast<std::size_t>(saturated) >= summary.repetitions.size());
  return point;
}

/// The axes with more than one value among all cases.
std::vector<std::string> varying_axes(const PageCases& page) {
  // Where inline was not specified, it follows from the size: no axis beside it.
  const bool inline_given = std::ranges::any_of(page.cases, [](const PageCase& one) {
    return one.name.find("/inline:") != std::string::npos;
  });
  Json first = Json::object();
  std::vector<std::string> varying;
  for (const PageCase& one : page.cases)
    for (const auto& [key, value] : one.first().summary.case_object.items()) {
      if (key == "transport" || (key == "inline_bytes" && !inline_given)) continue;
      if (!value.is_primitive() || value.is_null()) continue;
      if (!first.contains(key)) first[key] = value;
      if (first[key] != value) add_once(varying, key);
    }
  std::stable_partition(varying.begin(), varying.end(),  // clang 14 has no std::ranges:: one
                        [](const std::string& key) { return key == "size_bytes"; });
  return varying;
}

}  // namespace

Json rates_over_time(const CaseNumbers& numbers) {
  Json all = Json::array();
  for (const Row* row : numbers.summary.repetitions)
    if (Json rates = rates_of(*row); !rates.empty()) all.push_back(std::move(rates));
  return all;
}

Json latencies_over_time(const CaseNumbers& numbers) {
  Json all = Json::array();
  for (const Row* row : numbers.summary.repetitions) {
    if (!row->over_time || row->over_time->count.size() < 2) continue;
    const double divisor = latency_divisor(*row);
    const OverTimeData& data = *row->over_time;
    Json points = Json::array();
    for (std::size_t i = 0; i < data.count.size(); ++i)
      points.push_back({short_number(static_cast<double>(i + 1) *
                                     static_cast<double>(data.interval_ns) / kNsPerSecond),
                        number(data.p50_ns[i], divisor), number(data.p99_ns[i], divisor),
                        number(data.max_ns[i], divisor), data.lost.empty() ? 0 : data.lost[i]});
    all.push_back(std::move(points));
  }
  return all;
}

Json late_by_cause(const CaseNumbers& numbers) {
  constexpr std::array kCauses{
      std::pair("local", &BlameData::local), std::pair("peer", &BlameData::peer),
      std::pair("path", &BlameData::path), std::pair("undecided", &BlameData::undecided)};
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), most = 0;
  const std::vector<const Row*>& rows = numbers.summary.repetitions;
  for (const Row* row : rows)
    for (const auto& [cause, samples] : kCauses)
      if (row->blame && (*row->blame.*samples).count > 0) {
        least = std::min(least, row->blame->limit_ns);
        most = std::max(most, (*row->blame.*samples).max_ns);
      }
  if (most == 0) return {};
  const LogBins bins =
      log_bins(std::max<double>(static_cast<double>(least), 1), static_cast<double>(most));
  Json late = {{"limit", least}, {"edges", bins.edges()}};
  for (const auto& [cause, samples] : kCauses) {
    std::vector<std::uint64_t> counts(bins.count);
    for (const Row* row : rows)
      if (row->blame)
        for (const auto& [index, n] : (*row->blame.*samples).buckets)
          counts[bins.of(static_cast<double>(histogram_lowest(index)))] += n;
    late[cause] = counts;
  }
  return late;
}

Json latency_curves(const HistogramData& data, double divisor) {
  Json edges = Json::array(), shares = Json::array();
  const Bins bins = bins_of(data);
  for (const double edge : bins.edges) edges.push_back(short_number(edge / divisor));
  for (const double n : bins.samples)
    shares.push_back(short_number(n / static_cast<double>(data.count)));
  return {{"count", data.count},
          {"max", short_number(static_cast<double>(data.max_ns) / divisor)},
          {"curve", curve_of(data, divisor)},
          {"edges", std::move(edges)},
          {"shares", std::move(shares)}};
}

Json packed_curves(const Json& curves) {
  static constexpr double kLeast = 0.25;  // ns; there is no logarithm of 0
  static constexpr double kStepsPerE = 1000, kSharesOfAll = 100'000;
  const auto ascending = [](const Json& values) {
    const double first = std::max(values[0].get<double>(), kLeast);
    Json packed = Json::array({short_number(first)});
    std::int64_t at = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
      const double value = std::max(values[i].get<double>(), first);
      const std::int64_t here = std::llround(kStepsPerE * std::log(value / first));
      packed.push_back(here - std::exchange(at, here));
    }
    return packed;
  };
  Json packed = curves;
  packed["curve"] = ascending(curves.at("curve"));
  if (!curves.at("edges").empty()) packed["edges"] = ascending(curves.at("edges"));
  Json shares = Json::array();
  double sum = 0;
  std::int64_t at = 0;
  for (const Json& share : curves.at("shares")) {
    sum += share.get<double>();
    const std::int64_t here = std::llround(kSharesOfAll * sum);
    shares.push_back(here - std::exchange(at, here));
  }
  packed["shares"] = std::move(shares);
  return packed;
}

Json short_number(double value) {
  return number_to_json(std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr));
}

Json chart_data(const PageCases& page) {
  const std::vector<std::string> varying = varying_axes(page);
  Json axes = Json::array(), known = Json::array(), cases = Json::array();
  for (const std::string& key : varying) {
    const auto [name, unit] = split_key(key);
    axes.push_back({{"key", key}, {"name", name}, {"unit", unit}});
  }
  for (const MetricInfo& metric : exported_metrics())
    known.push_back({{"key", metric.key}, {"name", metric.name}, {"unit", metric.unit}});
  for (const PageCase& one : page.cases) cases.push_back(case_data(one, varying));
  Json data = {{"files", page.labels},
               {"axes", std::move(axes)},
               {"quantities", std::move(known)},
               {"cases", std::move(cases)}};
  if (Json loads = load_data(page); !loads.empty()) data["loads"] = std::move(loads);
  if (Json topologies = topology_data(page); !topologies.empty())
    data["topologies"] = std::move(topologies);
  return data;
}

Json load_data(const PageCases& page) {
  const std::vector<std::string> axes = varying_axes(page);
  Json loads = Json::array();
  std::map<std::pair<std::string, std::size_t>, Json> lists;
  each_case(page.cases, [&](const PageCase& one, std::size_t file, const CaseNumbers& numbers) {
    // What the cases of a curve have in common: test, transport and every axis but the rate.
    const std::string name = name_among(axes, one.first().summary, "rate");
    if (all_have<&Row::sweep>(numbers.summary)) {
      Json load = sweep_load(numbers.summary, {{"name", name}, {"file", file}});
      if (!load.at("points").empty()) loads.push_back(std::move(load));  // else nothing to draw
    } else if (all_have<&Row::load>(numbers.summary)) {
      lists[{name, file}].push_back(rate_point(numbers.summary));
    }
  });
  for (auto& [key, points] : lists) {
    if (points.size() < 2) continue;
    std::sort(points.begin(), points.end(),
              [](const Json& a, const Json& b) { return a[0].get<double>() < b[0].get<double>(); });
    loads.push_back({{"name", key.first}, {"file", key.second}, {"points", std::move(points)}});
  }
  return loads;
}

}  // namespace rdmameter
