// SPDX-License-Identifier: Apache-2.0
#include "bench/running/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <map>

#include "core/log/print.h"
#include "core/wire/wait.h"

namespace rdmameter {

void occupy_standard_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() takes the lowest free number, which is this one.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

namespace {

InterruptSource* raised = nullptr;  // set before the handlers are
bool takes_one = false;             // set before the run
std::map<int, struct sigaction> before_us;

void on_signal(int number) {
  if (number == SIGINT && takes_one) std::signal(SIGINT, SIG_IGN);
  const int before = errno;
  if (raised->raise() && number == SIGINT && !takes_one) std::signal(SIGINT, SIG_DFL);
  errno = before;
}

}  // namespace

void raise_on_signals(InterruptSource& interrupt) {
  raised = &interrupt;
  end_waits_with(interrupt.fd());
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &before_us[SIGTERM]);
  sigaction(SIGINT, &action, &before_us[SIGINT]);
  // A lost ssh keeps what was measured, as SIGTERM does; nohup goes on.
  if (sigaction(SIGHUP, nullptr, &before_us[SIGHUP]) == 0 &&
      before_us[SIGHUP].sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
  action.sa_handler = SIG_IGN;
  action.sa_flags = 0;
  // A reader that has gone, a limit on a file's size: failures of a write(), no ends
  // of the program.
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);
  // An ignored SIGCHLD is inherited from the parent process. waitpid() would then not learn how our
  // children ended, and the kernel could reuse their pids at once.
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
}

void give_signal_back(int number) {
  sigaction(number, &before_us.at(number), nullptr);
}

void take_one_interrupt() {
  takes_one = true;
}

}  // namespace rdmameter
