// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <set>
#include <system_error>

#include "core/base/kernel_files.h"
#include "core/verbs/link_rate.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rdmameter {
namespace {

/// Value of the first line "KEY<blanks>: value" of /proc/cpuinfo.
std::optional<std::string> cpuinfo_value(const std::filesystem::path& proc, std::string_view key) {
  std::ifstream stream(proc / "cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    if (line.find_first_not_of(" \t", key.size()) == colon) return line.substr(colon + 2);
  }
  return std::nullopt;
}

/// x86 CPUs show a guest the flag "hypervisor"; elsewhere it is not known.
std::optional<bool> is_virtualized(const std::filesystem::path& proc) {
  const std::optional<std::string> flags = cpuinfo_value(proc, "flags");
  if (!flags) return std::nullopt;
  return fmt::format(" {} ", *flags).find(" hypervisor ") != std::string::npos;
}

/// The hypervisor's signature ("KVMKVMKVM", "TCGTCGTCGTCG"), which tells
/// emulation from virtualisation.
std::optional<std::string> hypervisor_signature() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kHypervisorPresent = 1U << 31;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kHypervisorPresent) == 0)
    return std::nullopt;
  __cpuid(0x40000000, eax, ebx, ecx, edx);  // __get_cpuid refuses leaves of this range
  std::array<char, 13> signature{};
  std::memcpy(signature.data(), &ebx, 4);
  std::memcpy(signature.data() + 4, &ecx, 4);
  std::memcpy(signature.data() + 8, &edx, 4);
  if (signature[0] != '\0') return std::string(signature.data());
#endif
  return std::nullopt;
}

std::optional<std::size_t> numa_nodes(const std::filesystem::path& sysfs) {
  const auto nodes = std::ranges::count_if(
      entries_of(sysfs / "devices/system/node"), [](const std::filesystem::path& entry) {
        return entry.filename().string().starts_with("node");  // not "possible", "online"
      });
  return nodes == 0 ? std::nullopt : std::optional(static_cast<std::size_t>(nodes));
}

Json memlock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return nullptr;
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return limit.rlim_cur;
}

/// How many CPUs this thread may run on; 1: it is pinned.
std::optional<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;  // more CPUs than 1024
  return CPU_COUNT(&set);
}

/// "1.14.44.0" of /usr/lib/.../libibverbs.so.1.14.44.0, which is of rdma-core 44; providers are of
/// the same sources.
std::optional<std::string> ibverbs_version(const std::filesystem::path& proc) {
  constexpr std::string_view kName = "/libibverbs.so.";
  std::ifstream stream(proc / "self/maps");
  for (std::string line; std::getline(stream, line);)
    if (const auto at = line.rfind(kName); at != std::string::npos)
      return line.substr(at + kName.size());
  return std::nullopt;
}

