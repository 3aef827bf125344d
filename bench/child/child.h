// SPDX-License-Identifier: Apache-2.0
// Another process of ours: started, waited for, ended with us, however we end.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error_text.h"
#include "core/wire/wait.h"

namespace rdmameter {

struct ExitResult {
  int status = 0;      ///< of its exit; 128 and the signal's number where one ended it
  std::string output;  ///< its stdout
};

/// Variables of an environment: names and values.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// The standard streams of a command; the caller keeps the descriptors.
struct ChildStreams {
  int in = STDIN_FILENO, out = STDOUT_FILENO, err = STDERR_FILENO;
  bool no_terminal = false;  ///< it finds no terminal on which it could ask
};

/// The two ends of a pipe, to read and to write.
/// @param flags  O_NONBLOCK, or none
/// @throws MeasurementError  there is no descriptor for it
std::pair<Descriptor, Descriptor> new_pipe(int flags = 0);

/// Starts a command that ends with us, even where we are killed. It is alone in its process group,
/// so that a terminal's Ctrl-C reaches it once, by us.
/// @param words      path or name, and arguments
/// @param variables  in addition to our own environment
/// @return           its process, which the caller waits for (end_of_child())
/// @throws MeasurementError  it cannot be started
pid_t start_child(const std::vector<std::string>& words, const Variables& variables,
                  const ChildStreams& streams);

/// Waits for its end. @return  as ExitResult::status
int end_of_child(pid_t child) noexcept;

/// So long an interrupted child may be silent.
inline constexpr std::chrono::seconds kKillAfter{60};

/// Runs a command to its end; its stderr is ours.
/// @param words      path and arguments
/// @param variables  in addition to our own environment
/// @param interrupt   ends the child, too
/// @param kill_after  how long an interrupted child may be silent before it is killed; until then
///                    it has no limit but its own, for what it measures may take any time
/// @throws MeasurementError  it cannot be started
/// @throws Interrupted       the user ended us
ExitResult run_child(const std::vector<std::string>& words, const Variables& variables,
                     const InterruptSource& interrupt,
                     std::chrono::milliseconds kill_after = kKillAfter);

// Starting this very program again, as several ranks.

/// Runs `mpirun -np RANKS` to its end, of this program with the same arguments. Ranks end with us.
/// @param arguments  without the program's name
/// @return           what the ranks have ended with
/// @throws UsageError        mpirun cannot be started
/// @throws MeasurementError  it ended otherwise than by what ranks end with: a signal,
///                           its own error
ExitStatus launch_ranks(std::uint64_t ranks, const std::vector<std::string>& arguments,
                        const InterruptSource& interrupt);

}  // namespace rdmameter
