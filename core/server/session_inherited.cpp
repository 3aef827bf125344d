// SPDX-License-Identifier: Apache-2.0
// The process of one session: it has its client, its server, and nothing else.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/thread.h"
#include "core/log/print.h"
#include "core/server/session_process.h"
#include "core/session/failure.h"
#include "core/session/protocol.h"
#include "core/session/responder.h"

namespace rdmameter {
namespace {

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

/// @param begin  before anything of the client's is read, so that it is not let in if this fails
/// @throws       what `begin` does; the client has been told
template <class Begin>
auto or_tell_client(int client, SessionHost& host, const InterruptSource& interrupt, Begin begin) {
  try {
    return begin();
  } catch (const std::exception& error) {
    host.log(error_text(error));
    Channel{{Descriptor{dup(client)}, "the client"}, interrupt}.send(failure_message(error),
                                                                     Deadline::in(kProofTimeout));
    throw;
  }
}

/// What the program would say on stderr.
class TellHost final : public TellSink {
 public:
  explicit TellHost(SessionHost& host) : host_(host) { take_over(); }
  ~TellHost() { give_back(); }
  void told(std::string_view text) noexcept override { host_.log(text); }

 private:
  SessionHost& host_;
};

/// Ends this process once its server has gone, whatever it is at. The signal for a parent's death
/// does that, too, but a process can lose it.
class ServerWatch {
 public:
  ServerWatch(int server, const InterruptSource& interrupt)
      : thread_(start_thread([this, server, &interrupt] {
          if (wait_for(server, POLLRDHUP, Deadline::never(), interrupt, &ended_) == Waited::ready)
            _exit(EXIT_FAILURE);
        })) {}
  ServerWatch(ServerWatch&&) = delete;  // its thread holds its address
  ~ServerWatch() {
    ended_.raise();
    thread_.join();
  }

 private:
  EventFd ended_;
  std::thread thread_;
};

}  // namespace

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
  const ServerWatch watch = or_tell_client(client.get(), host, interrupt, [&] {
    enter_sandbox(start.sandbox);  // before any library of a device's is loaded
    return ServerWatch{pipe.fd(), interrupt};
  });
  const TellHost sink{host};
  serve_session({std::move(client), start.peer}, start.greeting, start.clock, start.own, start.gpus,
                host, interrupt);
}

}  // namespace rdmameter
