// SPDX-License-Identifier: Apache-2.0
// Where charts.js and its fellows draw. What a chart needs besides is in the page's data.
#include <algorithm>

#include "reports/html/assets.h"
#include "reports/html/chart_data.h"
#include "reports/html/load_data.h"
#include "reports/html/sections.h"

namespace rdmameter {
namespace {

template <class Test>
bool any_number(const PageCases& page, const Test& test) {
  return std::any_of(page.cases.begin(), page.cases.end(), [&test](const PageCase& one) {
    return std::any_of(one.of_file.begin(), one.of_file.end(),
                       [&test](const auto& numbers) { return numbers && test(*numbers); });
  });
}

bool has_latency(const CaseNumbers& numbers) {
  return !latency_kind(numbers).empty();
}

bool has_number(const CaseNumbers& numbers) {
  return !numbers.values.empty();
}

bool has_series(const CaseNumbers& numbers) {
  return !rates_over_time(numbers).empty();
}

bool has_latency_series(const CaseNumbers& numbers) {
  return !latencies_over_time(numbers).empty();
}

bool has_late_samples(const CaseNumbers& numbers) {
  return !late_by_cause(numbers).empty();
}

/// Something that a chart can have at its foot.
bool any_axis_with_numbers(const PageCases& page) {
  const std::vector<std::string> axes = varying_axes(page);
  return std::ranges::any_of(page.cases, [&axes](const PageCase& one) {
    const nlohmann::ordered_json& all = one.first().summary.case_object;
    return std::ranges::any_of(
        axes, [&all](const std::string& key) { return all.contains(key) && all[key].is_number(); });
  });
}

bool has_charts() {
  return !asset("echarts.js").empty();
}

}  // namespace

Section load_charts_section(const PageCases& page) {
  const bool there = has_charts() && !load_data(page).empty();
  return {"load", "Latency over load", there ? std::string(asset("load.html")) : ""};
}

Section latency_charts_section(const PageCases& page) {
  const bool there = has_charts() && any_number(page, has_latency);
  return {"latency", "Latency", there ? std::string(asset("latency.html")) : ""};
}

Section time_charts_section(const PageCases& page) {
  const bool there = has_charts() && any_number(page, has_series);
  return {"time", "Over time", there ? std::string(asset("time.html")) : ""};
}

Section latency_time_section(const PageCases& page) {
  const bool there = has_charts() && any_number(page, has_latency_series);
  return {"latency-time", "Latency over time",
          there ? std::string(asset("latency_time.html")) : ""};
}

Section blame_charts_section(const PageCases& page) {
  const bool there = has_charts() && any_number(page, has_late_samples);
  return {"blame", "Who was late", there ? std::string(asset("blame.html")) : ""};
}

Section axis_charts_section(const PageCases& page) {
  const bool there = has_charts() && any_axis_with_numbers(page) && any_number(page, has_number);
  return {"axes", "Over an axis", there ? std::string(asset("axes.html")) : ""};
}

}  // namespace rdmameter
