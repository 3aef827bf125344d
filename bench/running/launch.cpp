// SPDX-License-Identifier: Apache-2.0
#include "bench/running/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bench/running/child.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

/// What a rank ends with; mpirun ends with the first one that is not 0.
constexpr std::array kOfRanks{ExitStatus::pass, ExitStatus::usage, ExitStatus::no_device,
                              ExitStatus::failed, ExitStatus::interrupted};

/// mpirun refuses to run as root unless told twice; in a container or a virtual machine one is.
void allow_root() {
  if (geteuid() != 0) return;
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
}

int run_mpirun(const std::vector<std::string>& words, const InterruptSource& interrupt) {
  try {
    return run_in_our_place(words, interrupt);
  } catch (const MeasurementError& error) {
    throw UsageError(fmt::format(
        "{}. It starts the ranks (Debian's package openmpi-bin); any launcher that speaks PMIx "
        "does as well: 'srun --mpi=pmix rdmameter topo ...'",
        error.what()));
  }
}

}  // namespace

ExitStatus launch_ranks(std::uint64_t ranks, const std::vector<std::string>& arguments,
                        const InterruptSource& interrupt) {
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
  const int status = run_mpirun(words, interrupt);
  const auto own = static_cast<ExitStatus>(status);
  if (std::ranges::find(kOfRanks, own) != kOfRanks.end()) return own;
  if (interrupt.requested()) return ExitStatus::interrupted;
  if (status > 128)
    throw MeasurementError(
        fmt::format("signal {} ({}) has ended a rank, which mpirun names above with its host, or "
                    "mpirun itself",
                    status - 128, strsignal(status - 128)));
  throw MeasurementError(
      fmt::format("mpirun has ended with status {}, for the reason that it gives above", status));
}

}  // namespace rdmameter
