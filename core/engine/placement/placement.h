// SPDX-License-Identifier: Apache-2.0
// On which CPUs the measuring threads of an end run: near its device, unless specified.
#pragma once

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/field_list.h"
#include "core/result/json_text.h"
#include "core/test_case/test_case.h"
#include "core/wire/wait.h"

namespace rdmameter {

// Where a thread may run, and where it is.

/// Pins the calling thread to one CPU for the life of the object, then puts it back where it was.
/// Threads that are begun meanwhile inherit it.
class Pinned {
 public:
  /// @param cpu     nullopt: stays as it is
  /// @param option  by which the CPU was chosen, for the error
  /// @throws UsageError  no such CPU, or not allowed here; the text lists those that are
  Pinned(std::optional<unsigned> cpu, std::string_view option);
  ~Pinned();
  Pinned(Pinned&&) = delete;

 private:
  std::optional<cpu_set_t> before_;
};

/// How many CPUs the calling thread may run on; at least 1.
std::uint64_t allowed_cpus();

/// Which ones, ascending; none where the kernel does not tell.
std::vector<unsigned> allowed_cpu_numbers();

/// Where a measuring thread was.
struct LoopPlace {
  unsigned cpu = 0, numa_node = 0;
};

/// Where the calling thread is now; empty: the kernel does not tell.
std::vector<LoopPlace> place_now();

/// A CPU that is taken while this lives. It is a name in the abstract namespace of Unix sockets
/// (unix(7)): one holder at a time, nothing in the file system, and the kernel ends it with the
/// process. Processes in other network namespaces do not see it.
struct CpuClaim {
  unsigned cpu = 0;
  Descriptor name;
};

/// Which CPUs of this machine the measuring threads of an end have, case after case, so that no two
/// share one: those of both ends, of several clients of a server, of ranks, of runs that know nothing
/// of each other.
class CpuClaims {
 public:
  /// @param prefix  of the names; another one for tests
  explicit CpuClaims(std::string prefix = "rdmameter-cpu-") : prefix_(std::move(prefix)) {}

  /// Takes `count` of the CPUs: those that it took the last time, then the first that are free.
  /// @return in the order of `cpus`; empty: too few are free, and none is taken
  std::vector<CpuClaim> take(std::span<const unsigned> cpus, std::size_t count);

  /// Takes those of the CPUs that are free, in their order, and no more than so many. For CPUs that
  /// the user has chosen: that another process has claimed one is no error.
  std::vector<CpuClaim> mark(std::span<const unsigned> cpus, std::size_t most) const;

 private:
  std::optional<CpuClaim> claim(unsigned cpu) const;

  const std::string prefix_;
  std::vector<unsigned> last_;
};

/// Bounds of what a peer says of CPUs and NUMA nodes, and of how many loops.
inline constexpr std::uint64_t kMaxCpuNumber = 1U << 16;
inline constexpr std::size_t kMaxLoopsPlaced = 2048;

/// Where a device is attached, as sysfs has it.
struct DeviceLocality {
  std::optional<int> numa_node;  ///< nullopt: the kernel does not tell (always so for rxe)
  std::vector<unsigned> cpus;    ///< local_cpulist; empty: the kernel does not tell
};

/// An end's wishes for its placement.
struct PlacementWish {
  std::string_view option = "--core";    ///< for errors
  std::string_view core;                 ///< as EndSettings has it
  std::string_view device = {};          ///< its name; empty: the case uses none
  std::uint64_t loops = 1;               ///< threads that measure at this end
  std::uint64_t needed = 1;              ///< those of other ends on this machine included
  std::span<const unsigned> avoid = {};  ///< CPUs of the other end, if it is on this machine
  std::uint64_t first = 0;  ///< of the CPUs near the device, where to begin: the local rank
};

/// The CPUs of a machine.
struct HostCpus {
  std::vector<unsigned> allowed = allowed_cpu_numbers();  ///< that this process may use
  std::filesystem::path sysfs = "/sys";
};

struct Placement {
  std::vector<unsigned> cpus = {};  ///< of each loop; empty: not pinned
  std::string reason = {};          ///< why not; empty: pinned
  DeviceLocality device = {};
  std::vector<unsigned> allowed = {};  ///< CPUs that this process may use
  std::vector<CpuClaim> claims = {};   ///< so that no other process takes them

  /// Where its objects are to be made.
  std::optional<unsigned> first() const {
    return cpus.empty() ? std::nullopt : std::optional(cpus.front());
  }
  /// The CPU of its first loop; nullopt: the kernel has a choice.
  std::optional<unsigned> only() const {
    return cpus.empty() && allowed.size() == 1 ? std::optional(allowed.front()) : first();
  }
  /// The CPUs of `count` loops from the one at `from`; empty: not pinned.
  std::span<const unsigned> of_loops(std::size_t from, std::size_t count) const {
    return cpus.empty() ? std::span<const unsigned>() : std::span(cpus).subspan(from, count);
  }
};

/// Chooses, and claims what it chooses while the placement lives. Call it before the calling thread
/// is pinned.
/// @param claims  of this end
/// @throws UsageError   a CPU is not there or not allowed; a list is too short
/// @throws Unsupported  `numa`, and that cannot be
Placement choose_placement(const PlacementWish& wish, CpuClaims& claims, const HostCpus& host = {});

/// The wish of an end of a case between two ends.
/// @param same_host  is the other end on this machine as well?
/// @param avoid      CPUs that it has: claims of another network namespace are not seen
PlacementWish wish_of(const TestCase& test_case, Role role, std::string_view device, bool same_host,
                      std::span<const unsigned> avoid = {});

/// The placement of an end of a case: of each of its devices near that, where nobody has said other
/// CPUs. Loops are in the order of an End's: forward by device and thread, then backward. Arguments
/// and errors as choose_placement() and wish_of().
Placement place_end(const TestCase& test_case, Role role, bool same_host,
                    std::span<const unsigned> avoid, CpuClaims& claims, const HostCpus& host = {});

/// Pins the calling thread to where the objects of its end are to be made, if anywhere. What it
/// allocates from now on is of that CPU's node, but for pages that it shares with what was there
/// before: free memory, which may be of any node, goes back to the kernel first.
/// @param option  as Pinned()
/// @throws UsageError  as Pinned()
Pinned pinned_to_make(const Placement& placement, std::string_view option);

/// A placement as rows and messages hold it.
struct PlacementData {
  bool pinned = false;
  std::optional<std::string> reason;       ///< why it is not pinned
  std::vector<unsigned> cpus, numa_nodes;  ///< where each loop was
  std::optional<unsigned> device_numa_node;
  std::optional<std::string> device_cpus;
};

void list_fields(auto& fields, Is<PlacementData> auto& data) {
  const FieldRule numbers{.max = kMaxCpuNumber, .max_size = kMaxLoopsPlaced};
  const FieldRule text{.min_size = 1, .max_size = 1024};
  fields("pinned", data.pinned);
  fields("reason", data.reason, text);
  fields("cpus", data.cpus, numbers);
  fields("numa_nodes", data.numa_nodes, numbers);
  fields("device_numa_node", data.device_numa_node, numbers);
  fields("device_cpus", data.device_cpus, text);
}

/// @throws MeasurementError  of a peer's: it has a reason and is pinned, or neither
void complete(const PlacementData& data, const CheckedJson& json);

/// @param loops  where they were; may be fewer than the placement has, for some ends have none
PlacementData placement_data(const Placement& placement, std::span<const LoopPlace> loops);

/// The placement in a row's JSON: what is not known is null.
Json placement_json(const PlacementData& data);

}  // namespace rdmameter