/// The user-space drivers that libibverbs has loaded, as files: "libmlx5.so.1.24.44.0" (those that
/// are linked to as well have a version in their name), "librxe-rdmav34.so"; sorted.
std::optional<std::string> loaded_providers(const std::filesystem::path& proc) {
  constexpr std::array<std::string_view, 5> kLinked{"libmlx5.so.", "libmlx4.so.", "libefa.so.",
                                                    "libmana.so.", "libhns.so."};
  std::set<std::string> names;
  std::ifstream stream(proc / "self/maps");
  for (std::string line; std::getline(stream, line);) {
    const std::string name = line.substr(line.rfind('/') + 1);
    const auto begins = [&name](std::string_view linked) { return name.starts_with(linked); };
    if (name.find("-rdmav") != std::string::npos || std::ranges::any_of(kLinked, begins))
      names.insert(name);
  }
  if (names.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What this program was built for: numbers of a debug build are no base for those of a release.
constexpr const char* build_type() {
#if defined(__has_feature)  // clang's way of telling
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RDMAMETER_SANITIZED
#endif
#endif
#if defined(RDMAMETER_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "sanitized";
#elif defined(__OPTIMIZE__)
  return "optimised";
#else
  return "not optimised";
#endif
}

Json kernel_name() {
  utsname name{};
  if (uname(&name) != 0) return nullptr;
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

Json device_json(const DeviceInUse& used, const std::filesystem::path& sysfs) {
  const auto& [context, port, gid] = used;
  const DeviceLimits limits = query_limits(context);
  Json device = {{"name", port.device},
                 {"port_num", port.number},
                 {"firmware", limits.firmware.empty() ? Json(nullptr) : Json(limits.firmware)},
                 {"vendor_id", limits.vendor_id},
                 {"vendor_part_id", limits.vendor_part_id},
                 {"max_qp", limits.max_qp}};
  device.update(device_slot_json(port.device, sysfs));
  device.update(Json{{"link_layer", link_layer_name(port.link_layer)},
                     {"port_state", port_state_name(port.state)},
                     {"rate_gbps", or_null(link_rate_gbps(
                                       link_rate_facts(context, port, limits.vendor_id, sysfs)))},
                     {"lanes", or_null(port.lanes)},
                     {"active_mtu_bytes", port.active_mtu_bytes},
                     {"gid_index", gid.index},
                     {"gid", gid_text(gid.value)},
                     {"gid_type", gid_type_name(gid.type)},
                     {"netdev", gid.netdev.empty() ? Json(nullptr) : Json(gid.netdev)}});
  return device;
}

}  // namespace

/// rxe belongs to no bus, so that sysfs names no driver; its node_desc is "rxe"
/// (rxe_register_device() in Linux) unless an administrator has changed that.
std::optional<std::string> device_driver(std::string_view name,
                                         const std::filesystem::path& sysfs) {
  const std::filesystem::path device = sysfs / "class/infiniband" / name;
  std::error_code error;
  // By readlink(), here and below: the software device of the tests answers that.
  std::array<char, PATH_MAX> link{};
  if (readlink((device / "device/driver").c_str(), link.data(), link.size() - 1) > 0)
    return std::filesystem::path(link.data()).stem();  // "mlx5_core.sf" of a sub-function
  if (std::filesystem::exists(device / "device", error)) return std::nullopt;  // it is on a bus
  const auto described = read_line(device / "node_desc");
  if (described == "rxe") return "rdma_rxe";
  if (described == "Software iWARP stack") return "siw";  // drivers/infiniband/sw/siw/siw.h
  return std::nullopt;
}

std::optional<RdmaCoreVersion> rdma_core_version(const std::filesystem::path& proc) {
  const std::string loaded = ibverbs_version(proc).value_or("");
  const std::size_t at = loaded.find('.', loaded.find('.') + 1) + 1;  // 0: there are no two dots
  const char* const last = loaded.data() + loaded.size();
  RdmaCoreVersion version;
  const auto [end, error] = std::from_chars(loaded.data() + at, last, version.release);
  if (at == 0 || error != std::errc{}) return std::nullopt;
  if (end != last && *end == '.') std::from_chars(end + 1, last, version.point);
  return version;
}

Json host_json(const KernelTrees& trees) {
  unsigned cpu = 0, node = 0;
  const bool placed = getcpu(&cpu, &node) == 0;
  const auto governor =
      trees.sysfs / fmt::format("devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu);
  return {{"version", RDMAMETER_VERSION},
          {"build", build_type()},
          {"hostname", or_null(own_host_name())},
          {"boot_id", or_null(read_line(trees.proc / "sys/kernel/random/boot_id"))},
          {"kernel", kernel_name()},
          {"libibverbs", or_null(ibverbs_version(trees.proc))},
          {"providers", or_null(loaded_providers(trees.proc))},
          {"cpu_model", or_null(cpuinfo_value(trees.proc, "model name"))},
          {"cpu_count", sysconf(_SC_NPROCESSORS_ONLN)},
          {"cpu_governor", placed ? or_null(read_line(governor)) : Json(nullptr)},
          {"allowed_cpus", or_null(allowed_cpus())},
          {"numa_nodes", or_null(numa_nodes(trees.sysfs))},
          {"thread_numa_node", placed ? Json(node) : Json(nullptr)},
          {"memlock_limit_bytes", memlock_limit()},
          {"virtualized", or_null(is_virtualized(trees.proc))},
          {"hypervisor", or_null(hypervisor_signature())}};
}

Json clock_json(const ClockChoice& clock) {
  const bool counter = clock.kind == ClockChoice::Kind::counter;
  const std::string warning = clock_warning(clock);
  return {{"kind", counter ? "counter" : "kernel"},
          {"ticks_per_ns", clock.ticks_per_ns},
          {"resolution_ns", or_null(resolution_ns(clock))},
          {"warning", warning.empty() ? Json(nullptr) : Json(warning)},
          {"error_ppm", counter ? Json(clock.error_ppm) : Json(nullptr)},
          {"read_ns", clock.read_ns},
          {"reason", clock.reason}};
}

/// A virtual function has a link to its physical one; a sub-function is a part of its function as
/// well. Null: the device is on no bus, or the kernel does not tell.
Json is_virtual_function(const std::filesystem::path& device) {
  const std::filesystem::path own = device / "device", slot = slot_folder(device);
  std::array<char, PATH_MAX> link{};
  if (slot != own || readlink((own / "physfn").c_str(), link.data(), link.size()) > 0) return true;
  std::error_code error;
  return std::filesystem::exists(own, error) ? Json(false) : Json(nullptr);
}

Json device_slot_json(std::string_view device, const std::filesystem::path& sysfs) {
  const std::filesystem::path root = sysfs / "class/infiniband" / device, slot = slot_folder(root);
  const std::optional<std::string> driver = device_driver(device, sysfs);
  // The kernel's own drivers have no version but the kernel's; those of OFED have OFED's.
  const auto version = driver ? read_line(sysfs / "module" / *driver / "version") : std::nullopt;
  return {{"driver", or_null(driver)},
          {"driver_version", or_null(version)},
          {"numa_node", or_null(device_numa_node(device, sysfs))},
          {"pcie_speed", or_null(read_line(slot / "current_link_speed"))},
          {"pcie_width", or_null(read_number(slot / "current_link_width"))},
          {"pcie_address", or_null(pcie_address(root))},
          {"virtual_function", is_virtual_function(root)}};
}

Json environment_json(const ClockChoice& clock, const DeviceInUse* device,
                      const KernelTrees& trees) {
  Json environment = host_json(trees);
  environment["clock"] = clock_json(clock);
  environment["device"] = device == nullptr ? Json(nullptr) : device_json(*device, trees.sysfs);
  return environment;
}

}  // namespace rdmameter
