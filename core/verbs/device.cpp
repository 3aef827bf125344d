// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/verbs/check.h"
#include "core/verbs/gid_pair.h"
#include "core/verbs/rdma_netlink.h"

namespace rdmameter {
namespace {

/// The list owns the devices until they are opened; libibverbs keeps an open one alive by itself.
struct Devices {
  DeviceList list;
  int count = 0;
  std::span<ibv_device* const> all() const {
    return {list.get(), list == nullptr ? 0 : static_cast<std::size_t>(count)};
  }
};

/// A host without any RDMA module makes ibv_get_device_list fail (ENOSYS): for us that is
/// an empty list.
Devices get_devices() {
  Devices devices;
  devices.list.reset(ibv_get_device_list(&devices.count));
  return devices;
}

std::vector<std::string> names(const Devices& devices) {
  std::vector<std::string> result;
  for (ibv_device* device : devices.all()) result.emplace_back(ibv_get_device_name(device));
  return result;
}

/// Names in a folder that begin so, sorted; none where it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder, std::string_view begin) {
  std::vector<std::string> found;
  for (const std::filesystem::path& each : entries_of(folder))
    if (std::string name = each.filename(); name.starts_with(begin))
      found.push_back(std::move(name));
  return found;
}

[[noreturn]] void throw_no_device() {
  if (const std::string hidden = what_hides_devices(); !hidden.empty())
    throw UnusableDevice(hidden);
  throw NoDevice(
      "There is no verbs device on this machine. Make one out of a network interface: `modprobe "
      "rdma_rxe && rdma link add rxe0 type rxe netdev eth0` (as root; `ip link` lists the "
      "interfaces). Or run the command where there is one: `tools/rxe-vm run -- COMMAND`. Or see "
      "what the program itself costs, without any device: `--device null`.");
}

/// libibverbs (44) says ENOENT also when the file is there and may not be opened: it goes on to
/// look for another of the same device and forgets the first errno. So ask again.
int open_errno(const ibv_device& device, int reported) {
  const std::string file = fmt::format("/dev/infiniband/{}", device.dev_name);
  return access(file.c_str(), R_OK | W_OK) == 0 ? reported : errno;
}

Context open_one(ibv_device* device) {
  Context context(ibv_open_device(device));
  if (context == nullptr)
    throw_failure("ibv_open_device", ibv_get_device_name(device), open_errno(*device, errno));
  return context;
}

Context open_named(const Devices& devices, std::string_view name) {
  for (ibv_device* device : devices.all())
    if (name == ibv_get_device_name(device)) return open_one(device);
  throw UnusableDevice("There is no verbs device {} on this machine; there is {}.", name,
                       fmt::join(names(devices), ", "));
}

std::uint8_t port_count(ibv_context& context) {
  ibv_device_attr attributes{};
  check_errno_value(ibv_query_device(&context, &attributes), "ibv_query_device",
                    device_name(context));
  return attributes.phys_port_cnt;
}

/// "1 ACTIVE, 2 DOWN"
std::string port_states(ibv_context& context) {
  std::vector<std::string> states;
  for (unsigned port = 1; port <= port_count(context); ++port)
    states.push_back(fmt::format("{} {}", port, port_state_name(query_port(context, port).state)));
  return fmt::format("{}", fmt::join(states, ", "));
}

bool has_active_port(ibv_context& context) {
  for (unsigned port = 1; port <= port_count(context); ++port)
    if (query_port(context, port).active()) return true;
  return false;
}

Context open_first_active(const Devices& devices) {
  std::vector<std::string> seen;
  std::exception_ptr failure;
  for (ibv_device* device : devices.all()) try {
      Context context = open_one(device);
      if (has_active_port(*context)) return context;
      seen.push_back(fmt::format("{}: port {}", device_name(*context), port_states(*context)));
    } catch (const VerbsError&) {  // one that may not be opened need not hinder the next
      if (failure == nullptr) failure = std::current_exception();
    }
  if (seen.empty() && failure != nullptr) std::rethrow_exception(failure);
  throw UnusableDevice(
      "No verbs device here has an ACTIVE port ({}). Set its link (rxe: its network interface) up; "
      "on InfiniBand see that a subnet manager runs.",
      fmt::join(seen, "; "));
}

/// IBTA, PortInfo:LinkWidthActive.
constexpr std::pair<std::uint8_t, std::uint32_t> kLanes[] = {
    {1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};

/// iWARP drivers that send with the TOS of rdma_cm's id: irdma (Intel) and cxgb4 (Chelsio), both in
/// their cm.c (Linux). siw does not look at it.
constexpr std::array<std::uint32_t, 2> kTakesTos{0x8086, 0x1425};

Gid to_gid(const ibv_gid_entry& entry) {
  Gid gid{.index = entry.gid_index, .value = entry.gid, .type = GidType::ib};
  if (entry.gid_type == IBV_GID_TYPE_ROCE_V1) gid.type = GidType::roce_v1;
  if (entry.gid_type == IBV_GID_TYPE_ROCE_V2) gid.type = GidType::roce_v2;
  std::array<char, IF_NAMESIZE> name{};
  if (entry.ndev_ifindex != 0 && if_indextoname(entry.ndev_ifindex, name.data()) != nullptr)
    gid.netdev = name.data();
  return gid;
}

std::string interface_in_sysfs(const ibv_context& context) {
  const auto found = entries_of(
      fmt::format("/sys/class/infiniband/{}/device/net", ibv_get_device_name(context.device)));
  // Of several it is not known which.
  return found.size() == 1 ? found.front().filename().string() : std::string();
}

std::string interface_of(ibv_context& context, std::uint8_t port_num) {
  ibv_gid_entry first{};
  std::string name;
  if (ibv_query_gid_ex(&context, port_num, 0, &first, 0) == 0) name = to_gid(first).netdev;
  if (name.empty()) name = netdev_of_link(context, port_num);
  return name.empty() ? interface_in_sysfs(context) : name;
}

std::vector<Gid> addresses_of(const std::string& interface) {
  std::vector<Gid> addresses;
  const auto list = interface_addresses();
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    Gid gid{.type = GidType::iwarp, .netdev = interface};
    if (interface == each->ifa_name && gid_of_address(each->ifa_addr, gid.value))
      addresses.push_back(gid);
  }
  return addresses;
}

/// The addresses of a port's network interface, as GIDs whose index counts them: IPv4 before IPv6,
/// link-local ones last. The interface is the one that the port's GID names (Linux 6.5), else that
/// of `rdma link`, else the only one of the device in sysfs.
std::vector<Gid> iwarp_addresses(ibv_context& context, std::uint8_t port_num) {
  std::vector<Gid> addresses = addresses_of(interface_of(context, port_num));
  std::ranges::stable_sort(addresses, {}, gid_order);  // before find_subnets(): by address alone
  for (std::uint32_t index = 0; Gid & gid : addresses) gid.index = index++;
  find_subnets(addresses);
  return addresses;
}

/// irdma tells a mask for adapters whose provider has no such times (Linux, irdma_query_device();
/// rdma-core, providers/irdma has no query_rt_values), and without the raw clock they cannot be
/// compared with the times of the loop. mlx4 and mlx5 alone have it, of 48 and 63 bits: neither
/// begins again during a case.
std::uint64_t timestamp_mask_of(ibv_context& context, const ibv_device_attr_ex& attributes) {
  if (attributes.completion_timestamp_mask == 0) return 0;
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return ibv_query_rt_values_ex(&context, &values) == 0 ? attributes.completion_timestamp_mask : 0;
}

}  // namespace

