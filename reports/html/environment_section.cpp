// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "reports/html/html_table.h"
#include "reports/html/sections.h"
#include "reports/summary/facts.h"
#include "reports/text/environment_text.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

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
  std::vector<std::vector<EnvironmentEnd>> of_file;
  std::size_t max = 0;
  for (const ResultFile& file : page.files) {
    of_file.push_back(environment_ends(file.context.at("rdmameter")));
    max = std::max(max, of_file.back().size());
  }
  std::vector<End> ends;
  for (std::size_t place = 0; place < std::min(max, kMaxEnds); ++place) {
    const std::size_t standard = several ? ends.size() : 0;
    for (std::size_t i = 0; i < of_file.size(); ++i) {
      if (place >= of_file[i].size()) continue;
      const auto& [name, environment] = of_file[i][place];
      End end{several ? page.labels[i] + " " + name : name, {}, standard};
      for (const auto& [fact, value] : flatten(environment)) {
        end.facts[fact] = value;
        if (std::find(names.begin(), names.end(), fact) == names.end()) names.push_back(fact);
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

/// Every run has its own: not what tells two measurements apart.
bool always_differs(const std::string& name) {
  return name == "boot_id" || name.starts_with("clock ");
}

std::string with_spaces(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// Facts that differ somewhere, or (the others) that do not.
std::string facts_table(const std::vector<End>& ends, const std::vector<std::string>& names,
                        bool differing) {
  Table table{text_columns({"fact"})};
  for (const End& end : ends) table.columns.push_back({.head = end.title, .is_text = true});
  for (const std::string& name : names) {
    const auto differs = [&](const End& end) {
      return !always_differs(name) && fact(end, name) != fact(ends[end.against], name);
    };
    if (std::any_of(ends.begin(), ends.end(), differs) != differing) continue;
    std::vector<Table::Cell> cells = {with_spaces(name)};
    for (const End& end : ends)
      cells.push_back(Table::Cell::marked(fact(end, name), differs(end) ? "differs" : ""));
    table.add_line(std::move(cells));
  }
  return html_table(table, differing ? "What differs" : "What is the same");
}

std::string commands_table(const PageCases& page) {
  Table table{text_columns({"result", "command", "the instrument's own cost"})};
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const Json& ours = page.files[i].context.at("rdmameter");
    std::string floor;
    for (const auto& [name, value] : flatten(ours.at("floor")))
      floor += fmt::format("{}{} {}", floor.empty() ? "" : ", ", with_spaces(name), value);
    table.add_line(
        {page.labels[i], Table::Cell::marked(text_at(ours, "command"), "command"), floor});
  }
  return html_table(table, "How it was measured");
}

}  // namespace

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
