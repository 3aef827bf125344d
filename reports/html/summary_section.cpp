// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/result/row_json.h"
#include "reports/html/assets.h"
#include "reports/html/html_table.h"
#include "reports/html/page_cases.h"
#include "reports/html/sections.h"
#include "reports/summary/facts.h"
#include "reports/summary/line_rate.h"
#include "reports/text/text.h"
#include "reports/topology/cases.h"

namespace rdmameter {
namespace {

std::size_t rows_with(const ResultFile& file, Row::Status status) {
  return static_cast<std::size_t>(std::ranges::count(file.rows, status, &Row::status));
}

std::string tile(std::string_view value, std::string_view name, std::string_view detail,
                 std::string_view mark = "") {
  return fmt::format("<div class=\"tile {}\"><b>{}</b><span>{}</span>{}</div>\n", mark,
                     markup_text(value), markup_text(name), detail);
}

/// A case of a result and its value.
struct Found {
  const CaseNumber* number = nullptr;
  const PageCase* one = nullptr;
  std::size_t file = 0;
};

/// The first with the greatest value among all cases and files.
/// @param number_of  of a case; null: it does not count
/// @param value_of   the number
Found greatest_of(const PageCases& page, const auto& number_of, const auto& value_of) {
  Found greatest;
  each_case(page.cases, [&](const PageCase& one, std::size_t i, const CaseNumbers& numbers) {
    const CaseNumber* number = number_of(numbers);
    if (number == nullptr) return;
    if (greatest.number == nullptr || value_of(*number) > value_of(*greatest.number))
      greatest = {number, &one, i};
  });
  return greatest;
}

std::string where_text(const PageCases& page, const Found& found) {
  return case_link(*found.one) +
         (page.files.size() > 1 ? " " + markup_text(page.labels[found.file]) : "");
}

/// "92.4 % of the line's 100 Gb/s"; empty: the case passes no line of a known rate.
std::string share_of_line(const PageCases& page, const Found& found) {
  const LinkRate link = link_rate(page.files[found.file].context);
  const auto most = line_rate_gbps(link, found.one->first().summary.first());
  if (!most) return "";
  const double percent = 100 * found.number->median / *most;
  const std::string doubt = line_doubt(*link.gbps, percent);
  return doubt.empty() ? fmt::format("{:.1f} % of the line's {:g} Gb/s", percent, *most) : doubt;
}

/// "the tool's own overhead: 54.9 ns"; empty: that of this test is not known.
std::string overhead_of(const PageCases& page, const Found& found) {
  const auto overhead =
      number_at(page.files[found.file].context, "/rdmameter/floor/" + found.one->test + "_ns");
  return overhead ? "the tool's own overhead: " + metric_text(Metric::p50, *overhead) : "";
}

std::string best_tile(const PageCases& page, std::string_view key, std::string_view title) {
  const Found best = greatest_of(
      page, [&](const CaseNumbers& numbers) { return numbers.find(key); },
      [](const CaseNumber& number) {
        return number.metric->higher_is_better ? number.median : -number.median;
      });
  if (best.number == nullptr) return "";
  const Metric metric = best.number->metric->metric;
  const std::string against = metric == Metric::gbps  ? share_of_line(page, best)
                              : metric == Metric::p50 ? overhead_of(page, best)
                                                      : "";
  return tile(metric_text(metric, best.number->median), title,
              (against.empty() ? "" : "<span>" + markup_text(against) + "</span>") +
                  where_text(page, best));
}

/// The case whose watched metric differs most among its repetitions.
std::string spread_tile(const PageCases& page) {
  const auto share = [](const CaseNumber& number) { return number.half_range() / number.median; };
  const auto watched_in = [](const CaseNumbers& numbers) -> const CaseNumber* {
    if (numbers.summary.repetitions.size() < 2) return nullptr;
    const MetricInfo* watched = watched_metric(numbers.summary.first());
    const CaseNumber* number = watched == nullptr ? nullptr : numbers.find(watched->key);
    return number != nullptr && number->median > 0 ? number : nullptr;
  };
  const Found widest = greatest_of(page, watched_in, share);
  if (widest.number == nullptr) return "";
  return tile(fmt::format("±{:.1f} %", 100 * share(*widest.number)),
              fmt::format("widest spread of repetitions, of {}", widest.number->metric->name),
              where_text(page, widest));
}

/// Ranks that are slow with all others; "" where there is none.
std::string straggler_tile(const PageCases& page) {
  std::size_t count = 0;
  std::string first;
  for (const ResultFile& file : page.files) {
    const auto models = topology_models(file.rows, file.context);
    for (const TopologyCase& one : topology_cases(file.rows, models, file.context)) {
      const auto straggler = straggler_of(one, matrix_of(one));
      if (!straggler) continue;
      if (count++ == 0) first = straggler_text(straggler, file.context);
    }
  }
  if (count == 0) return "";
  return tile(fmt::format("{}", count),
              count == 1 ? "case with a straggler" : "cases with a straggler",
              "<a href=\"#topologies\">" + markup_text(first) + "</a>", "failed");
}

std::string lost_tile(const PageCases& page) {
  std::uint64_t lost = 0;
  for (const ResultFile& file : page.files)
    for (const Row& row : file.rows) {
      lost += row.lost.value_or(0);
      if (row.bandwidth) lost += bandwidth_lost(*row.bandwidth).value_or(0);
    }
  return lost == 0 ? "" : tile(fmt::format("{}", lost), "messages lost", "", "skipped");
}

std::string count_tile(const PageCases& page, Row::Status status, std::string_view name,
                       std::string_view mark) {
  std::size_t count = 0;
  for (const ResultFile& file : page.files) count += rows_with(file, status);
  if (count == 0) return "";
  return tile(fmt::format("{}", count), name, "<a href=\"#unmeasured\">reasons</a>", mark);
}

/// Of one result the subject has told it.
std::string files_table(const PageCases& page) {
  if (page.files.size() < 2) return "";
  Table table{text_columns({"result", "measured", "on", "version", "commit"})};
  for (const char* head : {"measured rows", "skipped", "failed"}) table.columns.push_back({head});
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const ResultFile& file = page.files[i];
    table.add_line({page.labels[i], text_at(file.context, "date"),
                    text_at(file.context, "host_name"),
                    text_at(file.context.at("rdmameter"), "version"),
                    text_at(file.context, "commit"), rows_with(file, Row::Status::ok),
                    rows_with(file, Row::Status::skipped), rows_with(file, Row::Status::error)});
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
           reason.rows});
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
        "and left out where their case has complete repetitions.</p>\n",
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
        "ninja -C build</code> adds them.</p>\n";
  return text;
}

}  // namespace

Section summary_section(const PageCases& page) {
  std::string html = "<div class=tiles>\n";
  const std::size_t measured = page.cases.size() + page.left_out;
  html += tile(fmt::format("{}", measured), measured == 1 ? "case measured" : "cases measured",
               "in " + count_text(page.files.size(), "result"));
  html += best_tile(page, "p50_ns", "lowest p50");
  html += best_tile(page, "gbps", "highest bandwidth");
  html += best_tile(page, "mmsg_per_s", "highest message rate");
  html += best_tile(page, "saturation_per_s", "highest saturation");
  html += best_tile(page, "slo_rate_per_s", "highest rate within the SLO");
  html += spread_tile(page);
  html += straggler_tile(page) + lost_tile(page);
  html += count_tile(page, Row::Status::skipped, "rows skipped", "skipped");
  html += count_tile(page, Row::Status::error, "rows failed", "failed");
  html += "</div>\n" + notes(page) + files_table(page) + unmeasured_table(page);
  return {"summary", "Summary", html};
}

}  // namespace rdmameter