std::vector<std::string> list_devices() {
  return names(get_devices());
}

std::string what_hides_devices(const std::filesystem::path& sysfs,
                               const std::filesystem::path& dev) {
  const auto there = names_in(sysfs / "class/infiniband", "");
  const bool has_node = !names_in(dev / "infiniband", "uverbs").empty();
  if (there.empty() && !has_node) return {};
  if (there.empty())
    return "/dev/infiniband has nodes of verbs devices, but the kernel shows none here: they are "
           "in another network namespace, where `rdma system` says exclusive (move one here: `rdma "
           "dev set DEVICE netns NAME`), or their driver is gone.";
  return fmt::format(
      "The kernel has {} (/sys/class/infiniband), but libibverbs finds no device. {}",
      fmt::join(there, ", "),
      has_node ? "The nodes /dev/infiniband/uverbs* are here, so a provider is missing (Debian's "
                 "package ibverbs-providers)."
               : "There is no node /dev/infiniband/uverbs* (in a container: --device "
                 "/dev/infiniband; on a host: modprobe ib_uverbs).");
}

Context open_device(std::string_view name) {
  const Devices devices = get_devices();
  if (devices.all().empty()) throw_no_device();
  return name.empty() ? open_first_active(devices) : open_named(devices, name);
}

std::string device_name(const ibv_context& context) {
  return ibv_get_device_name(context.device);
}

