// SPDX-License-Identifier: Apache-2.0
// A comparison at a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/compare/output.h"

namespace rdmameter {
namespace {

constexpr std::size_t kFewCases = 20;  ///< that all fit a screen
constexpr CaseVerdict kVerdicts[] = {CaseVerdict::fail, CaseVerdict::suspect,
                                     CaseVerdict::inconclusive, CaseVerdict::better,
                                     CaseVerdict::pass};

std::string interval_text(const Effect& effect) {
  return fmt::format("{} to {}", change_text(effect.interval.low),
                     change_text(effect.interval.high));
}

/// Two significant digits: a p-value has no more.
std::string p_text(double p) {
  return p < 0.001 ? fmt::format("{:.0e}", p) : fmt::format("{:.2g}", p);
}

/// A line for the case, and beneath it one for each metric; columns align over all cases.
class Lines {
 public:
  explicit Lines(const Comparison& comparison) {
    add({"", comparison.sides ? "A" : "base", comparison.sides ? "B" : "new", "change",
         "95 % interval", "q"});
  }

  void add(const CaseComparison& one_case, const TextStyle& style) {
    heads_.emplace_back(cells_.size(),
                        bold(pad_right(verdict_text(one_case.verdict), kVerdictWidth), style) +
                            printable(one_case.name) + (one_case.half ? " (half round trip)" : ""));
    for (std::size_t i = 0; i < one_case.effects.size(); ++i) {
      const Metric metric = one_case.effects[i].metric;
      const Effect& effect = one_case.effects[i].effect;
      const bool known = effect.problem.empty();
      const auto value = [metric](double number) {
        return number > 0 ? metric_text(metric, number) : "–";
      };
      add({std::string(metric_title(metric)), value(effect.base), value(effect.other),
           known ? change_text(effect.ratio) : "–", known ? interval_text(effect) : "–",
           i == 0 && effect.tested ? p_text(one_case.q_worse) : ""});
      tested_ |= effect.tested;
    }
  }

  bool empty() const { return heads_.empty(); }

  std::string text(const TextStyle& style) const {
    std::string text = dim(line(0), style) + "\n";
    std::size_t at = 1;
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      text += "  " + heads_[i].second + "\n";
      const std::size_t end = i + 1 < heads_.size() ? heads_[i + 1].first : cells_.size();
      for (; at < end; ++at) text += line(at) + "\n";
    }
    if (tested_)
      text += dim(wrap("  ",
                       "q: how likely chance alone makes it as much worse, all cases taken "
                       "together; at most 0.05 is significant.",
                       style.width),
                  style);
    return text;
  }

 private:
  static constexpr std::size_t kColumns = 6, kIndent = 4, kVerdictWidth = 14;
  using Cells = std::array<std::string, kColumns>;

  void add(Cells cells) {
    for (std::size_t i = 0; i < kColumns; ++i)
      widths_[i] = std::max(widths_[i], text_width(cells[i]));
    cells_.push_back(std::move(cells));
  }

  std::string line(std::size_t at) const {
    std::string text(kIndent, ' ');
    for (std::size_t i = 0; i < kColumns; ++i)
      text +=
          i == 0 ? pad_right(cells_[at][i], widths_[i]) : pad_left(cells_[at][i], widths_[i] + 2);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  std::vector<Cells> cells_;                                ///< the first line is the head
  std::vector<std::pair<std::size_t, std::string>> heads_;  ///< and the line of cells that follows
  std::array<std::size_t, kColumns> widths_{};
  bool tested_ = false;
};

std::string notes(const Comparison& comparison, const TextStyle& style) {
  std::string text;
  for (const CaseComparison& one_case : comparison.cases)
    if (!one_case.note.empty())
      text += wrap("  ", fmt::format("{}: {}.", printable(one_case.name), printable(one_case.note)),
                   style.width);
  return text;
}

std::string gate_lines(const Comparison& comparison, bool all, const TextStyle& style) {
  std::string text;
  std::size_t kept = 0;
  for (const GateFinding& finding : comparison.gates) {
    if (finding.verdict == CaseVerdict::pass && !all && comparison.gates.size() > kFewCases) {
      ++kept;
      continue;
    }
    const std::string gate =
        finding.gate == "work" ? "" : fmt::format(" ({})", printable(finding.gate));
    text += wrap(fmt::format("  {:<13}", verdict_text(finding.verdict)),
                 fmt::format("{}: {}{}", printable(finding.name), finding.text, gate), style.width);
  }
  if (kept > 0) text += fmt::format("  {:<13}{} more\n", "pass", kept);
  return text.empty() ? "" : "\n" + bold("gates", style) + "\n" + text;
}

std::string list(const char* title, const std::vector<std::string>& names, const TextStyle& style) {
  if (names.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kFewCases); ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > kFewCases) text += fmt::format(" and {} more", names.size() - kFewCases);
  return wrap(fmt::format("  {}: ", title), text, style.width);
}

}  // namespace

std::string_view verdict_text(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::fail:
      return "fail";
    case CaseVerdict::suspect:
      return "suspect";
    case CaseVerdict::inconclusive:
      return "inconclusive";
    case CaseVerdict::better:
      return "better";
    case CaseVerdict::pass:
      return "pass";
  }
  return "";
}

std::string tally_text(const Comparison& comparison) {
  std::string text =
      fmt::format("{} case{}", comparison.cases.size(), comparison.cases.size() == 1 ? "" : "s");
  const char* separator = ": ";
  for (const CaseVerdict verdict : kVerdicts)
    if (const std::size_t count = comparison.count(verdict); count > 0) {
      text += fmt::format("{}{} {}", separator, count, verdict_text(verdict));
      separator = ", ";
    }
  const auto broken =
      std::ranges::count(comparison.gates, CaseVerdict::fail, &GateFinding::verdict);
  if (!comparison.gates.empty())
    text += fmt::format("; {} of {} gates failed", broken, comparison.gates.size());
  return text;
}

std::string effect_text(const CaseComparison& one_case) {
  if (one_case.effects.empty()) return one_case.note;
  const auto& [metric, effect] = one_case.effects.front();
  if (!effect.problem.empty()) return effect.problem;
  return fmt::format("{} {} -> {}, {} ({})", metric_title(metric), metric_text(metric, effect.base),
                     metric_text(metric, effect.other), change_text(effect.ratio),
                     interval_text(effect));
}

std::string comparison_text(const Comparison& comparison, bool all, const TextStyle& style) {
  std::string text =
      bold(fmt::format("{} against {}", printable(comparison.other), printable(comparison.base)),
           style) +
      "\n";
  for (const std::string& remark : comparison.remarks)
    text += wrap("  ! ", printable(remark), style.width);
  text += fmt::format("  {}\n", tally_text(comparison));
  if (!comparison.times_gate)
    text += "  Times are information here: the gate is on work per message.\n";
  Lines lines(comparison);
  const bool passes = all || comparison.cases.size() <= kFewCases;
  for (const CaseComparison& one_case : comparison.cases)
    if (passes || one_case.verdict != CaseVerdict::pass) lines.add(one_case, style);
  if (!lines.empty()) text += "\n" + lines.text(style);
  if (const std::string noted = notes(comparison, style); !noted.empty()) text += "\n" + noted;
  text += gate_lines(comparison, all, style);
  text += list("only in BASE", comparison.only_base, style);
  text += list("only in NEW", comparison.only_other, style);
  return style.utf8 ? text : to_ascii(text);
}

}  // namespace rdmameter
