// SPDX-License-Identifier: Apache-2.0
// What of a device, its slot and its ports spoils a measurement.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "core/base/kernel_files.h"
#include "core/base/parse_value.h"
#include "core/doctor/examination.h"
#include "core/doctor/thresholds.h"
#include "core/verbs/link_rate.h"

namespace rdmameter {
namespace {

namespace fs = std::filesystem;

/// The number at the beginning of "16.0 GT/s PCIe" or "100 Gb/sec (4X EDR)"; 0: there is none.
double leading_number(const fs::path& file) {
  const auto line = read_line(file);
  return line ? std::strtod(line->c_str(), nullptr) : 0.0;
}

bool check_device(Examination& examination) {
  if (examination.devices.empty())
    examination.fail("the kernel has no RDMA device",
                     "load the driver of the adapter (`lspci -k`, `dmesg`); without an adapter: "
                     "rdma link add rxe0 type rxe netdev NETDEV");
  else if (active_ports(examination).empty())
    examination.fail("no port of any RDMA device is ACTIVE",
                     "check cable and netdev (`rdma link`, `ip link`); InfiniBand needs a subnet "
                     "manager (opensm)");
  return true;
}

bool check_pcie(Examination& examination, const ExaminedDevice& device) {
  const fs::path slot = slot_folder(device.path);
  const double width = leading_number(slot / "current_link_width");
  const double speed = leading_number(slot / "current_link_speed");
  const double max_width = leading_number(slot / "max_link_width");
  const double max_speed = leading_number(slot / "max_link_speed");
  if (width <= 0 || speed <= 0) return false;  // no PCIe: rxe
  if (width < max_width || speed < max_speed)
    examination.warn(fmt::format("{} runs at x{:.0f}, {:.1f} GT/s, and can do x{:.0f}, {:.1f} GT/s",
                                 device.name, width, speed, max_width, max_speed),
                     "use a slot with all lanes of that generation, seat the adapter anew, look "
                     "at the slot's settings in the firmware of the machine");
  return true;
}

/// What a slot carries: below 8 GT/s ten bits make a byte, above 130 bits make 16 bytes. [Gb/s]
double slot_gbps(const fs::path& slot) {
  const double speed = leading_number(slot / "current_link_speed");
  constexpr double kThirdGeneration = 8.0;
  const double share = speed < kThirdGeneration ? 8.0 / 10 : 128.0 / 130;
  return speed * share * leading_number(slot / "current_link_width");
}

/// Is the link's speed one of these, as in "40 Gb/sec (4X QDR)"?
bool has_speed(const fs::path& port, std::initializer_list<std::string_view> speeds) {
  const std::string rate = read_line(port / "rate").value_or("");
  return std::ranges::any_of(speeds, [&rate](std::string_view speed) {
    return rate.ends_with(fmt::format(" {})", speed));
  });
}

bool check_slot_rate(Examination& examination, const ActivePort& port) {
  const double slot = slot_gbps(slot_folder(port.device.path));
  double link = leading_number(port.path / "rate");
  // Ten bits make a byte there (IBTA, volume 2).
  if (!is_ethernet(port.path) && has_speed(port.path, {"SDR", "DDR", "QDR"})) link *= 8.0 / 10;
  if (slot <= 0 || link <= 0) return false;
  if (slot < threshold("slot_share_of_link") * link)
    examination.warn(fmt::format("the PCIe slot carries {:.0f} Gb/s, and the link of {} is {:.0f} "
                                 "Gb/s: the slot limits the bandwidth",
                                 slot, port.name, link),
                     "use a wider or newer slot");
  return true;
}

/// The lanes in "100 Gb/sec (4X EDR)".
std::optional<std::uint64_t> lanes_of(const fs::path& port) {
  const std::string rate = read_line(port / "rate").value_or("");
  const auto begin = rate.find('('), end = rate.find('X');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  return parse_count(std::string_view(rate).substr(begin + 1, end - begin - 1));
}

bool check_link(Examination& examination, const ActivePort& port) {
  const auto lanes = lanes_of(port.path);
  if (!lanes || is_ethernet(port.path)) return false;  // Ethernet's width says nothing of its cable
  // HDR100, NDR200, XDR400: from HDR on a port is split into two links of two lanes.
  const bool split = *lanes == 2 && has_speed(port.path, {"HDR", "NDR", "XDR"});
  if (!split && static_cast<double>(*lanes) < threshold("infiniband_lanes"))
    examination.warn(
        fmt::format("the link of {} has {} of {:.0f} lanes ({})", port.name, *lanes,
                    threshold("infiniband_lanes"), read_line(port.path / "rate").value_or("")),
        "clean, seat or replace the cable; `ibportstate` and the counter "
        "link_downed show a link that was trained anew");
  return true;
}

bool check_mtu(Examination& examination, const ActivePort& port) {
  if (!is_ethernet(port.path)) return false;
  bool known = false;
  for (const std::string& netdev : netdevs_of(port.path)) {
    const auto mtu = read_number(examination.trees.sysfs / "class/net" / netdev / "mtu");
    if (!mtu) continue;
    known = true;
    if (static_cast<double>(*mtu) >= threshold("netdev_mtu_bytes")) continue;
    examination.warn(fmt::format("netdev {} of {} has an MTU of {}: packets carry less than "
                                 "4096 B of payload",
                                 netdev, port.name, *mtu),
                     fmt::format("ip link set {} mtu {:.0f}, at both ends and at each switch",
                                 netdev, threshold("netdev_mtu_bytes")));
  }
  return known;
}

bool check_gid_type(Examination& examination, const ActivePort& port) {
  // iWARP's one GID is of that type as well, and TCP carries its packets anywhere.
  const bool iwarp = read_line(port.device.path / "node_type") == "4: RNIC";
  if (iwarp || !is_ethernet(port.path)) return false;
  const std::vector<std::string> types = gid_types_of(port.path);
  const bool first = std::ranges::count(types, "IB/RoCE v1") > 0;
  const bool second = std::ranges::count(types, "RoCE v2") > 0;
  if (first && !second)
    examination.warn(fmt::format("{} has GIDs of RoCE v1 alone: no router passes them, and a "
                                 "peer with RoCE v2 is not reached",
                                 port.name),
                     "give the netdev an IP address, and the driver RoCE v2 (cma_roce_mode)");
  return first || second;
}

bool check_iommu(Examination& examination, const ExaminedDevice& device) {
  const auto type = read_line(slot_folder(device.path) / "iommu_group/type");
  if (!type) return false;
  if (type->starts_with("DMA"))  // "identity": not translated
    examination.warn(
        fmt::format("the IOMMU translates each access of {} to memory ({}): a miss "
                    "in its cache costs time",
                    device.name, *type),
        "boot with iommu.passthrough=1 (iommu=pt on x86), where other devices need no isolation");
  return true;
}

bool check_irq_affinity(Examination& examination, const ExaminedDevice& device) {
  const auto local = cpus_in(slot_folder(device.path) / "local_cpulist");
  unsigned interrupts = 0, remote = 0;
  for (const fs::path& irq : entries_of(device.path / "device/msi_irqs")) {
    const fs::path folder = examination.trees.proc / "irq" / irq.filename();
    const auto cpus = cpus_in(folder / "smp_affinity_list");
    const auto is_local = [&](unsigned cpu) { return std::ranges::binary_search(local, cpu); };
    interrupts += cpus.empty() ? 0 : 1;
    remote += cpus.empty() || std::ranges::any_of(cpus, is_local) ? 0 : 1;
  }
  if (interrupts == 0 || local.empty()) return false;
  if (remote > 0)
    examination.warn(fmt::format("{} of {} interrupts of {} go to CPUs of another NUMA node alone",
                                 remote, interrupts, device.name),
                     "write CPUs of the device's local_cpulist to /proc/irq/N/smp_affinity_list, "
                     "and see that irqbalance leaves them there");
  return true;
}

/// How far the nearest of the CPUs is from a node: row `node` of the SLIT, which has a number for
/// each node that is online. 0: not known.
double nearest(const fs::path& nodes, std::int64_t node, const std::vector<unsigned>& cpus) {
  std::ifstream row(nodes / fmt::format("node{}", node) / "distance");
  double least = 0, distance = 0;
  for (const unsigned other : cpus_in(nodes / "online")) {
    if (!(row >> distance)) return least;
    const auto members = cpus_in(nodes / fmt::format("node{}", other) / "cpulist");
    const auto is_member = [&](unsigned cpu) { return std::ranges::binary_search(members, cpu); };
    if ((least == 0 || distance < least) && std::ranges::any_of(cpus, is_member)) least = distance;
  }
  return least;
}

bool check_numa(Examination& examination, const ExaminedDevice& device) {
  const fs::path slot = slot_folder(device.path);
  const auto node = read_number(slot / "numa_node");
  const std::string local = read_line(slot / "local_cpulist").value_or("");
  if (!node || *node < 0) return false;  // -1: the firmware does not tell
  const double distance =
      nearest(examination.trees.sysfs / "devices/system/node", *node, usable_cpus(examination));
  if (distance > threshold("numa_distance"))
    examination.warn(
        fmt::format("{} is at NUMA node {}, and the nearest CPU that this process may "
                    "run on is at distance {:.0f} of it ({:.0f} is local)",
                    device.name, *node, distance, threshold("numa_distance")),
        fmt::format("give the process CPUs of that node: taskset -c {} rdmameter ..., or "
                    "the container's or job's cpuset",
                    local.empty() ? "CPUS-OF-THAT-NODE" : local));
  return true;
}

/// Traffic of a GPU that leaves its host bridge goes through a CPU, at a fraction of the rate.
bool check_gpu_path(Examination& examination) {
  constexpr std::array<std::string_view, 4> kNearestFirst{"switch", "root", "node", "socket"};
  constexpr std::ptrdiff_t kNear = 2;
  const std::vector<fs::path> all = entries_of(examination.trees.sysfs / "bus/pci/devices");
  bool known = !all.empty();
  for (const fs::path& gpu : all) {
    if (!is_pci_gpu(gpu, kNvidia) && !is_pci_gpu(gpu, kAmd)) continue;
    auto best = kNearestFirst.end();
    std::string nearest_device;
    for (const ExaminedDevice& device : examination.devices) {
      const auto path = std::ranges::find(
          kNearestFirst, pcie_path(gpu.filename().string(), device.name, examination.trees.sysfs));
      if (path >= best) continue;
      best = path;
      nearest_device = device.name;
    }
    known = known && best != kNearestFirst.end();
    if (best == kNearestFirst.end() || best - kNearestFirst.begin() < kNear) continue;
    examination.warn(
        fmt::format("GPU {} and the nearest adapter, {}, are {}: what goes from one to the other "
                    "passes a CPU, which limits the bandwidth of GPU memory",
                    gpu.filename().string(), nearest_device,
                    *best == "node" ? "below different host bridges" : "on different sockets"),
        "put an adapter below the GPU's PCIe switch or host bridge; `lspci -t` and `nvidia-smi "
        "topo -m` show what is where");
  }
  return known;
}

}  // namespace

std::vector<Check> device_checks() {
  return {{"device", check_device},
          {"pcie", of_each_device<check_pcie>},
          {"slot_rate", of_each_port<check_slot_rate>},
          {"link", of_each_port<check_link>},
          {"mtu", of_each_port<check_mtu>},
          {"gid_type", of_each_port<check_gid_type>},
          {"iommu", of_each_device<check_iommu>},
          {"irq_affinity", of_each_device<check_irq_affinity>},
          {"numa", of_each_device<check_numa>},
          {"gpu_path", check_gpu_path}};
}

}  // namespace rdmameter
