// SPDX-License-Identifier: Apache-2.0
// Which CPUs of this machine measuring threads have, so that no two of them share one: those of
// both ends, of several clients of a server, of ranks, of runs that know nothing of each other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/wait.h"

namespace rdmameter {

/// A CPU that is taken while this lives. It is a name in the abstract namespace of Unix sockets
/// (unix(7)): one holder at a time, nothing in the file system, and the kernel ends it with the
/// process. Processes in other network namespaces do not see it.
struct CpuClaim {
  unsigned cpu = 0;
  Descriptor name;
};

/// Claims for one end, case after case.
class CpuClaims {
 public:
  /// @param prefix  of the names; another one for tests
  explicit CpuClaims(std::string prefix = "rdmameter-cpu-") : prefix_(std::move(prefix)) {}

  /// Takes `count` of the CPUs: those that it took the last time, then the first that are free.
  /// @return in the order of `cpus`; empty: too few are free, and none is taken
  std::vector<CpuClaim> take(std::span<const unsigned> cpus, std::size_t count);

  /// Takes those of the CPUs that are free. A CPU that another process has claimed is no error: the
  /// user has chosen it.
  std::vector<CpuClaim> mark(std::span<const unsigned> cpus) const;

 private:
  std::optional<CpuClaim> claim(unsigned cpu) const;

  const std::string prefix_;
  std::vector<unsigned> last_;
};

}  // namespace rdmameter
