// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "reports/date.h"
#include "reports/environment_text.h"
#include "reports/html/html_table.h"
#include "reports/html/sections.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// One end of one result.
struct End {
  std::string title;
  std::map<std::string, std::string> facts;
  std::size_t against;  ///< the column that it is held against; its own: it is the standard
};

/// The ends that results name; a result's initiator is held against the first one's, so is its
/// responder. A result alone has its two ends compared.
std::vector<End> ends_of(const PageCases& page, std::vector<std::string>& names) {
  std::vector<End> ends;
  for (const char* role : {"initiator", "responder"}) {
    const std::size_t standard = ends.size();
    for (std::size_t i = 0; i < page.files.size(); ++i) {
      const Json& ours = page.files[i].context.at("rdmameter");
      const auto found = ours.find(role);
      if (found == ours.end() || !found->is_object()) continue;
      End end{page.files.size() > 1 ? fmt::format("{} {}", page.labels[i], role) : role,
              {},
              page.files.size() > 1 ? standard : 0};
      for (const auto& [name, value] : flatten(*found)) {
        end.facts[name] = value;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
      ends.push_back(std::move(end));
    }
  }
  return ends;
}

std::string fact(const End& end, const std::string& name) {
  const auto found = end.facts.find(name);
  return found == end.facts.end() ? "–" : found->second;
}

/// Every run has its own: not what tells two measurements apart.
bool always_differs(const std::string& name) {
  return name == "boot_id" || name.starts_with("clock ");
}

/// Facts that differ somewhere, or (the others) that do not.
std::string facts_table(const std::vector<End>& ends, const std::vector<std::string>& names,
                        bool differing) {
  HtmlTable table(differing ? "What differs" : "What is alike");
  table.head("fact");
  for (const End& end : ends) table.head(end.title);
  for (const std::string& name : names) {
    const auto differs = [&](const End& end) {
      return !always_differs(name) && fact(end, name) != fact(ends[end.against], name);
    };
    if (std::any_of(ends.begin(), ends.end(), differs) != differing) continue;
    table.line();
    std::string shown = name;
    std::replace(shown.begin(), shown.end(), '_', ' ');
    table.cell(shown);
    for (const End& end : ends) table.cell(fact(end, name), differs(end) ? "differs" : "");
  }
  return table.empty() ? "" : table.html();
}

std::string commands_table(const PageCases& page) {
  HtmlTable table("How it was measured");
  table.head("result");
  table.head("command");
  table.head("the instrument's own cost");
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const Json& ours = page.files[i].context.at("rdmameter");
    std::string floor;
    for (const auto& [name, value] : flatten(ours.at("floor"))) {
      std::string shown = name;
      std::replace(shown.begin(), shown.end(), '_', ' ');
      floor += fmt::format("{}{} {}", floor.empty() ? "" : ", ", shown, value);
    }
    table.line();
    table.cell(page.labels[i]);
    table.cell(text_at(ours, "command"), "command");
    table.cell(floor);
  }
  return table.html();
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
      html += "<details><summary>What is alike</summary>\n" + alike + "</details>\n";
  }
  return {"environment", "Environment", html};
}

}  // namespace rdmameter
