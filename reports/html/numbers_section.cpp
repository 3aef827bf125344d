// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "reports/figures/ablation.h"
#include "reports/figures/background.h"
#include "reports/figures/blame.h"
#include "reports/figures/figures.h"
#include "reports/html/html_table.h"
#include "reports/html/page_cases.h"
#include "reports/html/sections.h"
#include "reports/text/result_tables.h"
#include "reports/text/text.h"
#include "reports/text/until_text.h"

namespace rdmameter {
namespace {

using PageCaseSpan = std::span<const PageCase>;

/// A line for each case of each result.
struct NumberLines {
  Table table;
  std::vector<const CaseSummary*> cases;
};

/// @param has  are there such numbers of the case?
NumberLines lines_with(const PageCases& page, PageCaseSpan cases, bool (*has)(const CaseNumbers&)) {
  NumberLines lines;
  lines.table.columns = text_columns({"case", "result"});
  lines.table.note_sign = "±";
  for (const PageCase& one : cases)
    for (std::size_t i = 0; i < one.of_file.size(); ++i) {
      const auto& numbers = one.of_file[i];
      if (!numbers || !has(*numbers)) continue;
      lines.table.add_line({Table::Cell::markup(case_link(one)), page.labels[i]});
      lines.cases.push_back(&numbers->summary);
    }
  if (page.files.size() == 1) lines.table.columns.pop_back();
  return lines;
}

void add_repetitions(Table& table, const FigureLines& lines) {
  Table::Column repetitions{"repetitions"};
  for (const FigureLine& line : lines)
    repetitions.cells.emplace_back(fmt::format("{}", line.summary->repetitions.size()));
  table.columns.push_back(std::move(repetitions));
}

std::string html_of(NumberLines numbers, const std::string& caption) {
  FigureLines lines;
  for (const CaseSummary* summary : numbers.cases) lines.push_back({summary});
  add_repetitions(numbers.table, lines);
  return html_table(numbers.table, caption);
}

std::string latency_numbers(const PageCases& page, PageCaseSpan cases) {
  // The mean is there however few samples: it tells which cases have a latency at all.
  NumberLines lines = lines_with(
      page, cases, [](const CaseNumbers& numbers) { return numbers.find("mean_ns") != nullptr; });
  add_latencies(lines.table, lines.cases);
  std::string kind;
  for (const PageCase& one : cases)
    for (const auto& numbers : one.of_file)
      if (numbers && kind.empty()) kind = latency_kind(*numbers);
  return html_of(std::move(lines), "Latency: " + kind);
}

std::string rate_numbers(const PageCases& page, PageCaseSpan cases) {
  NumberLines lines = lines_with(
      page, cases, [](const CaseNumbers& numbers) { return numbers.find("gbps") != nullptr; });
  for (const MetricInfo& metric : exported_metrics()) {
    if (metric.group != "bandwidth") continue;
    double largest = 0;
    for (const CaseSummary* summary : lines.cases)
      if (const auto known = spread(*summary, metric.value))
        largest = std::max(largest, known->median);
    const Unit unit = rate_unit(metric.metric, largest);
    add_medians(lines.table, lines.cases, {std::string(metric.name), std::string(unit.name)}, unit,
                4, metric.value);
  }
  return html_of(std::move(lines), "Bandwidth");
}

/// A line for each case, or part of one, of each result.
std::string figure_numbers(const Figures& kind, const PageCases& page, PageCaseSpan cases) {
  Table table;
  table.columns = text_columns({"case", "result"});
  table.note_sign = "±";
  FigureLines lines;
  for (const PageCase& one : cases)
    for (std::size_t i = 0; i < one.of_file.size(); ++i) {
      if (!one.of_file[i] || !kind.has(one.of_file[i]->summary)) continue;
      for (const FigureLine& line : lines_of(kind, one.of_file[i]->summary)) {
        table.add_line({Table::Cell::markup(case_link(one)), page.labels[i]});
        lines.push_back(line);
      }
    }
  if (lines.empty()) return "";
  if (page.files.size() == 1) table.columns.pop_back();
  const std::size_t keys = table.columns.size();
  add_figures(table, kind, lines);
  const std::string remark = kind.remark == nullptr ? "" : kind.remark(lines);
  const std::string note =
      remark.empty() ? "" : fmt::format("<p class=note>{}</p>\n", markup_text(remark));
  if (table.columns.size() == keys) return note;  // no number at all
  if (kind.parts == nullptr) add_repetitions(table, lines);
  return html_table(table, kind.page_title) + note;
}

/// With their time, so that they can be found in a trace.
std::string stall_numbers(const PageCases& page, PageCaseSpan cases) {
  constexpr std::size_t kMostOfCase = 16;
  Table table;
  table.columns = text_columns({"case", "began (UTC)", "result"});
  Table::Column length{"took", "µs"}, monotonic{"began", "s", "CLOCK_MONOTONIC"};
  for (const PageCase& one : cases)
    for (std::size_t i = 0; i < one.of_file.size(); ++i) {
      if (!one.of_file[i] || !has_blame(one.of_file[i]->summary)) continue;
      for (const auto& stall : longest_stalls({&one.of_file[i]->summary}, kMostOfCase)) {
        table.add_line({Table::Cell::markup(case_link(one)), stall.utc, page.labels[i]});
        length.cells.emplace_back(
            fmt::format("{:.1f}", static_cast<double>(stall.duration_ns) * 1e-3));
        monotonic.cells.emplace_back(monotonic_text(stall));
      }
    }
  if (page.files.size() == 1) table.columns.pop_back();
  table.columns.push_back(std::move(length));
  table.columns.push_back(std::move(monotonic));
  return html_table(table, "Longest stalls of the initiator's loop that made a sample late");
}

/// Of run --until: how far the repetitions have settled each case.
std::string until_numbers(const PageCases& page, PageCaseSpan cases) {
  Table table;
  table.columns = text_columns({"case", "medians over the repetitions", "result"});
  for (const PageCase& one : cases)
    for (std::size_t i = 0; i < page.files.size(); ++i) {
      if (!one.of_file[i]) continue;
      for (const Row* row : one.of_file[i]->summary.repetitions)
        if (row->until)
          table.add_line({Table::Cell::markup(case_link(one)), until_text(*row), page.labels[i]});
    }
  if (page.files.size() == 1) table.columns.pop_back();
  return html_table(table, "Repeated until medians are known");
}

/// Of each result by itself: what its backgrounds have done to its cases.
std::string background_numbers(const PageCases& page, PageCaseSpan cases) {
  Table table;
  table.columns = text_columns({"case", "result"});
  std::vector<BackgroundEffect> effects;
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    std::vector<const CaseSummary*> of_file;
    for (const PageCase& one : cases)
      if (const auto& numbers = one.of_file[i]) of_file.push_back(&numbers->summary);
    for (const BackgroundEffect& effect : background_effects(of_file)) {
      const auto is_its = [&](const PageCase& one) {
        return one.of_file[i] && &one.of_file[i]->summary == effect.loaded;
      };
      table.add_line(
          {Table::Cell::markup(case_link(*std::ranges::find_if(cases, is_its))), page.labels[i]});
      effects.push_back(effect);
    }
  }
  if (page.files.size() == 1) table.columns.pop_back();
  add_background(table, effects);
  return html_table(table, "Beside other traffic: ratios to the case alone");
}

/// Of run --ablate, of each result by itself.
std::string ablation_numbers(const PageCases& page) {
  std::string html;
  for (const ResultFile& file : page.files)
    for (const Ablation& ablation : ablations_of(file.context, file.rows))
      if (ablation.analysis)
        html += html_table(ablation_table(ablation),
                           "What each axis is worth: " + ablation_title(ablation)) +
                "<p class=note>" + markup_text(ablation_remark(ablation)) + "</p>\n";
  return html;
}

}  // namespace

Section numbers_section(const PageCases& page) {
  std::string html;
  for (auto begin = page.cases.begin(); begin != page.cases.end();) {
    const auto end = std::find_if(begin, page.cases.end(), [begin](const PageCase& one) {
      return one.test != begin->test || one.transport != begin->transport;
    });
    const PageCaseSpan cases(begin, end);
    html += fmt::format("<section class=group><h3>{} over {}</h3>\n", markup_text(begin->test),
                        markup_text(upper_case(begin->transport)));
    html += rate_numbers(page, cases) + latency_numbers(page, cases);
    for (const Figures& each : figures())
      if (!each.page_title.empty()) html += figure_numbers(each, page, cases);
    html += stall_numbers(page, cases) + background_numbers(page, cases) +
            until_numbers(page, cases) + "</section>\n";
    begin = end;
  }
  html += ablation_numbers(page);
  if (!html.empty())
    html =
        "<p class=note>Medians over the repetitions, with half their range (±). –: too few "
        "samples.</p>\n" +
        html;
  return {"numbers", "Numbers", html};
}

}  // namespace rdmameter
