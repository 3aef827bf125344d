// SPDX-License-Identifier: Apache-2.0
// A comparison as a page of a CI's summary.
#include <fmt/format.h>

#include "reports/compare/output.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxBytes = 1'000'000;  ///< GitHub refuses a step summary above 1 MiB

std::string_view mark(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::fail:
      return "❌ fail";
    case CaseVerdict::suspect:
      return "⚠️ suspect";
    case CaseVerdict::inconclusive:
      return "❔ inconclusive";
    case CaseVerdict::better:
      return "🎉 better";
    case CaseVerdict::pass:
      return "✅ pass";
  }
  return "";
}

std::string_view mark(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::pass:
      return "✅";
    case Conclusion::fail:
      return "❌";
    case Conclusion::not_proven:
      return "🟡";
  }
  return "";
}

Table markdown_cases(const Comparison& comparison) {
  Table table{text_columns(
      {"verdict", "case", "quantity", "base", "new", "change", "95 % interval", "note"})};
  for (const std::size_t number : {3U, 4U, 5U, 6U}) table.columns[number].is_text = false;
  for (const CaseComparison& test_case : comparison.cases) {
    std::vector<Table::Cell> cells =
        effect_cells(test_case.effects.empty() ? nullptr : &test_case.effects.front());
    cells.insert(cells.begin(),
                 {Table::Cell(mark(test_case.verdict)), Table::Cell(test_case.name)});
    cells.emplace_back(test_case.note);
    table.add_line(std::move(cells));
  }
  return table;
}

Table markdown_gates(const Comparison& comparison) {
  Table table{text_columns({"gate", "case", "finding"})};
  for (const GateFinding& finding : comparison.gates)
    table.add_line(
        {fmt::format("{} {}", mark(finding.verdict), finding.gate), finding.name, finding.text});
  return table;
}

/// A case that nothing judges any more must not vanish in silence.
Table markdown_lonely(const Comparison& comparison) {
  Table table{text_columns({"only in", "case"})};
  for (const std::string& name : comparison.only_base) table.add_line({"BASE: not judged", name});
  for (const std::string& name : comparison.only_other) table.add_line({"NEW: not judged", name});
  return table;
}

/// Adds lines while there is room; then says how many are missing.
class Page {
 public:
  explicit Page(std::string head) : text_(std::move(head)) {}

  void add(const std::string& line) {
    if (left_out_ > 0 || text_.size() + line.size() > kMaxBytes)
      ++left_out_;
    else
      text_ += line;
  }

  std::string take() {
    if (left_out_ > 0)
      text_ += fmt::format("\n{} more lines left out: the page would be too long.\n", left_out_);
    return std::move(text_);
  }

 private:
  std::string text_;
  std::size_t left_out_ = 0;
};

struct Tests {
  std::string text;
  std::size_t count = 0, failures = 0, errors = 0, skipped = 0;

  void add(std::string_view suite, std::string_view name, CaseVerdict verdict, bool gates,
           std::string_view message) {
    ++count;
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", suite, markup_text(name));
    const std::string told = markup_text(message);
    if (verdict == CaseVerdict::fail && gates) {
      ++failures;
      text += fmt::format("><failure message=\"{}\"/></testcase>\n", told);
    } else if (verdict == CaseVerdict::suspect && gates) {
      ++errors;
      text += fmt::format("><error type=\"suspect\" message=\"{}\"/></testcase>\n", told);
    } else if (verdict == CaseVerdict::pass || verdict == CaseVerdict::better) {
      text += fmt::format("><system-out>{}</system-out></testcase>\n", told);
    } else {
      ++skipped;
      text += fmt::format("><skipped message=\"{}\"/></testcase>\n", told);
    }
  }
};

/// What is not proven must not be green.
CaseVerdict verdict_of(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::pass:
      return CaseVerdict::pass;
    case Conclusion::fail:
      return CaseVerdict::fail;
    case Conclusion::not_proven:
      return CaseVerdict::suspect;
  }
  return CaseVerdict::fail;
}

constexpr std::size_t kMax = 10;  ///< GitHub shows ten of each kind and step

