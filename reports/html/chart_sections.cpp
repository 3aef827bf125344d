// SPDX-License-Identifier: Apache-2.0
// Where charts.js and its fellows draw. What a chart needs besides is in the page's data.
#include <algorithm>

#include "reports/html/assets.h"
#include "reports/html/chart_data.h"
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

/// Is there an axis to draw over?
bool varies_in_a_number(const PageCases& page) {
  const std::vector<std::string> varying = varying_axes(page);
  return std::ranges::any_of(page.cases, [&varying](const PageCase& one) {
    const auto& axes = one.first().summary.case_object;
    return std::ranges::any_of(varying, [&axes](const std::string& key) {
      return axes.contains(key) && axes[key].is_number();
    });
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
  const bool there = has_charts() && any_number(page, has_number) && varies_in_a_number(page);
  return {"axes", "Over an axis", there ? std::string(asset("axes.html")) : ""};
}

}  // namespace rdmameter
