// SPDX-License-Identifier: Apache-2.0
#include "core/server/session_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/thread.h"
#include "core/log/print.h"
#include "core/session/failure.h"
#include "core/session/protocol.h"
#include "core/session/responder.h"
#include "core/wire/child_stderr.h"
#include "core/wire/watcher.h"

namespace rdmameter {
namespace {

/// Between two looks whether a process has ended: the first, and the longest. One that the kernel
/// does not let go is looked for for long, beside others who measure.
constexpr std::chrono::milliseconds kReapPause{2}, kMaxReapPause{100};
/// From a session's hanging up to its end. The kernel closes the connections of one that crashed
/// before it has taken back its memory, and gigabytes of that take seconds.
constexpr std::chrono::seconds kExitGrace{10};
/// Descriptors that are moved to their places in the new process come from beyond those places.
constexpr int kBeyondPlaces = 16;

/// Where a wait is no longer to be interrupted.
const InterruptSource& never_interrupted() {
  static const InterruptSource never;
  return never;
}

/// @param what   the call that failed
/// @param error  its errno value
[[noreturn]] void throw_not_started(const char* what, int error) {
  std::string remedy;  // what the server's user can do about it
  if (error == EAGAIN) remedy = fmt::format(". {}.", kRaiseProcessLimit);
  if (error == EMFILE) remedy = ". Raise the limit on open files there (`ulimit -n`).";
  throw MeasurementError("the server cannot start a process for this session: {}: {}{}", what,
                         std::strerror(error), remedy);
}

/// O_NONBLOCK: a write to it does not wait for the server.
std::pair<Descriptor, Descriptor> stderr_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw_not_started("pipe2", errno);
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

/// The variables of the server's environment that a session gets, by how their names begin. A
/// session must not see the rest: the server's user may have put secrets into it.
constexpr std::string_view kKeptVariables[]{
    "RDMAMETER_",                      // this program's own; the token has been removed
    "LD_",         "QEMU_",            // where libraries are found, also by an emulator
    "MALLOC_",     "GLIBC_TUNABLES=",  // glibc
    "LANG=",       "LANGUAGE=",
    "LC_",         "TZ=",  // texts and times of libraries
    "RDMAV_",      "IBV_",
    "SYSFS_PATH=",  // libibverbs
    "MLX4_",       "MLX5_",
    "HNS_",        "BNXT_",  // providers
    "EFA_",        "IRDMA_",
    "CXGB4_",      "ERDMA_",  //
    "IONIC_",      "MANA_",
    "OCRDMA_",     "QEDR_",  //
    "ASAN_",       "LSAN_",
    "TSAN_",       "UBSAN_",  // sanitizers, in their builds
    "CUDA_",       "HIP_",    // which GPUs there are, and in which order
    "ROCR_",       "HSA_",
    "MSAN_",       "LLVM_PROFILE_FILE=",
    "GCOV_"};  // coverage, in its builds

/// @return  borrowed from the server's; ends with null
std::vector<char*> environment_of_session() {
  std::vector<char*> kept;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each)
    if (std::ranges::any_of(kKeptVariables, [text = std::string_view(*each)](auto beginning) {
          return text.starts_with(beginning);
        }))
      kept.push_back(*each);
  kept.push_back(nullptr);
  return kept;
}

/// @throws MeasurementError
Descriptor beyond_places(int descriptor) {
  Descriptor far{fcntl(descriptor, F_DUPFD_CLOEXEC, kBeyondPlaces)};
  // EINVAL: the limit on descriptors is below kBeyondPlaces.
  if (!far) throw_not_started("fcntl(F_DUPFD_CLOEXEC)", errno == EINVAL ? EMFILE : errno);
  return far;
}

/// A session's process; if it has not ended, it is killed when this goes.
class SessionProcess {
 public:
  /// @param client, server  its ends of its connections
  SessionProcess(int client, int server) {
    const Descriptor far_client = beyond_places(client), far_server = beyond_places(server),
                     far_stderr = beyond_places(child_stderr_.writable());
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // Frees the actions' memory, also where an exception leaves from here.
    const std::unique_ptr<posix_spawn_file_actions_t, int (*)(posix_spawn_file_actions_t*)>
        destroyed_at_end{&actions, posix_spawn_file_actions_destroy};
    // It has open a pipe for its stderr, the null device for its other streams, its client, its
    // server, and nothing else.
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, far_stderr.get(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, far_client.get(), kClientDescriptor);
    posix_spawn_file_actions_adddup2(&actions, far_server.get(), kServerDescriptor);
    posix_spawn_file_actions_addclosefrom_np(&actions, kServerDescriptor + 1);
    // This thread's name was its process's when it began; the session takes it from argument 0.
    std::array<char, 16> name{};  // prctl(2)
    prctl(PR_GET_NAME, name.data());
    std::string argument = kSessionArgument;
    const std::array<char*, 3> arguments{name.data(), argument.data(), nullptr};
    const std::vector<char*> kept = environment_of_session();
    const int error =
        posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), kept.data());
    if (error != 0) throw_not_started("posix_spawn(/proc/self/exe)", error);
    child_stderr_.close_writable();
  }
  SessionProcess(SessionProcess&&) = delete;
  ~SessionProcess() {
    if (!ended_) signal(SIGKILL);
  }

  /// Not after its end: its number may be another process's.
  void signal(int number) const noexcept { kill(pid_, number); }

  /// @return its status, as waitpid() has it; nothing: it has not ended in time, or an interrupt
  std::optional<int> wait(Deadline deadline, const InterruptSource& interrupt) noexcept {
    for (auto pause = kReapPause;; pause = std::min(2 * pause, kMaxReapPause)) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) != 0) {
        ended_ = true;
        return status;
      }
      if (deadline.passed()) return std::nullopt;
      if (wait_for(-1, 0, deadline.within(pause), interrupt) == Waited::interrupted)
        return std::nullopt;
    }
  }

  ChildStderr& child_stderr() noexcept { return child_stderr_; }

 private:
  ChildStderr child_stderr_{stderr_pipe()};
  pid_t pid_ = 0;
  bool ended_ = false;
};

