// SPDX-License-Identifier: Apache-2.0
// Reading what the kernel's files say of this host and this process. What is not there is not known:
// nullopt, never a made-up value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

/// First line of a file, without surrounding blanks; nullopt where it cannot be read or is empty.
std::optional<std::string> read_line(const std::filesystem::path& file);

/// Where sysfs has the PCIe slot, NUMA node and CPUs of a verbs device: those of a sub-function of
/// mlx5 (on the auxiliary bus) are its function's.
/// @param device  /sys/class/infiniband/NAME
std::filesystem::path slot_folder(const std::filesystem::path& device);

/// What stands behind the key, and blanks, in the first line that begins with it, up to the next
/// blank; nullopt: there is none.
std::optional<std::string> word_behind(const std::filesystem::path& file, std::string_view key);

/// The file's decimal number; nullopt where it cannot be read or is anything else.
std::optional<std::int64_t> read_number(const std::filesystem::path& file);

/// Reads a count, which uses all 64 bits.
std::optional<std::uint64_t> read_count(const std::filesystem::path& file);

/// The name by which this machine knows itself; nullopt: the kernel does not tell.
std::optional<std::string> own_host_name();

/// What is in a folder, as paths, sorted; where it cannot be read, what was read before the error.
/// Throws nothing.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

// Lists of CPUs, as the kernel, taskset(1) and --core write them.

/// CPU numbers of "0-3,8", in the order of the text; of anything else, none.
/// @param separator  between two ranges: the kernel's, or '+' in --core, where a comma makes cases
std::vector<unsigned> cpu_list(std::string_view text, char separator = ',');

/// Those of a file's list; of a file that cannot be read none.
std::vector<unsigned> cpus_in(const std::filesystem::path& file);

/// "0-3,8" of CPU numbers that ascend; empty of none.
std::string cpu_list_text(std::span<const unsigned> cpus);

// What do the control groups of this process allow it of verbs objects? (The kernel's rdma
// controller: Documentation/admin-guide/cgroup-v2.rst.)

/// The limits of this process's control group, or of the nearest one around it that has any:
/// "/sys/fs/cgroup/job/rdma.max: rxe0 hca_handle=max hca_object=100"; empty where none has.
/// @param membership  as the kernel lists it
/// @param root        where the groups are, version 2 or 1
std::string verbs_object_limits(const std::filesystem::path& membership = "/proc/self/cgroup",
                                const std::filesystem::path& root = "/sys/fs/cgroup");

// May this process do what its kernel keeps for some? (capabilities(7))

inline constexpr unsigned kCapIpcLock = 14;  ///< the limit on locked memory does not bind

/// Is it among the effective ones? @param status  of a process: /proc/PID/status
bool has_capability(unsigned capability, const std::filesystem::path& status = "/proc/self/status");

// Time that all CPUs together have spent in software interrupts: where a software device's driver,
// and a network stack, do their work.

/// The time in softirqs from /proc/stat, in steps of the kernel's clock tick (10 ms as a rule).
/// @param proc  another tree, for tests
std::optional<std::uint64_t> softirq_ns(const std::filesystem::path& proc = "/proc");

/// The time since then. @param before  as softirq_ns() has told it
inline std::optional<std::uint64_t> softirq_ns_since(std::optional<std::uint64_t> before) {
  const auto now = softirq_ns();
  if (!before || !now || *now < *before) return std::nullopt;
  return *now - *before;
}

}  // namespace rdmameter
