// SPDX-License-Identifier: Apache-2.0
// A comparison at a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/parse_value.h"
#include "reports/compare/output.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::string interval_text(const Effect& effect) {
  return fmt::format("{} to {}", change_text(effect.interval.low),
                     change_text(effect.interval.high));
}

/// Two significant digits: a p-value has no more.
std::string p_text(double p) {
  return p < 0.001 ? fmt::format("{:.0e}", p) : fmt::format("{:.2g}", p);
}

Table compared_columns(const Comparison& comparison) {
  return {.columns = {{},
                      {comparison.sides ? "A" : "base"},
                      {comparison.sides ? "B" : "new"},
                      {"change"},
                      {"95 % interval"},
                      {"q"}},
          .key_columns = 6};
}

/// A line for a metric; its verdict stands with its name where it is no pass.
void add_effect(Table& table, const Effect& each, const std::string& q) {
  std::vector<Table::Cell> cells = effect_cells(&each);
  if (each.verdict != CaseVerdict::pass)
    cells.front().text += fmt::format(": {}", name_in(kVerdictNames, each.verdict));
  cells.emplace_back(q);
  table.add_line(std::move(cells));
}

/// The name; where it does not fit behind so many columns, beneath them in lines that do.
std::string name_beside(std::size_t before, const std::string& name, const TextStyle& style) {
  constexpr std::size_t kIndent = 4;
  if (!style.narrow || before + text_width(name) <= style.width) return name;
  std::string text = "\n" + name_lines(name, std::max(style.width, 2 * kIndent) - kIndent);
  text.pop_back();  // the last line's end
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += kIndent)
    text.insert(++at, kIndent, ' ');
  return text;
}

/// A title for each case, and beneath it a line for each metric; of a case that passes for its
/// worst one alone, unless all is asked for.
std::string cases_text(const Comparison& comparison, const std::vector<VerdictLine>& lines,
                       bool all, const TextStyle& style) {
  constexpr std::size_t kVerdictWidth = 14;
  const bool passes = all || lines.size() <= kFewCases;
  Table table = compared_columns(comparison);
  for (const VerdictLine& line : lines) {
    const bool pass = line.verdict == CaseVerdict::pass;
    if (pass && !passes) continue;
    std::string name = printable(line.name);
    if (!line.times.empty()) name += fmt::format(" ({})", line.times);
    table.titles.push_back(
        {table.lines(),
         bold(pad_right(name_in(kVerdictNames, line.verdict), kVerdictWidth), style) +
             name_beside(kVerdictWidth + 2, name, style)});
    for (std::size_t i = 0; i < line.effects.size(); ++i)
      if (i == 0 || all || !pass)
        add_effect(table, line.effects[i], i == 0 ? p_text(line.q_worse) : "");
    for (const Effect& each : line.others) add_effect(table, each, "");
  }
  if (table.titles.empty()) return "";
  std::size_t widest = 0;
  const std::string text = render(table, style);
  for (const std::string_view line : split(text, "\n"))
    if (line.starts_with("    ")) widest = std::max(widest, text_width(line));  // else a title
  if (style.narrow && widest > style.width) table.key_columns = 1;  // intervals and q go on below
  const std::string legend = fmt::format(
      "q: how likely chance alone makes it as much worse, all cases taken together; at most {:.2g} "
      "is significant. {}",
      comparison.significant, estimates_text(comparison));
  return "\n" + render(table, style) + note_text(legend, style);
}

/// A line for each note, before which stand the cases that have it.
std::string notes(const std::vector<VerdictLine>& lines, const TextStyle& style) {
  std::vector<std::pair<std::string, std::vector<std::string>>> noted;
  for (const VerdictLine& line : lines)
    if (!line.note.empty()) entry_of(noted, line.note).push_back(line.name);
  std::string text;
  for (const auto& [note, names] : noted)
    text += wrap("  ", fmt::format("{}: {}.", first_names(names, kFewCases), printable(note)),
                 style.width, name_breaks(style));
  return text;
}

std::string gate_lines(const Comparison& comparison, bool all, const TextStyle& style) {
  std::string text;
  std::size_t kept = 0;
  for (const GateFinding& one : comparison.gates) {
    if (one.verdict == CaseVerdict::pass && !all && comparison.gates.size() > kFewCases) {
      ++kept;
      continue;
    }
    const std::string gate = one.gate == "work" ? "" : fmt::format(" ({})", printable(one.gate));
    text += wrap(fmt::format("  {:<13}", name_in(kVerdictNames, one.verdict)),
                 fmt::format("{}: {}{}", printable(one.name), one.text, gate), style.width);
  }
  if (kept > 0) text += fmt::format("  {:<13}{} more\n", "pass", kept);
  return chapter("gates", text, style);
}

