// SPDX-License-Identifier: Apache-2.0
// What was measured on what, so that a reader knows it before the first number.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "reports/html/html_table.h"
#include "reports/html/sections.h"
#include "reports/summary/facts.h"
#include "reports/text/case_text.h"
#include "reports/text/environment_text.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::vector<std::string> tests_of(const PageCases& page) {
  std::vector<std::string> tests;
  for (const PageCase& one : page.cases) add_once(tests, one.test);
  return tests;
}

/// "write_lat, write_bw"; of many tests how many.
std::string tests_text(const PageCases& page) {
  constexpr std::size_t kMaxNamed = 4;
  const std::vector<std::string> tests = tests_of(page);
  if (tests.size() > kMaxNamed) return fmt::format("{} tests", tests.size());
  return fmt::format("{}", fmt::join(tests, ", "));
}

/// "Ethernet 100 Gb/s"; empty: not known.
std::string link_text(const Json& device) {
  std::string text = printable(text_at(device, "link_layer"));
  if (const auto rate = number_at(device, "rate_gbps"))
    add_item(text, fmt::format("{:g} Gb/s", *rate), " ");
  return text;
}

/// The devices of the first result's ends, and their links.
std::string hardware_text(const PageCases& page) {
  constexpr std::size_t kMaxDevices = 3;
  std::vector<std::string> names, links;
  for (const auto& [end, environment] :
       environment_ends(page.files.front().context.at("rdmameter"))) {
    const Json& device = fact_at(environment, "device");
    add_once(names, printable(text_at(device, "name")));
    add_once(links, link_text(device));
  }
  for (std::vector<std::string>* list : {&names, &links}) std::erase(*list, "");
  if (names.empty()) return "";
  if (names.size() > kMaxDevices) names = {fmt::format("{} devices", names.size())};
  return fmt::format("{}{}{}", fmt::join(names, " and "), links.empty() ? "" : ", ",
                     fmt::join(links, " and "));
}

/// What the rows of a result have in common, as `show` tells it.
std::string settings_text(const ResultFile& file) {
  const std::vector<Group> groups = group_rows(file.rows);
  if (groups.empty()) return "";
  const auto all = mapped(groups, [](const Group& group) { return &group; });
  const Defaults defaults(file.context);
  const std::string text = common_of(join(all), &defaults).text();
  return text.empty() ? "defaults" : text + "; others are defaults";
}

/// "6 cases of write_lat, write_bw over RC"
std::string measured_text(const PageCases& page) {
  std::vector<std::string> transports;
  for (const PageCase& one : page.cases)
    if (!one.transport.empty()) add_once(transports, upper_case(one.transport));
  const std::size_t cases = page.cases.size() + page.left_out;
  std::string text =
      fmt::format("{} of {}", count_text(cases, "case"), fmt::join(tests_of(page), ", "));
  std::size_t rows = 0;
  for (const ResultFile& file : page.files)
    rows += static_cast<std::size_t>(std::ranges::count(file.rows, Row::Status::ok, &Row::status));
  if (!transports.empty()) text += fmt::format(" over {}", fmt::join(transports, ", "));
  return text + "; " + count_text(rows, "repetition");
}

Facts result_lines(const ResultFile& file) {
  const Json& ours = file.context.at("rdmameter");
  Facts lines = end_facts(ours, false);
  lines.emplace_back("settings", settings_text(file));
  const std::string date = text_at(file.context, "date");
  lines.emplace_back("when",
                     (date.empty() ? "" : date + ", ") + "rdmameter " + text_at(ours, "version"));
  std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
  return lines;
}

std::string facts_html(const Facts& lines) {
  std::string html = "<dl class=facts>\n";
  for (const auto& [name, text] : lines)
    html += fmt::format("<dt>{}<dd>{}\n", markup_text(name), markup_text(text));
  return html + "</dl>\n";
}

constexpr std::size_t kMaxEnds = 16;  ///< columns that a person still compares

/// One end of one result.
struct End {
  std::string title;
  std::map<std::string, std::string> facts;
  std::size_t against;  ///< the column that it is held against; its own: it is the standard
};