/// As GitHub's own toolkit escapes what stands in a workflow command.
std::string escaped(std::string_view text, bool property) {
  std::string result;
  for (const char c : printable(text))
    if (c == '%')
      result += "%25";
    else if (property && c == ':')
      result += "%3A";
    else if (property && c == ',')
      result += "%2C";
    else
      result += c;
  return result;
}

std::string annotation(const char* level, std::string_view title, std::string_view text) {
  return fmt::format("::{} title={}::{}\n", level, escaped(title, true), escaped(text, false));
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison) {
  Page page(fmt::format("### {} {}: {} against {}\n\n{}\n\n", mark(comparison.conclusion),
                        conclusion_text(comparison.conclusion), markdown_text(comparison.other),
                        markdown_text(comparison.base), tally_text(comparison)));
  for (const std::string& remark : comparison.remarks)
    page.add(fmt::format("> {}\n\n", markdown_text(remark)));
  const auto add = [&page](const Table& table) {
    for (const std::string& line : markdown_lines(table)) page.add(line);
  };
  add(markdown_cases(comparison));
  if (const std::string estimates = estimates_text(comparison); !estimates.empty())
    page.add(fmt::format("\n{}\n", markdown_text(estimates)));
  for (const Table& table : {markdown_gates(comparison), markdown_lonely(comparison)}) {
    if (table.lines() == 0) continue;
    page.add("\n");
    add(table);
  }
  return page.take();
}

std::string comparison_junit(const Comparison& comparison) {
  Tests tests;
  for (const CaseComparison& test_case : comparison.cases) {
    std::string message =
        fmt::format("{}: {}", verdict_text(test_case.verdict), effect_text(test_case));
    if (!test_case.note.empty() && !test_case.effects.empty()) message += "; " + test_case.note;
    tests.add("rdmameter.compare", test_case.name, test_case.verdict, comparison.gated(test_case),
              message);
  }
  for (const std::string& name : comparison.only_base)
    tests.add("rdmameter.compare", name, CaseVerdict::inconclusive, false,
              "only in BASE: NEW has no such case, so nothing is judged");
  for (const GateFinding& finding : comparison.gates)
    tests.add("rdmameter.gate", finding.name + " " + finding.gate, finding.verdict, true,
              fmt::format("{}: {}", verdict_text(finding.verdict), finding.text));
  tests.add("rdmameter", "conclusion", verdict_of(comparison.conclusion), true,
            fmt::format("{}: {}", conclusion_text(comparison.conclusion), tally_text(comparison)));
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
  for (const GateFinding& finding : comparison.gates)
    if (finding.verdict == CaseVerdict::fail)
      lines.push_back(annotation("error", "gate: " + finding.name,
                                 fmt::format("{} ({})", finding.text, finding.gate)));
  for (const CaseComparison& test_case : comparison.cases) {
    const bool asked = comparison.gated(test_case);
    if (test_case.verdict == CaseVerdict::fail)
      lines.push_back(annotation(asked ? "error" : "notice", "worse: " + test_case.name,
                                 effect_text(test_case)));
    if (test_case.verdict == CaseVerdict::suspect && asked)
      lines.push_back(annotation("warning", "suspect: " + test_case.name, effect_text(test_case)));
  }
  if (comparison.conclusion == Conclusion::not_proven)
    lines.push_back(annotation("warning", "rdmameter: not proven", tally_text(comparison)));
  if (const std::vector<std::string>& gone = comparison.only_base; !gone.empty())
    lines.push_back(
        annotation("warning", "rdmameter: only in BASE",
                   fmt::format("{} of BASE's cases {} not in NEW, so not judged: {}", gone.size(),
                               gone.size() == 1 ? "is" : "are", few_names(gone))));
  const std::size_t shown = lines.size() > kMax ? kMax - 1 : lines.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += lines[i];
  if (shown < lines.size())
    text +=
        annotation("warning", "rdmameter",
                   fmt::format("and {} more: {}", lines.size() - shown, tally_text(comparison)));
  return text;
}

}  // namespace rdmameter