std::pair<Descriptor, Descriptor> session_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    throw_not_started("socketpair", errno);
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

/// The whole conversation: answers the session until it hangs up, tells it when the server ends.
/// Nothing that it sends, or leaves unread, makes the server's end wait.
/// @param pipe  watches the server's interrupt
/// @param end   out: when the session must have ended, once it has been told to
/// @return why the session must be killed; empty: it has hung up
std::string serve_process(Channel& pipe, const SessionStart& start, SessionProcess& process,
                          SessionHost& host, Deadline& end) {
  try {
    pipe.send(make_message("session", start), Deadline::in(kSetupTimeout));
    for (;;) {
      if (pipe.wait_readable(end) == Waited::interrupted) {
        process.signal(SIGTERM);
        end = Deadline::in(kTermGrace);
        pipe.set_interrupt(never_interrupted());
      } else if (end.passed()) {  // also of one that never stops talking
        return fmt::format("it did not end within {} ms", kTermGrace.count());
      } else {
        answer_session(pipe, host, end.within(kSetupTimeout));
        process.child_stderr().take();
      }
    }
  } catch (const ChannelError& error) {
    if (!error.hung_up()) return error.what();
  } catch (const std::exception& error) {
    return error_text(error);
  }
  return {};
}

/// Describes an unexpected end; empty: all is well.
/// @param sent  the signal that it was sent last; 0: none
std::string bad_end(int status, int sent) {
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == sent) return {};
    const char* const name = sigabbrev_np(WTERMSIG(status));
    return fmt::format("its session was ended by signal {} (SIG{})", WTERMSIG(status),
                       name != nullptr ? name : "?");
  }
  if (WEXITSTATUS(status) != 0)
    return fmt::format("its session ended with status {}", WEXITSTATUS(status));
  return {};
}

