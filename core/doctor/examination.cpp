// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/kernel_files.h"
#include "core/base/lists.h"
#include "core/doctor/thresholds.h"
#include "core/verbs/check.h"
#include "core/verbs/device.h"
#include "core/verbs/rdma_netlink.h"
#include "core/wire/message.h"

namespace rdmameter {
namespace {

std::vector<ExaminedDevice> devices_of(const KernelTrees& trees) {
  return mapped(entries_of(trees.sysfs / "class/infiniband"), [](const auto& path) {
    return ExaminedDevice{path.filename(), path, entries_of(path / "ports")};
  });
}

std::optional<std::string> text_of(const Json& value) {
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

/// What the other end, or a reader of JSON, is told.
struct ToldDevice {
  std::string name;
  std::optional<std::string> driver, driver_version, firmware;
};
struct ToldVersions {
  std::optional<std::string> rdmameter, kernel, libibverbs;
  std::vector<ToldDevice> devices;
};
struct ToldPort {
  std::string name;
  std::optional<std::string> link_layer, rate;
  std::optional<std::uint64_t> netdev_mtu;
  std::vector<std::string> gid_types;
};
struct ToldThreshold {
  std::string name;
  double value = 0;
  std::string source;
};
struct ToldExamination {
  std::vector<Finding> findings;
  std::vector<std::string> unknown;
  ToldVersions versions;
  std::vector<ToldPort> ports;
  std::vector<ToldThreshold> thresholds;
};

constexpr FieldRule kName{.max_size = kMaxNameBytes}, kText{.max_size = kMaxTextBytes},
    kRows{.max_size = 1000};

void list_fields(auto& fields, Is<ToldDevice> auto& device) {
  fields("name", device.name, kName);
  fields("driver", device.driver, kText);
  fields("driver_version", device.driver_version, kText);
  fields("firmware", device.firmware, kText);
}
void list_fields(auto& fields, Is<ToldVersions> auto& versions) {
  fields("rdmameter", versions.rdmameter, kText);
  fields("kernel", versions.kernel, kText);
  fields("libibverbs", versions.libibverbs, kText);
  fields("devices", versions.devices, kRows);
}
void list_fields(auto& fields, Is<ToldPort> auto& port) {
  fields("name", port.name, kName);
  fields("link_layer", port.link_layer, kText);
  fields("rate", port.rate, kText);
  fields("netdev_mtu", port.netdev_mtu, {.max = std::numeric_limits<std::uint32_t>::max()});
  fields("gid_types", port.gid_types, kRows);
}
void list_fields(auto& fields, Is<ToldThreshold> auto& threshold) {
  fields("name", threshold.name, kName);
  fields("value", threshold.value);
  fields("source", threshold.source, kText);
}
void list_fields(auto& fields, Is<ToldExamination> auto& examination) {
  fields("findings", examination.findings, kRows);
  fields("unknown", examination.unknown, kRows);
  fields("versions", examination.versions);
  fields("ports", examination.ports, kRows);
  fields("thresholds", examination.thresholds, kRows);
}

ToldVersions versions_of(const Examination& examination) {
  const Json host = host_json(examination.trees);
  return {.rdmameter = text_of(host.at("version")),
          .kernel = text_of(host.at("kernel")),
          .libibverbs = text_of(host.at("libibverbs")),
          .devices = mapped(examination.devices, [&](const ExaminedDevice& device) {
            const Json slot = device_slot_json(device.name, examination.trees.sysfs);
            return ToldDevice{.name = device.name,
                              .driver = text_of(slot.at("driver")),
                              .driver_version = text_of(slot.at("driver_version")),
                              .firmware = read_line(device.path / "fw_ver")};
          })};
}

/// The least MTU of the netdevs of a port; nothing: it has none, or the kernel does not tell.
std::optional<std::uint64_t> netdev_mtu(const Examination& examination,
                                        const std::filesystem::path& port) {
  std::optional<std::int64_t> least;
  for (const std::string& netdev : netdevs_of(port)) {
    const auto mtu = read_number(examination.trees.sysfs / "class/net" / netdev / "mtu");
    if (mtu) least = std::min(least.value_or(*mtu), *mtu);
  }
  return least;
}

std::vector<ToldPort> ports_of(const Examination& examination) {
  return mapped(active_ports(examination), [&](const ActivePort& port) {
    return ToldPort{.name = port.name,
                    .link_layer = read_line(port.path / "link_layer"),
                    .rate = read_line(port.path / "rate"),
                    .netdev_mtu = netdev_mtu(examination, port.path),
                    .gid_types = gid_types_of(port.path)};
  });
}

/// What the files 0, 1, ... of a folder say, one for each GID: sorted, each once. The kernel gives
/// a GID the lowest number that is free, and a file without one cannot be read; tables have
/// thousands of those.
std::vector<std::string> lines_of_gids(const std::filesystem::path& folder) {
  constexpr int kEnd = 64;  // so many without a GID: no more come
  std::set<std::string> lines;
  for (int index = 0, without = 0; without < kEnd; ++index) {
    auto line = read_line(folder / std::to_string(index));
    without = line ? 0 : without + 1;
    if (line) lines.insert(std::move(*line));
  }
  return {lines.begin(), lines.end()};
}

}  // namespace

void Examination::warn(std::string cause, std::string remedy) {
  findings.push_back({std::string(check), Weight::warning, std::move(cause), std::move(remedy)});
}

void Examination::fail(std::string cause, std::string remedy) {
  findings.push_back({std::string(check), Weight::problem, std::move(cause), std::move(remedy)});
}

Examination examine(const KernelTrees& trees, std::optional<DeviceAccess> access) {
  Examination examination{trees, std::move(access), devices_of(trees)};
  for (const auto& checks : {host_checks(), device_checks(), reach_checks()})
    for (const Check& check : checks) {
      examination.check = check.name;
      if (!check.run(examination)) examination.unknown.emplace_back(check.name);
    }
  std::ranges::stable_sort(examination.findings, std::ranges::greater{}, &Finding::weight);
  return examination;
}

std::string_view weight_name(Weight weight) {
  return weight == Weight::problem ? "problem" : "warning";
}

std::optional<Weight> weight_from_name(std::string_view name) {
  for (const Weight weight : {Weight::problem, Weight::warning})
    if (name == weight_name(weight)) return weight;
  return std::nullopt;
}

std::vector<std::string> netdevs_of(const std::filesystem::path& port) {
  return lines_of_gids(port / "gid_attrs/ndevs");
}

std::vector<std::string> gid_types_of(const std::filesystem::path& port) {
  return lines_of_gids(port / "gid_attrs/types");
}

bool is_ethernet(const std::filesystem::path& port) {
  return read_line(port / "link_layer") == "Ethernet";
}

std::vector<ActivePort> active_ports(const Examination& examination) {
  std::vector<ActivePort> ports;
  for (const ExaminedDevice& device : examination.devices)
    for (const std::filesystem::path& port : device.ports)
      if (read_line(port / "state").value_or("").ends_with("ACTIVE"))  // "4: ACTIVE"
        ports.push_back(
            {fmt::format("{}/{}", device.name, port.filename().string()), device, port});
  return ports;
}

Json findings_json(const std::vector<Finding>& findings) {
  return mapped(findings, [](const Finding& finding) { return write_fields(finding); });
}

Json examination_json(const Examination& examination) {
  ToldExamination told{.findings = examination.findings,
                       .unknown = examination.unknown,
                       .versions = versions_of(examination),
                       .ports = ports_of(examination)};
  for (const auto& [name, value, source] : kThresholds)
    told.thresholds.push_back({std::string(name), value, std::string(source)});
  return write_fields(told, FieldForm::message);
}

Json checked_examination(const Json& received) {
  return write_fields(read_message<ToldExamination>(received), FieldForm::message);
}

namespace {

std::vector<ObjectUse> objects_of(ibv_context& context) {
  const DeviceLimits limits = query_limits(context);
  const std::map<std::string, std::uint64_t> most{{"pd", limits.max_pd},
                                                  {"cq", limits.max_cq},
                                                  {"qp", limits.max_qp},
                                                  {"mr", limits.max_mr},
                                                  {"srq", limits.max_srq}};
  return mapped(device_objects(context), [&](const auto& object) {
    const auto known = most.find(object.first);
    return ObjectUse{object.first, object.second, known == most.end() ? 0 : known->second};
  });
}

DeviceAccess::Device try_device(const std::string& name) {
  DeviceAccess::Device device{.name = name};
  try {
    device.objects = objects_of(*open_device(name));
  } catch (const VerbsError& error) {
    device.failure = std::generic_category().message(error.error_number);
    device.remedy = remedy("ibv_open_device", error.error_number);
  } catch (const std::exception& error) {
    device.failure = error_text(error);
  }
  return device;
}

}  // namespace

DeviceAccess try_devices() {
  return {mapped(list_devices(), try_device), what_hides_devices()};
}

}  // namespace rdmameter
