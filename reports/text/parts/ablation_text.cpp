// SPDX-License-Identifier: Apache-2.0
#include "reports/text/parts/ablation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/printable.h"

namespace rdmameter {
namespace {

std::string names_of(const Ablation& ablation, FactorSet factors, const char* between) {
  std::string text;
  for (std::size_t i = 0; i < ablation.axes.size(); ++i)
    if ((factors >> i & 1) != 0)
      text += (text.empty() ? "" : between) + printable(ablation.axes[i].option);
  return text;
}

/// "off → max"; of a pair nothing.
std::string change_text(const Ablation& ablation, FactorSet factors) {
  if (std::popcount(factors) != 1) return "both";
  const AblationAxis& axis = ablation.axes[static_cast<std::size_t>(std::countr_zero(factors))];
  return fmt::format("{} → {}", printable(axis.levels[0]), printable(axis.levels[1]));
}

std::string ns_text(double value) {
  return fmt::format("{:+.{}f}", value, std::abs(value) < 100 ? 1 : 0);
}

std::string mixed_text(const Ablation& ablation, FactorSet factors) {
  std::string text;
  for (const FactorSet alias : aliases_of(factors, ablation.axes.size()))
    text += (text.empty() ? "" : ", ") + names_of(ablation, alias, "×");
  return text;
}

}  // namespace

Table ablation_table(const Ablation& ablation) {
  std::vector<FactorialEffect> effects = ablation.analysis->effects;
  std::ranges::stable_sort(effects, std::greater{},
                           [](const FactorialEffect& effect) { return std::abs(effect.value); });
  const bool known = ablation.analysis->blocks > 1;
  const bool mixed = std::ranges::any_of(effects, [&](const FactorialEffect& effect) {
    return !mixed_text(ablation, effect.factors).empty();
  });
  Table table;
  table.key_columns = 2;
  table.columns = {{.head = "axis", .is_text = true},
                   {.head = "from, to", .is_text = true},
                   {"worth", "ns"},
                   {.head = "95 % together", .unit = "ns", .is_text = true},
                   {"p"}};
  if (mixed) table.columns.push_back({.head = "mixed with", .is_text = true});
  for (const FactorialEffect& effect : effects) {
    std::vector<Table::Cell> line{
        names_of(ablation, effect.factors, " × "), change_text(ablation, effect.factors),
        ns_text(effect.value),
        known ? fmt::format("{} to {}", ns_text(effect.low), ns_text(effect.high)) : kUnknown,
        !known              ? kUnknown
        : effect.p < 0.0001 ? "<0.0001"
                            : fmt::format("{:.4f}", effect.p)};
    if (mixed) line.emplace_back(mixed_text(ablation, effect.factors));
    table.add_line(std::move(line));
  }
  return table;
}

std::string ablation_title(const Ablation& ablation) {
  const std::string about = printable(ablation.name) + ": " + ablation.of;
  if (!ablation.analysis)
    return about + fmt::format(", no whole repetition of {}", ablation.repetitions);
  const std::size_t runs = factorial_design(ablation.axes.size()).size();
  return about + fmt::format(", {} of {} repetitions are whole, each of {} runs",
                             ablation.analysis->blocks, ablation.repetitions, runs);
}

std::string ablation_remark(const Ablation& ablation) {
  if (!ablation.analysis)
    return "An effect needs a repetition in which each run of the design was measured: see below "
           "which failed or were skipped.";
  std::string text =
      "Worth: the second value less the first, over all values of the other axes; of a pair, what "
      "both together do beyond the sum of each.";
  if (ablation.analysis->blocks == 1) return text + " Intervals need two repetitions or more.";
  text += " All intervals hold together (Bonferroni), p is Holm's; replicates are repetitions.";
  if (ablation.axes.size() > 4)
    text +=
        " A fraction of all combinations was measured: an effect of three axes, if there is "
        "one, is in that of the pair that it is mixed with.";
  return text;
}

std::string ablation_text(const nlohmann::ordered_json& context, std::span<const Row> rows,
                          const TextStyle& style) {
  std::string text;
  for (const Ablation& ablation : ablations_of(context, rows)) {
    text +=
        "\n" +
        bold(wrap("", "what each axis is worth: " + ablation_title(ablation), style.width), style);
    if (ablation.analysis) text += render(ablation_table(ablation), style);
    text += dim(wrap("  ", ablation_remark(ablation), style.width), style);
  }
  return text;
}

}  // namespace rdmameter
