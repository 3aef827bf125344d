// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/counters.h"

#include <optional>
#include <system_error>

#include "core/base/sysfs.h"

namespace rdmameter {
namespace {

void read_folder(const std::filesystem::path& folder, Counters& counters) {
  std::error_code error;  // a folder that is not there is an empty one
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (const std::optional<std::uint64_t> value = read_count(entry.path()))
      counters.insert_or_assign(entry.path().filename(), *value);
}

}  // namespace

Counters read_counters(std::string_view device, unsigned port_num,
                       const std::filesystem::path& sysfs) {
  const std::filesystem::path root = sysfs / "class/infiniband" / device;
  const std::filesystem::path port = root / "ports" / std::to_string(port_num);
  Counters counters;
  read_folder(root / "hw_counters", counters);
  read_folder(port / "counters", counters);
  read_folder(port / "hw_counters", counters);
  counters.erase("lifespan");
  return counters;
}

nlohmann::ordered_json counter_differences(const Counters& before, const Counters& after) {
  if (before.empty() && after.empty()) return nullptr;
  nlohmann::ordered_json differences = nlohmann::ordered_json::object();
  for (const auto& [name, value] : after) {
    const auto earlier = before.find(name);
    if (earlier != before.end() && value > earlier->second)
      differences[name] = value - earlier->second;
  }
  return differences;
}

}  // namespace rdmameter
