// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/sysfs.h"
#include "core/doctor/thresholds.h"
#include "core/wire/fields.h"

namespace rdmameter {
namespace {

std::vector<ExaminedDevice> devices_of(const KernelTrees& trees) {
  std::vector<ExaminedDevice> devices;
  for (const auto& path : entries_of(trees.sysfs / "class/infiniband"))
    devices.push_back({path.filename(), path, entries_of(path / "ports")});
  return devices;
}

nlohmann::ordered_json versions_json(const Examination& examination) {
  const nlohmann::ordered_json host = host_json(examination.trees);
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const ExaminedDevice& device : examination.devices) {
    const nlohmann::ordered_json slot = device_slot_json(device.name, examination.trees.sysfs);
    devices.push_back({{"name", device.name},
                       {"driver", slot.at("driver")},
                       {"driver_version", slot.at("driver_version")},
                       {"firmware", or_null(read_line(device.path / "fw_ver"))}});
  }
  return {{"rdmameter", host.at("version")},
          {"kernel", host.at("kernel")},
          {"libibverbs", host.at("libibverbs")},
          {"devices", devices}};
}

/// The least MTU of the netdevs of a port; nothing: it has none, or the kernel does not tell.
std::optional<std::int64_t> netdev_mtu(const Examination& examination,
                                       const std::filesystem::path& port) {
  std::optional<std::int64_t> least;
  for (const std::string& netdev : netdevs_of(port)) {
    const auto mtu = read_number(examination.trees.sysfs / "class/net" / netdev / "mtu");
    if (mtu) least = std::min(least.value_or(*mtu), *mtu);
  }
  return least;
}

nlohmann::ordered_json ports_json(const Examination& examination) {
  nlohmann::ordered_json ports = nlohmann::ordered_json::array();
  for (const ExaminedDevice& device : examination.devices)
    for (const std::filesystem::path& port : device.ports)
      if (is_active(port))
        ports.push_back({{"name", fmt::format("{}/{}", device.name, port.filename().string())},
                         {"link_layer", or_null(read_line(port / "link_layer"))},
                         {"rate", or_null(read_line(port / "rate"))},
                         {"netdev_mtu", or_null(netdev_mtu(examination, port))},
                         {"gid_types", gid_types_of(port)}});
  return ports;
}

/// What the files 0, 1, ... of a folder say, one for each GID: sorted, each once. The kernel gives
/// a GID the lowest number that is free, and a file without one cannot be read; tables have
/// thousands of those.
std::vector<std::string> lines_of_gids(const std::filesystem::path& folder) {
  constexpr int kEnd = 64;  // so many without a GID: no more come
  std::vector<std::string> lines;
  for (int index = 0, without = 0; without < kEnd; ++index) {
    auto line = read_line(folder / std::to_string(index));
    without = line ? 0 : without + 1;
    if (line) lines.push_back(std::move(*line));
  }
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

constexpr std::size_t kMaxRows = 1000, kMaxNameBytes = 256, kMaxTextBytes = 2000;

/// @throws MeasurementError  neither null nor a text
void check_optional_text(const nlohmann::json& object, std::string_view key) {
  if (!object.is_object() || object.value(key, nlohmann::json()).is_null()) return;
  require_string(object, key, kMaxTextBytes);
}

void check_findings(const nlohmann::json& findings) {
  for (const nlohmann::json& finding : findings) {
    require_string(finding, "check", kMaxNameBytes);
    require_string(finding, "cause", kMaxTextBytes);
    require_string(finding, "remedy", kMaxTextBytes);
    const std::string weight = require_string(finding, "weight", kMaxNameBytes);
    if (weight != weight_name(Weight::problem) && weight != weight_name(Weight::warning))
      throw MeasurementError("'weight' of a finding is neither problem nor warning");
  }
}

void check_texts(const nlohmann::json& texts) {
  for (const nlohmann::json& text : texts)
    if (!text.is_string()) throw MeasurementError("a list of texts holds something else");
}

void check_ports(const nlohmann::json& ports) {
  for (const nlohmann::json& port : ports) {
    require_string(port, "name", kMaxNameBytes);
    check_optional_text(port, "link_layer");
    check_optional_text(port, "rate");
    if (port.contains("netdev_mtu") && !port.at("netdev_mtu").is_null())
      require_uint(port, "netdev_mtu", 0, std::numeric_limits<std::uint32_t>::max());
    check_texts(require_array(port, "gid_types", kMaxRows));
  }
}

void check_versions(const nlohmann::json& versions) {
  for (const char* key : {"rdmameter", "kernel", "libibverbs"}) check_optional_text(versions, key);
  for (const nlohmann::json& device : require_array(versions, "devices", kMaxRows)) {
    require_string(device, "name", kMaxNameBytes);
    for (const char* key : {"driver", "driver_version", "firmware"})
      check_optional_text(device, key);
  }
}

}  // namespace

void Examination::warn(std::string_view check, std::string cause, std::string remedy) {
  findings.push_back({std::string(check), Weight::warning, std::move(cause), std::move(remedy)});
}

void Examination::fail(std::string_view check, std::string cause, std::string remedy) {
  findings.push_back({std::string(check), Weight::problem, std::move(cause), std::move(remedy)});
}

Examination examine(const KernelTrees& trees, std::optional<DeviceAccess> access) {
  Examination examination{trees, std::move(access), devices_of(trees), {}, {}};
  for (const auto& checks : {host_checks(), device_checks(), reach_checks()})
    for (const Check& check : checks)
      if (!check.run(examination)) examination.unknown.emplace_back(check.name);
  std::ranges::stable_sort(examination.findings, std::ranges::greater{}, &Finding::weight);
  return examination;
}

std::string_view weight_name(Weight weight) {
  return weight == Weight::problem ? "problem" : "warning";
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  // Not by range: its ++ throws.
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> netdevs_of(const std::filesystem::path& port) {
  return lines_of_gids(port / "gid_attrs/ndevs");
}

std::vector<std::string> gid_types_of(const std::filesystem::path& port) {
  return lines_of_gids(port / "gid_attrs/types");
}

bool is_active(const std::filesystem::path& port) {
  return read_line(port / "state").value_or("").ends_with("ACTIVE");  // "4: ACTIVE"
}

nlohmann::ordered_json findings_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    rows.push_back({{"check", finding.check},
                    {"weight", weight_name(finding.weight)},
                    {"cause", finding.cause},
                    {"remedy", finding.remedy}});
  return rows;
}

nlohmann::ordered_json examination_json(const Examination& examination) {
  nlohmann::ordered_json thresholds = nlohmann::ordered_json::array();
  for (const Threshold& row : kThresholds)
    thresholds.push_back({{"name", row.name}, {"value", row.value}, {"source", row.source}});
  return {{"findings", findings_json(examination.findings)},
          {"unknown", examination.unknown},
          {"versions", versions_json(examination)},
          {"ports", ports_json(examination)},
          {"thresholds", thresholds}};
}

nlohmann::ordered_json checked_examination(const nlohmann::json& received) {
  check_findings(require_array(received, "findings", kMaxRows));
  check_texts(require_array(received, "unknown", kMaxRows));
  check_ports(require_array(received, "ports", kMaxRows));
  check_versions(require_object(received, "versions"));
  return printable_json(received);
}

}  // namespace rdmameter
