// SPDX-License-Identifier: Apache-2.0
#include "reports/html/load_data.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/result/row_json.h"
#include "reports/html/chart_data.h"
#include "reports/text/case_text.h"
#include "reports/text/sweep_curve.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  return value ? short_number(*value) : Json();
}

Json sweep_load(const CaseSummary& summary, Json load) {
  Json points = Json::array();
  for (const CurvePoint& point : curve_of(summary))
    points.push_back({point.rate_per_s, short_number(point.reached_per_s), number(point.p50_ns),
                      number(point.p99_ns), point.saturated});
  load["points"] = std::move(points);
  const auto median_of = [&](std::optional<double> SweepData::*part) {
    const auto found = spread(summary, [part](const Row& row) { return (*row.sweep).*part; });
    return found ? std::optional(found->median) : std::nullopt;
  };
  for (const auto& [key, part] :
       {std::pair("saturation", &SweepData::saturation_per_s),
        std::pair("slo_ns", &SweepData::slo_ns), std::pair("slo_rate", &SweepData::slo_rate_per_s)})
    if (const auto value = median_of(part)) load[key] = short_number(*value);
  return load;
}

/// A rate of a list, all its repetitions together.
Json rate_point(const CaseNumbers& numbers) {
  const auto median_of = [&](std::string_view key) {
    const CaseNumber* const found = numbers.find(key);
    return found == nullptr ? std::nullopt : std::optional(found->median);
  };
  const CaseSummary& summary = numbers.summary;
  const auto load_median = [&](Metric metric) {
    return spread(summary, info_of(metric).value)->median;
  };
  const auto saturated = std::ranges::count_if(
      summary.repetitions, [](const Row* row) { return load_saturated(*row->load); });
  return {short_number(load_median(Metric::offered)), short_number(load_median(Metric::reached)),
          number(median_of("p50_ns")), number(median_of("p99_ns")),
          2 * static_cast<std::size_t>(saturated) >= summary.repetitions.size()};
}

/// What the cases of a curve have in common: test, transport and every axis but the rate.
std::string curve_name(const PageCase& one, const std::vector<std::string>& axes) {
  std::vector<std::string> others;
  std::ranges::copy_if(axes, std::back_inserter(others),
                       [](const std::string& key) { return key != "rate"; });
  const std::string text = case_text(one.first().summary.case_object, others);
  return one.test + " " + one.transport + (text.empty() ? "" : ", " + text);
}

}  // namespace

Json load_data(const PageCases& page) {
  const std::vector<std::string> axes = varying_axes(page);
  Json loads = Json::array();
  std::map<std::pair<std::string, std::size_t>, Json> lists;
  for (const PageCase& one : page.cases)
    for (std::size_t file = 0; file < one.of_file.size(); ++file) {
      const auto& numbers = one.of_file[file];
      if (!numbers || numbers->summary.repetitions.empty()) continue;
      const std::string name = curve_name(one, axes);
      if (all_have<&Row::sweep>(numbers->summary)) {
        Json load = sweep_load(numbers->summary, {{"name", name}, {"file", file}});
        if (!load.at("points").empty()) loads.push_back(std::move(load));  // else nothing to draw
      } else if (all_have<&Row::load>(numbers->summary)) {
        lists[{name, file}].push_back(rate_point(*numbers));
      }
    }
  for (auto& [key, points] : lists) {
    if (points.size() < 2) continue;
    std::sort(points.begin(), points.end(),
              [](const Json& a, const Json& b) { return a[0].get<double>() < b[0].get<double>(); });
    loads.push_back({{"name", key.first}, {"file", key.second}, {"points", std::move(points)}});
  }
  return loads;
}

}  // namespace rdmameter
