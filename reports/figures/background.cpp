// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/background.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/result/row_json.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"
#include "reports/text/case_text.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr const char* kBackgroundKey = "background";

/// The same case alone; null: it was not measured.
const CaseSummary* case_alone(const CaseSummary& loaded,
                              std::span<const CaseSummary* const> cases) {
  nlohmann::ordered_json wanted = loaded.case_object;
  wanted[kBackgroundKey] = "none";
  const auto found = std::ranges::find_if(
      cases, [&](const CaseSummary* one) { return one->case_object == wanted; });
  return found == cases.end() ? nullptr : *found;
}

std::optional<double> ratio_to_alone(const CaseSummary& loaded, const CaseSummary* alone,
                                     Metric metric) {
  if (alone == nullptr) return std::nullopt;
  const auto value = info_of(metric).value;
  const auto above = median_of(loaded, value), below = median_of(*alone, value);
  return above && below && *below > 0 ? std::optional(*above / *below) : std::nullopt;
}

using Effects = std::vector<BackgroundEffect>;

std::string effect_text(const std::optional<double>& ratio, const char* before = "") {
  return ratio ? fmt::format("{}{:.3g}", before, *ratio) : kUnknown;
}

/// Payload, or where that is hardly any, operations.
std::string traffic_text(const BackgroundEffect& effect) {
  return effect.gbps.value_or(0) >= 1 ? fmt::format("{:.3g} Gb/s", *effect.gbps)
                                      : fmt::format("{:.3g} k/s", effect.per_s * 1e-3);
}

/// The test, its transport and the axes that vary, without the background.
std::string victim_name(const Group& group, const CaseSummary& summary) {
  Group others{.varying = group.varying};
  std::erase(others.varying, kBackgroundKey);
  return name_in_group(others, summary);
}

Effects effects_of(const Group& group) {
  std::vector<const CaseSummary*> cases;
  for (const CaseSummary& summary : group.cases) cases.push_back(&summary);
  return background_effects(cases);
}

template <class Key>
std::vector<std::string> distinct_texts(const Effects& effects, Key key) {
  std::vector<std::string> all;
  for (const BackgroundEffect& effect : effects) add_once(all, key(effect));
  return all;
}

}  // namespace

std::vector<BackgroundEffect> background_effects(std::span<const CaseSummary* const> cases) {
  std::vector<BackgroundEffect> effects;
  for (const CaseSummary* loaded : cases) {
    const auto per_s = median_of(*loaded, [](const Row& row) {
      return row.background ? std::optional(background_per_s(*row.background)) : std::nullopt;
    });
    if (!per_s) continue;
    const CaseSummary* const before = case_alone(*loaded, cases);
    effects.push_back(
        {.loaded = loaded,
         .background = text_at(loaded->case_object, kBackgroundKey),
         .per_s = *per_s,
         .gbps = median_of(*loaded,
                           [](const Row& row) {
                             return row.background->bytes > 0
                                        ? std::optional(background_gbps(*row.background))
                                        : std::nullopt;
                           }),
         .of_alone = median_of(*loaded,
                               [](const Row& row) {
                                 const auto& alone_per_s = row.background->alone_per_s;
                                 return alone_per_s.value_or(0) > 0
                                            ? std::optional(background_per_s(*row.background) /
                                                            *alone_per_s)
                                            : std::nullopt;
                               }),
         .p50 = ratio_to_alone(*loaded, before, Metric::p50),
         .p99 = ratio_to_alone(*loaded, before, Metric::p99),
         .bandwidth = ratio_to_alone(*loaded, before, Metric::gbps)});
  }
  return effects;
}

void add_background(Table& table, const Effects& effects) {
  using Effect = const BackgroundEffect&;
  const std::pair<Table::Column, std::string (*)(Effect)> columns[] = {
      {{"its rate"}, traffic_text},
      {{"of alone", "%"},
       [](Effect effect) {
         return effect.of_alone ? fmt::format("{:.0f}", *effect.of_alone * 100) : kUnknown;
       }},
      {{"p50"}, [](Effect effect) { return effect_text(effect.p50, "×"); }},
      {{"p99"}, [](Effect effect) { return effect_text(effect.p99, "×"); }},
      {{"bandwidth"}, [](Effect effect) { return effect_text(effect.bandwidth, "×"); }}};
  for (auto [column, text] : columns) {
    for (Effect effect : effects) column.cells.emplace_back(text(effect));
    if (std::ranges::any_of(column.cells, [](const auto& cell) { return cell.text != kUnknown; }))
      table.columns.push_back(std::move(column));
  }
}

std::string background_text(const Group& group, const TextStyle& style) {
  const Effects effects = effects_of(group);
  if (effects.empty()) return "";
  Table table{.columns = text_columns({"case", "background"}),
              .key_columns = 2,
              .title = "beside other traffic"};
  for (const BackgroundEffect& effect : effects)
    table.add_line({victim_name(group, *effect.loaded), printable(effect.background)});
  add_background(table, effects);
  return titled(table, style) +
         dim(wrap("  ",
                  "Its rate: in the window of the case; of alone: of what it did before the case "
                  "began. × of the case alone.",
                  style.width),
             style);
}

std::string background_matrix(const Group& group, const TextStyle& style) {
  const Effects effects = effects_of(group);
  const auto victim = [&](const BackgroundEffect& e) { return victim_name(group, *e.loaded); };
  const auto background = [](const BackgroundEffect& e) { return printable(e.background); };
  const auto victims = distinct_texts(effects, victim),
             backgrounds = distinct_texts(effects, background);
  if (victims.size() < 2 || backgrounds.size() < 2) return "";
  // Short cases have too few samples for the tail.
  const bool tails =
      std::ranges::any_of(effects, [](const auto& effect) { return effect.p99.has_value(); }) ||
      std::ranges::none_of(effects, [](const auto& effect) { return effect.p50.has_value(); });
  Table table{.columns = text_columns({"case"}), .key_columns = 1};
  for (const std::string& one : backgrounds) table.columns.push_back({.head = "×", .unit = one});
  for (const std::string& one : victims) {
    std::vector<Table::Cell> line{one};
    for (const std::string& other : backgrounds) {
      const auto found = std::ranges::find_if(effects, [&](const BackgroundEffect& effect) {
        return victim(effect) == one && background(effect) == other;
      });
      const bool known = found != effects.end();
      line.emplace_back(effect_text(!known             ? std::nullopt
                                    : found->bandwidth ? found->bandwidth
                                    : tails            ? found->p99
                                                       : found->p50));
    }
    table.add_line(std::move(line));
  }
  const std::string title = fmt::format("{} (of bandwidths Gb/s) beside each, over that alone",
                                        tails ? "p99" : "p50, too few samples for p99");
  return "\n" + bold(title, style) + "\n" + render(table, style);
}

}  // namespace rdmameter
