// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/placement.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/base/lists.h"
#include "core/base/parse_value.h"
#include "core/verbs/device.h"

namespace rdmameter {
namespace {

bool holds(std::span<const unsigned> cpus, unsigned cpu) {
  return std::ranges::find(cpus, cpu) != cpus.end();
}

[[noreturn]] void refuse_cpu(std::string_view option, unsigned cpu,
                             std::span<const unsigned> allowed) {
  throw UsageError(
      "{} {}: there is no such CPU here, or this process may not use it; it may run on {}", option,
      cpu, cpu_list_text(allowed));
}

/// A number N means N and the CPUs behind it; a list means what it says.
std::vector<unsigned> chosen_cpus(const PlacementWish& wish) {
  std::vector<unsigned> cpus = cpu_list(wish.core, kCpuSeparator);
  if (parse_count(wish.core))
    while (cpus.size() < wish.loops) cpus.push_back(cpus.back() + 1);
  if (cpus.size() < wish.loops)
    throw UsageError("{} {}: {} threads measure at this end, and the list has {} CPUs", wish.option,
                     wish.core, wish.loops, cpus.size());
  cpus.resize(wish.loops);
  return cpus;
}

DeviceLocality locality_of(std::string_view device, const std::filesystem::path& sysfs) {
  if (device.empty()) return {};
  return {.numa_node = device_numa_node(device, sysfs),
          .cpus = cpus_in(slot_folder(sysfs / "class/infiniband" / device) / "local_cpulist")};
}

/// The CPUs in an order in which each physical core comes once before the second hardware
/// thread of any.
std::vector<unsigned> cores_first(std::span<const unsigned> cpus,
                                  const std::filesystem::path& sysfs) {
  std::vector<std::pair<std::size_t, unsigned>> ranked;  // how many of its core come before it
  for (const unsigned cpu : cpus) {
    const auto siblings =
        cpus_in(sysfs / fmt::format("devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    ranked.emplace_back(
        std::ranges::count_if(siblings,
                              [&](unsigned other) { return other < cpu && holds(cpus, other); }),
        cpu);
  }
  std::ranges::sort(ranked);
  return mapped(ranked, [](const auto& each) { return each.second; });
}

/// Chooses CPUs near the device. @return  why not; empty: it has
std::string go_near(Placement& placement, const PlacementWish& wish, CpuClaims& claims,
                    const HostCpus& host) {
  if (wish.device.empty()) return "the test uses no verbs device";
  if (!placement.device.numa_node)
    return fmt::format("the kernel names no NUMA node of {}", wish.device);
  const std::string node =
      fmt::format("NUMA node {}, that of {},", *placement.device.numa_node, wish.device);
  std::vector<unsigned> near =
      filtered(placement.device.cpus, [&](unsigned cpu) { return holds(host.allowed, cpu); });
  const std::uint64_t needed = std::max(wish.needed, wish.loops);
  if (near.size() < needed)
    return fmt::format("of the CPUs of {} this process may use {}, and {} needed", node,
                       near.size(), needed == 1 ? "1 is" : fmt::format("{} are", needed));
  near = cores_first(near, host.sysfs);
  std::rotate(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(wish.first % near.size()),
              near.end());
  std::erase_if(near, [&](unsigned cpu) { return holds(wish.avoid, cpu); });
  placement.claims = claims.take(near, wish.loops);
  placement.cpus = mapped(placement.claims, &CpuClaim::cpu);
  if (!placement.cpus.empty()) return {};
  return fmt::format("of the CPUs of {} fewer than {} are free: other measurements have them", node,
                     wish.loops);
}

}  // namespace

Placement choose_placement(const PlacementWish& wish, CpuClaims& claims, const HostCpus& host) {
  Placement placement{.device = locality_of(wish.device, host.sysfs), .allowed = host.allowed};
  if (wish.core.empty() || wish.core == kNearDevice) {
    placement.reason = go_near(placement, wish, claims, host);
    if (!placement.reason.empty() && !wish.core.empty())
      throw Unsupported("{} {}: {}", wish.option, wish.core, placement.reason);
  } else if (wish.core == kNotPinned) {
    placement.reason = fmt::format("{} {}", wish.option, wish.core);
  } else {
    placement.cpus = chosen_cpus(wish);
    for (const unsigned cpu : placement.cpus)
      if (!holds(host.allowed, cpu)) refuse_cpu(wish.option, cpu, host.allowed);
    placement.claims = claims.mark(placement.cpus, placement.cpus.size());
  }
  return placement;
}

PlacementWish wish_of(const TestCase& test_case, Role role, std::string_view device, bool same_host,
                      std::span<const unsigned> avoid) {
  const Role other = other_end(role);
  const std::uint64_t loops = test_case.loops(role);
  return {.option = role == Role::initiator ? "--core" : "--peer-core",
          .core = test_case.end(role).core,
          .device = device,
          .loops = loops,
          .needed = loops + (same_host ? test_case.loops(other) : 0),
          .avoid = avoid};
}

namespace {

/// @param parts  of each device, all pinned
Placement joined(std::vector<Placement> parts, std::size_t directions) {
  Placement all{.device = parts.front().device, .allowed = parts.front().allowed};
  for (std::size_t direction = 0; direction < directions; ++direction)
    for (const Placement& part : parts) {
      const std::size_t loops = part.cpus.size() / directions;
      const auto cpus = part.of_loops(direction * loops, loops);
      all.cpus.insert(all.cpus.end(), cpus.begin(), cpus.end());
    }
  for (Placement& part : parts) std::ranges::move(part.claims, std::back_inserter(all.claims));
  return all;
}

}  // namespace

Placement place_end(const TestCase& test_case, Role role, bool same_host,
                    std::span<const unsigned> avoid, CpuClaims& claims, const HostCpus& host) {
  const std::string device =
      test_case.over_tcp() ? "" : split_devices(test_case.end(role).device).front();
  const std::string& core = test_case.end(role).core;
  if (test_case.devices() == 1 || (!core.empty() && core != kNearDevice))
    return choose_placement(wish_of(test_case, role, device, same_host, avoid), claims, host);
  std::vector<Placement> parts;
  std::vector<unsigned> taken(avoid.begin(), avoid.end());
  for (std::size_t i = 0; i < test_case.devices(); ++i) {
    const TestCase one = of_device(test_case, i);
    parts.push_back(
        choose_placement(wish_of(one, role, one.end(role).device, same_host, taken), claims, host));
    if (!parts.back().reason.empty()) return std::move(parts.back());
    taken.insert(taken.end(), parts.back().cpus.begin(), parts.back().cpus.end());
  }
  return joined(std::move(parts), test_case.bidirectional ? 2 : 1);
}

Pinned pinned_to_make(const Placement& placement, std::string_view option) {
  static const bool several = read_line("/sys/devices/system/node/online").value_or("0") != "0";
  if (placement.first() && several) malloc_trim(0);
  return Pinned{placement.first(), option};
}

void complete(const PlacementData& data, const CheckedJson& json) {
  if (data.pinned == data.reason.has_value())
    json.fail("has a reason where it is not pinned, and only there");
}

PlacementData placement_data(const Placement& placement, std::span<const LoopPlace> loops) {
  PlacementData data{.pinned = !placement.cpus.empty()};
  if (!placement.reason.empty()) data.reason = placement.reason;
  data.cpus = mapped(loops, &LoopPlace::cpu);
  data.numa_nodes = mapped(loops, &LoopPlace::numa_node);
  const DeviceLocality& device = placement.device;
  if (device.numa_node) data.device_numa_node = static_cast<unsigned>(*device.numa_node);
  if (!device.cpus.empty()) data.device_cpus = cpu_list_text(device.cpus);
  return data;
}

Json placement_json(const PlacementData& data) {
  return write_fields(data, FieldForm::message);
}

std::optional<CpuClaim> CpuClaims::claim(unsigned cpu) const {
  Descriptor name{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  const std::string text = fmt::format("{}{}", prefix_, cpu);
  sockaddr_un address{};
  if (!name || text.size() + 1 > sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, text.data(), text.size());  // behind a zero: abstract
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (bind(name.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return std::nullopt;
  return CpuClaim{cpu, std::move(name)};
}

std::vector<CpuClaim> CpuClaims::take(std::span<const unsigned> cpus, std::size_t count) {
  std::vector<unsigned> order(cpus.begin(), cpus.end());
  std::stable_partition(order.begin(), order.end(),
                        [this](unsigned cpu) { return holds(last_, cpu); });
  std::vector<CpuClaim> taken = mark(order, count);
  if (taken.size() < count) return {};
  std::ranges::sort(taken, {},
                    [&](const CpuClaim& each) { return std::ranges::find(cpus, each.cpu); });
  last_ = mapped(taken, &CpuClaim::cpu);
  return taken;
}

std::vector<CpuClaim> CpuClaims::mark(std::span<const unsigned> cpus, std::size_t most) const {
  std::vector<CpuClaim> taken;
  for (const unsigned cpu : cpus) {
    if (taken.size() == most) break;
    if (auto one = claim(cpu)) taken.push_back(std::move(*one));
  }
  return taken;
}

namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

}  // namespace

Pinned::Pinned(std::optional<unsigned> cpu, std::string_view option) {
  if (!cpu) return;
  const cpu_set_t now = allowed();
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  if (*cpu < CPU_SETSIZE) CPU_SET(*cpu, &wanted);
  if (*cpu >= CPU_SETSIZE || sched_setaffinity(0, sizeof wanted, &wanted) != 0)
    refuse_cpu(option, *cpu, allowed_cpu_numbers());
  before_ = now;
}

Pinned::~Pinned() {
  if (before_) sched_setaffinity(0, sizeof *before_, &*before_);
}

std::uint64_t allowed_cpus() {
  const cpu_set_t set = allowed();
  return static_cast<std::uint64_t>(std::max(CPU_COUNT(&set), 1));
}

std::vector<unsigned> allowed_cpu_numbers() {
  const cpu_set_t set = allowed();
  std::vector<unsigned> numbers;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) numbers.push_back(cpu);
  return numbers;
}

std::vector<LoopPlace> place_now() {
  LoopPlace place;
  if (getcpu(&place.cpu, &place.numa_node) != 0) return {};
  return {place};
}

}  // namespace rdmameter
