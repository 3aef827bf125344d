// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "reports/figures/ablation.h"
#include "reports/figures/figures.h"
#include "reports/html/html_table.h"
#include "reports/html/page_cases.h"
#include "reports/html/sections.h"
#include "reports/text/text.h"
#include "reports/text/until_text.h"

namespace rdmameter {
namespace {

using PageCaseSpan = std::span<const PageCase>;

/// One result alone needs no column that names it.
std::string html_of(const PageCases& page, Table table, const std::string& caption) {
  if (page.files.size() == 1)
    std::erase_if(table.columns, [](const auto& column) { return column.head == "result"; });
  return html_table(table, caption);
}

/// A line for each case, or part of one, of each result.
std::string figure_numbers(const Figures& kind, const PageCases& page, PageCaseSpan cases) {
  Table table{.columns = text_columns({"case", "result"}), .note_sign = "±", .title = kind.title};
  std::vector<FigureCases> of_file(page.files.size());
  each_case(cases, [&](const PageCase&, std::size_t i, const CaseNumbers& numbers) {
    of_file[i].push_back(&numbers.summary);
  });
  FigureLines lines;
  each_case(cases, [&](const PageCase& one, std::size_t i, const CaseNumbers& numbers) {
    for (const FigureLine& line : lines_of(kind, numbers.summary, of_file[i])) {
      table.add_line({Table::Cell::markup(case_link(one)), page.labels[i]});
      lines.push_back(line);
    }
  });
  if (lines.empty()) return "";
  const std::size_t keys = table.columns.size();
  const std::string dashes = add_figures(table, kind, lines, FigurePlace::page);
  const std::string remark = kind.remark && kind.remark_on_page ? kind.remark(lines) : "";
  const std::string note = note_html(remark) + note_html(dashes);
  if (table.columns.size() == keys) return note;  // no number at all
  if (kind.parts == nullptr) {
    Table::Column& repetitions = table.columns.emplace_back(Table::Column{"repetitions"});
    for (const FigureLine& line : lines)
      repetitions.cells.emplace_back(line.summary->repetitions.size());
  }
  return html_of(page, std::move(table), kind.page_title) + note;
}

std::string latency_numbers(const PageCases& page, PageCaseSpan cases) {
  std::string kind;
  each_case(cases, [&](const PageCase&, std::size_t, const CaseNumbers& numbers) {
    if (kind.empty()) kind = latency_kind(numbers);
  });
  return kind.empty() ? "" : figure_numbers(latency_figures("latency: " + kind), page, cases);
}

/// With their time, so that they can be found in a trace.
std::string stall_numbers(const PageCases& page, PageCaseSpan cases) {
  constexpr std::size_t kMostOfCase = 16;
  Table table{.columns = text_columns({"case", "began (UTC)", "result"})};
  table.columns.insert(table.columns.end(), {{"took", "µs"}, {"began", "s", "CLOCK_MONOTONIC"}});
  each_case(cases, [&](const PageCase& one, std::size_t i, const CaseNumbers& numbers) {
    if (!all_have<&Row::blame>(numbers.summary)) return;
    for (const auto& stall : longest_stalls({&numbers.summary}, kMostOfCase))
      table.add_line({Table::Cell::markup(case_link(one)), stall.utc, page.labels[i],
                      fmt::format("{:.1f}", static_cast<double>(stall.duration_ns) * 1e-3),
                      monotonic_text(stall)});
  });
  return html_of(page, std::move(table),
                 "Longest stalls of the initiator's loop that made a sample late");
}

/// Of run --until: how far the repetitions have settled each case.
std::string until_numbers(const PageCases& page, PageCaseSpan cases) {
  Table table{.columns = text_columns({"case", "medians over the repetitions", "result"})};
  each_case(cases, [&](const PageCase& one, std::size_t i, const CaseNumbers& numbers) {
    for (const Row* row : numbers.summary.repetitions)
      if (row->until)
        table.add_line({Table::Cell::markup(case_link(one)), until_text(*row), page.labels[i]});
  });
  return html_of(page, std::move(table), "Repeated until medians are known");
}

/// Of run --ablate, of each result by itself.
std::string ablation_numbers(const PageCases& page) {
  std::string html;
  for (const ResultFile& file : page.files)
    for (const Ablation& ablation : ablations_of(file.context, file.rows))
      if (ablation.analysis)
        html += html_table(ablation_table(ablation),
                           "what each axis is worth: " + ablation_title(ablation)) +
                note_html(ablation_remark(ablation));
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
    html += figure_numbers(bandwidth_figures(), page, cases) + latency_numbers(page, cases);
    for (const Figures& each : figures())
      if (each.on_page) html += figure_numbers(each, page, cases);
    html += stall_numbers(page, cases) + until_numbers(page, cases) + "</section>\n";
    begin = end;
  }
  html += ablation_numbers(page);
  if (!html.empty())
    html = "<p class=note>Medians over the repetitions, with half their range (±).</p>\n" + html;
  return {"numbers", "Numbers", html};
}

}  // namespace rdmameter
