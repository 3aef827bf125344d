// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "reports/html/assets.h"
#include "reports/html/case_link.h"
#include "reports/html/escape.h"
#include "reports/html/html_table.h"
#include "reports/html/sections.h"
#include "reports/summary/date.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::size_t rows_with(const ResultFile& file, Row::Status status) {
  return static_cast<std::size_t>(
      std::count_if(file.rows.begin(), file.rows.end(),
                    [status](const Row& row) { return row.status == status; }));
}

std::string tile(std::string_view value, std::string_view name, std::string_view detail,
                 std::string_view mark = "") {
  return fmt::format("<div class=\"tile {}\"><b>{}</b><span>{}</span>{}</div>\n", mark,
                     markup_text(value), markup_text(name), detail);
}

/// The best median among all cases and files.
std::string best_tile(const PageCases& page, std::string_view key, std::string_view title) {
  const CaseNumber* best = nullptr;
  std::string where;
  for (const PageCase& one : page.cases)
    for (std::size_t i = 0; i < one.of_file.size(); ++i) {
      const CaseNumber* value = one.of_file[i] ? one.of_file[i]->find(key) : nullptr;
      if (value == nullptr) continue;
      const bool better =
          best == nullptr || (value->metric->higher_is_better ? value->median > best->median
                                                              : value->median < best->median);
      if (!better) continue;
      best = value;
      where = case_link(one);
      if (page.files.size() > 1) where += " " + markup_text(page.labels[i]);
    }
  if (best == nullptr) return "";
  return tile(metric_text(best->metric->metric, best->median), title, where);
}

std::string count_tile(const PageCases& page, Row::Status status, std::string_view name,
                       std::string_view mark) {
  std::size_t count = 0;
  for (const ResultFile& file : page.files) count += rows_with(file, status);
  if (count == 0) return "";
  return tile(fmt::format("{}", count), name, "<a href=\"#unmeasured\">reasons</a>", mark);
}

std::string files_table(const PageCases& page) {
  Table table{text_columns({"result", "measured", "on", "version", "commit"})};
  for (const char* head : {"measured rows", "skipped", "failed"}) table.columns.push_back({head});
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const ResultFile& file = page.files[i];
    const auto rows = [&file](Row::Status status) {
      return fmt::format("{}", rows_with(file, status));
    };
    table.add_line(
        {page.labels[i], text_at(file.context, "date"), text_at(file.context, "host_name"),
         text_at(file.context.at("rdmameter"), "version"), text_at(file.context, "commit"),
         rows(Row::Status::ok), rows(Row::Status::skipped), rows(Row::Status::error)});
  }
  return html_table(table, "Results");
}

/// Rows without a measurement: those of one reason and file together.
std::string unmeasured_table(const PageCases& page) {
  struct Reason {
    std::size_t rows = 0;
    std::string first, last;
  };
  Table table{text_columns({"result", "what", "reason", "cases"})};
  table.columns.push_back({"rows"});
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    std::map<std::pair<bool, std::string>, Reason> reasons;
    for (const Row& row : page.files[i].rows) {
      if (row.status == Row::Status::ok) continue;
      Reason& reason = reasons[{row.status == Row::Status::skipped, row.message}];
      if (reason.rows++ == 0) reason.first = row.name;
      reason.last = row.name;
    }
    for (const auto& [key, reason] : reasons) {
      const char* const what = key.first ? "skipped" : "failed";
      table.add_line(
          {page.labels[i], Table::Cell::marked(what, what), key.second,
           reason.first == reason.last ? reason.first : reason.first + " … " + reason.last,
           fmt::format("{}", reason.rows)});
    }
  }
  const std::string html = html_table(table, "What was not measured");
  return html.empty() ? "" : "<div id=unmeasured>" + html + "</div>\n";
}

std::string notes(const PageCases& page) {
  std::string text;
  std::ptrdiff_t interrupted = 0;
  for (const ResultFile& file : page.files)
    interrupted += std::ranges::count_if(file.rows, &Row::interrupted);
  if (interrupted > 0)
    text += fmt::format(
        "<p class=note>Rows that the user interrupted: {}. They are shorter than was asked for, "
        "and "
        "left out where their case has complete repetitions.</p>\n",
        interrupted);
  if (page.left_out > 0)
    text += fmt::format(
        "<p class=note>{} cases are here and {} were left out, so that the page can be opened. "
        "<code>rdmameter report --case 'write_lat/*'</code> chooses.</p>\n",
        page.cases.size(), page.left_out);
  if (page.cases.empty()) text += "<p class=note>No row of these results has a measurement.</p>\n";
  if (asset("echarts.js").empty())
    text +=
        "<p class=note>This page has its tables and no charts: the program was built without "
        "ECharts. <code>tools/install-npm &amp;&amp; meson setup --reconfigure build &amp;&amp; "
        "ninja -C "
        "build</code> adds them.</p>\n";
  return text;
}

}  // namespace

Section summary_section(const PageCases& page) {
  std::string html = "<div class=tiles>\n";
  html += tile(fmt::format("{}", page.cases.size() + page.left_out), "cases measured",
               fmt::format("in {} result{}", page.files.size(), page.files.size() == 1 ? "" : "s"));
  html += best_tile(page, "p50_ns", "lowest p50");
  html += best_tile(page, "gbps", "highest bandwidth");
  html += best_tile(page, "mmsg_per_s", "highest message rate");
  html += count_tile(page, Row::Status::skipped, "rows skipped", "skipped");
  html += count_tile(page, Row::Status::error, "rows failed", "failed");
  html += "</div>\n" + notes(page) + files_table(page) + unmeasured_table(page);
  return {"summary", "Summary", html};
}

}  // namespace rdmameter
