// SPDX-License-Identifier: Apache-2.0
// Where charts.js and its fellows draw. What a chart needs besides is in the page's data.
#include <algorithm>
#include <string>
#include <vector>

#include "reports/html/assets.h"
#include "reports/html/chart_data.h"
#include "reports/html/sections.h"

namespace rdmameter {
namespace {

/// Is there an axis to draw over?
bool varies_in_a_number(const PageCases& page) {
  const std::vector<std::string> varying = varying_axes(page);
  return std::ranges::any_of(page.cases, [&varying](const PageCase& one) {
    const auto& axes = one.first().summary.case_object;
    return std::ranges::any_of(varying, [&axes](const std::string& key) {
      return axes.contains(key) && axes.at(key).is_number();
    });
  });
}

}  // namespace

std::vector<Section> chart_sections(const PageCases& page) {
  if (asset("echarts.js").empty()) return {};
  std::vector<Section> sections;
  const auto add = [&](const char* id, const char* title, const char* file, bool there) {
    sections.push_back({id, title, there ? std::string(asset(file)) : ""});
  };
  const auto any = [&page](const auto& test) {
    return std::ranges::any_of(page.cases, [&](const PageCase& one) {
      return std::ranges::any_of(one.of_file,
                                 [&](const auto& numbers) { return numbers && test(*numbers); });
    });
  };
  using Case = const CaseNumbers&;
  add("load", "Latency over load", "load.html", !load_data(page).empty());
  add("latency", "Latency", "latency.html",
      any([](Case numbers) { return !latency_kind(numbers).empty(); }));
  add("latency-time", "Latency over time", "latency_time.html",
      any([](Case numbers) { return !latencies_over_time(numbers).empty(); }));
  add("blame", "Attributing late samples", "blame.html",
      any([](Case numbers) { return !late_by_cause(numbers).empty(); }));
  add("axes", "Over an axis", "axes.html",
      any([](Case numbers) { return !numbers.values.empty(); }) && varies_in_a_number(page));
  add("time", "Over time", "time.html",
      any([](Case numbers) { return !rates_over_time(numbers).empty(); }));
  return sections;
}

}  // namespace rdmameter
