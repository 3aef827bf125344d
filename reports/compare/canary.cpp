// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/canary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/compare/fingerprint.h"
#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// A floor is measured in milliseconds: smaller changes of it are noise.
constexpr double kFloorChange = 0.2;

/// The floors of a result's runs by their names.
std::map<std::string, std::vector<double>> floors_of(const Json& context) {
  std::map<std::string, std::vector<double>> floors;
  const Json::json_pointer at("/rdmameter/floor");
  for (const Json& run : run_contexts(context)) {
    if (!run.contains(at) || !run.at(at).is_object()) continue;
    for (const auto& [name, value] : run.at(at).items())
      if (value.is_number() && value.get<double>() > 0) floors[name].push_back(value.get<double>());
  }
  return floors;
}

/// By more than the noise of a floor, and in each run.
bool floor_changed(const std::vector<double>& base, const std::vector<double>& other) {
  const double ratio = median(other) / median(base);
  const auto [base_min, base_max] = std::ranges::minmax(base);
  const auto [other_min, other_max] = std::ranges::minmax(other);
  const bool apart = other_min > base_max || other_max < base_min;
  return apart && std::max(ratio, 1 / ratio) > 1 + kFloorChange;
}

/// Three digits, more where they stand before the point: never an exponent.
std::string digits(double value) {
  return value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

bool is_canary(const CaseComparison& one) {
  return one.name.starts_with("tcp_") || one.name.find("/device:null") != std::string::npos;
}

}  // namespace

std::vector<std::string> changed_canaries(const Json& base, const Json& other,
                                          const std::vector<CaseComparison>& cases) {
  std::vector<std::string> changed;
  const auto before = floors_of(base), after = floors_of(other);
  for (const auto& [name, values] : before)
    if (const auto found = after.find(name);
        found != after.end() && floor_changed(values, found->second))
      changed.push_back(fmt::format("{} {} -> {}", printable(name), digits(median(values)),
                                    digits(median(found->second))));
  if (std::ranges::all_of(cases, is_canary)) return changed;  // they are what is asked about
  for (const CaseComparison& one : cases)
    if (is_canary(one) && !one.effects.empty() && one.verdict != CaseVerdict::pass &&
        one.verdict != CaseVerdict::inconclusive)
      changed.push_back(
          fmt::format("{} {}", printable(one.name), change_text(one.effects.front().effect.ratio)));
  return changed;
}

}  // namespace rdmameter
