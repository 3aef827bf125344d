// SPDX-License-Identifier: Apache-2.0
// A comparison for a CI: a page of its summary, JUnit XML, annotations of a GitHub run.
#include <fmt/format.h>

#include "reports/compare/output.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxPageBytes = 1'000'000;  ///< GitHub refuses a step summary above 1 MiB
constexpr std::size_t kMaxAnnotations = 10;       ///< GitHub shows ten of each kind and step

// Signs of a page, each before its name.
constexpr auto kVerdictSigns = names_to<CaseVerdict::pass>("❌", "⚠️", "❔", "🎉", "✅");
constexpr auto kConclusionSigns = names_to<Conclusion::not_proven>("✅", "❌", "🟡");

std::string sign_and_text(CaseVerdict verdict) {
  return fmt::format("{} {}", name_in(kVerdictSigns, verdict), name_in(kVerdictNames, verdict));
}

Table markdown_cases(const Comparison& comparison) {
  Table table{text_columns(
      {"verdict", "case", "quantity", "base", "new", "change", "95 % interval", "note"})};
  for (const std::size_t number : {3U, 4U, 5U, 6U}) table.columns[number].is_text = false;
  for (const VerdictLine& line : verdict_table(comparison)) {
    std::vector<Table::Cell> cells =
        effect_cells(line.effects.empty() ? nullptr : &line.effects.front());
    cells.insert(cells.begin(), {sign_and_text(line.verdict), line.name});
    cells.emplace_back(line.note);
    table.add_line(std::move(cells));
  }
  return table;
}

Table markdown_gates(const Comparison& comparison) {
  Table table{text_columns({"gate", "case", "finding"})};
  for (const GateFinding& one : comparison.gates)
    table.add_line(
        {fmt::format("{} {}", sign_and_text(one.verdict), one.gate), one.name, one.text});
  return table;
}

/// A case that nothing judges any more must not vanish in silence.
Table markdown_lonely(const Comparison& comparison) {
  Table table{text_columns({"only in", "case"})};
  for (const std::string& name : comparison.only_base) table.add_line({"BASE: not judged", name});
  for (const std::string& name : comparison.only_other) table.add_line({"NEW: not judged", name});
  return table;
}

/// Its head and its lines.
void add_table(std::vector<std::string>& page, const Table& table) {
  std::string head = "|", rule = "|";
  for (const Table::Column& column : table.columns) {
    head += fmt::format(" {} |", markdown_text(column.head));
    rule += column.is_text ? " --- |" : " --: |";
  }
  page.push_back(head + "\n" + rule + "\n");
  for (std::size_t i = 0; i < table.lines(); ++i) {
    std::string line = "|";
    for (const Table::Column& column : table.columns)
      line += fmt::format(" {} |", markdown_text(column.cells[i].text));
    page.push_back(line + "\n");
  }
}

/// As many of the first lines as there is room for; then says how many are missing.
std::string page_text(const std::vector<std::string>& page) {
  std::string text;
  std::size_t told = 0;
  for (; told < page.size() && text.size() + page[told].size() <= kMaxPageBytes; ++told)
    text += page[told];
  if (told < page.size())
    text +=
        fmt::format("\n{} more lines left out: the page would be too long.\n", page.size() - told);
  return text;
}

struct Tests {
  std::string text;
  std::size_t count = 0, failures = 0, errors = 0, skipped = 0;

  void add(std::string_view suite, const std::string& name, CaseVerdict verdict, bool decides,
           const std::string& message) {
    ++count;
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\">", suite, markup_text(name));
    if (verdict == CaseVerdict::pass || verdict == CaseVerdict::better) {
      text += fmt::format("<system-out>{}</system-out>", markup_text(message));
    } else {
      const bool fails = decides && verdict == CaseVerdict::fail;
      const bool doubtful = decides && verdict == CaseVerdict::suspect;
      ++(fails ? failures : doubtful ? errors : skipped);
      const char* const kind = fails ? "failure" : doubtful ? "error type=\"suspect\"" : "skipped";
      text += fmt::format("<{} message=\"{}\"/>", kind, markup_text(message));
    }
    text += "</testcase>\n";
  }
};