/// The ends that results name; a result's initiator is held against the first one's, so is its
/// responder, so are ranks. A result alone has its ends compared.
std::vector<End> ends_of(const PageCases& page, std::vector<std::string>& names) {
  const bool several = page.files.size() > 1;
  const auto of_file = mapped(page.files, [](const ResultFile& file) {
    return environment_ends(file.context.at("rdmameter"));
  });
  std::vector<End> ends;
  for (std::size_t place = 0; place < kMaxEnds; ++place) {
    const std::size_t standard = several ? ends.size() : 0;
    for (std::size_t i = 0; i < of_file.size(); ++i) {
      if (place >= of_file[i].size()) continue;
      const auto& [name, environment] = of_file[i][place];
      End end{several ? page.labels[i] + " " + name : name, {}, standard};
      for (const auto& [fact, value] : flatten(environment)) {
        end.facts[fact] = value;
        add_once(names, fact);
      }
      ends.push_back(std::move(end));
    }
  }
  return ends;
}

std::string fact(const End& end, const std::string& name) {
  const auto found = end.facts.find(name);
  return found == end.facts.end() ? kUnknown : found->second;
}

/// Facts that differ somewhere, or (the others) that do not.
std::string facts_table(const std::vector<End>& ends, const std::vector<std::string>& names,
                        bool differing) {
  Table table{text_columns({"fact"})};
  for (const End& end : ends) table.columns.push_back({.head = end.title, .is_text = true});
  for (const std::string& name : names) {
    // Every run has its own: not what tells two measurements apart.
    const bool always_differs = name == "boot_id" || name.starts_with("clock ");
    const auto differs = [&](const End& end) {
      return !always_differs && fact(end, name) != fact(ends[end.against], name);
    };
    if (std::ranges::any_of(ends, differs) != differing) continue;
    std::vector<Table::Cell> cells = {with_spaces(name)};
    for (const End& end : ends)
      cells.push_back(Table::Cell::marked(fact(end, name), differs(end) ? "differs" : ""));
    table.add_line(std::move(cells));
  }
  return html_table(table, differing ? "What differs" : "What is the same");
}

std::string commands_table(const PageCases& page) {
  Table table{text_columns({"result", "command", "the instrument's overhead"})};
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const Json& ours = page.files[i].context.at("rdmameter");
    std::string overhead;
    for (const auto& [name, value] : flatten(ours.at("floor")))
      add_item(overhead, fmt::format("{} {}", with_spaces(name), value));
    table.add_line(
        {page.labels[i], Table::Cell::marked(text_at(ours, "command"), "command"), overhead});
  }
  return html_table(table, "How it was measured");
}

}  // namespace

std::string page_title(const PageCases& page) {
  constexpr std::size_t kMaxLabels = 60;
  std::string title = hardware_text(page);
  if (const std::string tests = tests_text(page); !tests.empty()) add_item(title, tests, ": ");
  if (page.files.size() == 1 && !title.empty()) return title;
  std::string labels = fmt::format("{}", fmt::join(page.labels, ", "));
  if (labels.size() > kMaxLabels) labels = fmt::format("{} results", page.labels.size());
  add_item(title, labels, " · ");
  return title;
}

Section subject_section(const PageCases& page) {
  constexpr std::size_t kMaxFiles = 4;  // the environment has them all
  if (page.cases.empty()) return {"subject", "Subject", ""};
  Facts lines{{"measured", measured_text(page)}};
  if (!page.common.empty())
    lines.emplace_back("all cases", fmt::format("{}", fmt::join(page.common, ", ")));
  std::vector<Facts> of_file;
  for (const ResultFile& file : page.files.first(std::min(page.files.size(), kMaxFiles)))
    of_file.push_back(result_lines(file));
  std::ranges::move(take_common(of_file), std::back_inserter(lines));
  for (std::size_t i = 0; i < of_file.size(); ++i)
    for (const auto& [name, text] : of_file[i])
      lines.emplace_back(page.labels[i] + ": " + name, text);
  if (page.files.size() > kMaxFiles)
    lines.emplace_back("results", fmt::format("and {} more", page.files.size() - kMaxFiles));
  return {"subject", "Subject", facts_html(lines)};
}

Section environment_section(const PageCases& page) {
  std::vector<std::string> names;
  const std::vector<End> ends = ends_of(page, names);
  std::string html = commands_table(page);
  if (!ends.empty()) {
    const std::string differing = facts_table(ends, names, true);
    html += differing.empty() ? "<p class=note>Nothing differs.</p>\n" : differing;
    if (const std::string alike = facts_table(ends, names, false); !alike.empty())
      html += "<details><summary>What is the same</summary>\n" + alike + "</details>\n";
  }
  return {"environment", "Environment", html};
}

}  // namespace rdmameter