std::string PortInfo::where() const {
  return fmt::format("{}/{}", device, number);
}

std::string_view port_state_name(ibv_port_state state) {
  constexpr std::array<std::string_view, IBV_PORT_ACTIVE_DEFER + 1> kNames{
      "NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  const auto number = static_cast<std::size_t>(state);
  return number < kNames.size() ? kNames[number] : "unknown";
}

std::string_view link_layer_name(int link_layer) {
  if (link_layer == IBV_LINK_LAYER_INFINIBAND) return "InfiniBand";
  if (link_layer == IBV_LINK_LAYER_ETHERNET) return "Ethernet";
  return "unspecified";
}

std::optional<std::uint32_t> lanes_of_width(std::uint8_t active_width) {
  const auto* const found =
      std::ranges::find(kLanes, active_width, &std::pair<std::uint8_t, std::uint32_t>::first);
  return found == std::end(kLanes) ? std::nullopt : std::optional(found->second);
}

std::uint32_t mtu_bytes(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << static_cast<unsigned>(mtu) : 0;
}

std::optional<ibv_mtu> mtu_from_bytes(std::uint64_t size_bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096})
    if (size_bytes == mtu_bytes(mtu)) return mtu;
  return std::nullopt;
}

PortInfo query_port(ibv_context& context, std::uint64_t port_num) {
  const std::string name = device_name(context);
  const std::uint8_t count = port_count(context);
  if (port_num < 1 || port_num > count)
    throw UsageError("--port-num {}: {} has the ports 1 to {}", port_num, name, count);
  ibv_port_attr attributes{};
  const auto number = static_cast<std::uint8_t>(port_num);
  check_errno_value(ibv_query_port(&context, number, &attributes), "ibv_query_port",
                    fmt::format("{}/{}", name, number));
  return {.device = name,
          .number = number,
          .state = attributes.state,
          .link_layer = attributes.link_layer,
          .active_mtu_bytes = mtu_bytes(attributes.active_mtu),
          .max_mtu_bytes = mtu_bytes(attributes.max_mtu),
          .max_message_bytes = attributes.max_msg_sz,
          .lid = attributes.lid,
          .sm_lid = attributes.sm_lid,
          .gid_table_length = static_cast<std::uint32_t>(std::max(attributes.gid_tbl_len, 0)),
          .pkey_table_length = attributes.pkey_tbl_len,
          .lanes = lanes_of_width(attributes.active_width),
          .needs_grh = attributes.link_layer != IBV_LINK_LAYER_INFINIBAND ||
                       (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0};
}

PortInfo query_active_port(ibv_context& context, std::uint64_t port_num) {
  const bool any = port_num == kAuto;
  const std::uint64_t last = any ? port_count(context) : port_num;
  for (std::uint64_t number = any ? 1 : port_num; number <= last; ++number)
    if (PortInfo port = query_port(context, number); port.active()) return port;
  throw UnusableDevice("--port-num {}: not an ACTIVE port of {} (ports: {})",
                       any ? "auto" : std::to_string(port_num), device_name(context),
                       port_states(context));
}

std::vector<Gid> query_gids(ibv_context& context, std::uint8_t port_num) {
  if (is_iwarp(context)) return iwarp_addresses(context, port_num);
  // The table is the whole device's; a RoCE port has up to 256 GIDs and more.
  std::size_t room = 0;
  for (unsigned port = 1; port <= port_count(context); ++port)
    room += query_port(context, port).gid_table_length;
  std::vector<ibv_gid_entry> table(std::max<std::size_t>(room, 1));
  const ssize_t found = ibv_query_gid_table(&context, table.data(), table.size(), 0);
  if (found < 0)
    throw_failure("ibv_query_gid_table", device_name(context), static_cast<int>(-found));
  std::vector<Gid> gids;
  for (const ibv_gid_entry& entry : std::span(table).first(static_cast<std::size_t>(found)))
    if (entry.port_num == port_num) gids.push_back(to_gid(entry));
  std::ranges::sort(gids, {}, &Gid::index);
  find_subnets(gids);
  return gids;
}

DeviceLimits query_limits(ibv_context& context) {
  ibv_device_attr_ex extended{};
  check_errno_value(ibv_query_device_ex(&context, nullptr, &extended), "ibv_query_device_ex",
                    device_name(context));
  const ibv_device_attr& plain = extended.orig_attr;
  const auto number = [](int value) { return static_cast<std::uint32_t>(std::max(value, 0)); };
  return {.firmware = plain.fw_ver,
          .vendor_id = plain.vendor_id,
          .vendor_part_id = plain.vendor_part_id,
          .hardware_version = plain.hw_ver,
          .max_mr_size_bytes = plain.max_mr_size,
          .max_dm_size_bytes = extended.max_dm_size,
          .max_qp = number(plain.max_qp),
          .max_qp_wr = number(plain.max_qp_wr),
          .max_sge = number(plain.max_sge),
          .max_sge_rd = number(plain.max_sge_rd),
          .max_cq = number(plain.max_cq),
          .max_cqe = number(plain.max_cqe),
          .max_mr = number(plain.max_mr),
          .max_mw = number(plain.max_mw),
          .max_pd = number(plain.max_pd),
          .max_ah = number(plain.max_ah),
          .max_srq = number(plain.max_srq),
          .max_srq_wr = number(plain.max_srq_wr),
          .max_srq_sge = number(plain.max_srq_sge),
          .max_qp_rd_atom = number(plain.max_qp_rd_atom),
          .max_qp_init_rd_atom = number(plain.max_qp_init_rd_atom),
          .max_mcast_grp = number(plain.max_mcast_grp),
          .max_mcast_qp_attach = number(plain.max_mcast_qp_attach),
          .max_pkeys = plain.max_pkeys,
          .completion_vectors = number(context.num_comp_vectors),
          .phys_port_cnt = plain.phys_port_cnt,
          .timestamp_mask = timestamp_mask_of(context, extended),
          // EFA's provider refuses requests that are not signaled (rdma-core,
          // efa_post_send_validate()), and no attribute says so.
          .unsignaled = plain.vendor_id != kAmazon,
          .takes_tos = std::ranges::find(kTakesTos, plain.vendor_id) != kTakesTos.end(),
          .attributes = extended};
}

std::optional<int> device_numa_node(std::string_view device, const std::filesystem::path& sysfs) {
  const auto node = read_number(slot_folder(sysfs / "class/infiniband" / device) / "numa_node");
  if (!node || *node < 0) return std::nullopt;  // the kernel writes -1 for "none"
  return static_cast<int>(*node);
}

bool is_iwarp(const ibv_context& context) {
  return context.device->transport_type == IBV_TRANSPORT_IWARP;
}

}  // namespace rdmameter
