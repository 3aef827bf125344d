// SPDX-License-Identifier: Apache-2.0
#include "bench/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace rdmameter {
namespace {

/// mpirun refuses to run as root unless told twice; in a container or a virtual machine one is.
void allow_root() {
  if (geteuid() != 0) return;
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
}

}  // namespace

void launch_ranks(std::uint64_t ranks, const std::vector<std::string>& arguments) {
  allow_root();
  // Ranks may outnumber cores, and a rank bound to one core could not leave it to another.
  std::vector<std::string> words{"mpirun",
                                 "--oversubscribe",
                                 "--bind-to",
                                 "none",
                                 "-np",
                                 std::to_string(ranks),
                                 std::filesystem::read_symlink("/proc/self/exe")};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers.front(), pointers.data());
  throw UsageError(fmt::format(
      "mpirun cannot be started: {}. It starts the ranks (Debian's package openmpi-bin); "
      "any launcher that speaks PMIx does as well: 'srun --mpi=pmix rdmameter topo ...'",
      std::strerror(errno)));
}

}  // namespace rdmameter