/// As GitHub's own toolkit escapes what stands in a workflow command.
std::string command_text(std::string_view text, bool property) {
  std::string result;
  for (const char c : printable(text))
    if (c == '%' || (property && (c == ':' || c == ',')))
      result += fmt::format("%{:02X}", c);
    else
      result += c;
  return result;
}

std::string annotation(const char* level, std::string_view title, std::string_view text) {
  return fmt::format("::{} title={}::{}\n", level, command_text(title, true),
                     command_text(text, false));
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison) {
  std::vector<std::string> page;
  page.push_back(fmt::format(
      "### {} {}: {} against {}\n\n{}\n\n", name_in(kConclusionSigns, comparison.conclusion),
      name_in(kConclusionNames, comparison.conclusion), markdown_text(comparison.other),
      markdown_text(comparison.base), tally_text(comparison)));
  for (const std::string& remark : comparison.remarks)
    page.push_back(fmt::format("> {}\n\n", markdown_text(remark)));
  add_table(page, markdown_cases(comparison));
  if (const std::string estimates = estimates_text(comparison); !estimates.empty())
    page.push_back(fmt::format("\n{}\n", markdown_text(estimates)));
  for (const Table& table : {markdown_gates(comparison), markdown_lonely(comparison)}) {
    if (table.lines() == 0) continue;
    page.push_back("\n");
    add_table(page, table);
  }
  return page_text(page);
}

std::string comparison_junit(const Comparison& comparison) {
  Tests tests;
  constexpr const char* kSuite = "rdmameter.compare";
  for (const VerdictLine& line : verdict_table(comparison))
    tests.add(kSuite, line.name, line.verdict, line.decides, line.message());
  for (const std::string& name : comparison.only_base)
    tests.add(kSuite, name, CaseVerdict::inconclusive, false,
              "only in BASE: NEW has no such case, so nothing is judged");
  for (const GateFinding& one : comparison.gates)
    tests.add("rdmameter.gate", one.name + " " + one.gate, one.verdict, true,
              fmt::format("{}: {}", name_in(kVerdictNames, one.verdict), one.text));
  const Conclusion conclusion = comparison.conclusion;
  tests.add("rdmameter", "conclusion",
            conclusion == Conclusion::pass   ? CaseVerdict::pass
            : conclusion == Conclusion::fail ? CaseVerdict::fail
                                             : CaseVerdict::suspect,  // which is never green
            true,
            fmt::format("{}: {}", name_in(kConclusionNames, conclusion), tally_text(comparison)));
  const std::string tally = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", tests.count,
                                        tests.failures, tests.errors);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite "
      "name=\"rdmameter compare {1} {2}\" {0} skipped=\"{3}\">\n{4}  </testsuite>\n</testsuites>\n",
      tally, markup_text(comparison.base), markup_text(comparison.other), tests.skipped,
      tests.text);
}

std::string comparison_github(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const GateFinding& one : comparison.gates)
    if (one.verdict == CaseVerdict::fail)
      lines.push_back(
          annotation("error", "gate: " + one.name, fmt::format("{} ({})", one.text, one.gate)));
  for (const VerdictLine& line : verdict_table(comparison))
    if (line.verdict == CaseVerdict::fail)
      lines.push_back(
          annotation(line.decides ? "error" : "notice", "worse: " + line.name, line.text));
    else if (line.verdict == CaseVerdict::suspect && line.decides)
      lines.push_back(annotation("warning", "suspect: " + line.name, line.text));
  if (comparison.conclusion == Conclusion::not_proven)
    lines.push_back(annotation("warning", "rdmameter: not proven", tally_text(comparison)));
  if (const std::vector<std::string>& gone = comparison.only_base; !gone.empty())
    lines.push_back(
        annotation("warning", "rdmameter: only in BASE",
                   fmt::format("{} of BASE's cases {} not in NEW, so not judged: {}", gone.size(),
                               gone.size() == 1 ? "is" : "are", first_names(gone, kFewCases))));
  const std::size_t shown = lines.size() > kMaxAnnotations ? kMaxAnnotations - 1 : lines.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += lines[i];
  if (shown < lines.size())
    text +=
        annotation("warning", "rdmameter",
                   fmt::format("and {} more: {}", lines.size() - shown, tally_text(comparison)));
  return text;
}

}  // namespace rdmameter
