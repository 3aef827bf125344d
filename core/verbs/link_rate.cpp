// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/link_rate.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "core/base/kernel_files.h"
#include "core/verbs/environment.h"

namespace rdmameter {
namespace {

/// Per lane, SDR to XDR, by the kernel's enum ib_port_speed [Gb/s].
constexpr std::array kLaneGbps = std::to_array<std::pair<std::uint32_t, double>>(
    {{1, 2.5}, {2, 5}, {4, 10}, {8, 10}, {16, 14}, {32, 25}, {64, 50}, {128, 100}, {256, 200}});
constexpr std::uint32_t kSdr = 1, kEdr = 32;

/// 0: not told. No Ethernet is as slow as SDR: there it stands for a rate that the driver does not
/// know (hns before Linux 6.6) or that has no name (ib_get_eth_speed()).
double rate_of(const LinkRateFacts& facts, std::uint32_t speed) {
  const auto lanes = lanes_of_width(facts.active_width);
  const auto* const lane =
      std::ranges::find(kLaneGbps, speed, &std::pair<std::uint32_t, double>::first);
  if (!lanes || lane == kLaneGbps.end() || (facts.ethernet && speed == kSdr)) return 0;
  return *lanes * lane->second;
}

/// 0: not told. The kernel writes SDR, too, where it has no name for a speed (rate_show()).
double sysfs_gbps(const LinkRateFacts& facts) {
  const std::string& rate = facts.sysfs_rate;
  char* end = nullptr;
  const double gbps = std::strtod(rate.c_str(), &end);
  if (gbps <= 0 || !std::string_view(end).starts_with(" Gb/sec (")) return 0;
  const bool sdr = rate.ends_with(" SDR)");
  return sdr && (facts.ethernet || facts.active_speed != kSdr) ? 0 : gbps;
}

/// Since rdma-core 62 (hence by name); 0: it is older, or the provider or the kernel does not tell.
std::uint64_t port_speed(ibv_context& context, std::uint8_t port_num) {
  using Query = int(ibv_context*, std::uint32_t, std::uint64_t*);
  static auto* const query = reinterpret_cast<Query*>(dlsym(RTLD_DEFAULT, "ibv_query_port_speed"));
  std::uint64_t speed = 0;
  return query != nullptr && query(&context, port_num, &speed) == 0 ? speed : 0;
}

/// A template, so that the member is looked for only where the headers have it.
template <class PortAttributes>
std::uint32_t speed_ex(const PortAttributes& attributes) {
  if constexpr (requires { attributes.active_speed_ex; }) return attributes.active_speed_ex;
  return 0;
}

/// 4X EDR of any link: mana (Linux, mana_ib_query_port()); EFA in older kernels, which newer ones
/// tell only of links that are so (efa_link_gbps_to_speed_and_width()).
bool may_be_a_constant(const LinkRateFacts& facts) {
  constexpr std::uint8_t k4x = 2;
  return facts.driver == "mana" ||
         (facts.vendor_id == kAmazon && facts.active_width == k4x && facts.active_speed == kEdr);
}

}  // namespace

LinkRateFacts link_rate_facts(ibv_context& context, const PortInfo& port, std::uint32_t vendor_id,
                              const std::filesystem::path& sysfs) {
  LinkRateFacts facts;
  facts.port_speed_100_mbps = port_speed(context, port.number);
  facts.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  facts.vendor_id = vendor_id;
  facts.driver = device_driver(port.device, sysfs).value_or("");
  ibv_port_attr attributes{};
  if (ibv_query_port(&context, port.number, &attributes) == 0) {
    facts.active_width = attributes.active_width;
    facts.active_speed = attributes.active_speed;
    facts.active_speed_ex = speed_ex(attributes);
  }
  const std::filesystem::path files =
      sysfs / fmt::format("class/infiniband/{}/ports/{}", port.device, port.number);
  facts.sysfs_rate = read_line(files / "rate").value_or("");
  if (const auto netdev = read_line(files / "gid_attrs/ndevs/0"))
    facts.netdev_mbps = read_number(sysfs / "class/net" / *netdev / "speed").value_or(-1);
  return facts;
}

std::optional<double> link_rate_gbps(const LinkRateFacts& facts) {
  constexpr double kPerGbps = 10, kMbpsPerGbps = 1000;
  if (facts.port_speed_100_mbps > 0)
    return static_cast<double>(facts.port_speed_100_mbps) / kPerGbps;
  if (may_be_a_constant(facts)) return std::nullopt;
  for (const double gbps :
       {rate_of(facts, facts.active_speed_ex), sysfs_gbps(facts),
        static_cast<double>(facts.netdev_mbps) / kMbpsPerGbps, rate_of(facts, facts.active_speed)})
    if (gbps > 0) return gbps;
  return std::nullopt;
}

namespace {

/// From the host bridge on: "pci0000:16/0000:16:01.0/0000:17:00.0"; nothing: it is no PCI device.
std::optional<std::filesystem::path> place_of(const std::filesystem::path& link) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::canonical(link, failed);
  std::filesystem::path place;
  for (const auto& part : whole)
    if (!place.empty() || (part.native().starts_with("pci") && part.native().size() > 3))
      place /= part;
  if (failed || place.empty()) return std::nullopt;
  return place;
}

}  // namespace

std::optional<std::string> pcie_address(const std::filesystem::path& device) {
  return word_behind(slot_folder(device) / "uevent", "PCI_SLOT_NAME=");
}

bool is_pci_gpu(const std::filesystem::path& pci, std::string_view maker) {
  const std::string kind = read_line(pci / "class").value_or("");
  return read_line(pci / "vendor") == maker &&
         (kind.starts_with("0x0300") || kind.starts_with("0x0302") || kind.starts_with("0x1200"));
}

std::string_view pcie_path(std::string_view gpu, std::string_view device,
                           const std::filesystem::path& sysfs) {
  const std::filesystem::path of_gpu = sysfs / "bus/pci/devices" / gpu,
                              of_device = slot_folder(sysfs / "class/infiniband" / device);
  const auto one = place_of(of_gpu), other = place_of(of_device);
  if (!one || !other) return "unknown";
  const auto fork = std::ranges::mismatch(*one, *other);
  const auto shared = std::distance(one->begin(), fork.in1);
  if (shared > 1) return "switch";
  if (shared == 1) return "root";
  const auto node = read_line(of_gpu / "numa_node");
  const auto near = read_line(of_device / "numa_node");
  if (!node || !near || *node == "-1" || *near == "-1") return "unknown";
  return *node == *near ? "node" : "socket";
}

}  // namespace rdmameter