std::string list(const char* title, const std::vector<std::string>& names, const TextStyle& style) {
  return names.empty()
             ? ""
             : wrap(fmt::format("  {}: ", title), first_names(names, kFewCases), style.width);
}

}  // namespace

std::string VerdictLine::message() const {
  const bool more = !note.empty() && !effects.empty();
  return fmt::format("{}: {}{}{}", name_in(kVerdictNames, verdict), text, more ? "; " : "",
                     more ? note : "");
}

std::vector<VerdictLine> verdict_table(const Comparison& comparison) {
  return mapped(comparison.cases, [&](const CaseComparison& one) {
    return VerdictLine{one, comparison.gated(one), effect_text(one)};
  });
}

std::string tally_text(const Comparison& comparison) {
  std::string counts;
  for (std::size_t i = 0; i < kVerdictNames.size(); ++i)
    if (const auto count = std::ranges::count(comparison.cases, static_cast<CaseVerdict>(i),
                                              &CaseComparison::verdict);
        count > 0)
      add_item(counts, fmt::format("{} {}", count, kVerdictNames[i]));
  std::string text = count_text(comparison.cases.size(), "case");
  if (!counts.empty()) text += ": " + counts;
  const auto broken =
      std::ranges::count(comparison.gates, CaseVerdict::fail, &GateFinding::verdict);
  if (!comparison.gates.empty())
    text += fmt::format("; {} of {} gates failed", broken, comparison.gates.size());
  if (const std::size_t gone = comparison.only_base.size(); gone > 0)
    text += fmt::format("; {} of BASE {} not in NEW", gone, gone == 1 ? "is" : "are");
  return text;
}

std::vector<Table::Cell> effect_cells(const Effect* told) {
  if (told == nullptr) return std::vector<Table::Cell>(5, "");
  const bool known = told->problem.empty();
  const auto value = [told](double number) {
    return number > 0 ? metric_text(told->metric, number) : kUnknown;
  };
  return {info_of(told->metric).name, value(told->base), value(told->other),
          known ? change_text(told->ratio) : kUnknown, known ? interval_text(*told) : kUnknown};
}

std::string estimates_text(const Comparison& comparison) {
  constexpr double kSeen = 0.005;  ///< a change that differs by so much looks like an error
  const auto differs = [](const Effect& effect) {
    return effect.problem.empty() &&
           std::abs(std::log(effect.other / effect.base / effect.ratio)) > kSeen;
  };
  if (comparison.sides)
    return "A, B: geometric means over the blocks, of which the change is the ratio.";
  if (std::ranges::any_of(comparison.cases, [&](const CaseComparison& one) {
        return std::ranges::any_of(one.effects, differs) ||
               std::ranges::any_of(one.others, differs);
      }))
    return "Base, new: medians of the runs. Change: the median of NEW / BASE over all pairs of "
           "runs, which can differ from the ratio of the two medians.";
  return "";
}

std::string effect_text(const CaseComparison& test_case) {
  if (test_case.effects.empty()) return test_case.note;
  const Effect& effect = test_case.effects.front();
  const auto decided =
      std::ranges::find(test_case.findings, test_case.verdict, &CaseFinding::verdict);
  if (effect.verdict != test_case.verdict && decided != test_case.findings.end())
    return decided->text;
  if (!effect.problem.empty()) return effect.problem;
  return fmt::format(
      "{} {} -> {}, {} ({})", info_of(effect.metric).name, metric_text(effect.metric, effect.base),
      metric_text(effect.metric, effect.other), change_text(effect.ratio), interval_text(effect));
}

std::string comparison_text(const Comparison& comparison, bool all, const TextStyle& style) {
  const std::string title =
      fmt::format("{} against {}", printable(comparison.other), printable(comparison.base));
  std::string text = bold(style.narrow ? wrap("", title, style.width, "/") : title + "\n", style);
  for (const std::string& remark : comparison.remarks)
    text += wrap("  ! ", printable(remark), style.width);
  text += "  " + bold(name_in(kConclusionNames, comparison.conclusion), style) + "; " +
          tally_text(comparison) + "\n";
  if (!comparison.times_gate)
    text += "  Times are information here: the gate is on work per message.\n";
  const std::vector<VerdictLine> lines = verdict_table(comparison);
  text += cases_text(comparison, lines, all, style);
  if (const std::string noted = notes(lines, style); !noted.empty()) text += "\n" + noted;
  text += gate_lines(comparison, all, style);
  text += list("only in BASE", comparison.only_base, style);
  text += list("only in NEW", comparison.only_other, style);
  return style.utf8 ? text : to_ascii(text);
}

}  // namespace rdmameter
