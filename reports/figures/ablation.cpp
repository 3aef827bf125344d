// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/printable.h"
#include "core/instrument/histogram_data.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

std::vector<AblationAxis> axes_in(const Json& context) {
  std::vector<AblationAxis> axes;
  for (const Json& factor : list_at(context, "/rdmameter/ablation/factors")) {
    const Json &axis = fact_at(factor, "axis"), &levels = list_at(factor, "levels");
    const bool good = axis.is_string() && levels.size() == 2 && levels.at(0).is_string() &&
                      levels.at(1).is_string();
    if (!good || axes.size() == kMaxFactors) return {};
    axes.push_back({axis, {levels.at(0), levels.at(1)}});
  }
  return axes;
}

/// A row's levels, and what its name is without them.
struct FactorPlace {
  const Row* row;
  std::string name;
  FactorSet has = 0;     ///< bits of the axes
  FactorSet levels = 0;  ///< those of the axes that it has, moved together
};

/// "/option:level", and not the beginning of a longer one.
std::size_t find_part(const std::string& name, const std::string& part) {
  for (std::size_t at = name.find(part); at != name.npos; at = name.find(part, at + 1))
    if (at + part.size() == name.size() || name[at + part.size()] == '/') return at;
  return name.npos;
}

FactorPlace place_of(const Row& row, const std::vector<AblationAxis>& axes) {
  FactorPlace place{.row = &row, .name = row.name};
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (const std::size_t level : {0U, 1U}) {
      const std::string part = fmt::format("/{}:{}", axes[i].option, axes[i].levels.at(level));
      const std::size_t at = find_part(place.name, part);
      if (at == place.name.npos) continue;
      place.name.erase(at, part.size());
      place.levels |= static_cast<FactorSet>(level) << std::popcount(place.has);
      place.has |= 1U << i;
      break;
    }
  return place;
}

/// Of rates none.
Number p50_of(const Row& row) {
  return row.bandwidth ? std::nullopt : info_of(Metric::p50).value(row);
}

std::string names_of(const Ablation& ablation, FactorSet factors, const char* between) {
  std::string text;
  for (std::size_t i = 0; i < ablation.axes.size(); ++i)
    if ((factors >> i & 1) != 0) add_item(text, printable(ablation.axes[i].option), between);
  return text;
}

/// "off → max"; of a pair nothing.
std::string change_of_factors(const Ablation& ablation, FactorSet factors) {
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
    add_item(text, names_of(ablation, alias, "×"));
  return text;
}

}  // namespace

std::vector<Ablation> ablations_of(const Json& context, std::span<const Row> rows) {
  const std::vector<AblationAxis> axes = axes_in(context);
  std::vector<std::pair<std::pair<std::string, FactorSet>, std::vector<FactorPlace>>> experiments;
  for (const Row& row : rows)
    if (const FactorPlace place = place_of(row, axes); place.has != 0)
      entry_of(experiments, {place.name, place.has}).push_back(place);
  std::vector<Ablation> found;
  for (const auto& [of, members] : experiments) {
    Ablation& ablation = found.emplace_back();
    const FactorSet has = of.second;
    ablation.name = of.first;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if ((has >> i & 1) != 0) ablation.axes.push_back(axes[i]);
    const auto measured = [](const FactorPlace& member) {
      return member.row->status == Row::Status::ok && !member.row->interrupted;
    };
    const bool by_p50 = std::ranges::all_of(members, [&](const FactorPlace& member) {
      return !measured(member) || p50_of(*member.row);
    });
    const bool rate = std::ranges::any_of(
        members, [](const FactorPlace& member) { return member.row->bandwidth.has_value(); });
    ablation.of = rate ? "time per message" : by_p50 ? "p50" : "mean";
    std::vector<FactorialRun> runs;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> blocks;  // by run, repetition
    for (const FactorPlace& member : members) {
      const Row& row = *member.row;
      const std::uint64_t block =
          blocks.try_emplace({count_at(row.extra, "run"), row.repetition}, blocks.size())
              .first->second;
      if (!measured(member)) continue;
      runs.push_back({member.levels, block, by_p50 && !rate ? *p50_of(row) : row.real_time_ns});
    }
    ablation.repetitions = blocks.size();
    ablation.analysis = analyse_factorial(runs, ablation.axes.size());
  }
  return found;
}

Table ablation_table(const Ablation& ablation) {
  std::vector<FactorialEffect> effects = ablation.analysis->effects;
  std::ranges::stable_sort(effects, std::greater{},
                           [](const FactorialEffect& effect) { return std::abs(effect.value); });
  const bool known = ablation.analysis->blocks > 1;
  const bool mixed = std::ranges::any_of(effects, [&](const FactorialEffect& effect) {
    return !mixed_text(ablation, effect.factors).empty();
  });
  Table table{.columns = {{.head = "axis", .is_text = true},
                          {.head = "from, to", .is_text = true},
                          {"worth", "ns"},
                          {.head = "95 % together", .unit = "ns", .is_text = true},
                          {"p"}},
              .key_columns = 2};
  if (mixed) table.columns.push_back({.head = "mixed with", .is_text = true});
  for (const FactorialEffect& effect : effects) {
    std::vector<Table::Cell> line{
        names_of(ablation, effect.factors, " × "), change_of_factors(ablation, effect.factors),
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

std::string ablation_text(const Json& context, std::span<const Row> rows, const TextStyle& style) {
  std::string text;
  for (const Ablation& ablation : ablations_of(context, rows)) {
    text +=
        "\n" +
        bold(wrap("", "what each axis is worth: " + ablation_title(ablation), style.width), style);
    if (ablation.analysis) text += render(ablation_table(ablation), style);
    text += note_text(ablation_remark(ablation), style);
  }
  return text;
}

}  // namespace rdmameter
