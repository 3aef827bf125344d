// SPDX-License-Identifier: Apache-2.0
#include "bench/options/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/cases/axis_list.h"
#include "core/base/error.h"
#include "reports/stats/factorial.h"

namespace rdmameter {
namespace {

/// Between which values an axis is judged where none are given.
struct UsualLevels {
  std::string_view option, levels;
};
constexpr std::array kUsualLevels{
    UsualLevels{"inline", "off,max"},      UsualLevels{"signal-every", "1,16"},
    UsualLevels{"post-list", "1,16"},      UsualLevels{"sge", "1,2"},
    UsualLevels{"memory", "host,huge"},    UsualLevels{"api", "classic,extended"},
    UsualLevels{"cq", "classic,extended"},
};

const Axis& factor_axis(std::string_view option) {
  const Axis* const axis = find_axis(option);
  if (axis == nullptr || option == "iterations" || option == "duration" || option == "transport")
    throw UsageError(fmt::format(
        "--ablate {}: it takes up to {} axes without their dashes, such as "
        "inline,signal-every,post-list,sge,memory; not transport, iterations or duration",
        option, kMaxFactors));
  return *axis;
}

std::vector<std::string> levels_in(std::vector<GivenAxis>& given, const Axis& axis) {
  const auto found = std::ranges::find(given, axis.option, &GivenAxis::option);
  if (found != given.end()) return found->values;
  const auto usual = std::ranges::find(kUsualLevels, axis.option, &UsualLevels::option);
  if (usual == kUsualLevels.end())
    throw UsageError(
        fmt::format("--ablate {0}: give the two values to compare, as --{0} A,B", axis.option));
  given.push_back({&axis, read_axis_list(axis, usual->levels)});
  return given.back().values;
}

bool has_factor(const PlannedCase& planned, const AblationFactor& factor) {
  return std::ranges::find(planned.used, factor.axis->option) != planned.used.end();
}

/// What the cases of one experiment have in common: all but the factors.
std::string experiment_of(const PlannedCase& planned, const std::vector<AblationFactor>& factors) {
  TestCase common = planned.test_case;
  for (const AblationFactor& factor : factors) set_axis(common, *factor.axis, factor.levels[0]);
  return planned.test_case.test + case_to_wire(common).dump() + planned.host + planned.beside;
}

}  // namespace

std::vector<AblationFactor> read_ablation(const std::string& list, std::vector<Suite>& suites) {
  std::vector<AblationFactor> factors;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const Axis& axis = factor_axis(std::string_view(list).substr(begin, end - begin));
    begin = end + 1;
    if (std::ranges::find(factors, &axis, &AblationFactor::axis) != factors.end())
      throw UsageError(fmt::format("--ablate: {} is there twice", axis.option));
    std::vector<std::string> levels;
    for (Suite& suite : suites) {
      std::vector<std::string> own = levels_in(suite.given, axis);
      if (!levels.empty() && own != levels)
        throw UsageError(fmt::format(
            "--ablate {0}: the plan's tests have different values of it: give --{0} A,B",
            axis.option));
      levels = std::move(own);
    }
    if (levels.size() != 2)
      throw UsageError(fmt::format("--ablate {0}: it compares two values, and --{0} has {1}",
                                   axis.option, levels.size()));
    factors.push_back({&axis, {levels[0], levels[1]}});
  }
  if (factors.size() > kMaxFactors)
    throw UsageError(
        fmt::format("--ablate: {} axes; it takes at most {}", factors.size(), kMaxFactors));
  return factors;
}

std::vector<PlannedCase> in_design(const std::vector<PlannedCase>& cases,
                                   const std::vector<AblationFactor>& factors) {
  std::map<std::string, std::vector<AblationFactor>> experiments;
  for (const PlannedCase& planned : cases) {
    auto& own = experiments[experiment_of(planned, factors)];
    if (!own.empty()) continue;
    std::ranges::copy_if(factors, std::back_inserter(own),
                         [&](const auto& factor) { return has_factor(planned, factor); });
    if (own.empty())
      throw UsageError(
          fmt::format("--ablate: none of its axes has a meaning for {}", planned.test_case.test));
  }
  std::vector<PlannedCase> chosen;
  for (const PlannedCase& planned : cases) {
    const auto& own = experiments[experiment_of(planned, factors)];
    FactorSet levels = 0;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (axis_text(planned.test_case, *own[i].axis) == own[i].levels[1]) levels |= 1U << i;
    if (std::ranges::binary_search(factorial_design(own.size()), levels)) chosen.push_back(planned);
  }
  return chosen;
}

nlohmann::ordered_json ablation_json(const std::vector<AblationFactor>& factors,
                                     std::uint64_t seed) {
  auto list = nlohmann::ordered_json::array();
  for (const AblationFactor& factor : factors)
    list.push_back({{"axis", factor.axis->option}, {"levels", factor.levels}});
  return {{"factors", list}, {"seed", seed}};
}

}  // namespace rdmameter
