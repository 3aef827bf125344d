// SPDX-License-Identifier: Apache-2.0
// Where charts.js and its fellows draw. What a chart needs besides is in the page's data.
#include <algorithm>

#include "reports/html/assets.h"
#include "reports/html/sections.h"
#include "reports/summary/facts.h"

namespace rdmameter {

std::vector<Section> chart_sections(const Json& data) {
  if (data.is_null()) return {};
  std::vector<Section> sections;
  const auto add = [&](const char* id, const char* title, const char* file, bool there) {
    if (there) sections.push_back({id, title, std::string(asset(file))});
  };
  const Json& cases = data.at("cases");
  const auto any = [&cases](const char* key) {
    return std::ranges::any_of(cases, [key](const Json& one) {
      return std::ranges::any_of(one.at("files"),
                                 [key](const Json& file) { return !fact_at(file, key).empty(); });
    });
  };
  const bool varies_in_a_number = std::ranges::any_of(
      cases, [](const Json& one) { return std::ranges::any_of(one.at("axes"), &Json::is_number); });
  add("load", "Latency over load", "load.html", data.contains("loads"));
  add("latency", "Latency", "latency.html", any("latency"));
  add("latency-time", "Latency over time", "latency_time.html", any("latency_over_time"));
  add("blame", "Attributing late samples", "blame.html", any("blame"));
  add("axes", "Over an axis", "axes.html", any("values") && varies_in_a_number);
  add("time", "Over time", "time.html", any("over_time"));
  return sections;
}

}  // namespace rdmameter
