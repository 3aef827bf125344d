// SPDX-License-Identifier: Apache-2.0
#include "reports/html/topology_title.h"

#include <algorithm>

#include "reports/text/case_text.h"

namespace rdmameter {

std::string topology_title(const PageCases& page, std::size_t file,
                           std::span<const TopologyModel> models, std::size_t model) {
  const nlohmann::ordered_json& setting = models[model].setting;
  std::string title =
      setting.contains("transport") ? upper_case(value_text(setting.at("transport"))) : "";
  if (page.files.size() > 1) title += (title.empty() ? "" : " · ") + page.labels[file];
  std::vector<std::string> differing;
  for (const auto& each : setting.items())
    if (each.key() != "transport" &&
        std::any_of(models.begin(), models.end(), [&each](const auto& other) {
          return other.setting.value(each.key(), nlohmann::ordered_json()) != each.value();
        }))
      differing.push_back(each.key());
  const std::string facts = case_text(setting, differing);
  return title + (facts.empty() ? "" : " · " + facts);
}

}  // namespace rdmameter