/// Takes the process's end, which it is helped to where it must be.
/// @param end  when it must have ended, if the server ends
void terminate_process(SessionProcess& process, const std::string& why_killed, Deadline end,
                       ServerHost& host, const InterruptSource& interrupt) {
  std::optional<int> status;
  if (why_killed.empty()) {
    if (end.is_never()) status = process.wait(Deadline::in(kExitGrace), interrupt);
    if (!status) status = process.wait(end.within(kTermGrace), never_interrupted());
  }
  const int sent = !status ? SIGKILL : end.is_never() ? 0 : SIGTERM;
  if (!status) {
    host.log(
        fmt::format("its session is killed: {}",
                    why_killed.empty() ? "it closed its connection and did not end" : why_killed),
        ClientEvent::session_end);
    process.signal(SIGKILL);
    // The kernel may still be at what it asked for. A server that ends does not wait for that.
    status = process.wait(Deadline::never(), interrupt);
    if (!status) status = process.wait(Deadline::in(kKillGrace), never_interrupted());
  }
  if (!status) return;
  // One that crashed and was slow to go has the signal of the crash.
  const std::string text = bad_end(*status, sent);
  if (text.empty()) return;
  for (const std::string& line : process.child_stderr().lines())
    host.log(fmt::format("its session's stderr: {}", line), ClientEvent::child_stderr);
  host.log(text, ClientEvent::session_end);
}

/// Only that process serves the client from here on.
/// @throws MeasurementError  the process cannot be started; the client has been told
void run_session_process(SessionStart start, Channel client, const Greeting& greeting,
                         ServerHost& host, const InterruptSource& interrupt) {
  start.peer = client.peer();
  start.greeting = greeting;
  start.shown = host.shows_connected();
  std::pair<Descriptor, Descriptor> pair;  // the server's end, and the session's
  std::optional<SessionProcess> process;
  or_tell(client, [&] {
    pair = session_pair();
    process.emplace(client.fd(), pair.second.get());
  });
  pair.second.reset();
  client.release();
  Channel pipe{{std::move(pair.first), "the session"},
               interrupt,
               start.shown ? kShownPipeMessageBytes : kPipeMessageBytes};
  Deadline end = Deadline::never();
  const std::string why_killed = serve_process(pipe, start, *process, host, end);
  terminate_process(*process, why_killed, end, host, interrupt);
}

/// @throws UsageError
Descriptor inherited(int number) {
  int type = 0;
  socklen_t bytes = sizeof type;
  if (getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM)
    throw UsageError(
        "'rdmameter serve' starts this for each of its clients; it is of no use by itself");
  fcntl(number, F_SETFD, FD_CLOEXEC);
  return Descriptor{number};
}

}  // namespace

ServeClient in_own_process(SessionStart start) {
  return std::bind_front(run_session_process, std::move(start));
}

// The process of one session: it has its client, its server, and nothing else.

void serve_inherited_session(const InterruptSource& interrupt) {
  Descriptor client = inherited(kClientDescriptor), server = inherited(kServerDescriptor);
  // Of a server that is killed nothing is left. (The signal comes when the server's thread for this
  // session ends.)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It was executed as /proc/self/exe, and is called exe; argument 0 is the server's name.
  prctl(PR_SET_NAME, program_invocation_short_name);
  Channel pipe{{std::move(server), "the server"}, interrupt, kPipeMessageBytes};
  const SessionStart start = read_message<SessionStart>(pipe.receive(Deadline::in(kSetupTimeout)));
  // It was killed before the line above that asks for the signal: that does not come any more.
  if (getppid() != start.server) throw MeasurementError("the server of this session has ended");
  if (start.shown) pipe.set_max_message_bytes(kShownPipeMessageBytes);
  if (start.gpus) setenv("CUDA_CACHE_DISABLE", "1", 1);  // nothing is compiled, nothing written
  PipeHost host{pipe, start.shown};
  // Ends this process once its server has gone, whatever it is at. The signal for a parent's death
  // does that, too, but a process can lose it.
  std::optional<WatchThread> watch;
  try {  // before anything of the client's is read, so that it is not let in if this fails
    enter_sandbox(start.sandbox, start.gpus);  // before any library of a device's is loaded
    watch.emplace([&](const EventFd& ended) {
      if (wait_for(pipe.fd(), POLLRDHUP, Deadline::never(), interrupt, &ended) == Waited::ready)
        _exit(EXIT_FAILURE);
    });
  } catch (const std::exception& error) {
    host.log(error_text(error));
    Channel{{std::move(client), "the client"}, interrupt}.send(failure_message(error),
                                                               Deadline::in(kProofTimeout));
    throw;
  }
  // What the program would say on stderr.
  const TellSink sink([&host](std::string_view text) { host.log(text); });
  serve_session({std::move(client), start.peer}, start.greeting, start.clock, start.own, start.gpus,
                host, interrupt);
}

}  // namespace rdmameter
