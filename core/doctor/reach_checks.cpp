// SPDX-License-Identifier: Apache-2.0
// Whether this process gets at the devices, and packets at their ports: rights, containers,
// namespaces, networks, bonds, functions that share a port.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/base/kernel_files.h"
#include "core/doctor/examination.h"
#include "core/doctor/thresholds.h"
#include "core/verbs/gid_pair.h"
#include "core/verbs/link_rate.h"

namespace rdmameter {
namespace {

namespace fs = std::filesystem;

/// The text in sysfs of a GUID that was not set.
constexpr std::string_view kNoGuid = "0000:0000:0000:0000";

bool check_access(Examination& examination) {
  if (!examination.access) return false;
  const DeviceAccess& access = *examination.access;
  // Of a container that was given one of many the others are no problem.
  const auto tell =
      std::ranges::any_of(access.devices,
                          [](const DeviceAccess::Device& device) { return device.failure.empty(); })
          ? &Examination::warn
          : &Examination::fail;
  for (const ExaminedDevice& device : examination.devices) {
    const auto found = std::ranges::find(access.devices, device.name, &DeviceAccess::Device::name);
    if (found == access.devices.end())
      (examination.*tell)(
          fmt::format("the kernel has {}, and libibverbs does not find it", device.name),
          access.hidden.empty() || !access.devices.empty()
              ? "in a container pass --device /dev/infiniband, if it is to be used there; else "
                "install the provider of its adapter (Debian: ibverbs-providers)"
              : access.hidden);
    else if (!found->failure.empty())
      (examination.*tell)(
          fmt::format("this process cannot open {}: {}", device.name, found->failure),
          found->remedy.empty() ? "see `dmesg`" : found->remedy);
  }
  return true;
}

bool check_node_guid(Examination& examination, const ExaminedDevice& device) {
  const auto guid = read_line(device.path / "node_guid");
  // EFA is none of these, and has no GUID (Linux, efa_ib_device_add()).
  if (!guid || read_line(device.path / "node_type") != "1: CA") return false;
  if (*guid == kNoGuid)
    examination.fail(fmt::format("the node GUID of {} is 0: memory is not registered there, and "
                                 "rdma_cm may crash",
                                 device.name),
                     "of a virtual function: on the host `ip link set NETDEV vf N node_guid GUID "
                     "port_guid GUID`, then bind its driver anew");
  return true;
}

/// An Ethernet port that is ACTIVE, and the interfaces of its GIDs, of which there are some.
struct EthernetPort {
  std::string name;
  std::vector<std::string> netdevs;
};

std::vector<EthernetPort> ethernet_ports(const Examination& examination) {
  std::vector<EthernetPort> ports;
  for (const auto& [name, device, path] : active_ports(examination))
    if (is_ethernet(path)) ports.push_back({name, netdevs_of(path)});
  std::erase_if(ports, [](const EthernetPort& port) { return port.netdevs.empty(); });
  return ports;
}

fs::path netdev_folder(const Examination& examination, const std::string& netdev) {
  return examination.trees.sysfs / "class/net" / netdev;
}

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

bool check_namespace(Examination& examination) {
  const auto is_here = [&](const EthernetPort& port) {
    return std::ranges::any_of(port.netdevs, [&](const std::string& netdev) {
      return is_there(netdev_folder(examination, netdev));
    });
  };
  const std::vector<EthernetPort> ports = ethernet_ports(examination);
  // One that was given away is no problem beside others that are here.
  const auto tell = std::ranges::any_of(ports, is_here) ? &Examination::warn : &Examination::fail;
  for (const EthernetPort& port : ports) {
    if (is_here(port)) continue;
    (examination.*tell)(
        fmt::format("no GID of {} has its network interface here ({} is in another "
                    "network namespace): its packets would leave from another one's "
                    "address, and rdma_cm does not find the device",
                    port.name, port.netdevs.front()),
        "run in that namespace (`ip netns exec`, the host's network of a container), "
        "or move the interface here");
  }
  return !ports.empty();
}

/// Interfaces with their IPv4 networks without a gateway, by address and mask, from the kernel's
/// routes. IPv6 needs none: an interface answers for its own addresses alone.
std::vector<std::pair<std::string, std::string>> connected_networks(const fs::path& proc) {
  std::vector<std::pair<std::string, std::string>> found;
  std::ifstream ipv4(proc / "net/route");
  std::string line;
  std::getline(ipv4, line);  // the names of the columns
  while (std::getline(ipv4, line)) {
    std::istringstream words(line);
    std::string netdev, destination, gateway, flags, references, use, metric, mask;
    words >> netdev >> destination >> gateway >> flags >> references >> use >> metric >> mask;
    if (gateway == "00000000" && destination != "00000000")
      found.emplace_back(netdev, destination + mask);
  }
  return found;
}

bool check_subnets(Examination& examination) {
  if (!is_there(examination.trees.proc / "net/route")) return false;
  const auto networks = connected_networks(examination.trees.proc);
  const auto has = [](const EthernetPort& port, const std::string& netdev) {
    return std::ranges::find(port.netdevs, netdev) != port.netdevs.end();
  };
  const auto share = [&](const EthernetPort& one, const EthernetPort& other) {
    for (const auto& [a, of_a] : networks) {
      if (!has(one, a)) continue;  // most: a host may have thousands of routes
      for (const auto& [b, of_b] : networks)
        if (a != b && of_a == of_b && has(other, b)) return true;
    }
    return false;
  };
  const std::vector<EthernetPort> ports = ethernet_ports(examination);
  for (std::size_t i = 0; i < ports.size(); ++i)
    for (std::size_t j = i + 1; j < ports.size(); ++j) {
      if (!share(ports[i], ports[j])) continue;
      examination.warn(
          fmt::format("{} and {} are in one IPv4 subnet: this machine may answer for the "
                      "address of one by the other, and packets take the wrong port",
                      ports[i].name, ports[j].name),
          kOneSubnetRemedy);
      return true;  // one finding; the remedy is for all ports
    }
  return true;
}

bool check_bond(Examination& examination) {
  const std::vector<EthernetPort> ports = ethernet_ports(examination);
  for (const EthernetPort& port : ports)
    for (const std::string& netdev : port.netdevs) {
      if (!is_there(netdev_folder(examination, netdev) / "bonding")) continue;
      examination.warn(fmt::format("{} is the bond {}: one QP uses one of its ports, and has no "
                                   "more than that one's rate",
                                   port.name, netdev),
                       "measure with several QPs (--qps), and with --flow-label spread");
      break;
    }
  return !ports.empty();
}

/// A PCIe function: the address of its bus and slot, and its number there.
struct Function {
  std::string slot;
  std::string number;
};

/// Nothing: no PCIe, or a virtual function or a sub-function, which shares its port by design.
std::optional<Function> function_of(const ExaminedDevice& device) {
  if (is_there(device.path / "device/physfn") || slot_folder(device.path) != device.path / "device")
    return std::nullopt;
  const std::string address = pcie_address(device.path).value_or("");
  const auto dot = address.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  return Function{address.substr(0, dot), address.substr(dot + 1)};
}

/// Two slots of one adapter lead to the same port: Socket Direct, and machines that give an adapter
/// two links of few lanes. Functions in one slot are ports of their own.
bool share_a_port(const ExaminedDevice& a, const ExaminedDevice& b) {
  const auto one = function_of(a), other = function_of(b);
  const auto adapter = read_line(a.path / "sys_image_guid");
  return one && other && one->slot != other->slot && one->number == other->number && adapter &&
         *adapter != kNoGuid && adapter == read_line(b.path / "sys_image_guid");
}

bool check_functions(Examination& examination) {
  bool known = false;
  const auto& devices = examination.devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    known = known || is_there(devices[i].path / "device/uevent");
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      if (!share_a_port(devices[i], devices[j])) continue;
      examination.warn(fmt::format("{} and {} are two PCIe functions behind one port: one of them "
                                   "has the rate of its own slot alone",
                                   devices[i].name, devices[j].name),
                       "to fill the port, measure on both at the same time (one `run` on each)");
    }
  }
  return known;
}

bool check_objects(Examination& examination) {
  if (!examination.access) return false;
  bool known = false;
  for (const DeviceAccess::Device& device : examination.access->devices)
    for (const ObjectUse& object : device.objects) {
      if (object.most == 0) continue;
      known = true;
      if (static_cast<double>(object.used) <
          threshold("objects_share") * static_cast<double>(object.most))
        continue;
      examination.warn(fmt::format("{} has {} of at most {} objects of the type {}: creating "
                                   "more fails",
                                   device.name, object.used, object.most, object.type),
                       "`rdma resource show` counts them, `rdma resource show qp` names the "
                       "processes that hold them: end those that are not needed");
    }
  return known;
}

}  // namespace

std::vector<Check> reach_checks() {
  return {{"access", check_access},       {"node_guid", of_each_device<check_node_guid>},
          {"namespace", check_namespace}, {"subnets", check_subnets},
          {"bond", check_bond},           {"functions", check_functions},
          {"objects", check_objects}};
}

}  // namespace rdmameter
