// SPDX-License-Identifier: Apache-2.0
// Where a thread may run.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rdmameter {

/// Pins the calling thread to one CPU for the life of the object, then puts it back where it was.
class Pinned {
 public:
  /// @param core  CPU number; kAuto: stays as it is
  /// @throws UsageError  no such CPU, or not allowed here; the text lists those that are
  Pinned(std::uint64_t core, std::string_view option);
  ~Pinned();
  Pinned(Pinned&&) = delete;

 private:
  std::optional<cpu_set_t> before_;
};

/// How many CPUs the calling thread may run on; at least 1.
std::uint64_t allowed_cpus();

/// Which ones; none where the kernel does not tell.
std::vector<std::uint64_t> allowed_cpu_numbers();

/// The one CPU that the calling thread may run on; nullopt: it has a choice.
std::optional<std::uint64_t> only_cpu();

}  // namespace rdmameter
