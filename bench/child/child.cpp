// SPDX-License-Identifier: Apache-2.0
#include "bench/child/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"

namespace rdmameter {
namespace {

/// Our environment with more variables, which replace those of the same name.
std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> list;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry(*each);
    const std::string name = entry.substr(0, entry.find('='));
    if (std::ranges::none_of(variables, [&](const auto& one) { return one.first == name; }))
      list.push_back(entry);
  }
  for (const auto& [name, value] : variables) list.push_back(name + "=" + value);
  return list;
}

void require(bool done, const char* call) {
  if (!done) throw MeasurementError("{}: {}", call, std::strerror(errno));
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// What the new process does with itself before it becomes the command.
/// @return  could it?
bool settle(const ChildStreams& streams) {
  if ((streams.no_terminal ? setsid() : setpgid(0, 0)) < 0) return false;
  // Numbers below 3 are standard streams of ours, and each stands where it is to be.
  return (streams.in == STDIN_FILENO || dup2(streams.in, STDIN_FILENO) >= 0) &&
         (streams.out == STDOUT_FILENO || dup2(streams.out, STDOUT_FILENO) >= 0) &&
         (streams.err == STDERR_FILENO || dup2(streams.err, STDERR_FILENO) >= 0);
}

}  // namespace

std::pair<Descriptor, Descriptor> new_pipe(int flags) {
  std::array<int, 2> ends{};
  require(pipe2(ends.data(), O_CLOEXEC | flags) == 0, "pipe");
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

pid_t start_child(const std::vector<std::string>& words, const Variables& variables,
                  const ChildStreams& streams) {
  std::vector<std::string> arguments = words, environment = environment_with(variables);
  const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  auto [told, tell] = new_pipe();
  const pid_t we = getpid(), child = fork();
  require(child >= 0, "fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGINT);           // once the thread that calls us has ended, strictly
    if (getppid() != we) _exit(EXIT_FAILURE);  // we ended before it could know
    if (settle(streams)) execvpe(argv.front(), argv.data(), envp.data());
    const int why = errno;
    _exit(write(tell.get(), &why, sizeof why) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
  }
  tell.reset();
  int why = 0;
  ssize_t got;
  do got = read(told.get(), &why, sizeof why);  // nothing, once the command has taken over
  while (got < 0 && errno == EINTR);
  if (got != sizeof why) return child;
  end_of_child(child);
  throw MeasurementError("{} cannot be started: {}", words.front(), std::strerror(why));
}

int end_of_child(pid_t child) noexcept {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

ExitResult run_child(const std::vector<std::string>& words, const Variables& variables,
                     const InterruptSource& interrupt, std::chrono::milliseconds kill_after) {
  auto [output, its] = new_pipe();
  const pid_t child = start_child(words, variables, {.out = its.get()});
  its.reset();
  ExitResult end;
  bool told = false;
  std::array<char, 4096> part{};
  for (;;) {
    std::array<pollfd, 2> waited{pollfd{output.get(), POLLIN, 0},
                                 pollfd{interrupt.fd(), POLLIN, 0}};
    if (poll(waited.data(), told ? 1 : 2, told ? static_cast<int>(kill_after.count()) : -1) == 0) {
      kill(-child, SIGKILL);  // it does not listen; nor does what it started, or it may hold stdout
      break;
    }
    if (!told && interrupt.requested()) {
      kill(child, SIGINT);
      told = true;
    }
    if (waited[0].revents == 0) continue;
    const ssize_t got = read(output.get(), part.data(), part.size());
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got > 0) end.output.append(part.data(), static_cast<std::size_t>(got));
  }
  end.status = end_of_child(child);
  if (interrupt.requested()) throw Interrupted("interrupted");
  return end;
}

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

/// As if it were us: its stdin, stdout and stderr are ours. An interrupt is passed on, and its end
/// awaited. @return  as ExitResult::status
int run_mpirun(const std::vector<std::string>& words, const InterruptSource& interrupt) try {
  const pid_t child = start_child(words, {}, {});
  const Descriptor ended(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  require(static_cast<bool>(ended), "pidfd_open");
  if (wait_for(ended.get(), POLLIN, Deadline::never(), interrupt) == Waited::interrupted) {
    kill(child, SIGINT);
    const InterruptSource no_other;
    if (wait_for(ended.get(), POLLIN, Deadline::in(kKillAfter), no_other) == Waited::deadline)
      kill(-child, SIGKILL);  // it does not listen
  }
  return end_of_child(child);
} catch (const MeasurementError& error) {
  throw UsageError(
      "{}. It starts the ranks (Debian's package openmpi-bin); any launcher that speaks PMIx does "
      "as well: 'srun --mpi=pmix rdmameter topo ...'",
      error.what());
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
        "signal {} ({}) has ended a rank, which mpirun names above with its host, or mpirun itself",
        status - 128, strsignal(status - 128));
  throw MeasurementError("mpirun has ended with status {}, for the reason that it gives above",
                         status);
}

}  // namespace rdmameter
