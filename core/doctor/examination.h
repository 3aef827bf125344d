// SPDX-License-Identifier: Apache-2.0
// What `rdmameter doctor` finds on this machine: what spoils a measurement, and what to do about
// it. It reads the kernel's files, and what try_devices() has found; nothing is changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/field_list.h"
#include "core/result/json_text.h"
#include "core/verbs/environment.h"

namespace rdmameter {

/// Objects of one type that all processes have made on a device.
struct ObjectUse {
  std::string type;  ///< as `rdma resource show` has it: "qp"
  std::uint64_t used = 0;
  std::uint64_t most = 0;  ///< that the device tells; 0: not known
};

/// Which devices this process gets at, as libibverbs has it: what the kernel shows in sysfs may be
/// out of its reach.
struct DeviceAccess {
  struct Device {
    std::string name;
    std::string failure;  ///< of ibv_open_device(); empty: it opens
    std::string remedy;   ///< of that failure
    std::vector<ObjectUse> objects;
  };
  std::vector<Device> devices;  ///< that libibverbs lists
  std::string hidden;           ///< what may hide others: see what_hides_devices()
};

/// Opens each device that libibverbs lists, and closes it.
DeviceAccess try_devices();

enum class Weight : std::uint8_t { warning, problem };
std::string_view weight_name(Weight weight);
std::optional<Weight> weight_from_name(std::string_view name);

struct Finding {
  std::string check;  ///< which check made it: "governor"
  Weight weight;
  std::string cause;   ///< what was found, and why it matters
  std::string remedy;  ///< what to do
};

/// Limits of an examination from another machine.
inline constexpr std::size_t kMaxNameBytes = 256, kMaxTextBytes = 2000;

void list_fields(auto& fields, Is<Finding> auto& finding) {
  fields("check", finding.check, {.max_size = kMaxNameBytes});
  fields.coded("weight", finding.weight, weight_name, weight_from_name);
  fields("cause", finding.cause, {.max_size = kMaxTextBytes});
  fields("remedy", finding.remedy, {.max_size = kMaxTextBytes});
}

/// A device as the kernel's files show it.
struct ExaminedDevice {
  std::string name;
  std::filesystem::path path;                ///< /sys/class/infiniband/NAME
  std::vector<std::filesystem::path> ports;  ///< of it: .../ports/1
};

struct Examination {
  KernelTrees trees;
  std::optional<DeviceAccess> access;   ///< nothing: not tried
  std::vector<ExaminedDevice> devices;  ///< sorted by name
  std::vector<Finding> findings;        ///< problems first
  std::vector<std::string> unknown;     ///< checks for which the kernel shows nothing
  std::string_view check;               ///< the one that runs: its name is what findings have

  void warn(std::string cause, std::string remedy);
  void fail(std::string cause, std::string remedy);
};

/// A check adds what it finds. @return  false: the kernel shows nothing to look at
using CheckFunction = bool (*)(Examination&);
struct Check {
  std::string_view name;
  CheckFunction run;
};
/// Checks of the machine (host_checks.cpp), of each device (device_checks.cpp), and of what keeps
/// this process, or packets, from it (reach_checks.cpp).
std::vector<Check> host_checks();
std::vector<Check> device_checks();
std::vector<Check> reach_checks();

/// Runs all checks. Never throws because of what it finds; a file that is not there is not known.
/// @param access  what try_devices() has found; nothing: no device is opened
Examination examine(const KernelTrees& trees = {}, std::optional<DeviceAccess> access = {});

/// [{"check", "weight", "cause", "remedy"}]
Json findings_json(const std::vector<Finding>& findings);

/// "findings", "unknown", "versions", "ports" (the active ones), "thresholds"; docs/doctor.md.
Json examination_json(const Examination& examination);

/// The examination_json() of another machine, with its shape and its texts checked.
/// @return  printable
/// @throws MeasurementError  its shape is another one
Json checked_examination(const Json& received);

/// The names of a port's netdevs, and the types of its GIDs ("RoCE v2"); each sorted, once.
std::vector<std::string> netdevs_of(const std::filesystem::path& port);
std::vector<std::string> gid_types_of(const std::filesystem::path& port);
bool is_ethernet(const std::filesystem::path& port);

/// A port (".../ports/1") whose state is ACTIVE.
struct ActivePort {
  std::string name;  ///< "mlx5_0/1"
  const ExaminedDevice& device;
  const std::filesystem::path& path;
};
std::vector<ActivePort> active_ports(const Examination& examination);

/// A check of each device, or of each active port, by itself. Something is known if it is of one.
template <bool (*Look)(Examination&, const ExaminedDevice&)>
bool of_each_device(Examination& examination) {
  bool known = false;
  for (const ExaminedDevice& device : examination.devices) known |= Look(examination, device);
  return known;
}
template <bool (*Look)(Examination&, const ActivePort&)>
bool of_each_port(Examination& examination) {
  bool known = false;
  for (const ActivePort& port : active_ports(examination)) known |= Look(examination, port);
  return known;
}

/// The CPUs that this process may use, ascending; none where the kernel does not tell.
std::vector<unsigned> usable_cpus(const Examination& examination);

}  // namespace rdmameter
