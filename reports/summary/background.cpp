// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/background.h"

#include <algorithm>

#include "core/result/row_json.h"
#include "reports/summary/metric.h"

namespace rdmameter {
namespace {

constexpr const char* kBackgroundKey = "background";

std::string background_of(const CaseSummary& summary) {
  const auto text = summary.case_object.find(kBackgroundKey);
  return text != summary.case_object.end() && text->is_string() ? text->get<std::string>() : "";
}

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
         .background = background_of(*loaded),
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

}  // namespace rdmameter
