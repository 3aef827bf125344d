// SPDX-License-Identifier: Apache-2.0
// Where a thread may run, and where it is.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rdmameter {

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

}  // namespace rdmameter
