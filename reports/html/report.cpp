// SPDX-License-Identifier: Apache-2.0
#include "reports/html/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "reports/html/assets.h"
#include "reports/html/chart_data.h"
#include "reports/html/html_table.h"
#include "reports/html/sections.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxCasesOnPage = 3000;  ///< 3 to 4 KB each: a page of some 12 MB

/// In a single pass: what is filled in is not looked through for {{names}} again.
std::string fill(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find("{{");
    const std::size_t end = begin == text.npos ? text.npos : text.find("}}", begin);
    if (end == text.npos) return result.append(text);
    result.append(text.substr(0, begin)).append(values.at(text.substr(begin + 2, end - begin - 2)));
    text.remove_prefix(end + 2);
  }
}

/// @param data  of charts; null: the build has none
std::vector<Section> sections_of(const PageCases& page, const Comparison* comparison,
                                 const Json& data) {
  std::vector<Section> sections{subject_section(page)};
  if (comparison != nullptr) sections.push_back(comparison_section(page, *comparison));
  for (const auto make : {summary_section, topology_section, connections_section})
    sections.push_back(make(page));
  std::ranges::move(chart_sections(data), std::back_inserter(sections));
  for (const auto make : {numbers_section, environment_section}) sections.push_back(make(page));
  std::erase_if(sections, [](const Section& section) { return section.html.empty(); });
  return sections;
}

std::string script() {
  std::string text = "(() => {\n\"use strict\";\n";
  for (const char* name : {"tables.js", "chart_kit.js", "latency.js", "axes.js", "load.js",
                           "latency_time.js", "blame.js", "time.js", "topology.js", "page.js"})
    text.append(asset(name));
  return text + "})();\n";
}

}  // namespace

std::string html_report(std::span<const ResultFile> files, const Comparison* comparison,
                        std::optional<std::uint64_t> memory_budget_bytes) {
  PageCases page = page_cases(files, kMaxCasesOnPage);
  page.memory_budget_bytes = memory_budget_bytes;
  const Json data = asset("echarts.js").empty() ? Json() : chart_data(page);
  std::string contents, body;
  for (const Section& section : sections_of(page, comparison, data)) {
    contents += fmt::format("<a href=\"#{}\">{}</a>\n", section.id, markup_text(section.title));
    body += fmt::format(
        "<section id={0} aria-labelledby={0}-title>\n<h2 id={0}-title>{1}</h2>\n{2}"
        "</section>\n",
        section.id, markup_text(section.title), section.html);
  }
  return fill(asset("page.html"), {{"title", markup_text(page_title(page))},
                                   {"style", std::string(asset("page.css"))},
                                   {"contents", contents},
                                   {"sections", body},
                                   {"version", markup_text(RDMAMETER_VERSION)},
                                   {"data", script_json(data)},
                                   {"echarts", std::string(asset("echarts.js"))},
                                   {"script", script()}});
}

}  // namespace rdmameter
