// SPDX-License-Identifier: Apache-2.0
// Makes each call that a session is refused, and some that it needs: for tests of the sandbox, from
// within.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "core/server/refused_calls.h"

namespace rdmameter {

/// With arguments that do no harm where it is not refused: -1 is no descriptor, no address and no
/// command. Where an argument names a process, that is the parent.
inline long make_call(const RefusedCall& call) {
  using When = RefusedCall::When;
  const bool of_process = call.when == When::not_zero || call.when == When::not_own_pid;
  long arguments[3]{-1, -1, -1};
  if (call.number == SYS_clone) arguments[1] = 0;  // the stack: the caller's
  if (call.number == SYS_setpriority)
    arguments[0] = PRIO_PROCESS, arguments[1] = 0,
    arguments[2] = getpriority(PRIO_PROCESS, getppid());
  if (call.when != When::always)
    arguments[call.argument] = of_process ? getppid() : static_cast<long>(call.value);
  errno = 0;
  const long result = syscall(call.number, arguments[0], arguments[1], arguments[2], -1, -1, -1);
  if (call.number == SYS_clone && result == 0) _exit(0);  // the child of one that was allowed
  return result;
}

/// @return  a line; empty: all is as it must be
inline std::string wrongly_allowed_calls() {
  std::string names;
  for (const RefusedCall& call : kRefusedCalls) {
    if (call.number < 0 || (make_call(call) == -1 && errno == call.error)) continue;
    names += std::string(names.empty() ? "not refused: " : ", ") + call.name;
  }
  return names;
}

/// What a session does to itself.
inline std::string wrongly_refused_calls() {
  std::string names;
  const auto make = [&names](const char* name, bool good) {
    if (!good)
      names += std::string(names.empty() ? "refused: " : ", ") + name + " " + std::strerror(errno);
  };
  rlimit limit{};
  make("prlimit", prlimit(0, RLIMIT_NOFILE, nullptr, &limit) == 0);
  make("setrlimit", setrlimit(RLIMIT_NOFILE, &limit) == 0);
  make("setpriority", setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)) == 0);
  cpu_set_t cpus;
  make("sched_setaffinity", sched_getaffinity(0, sizeof cpus, &cpus) == 0 &&
                                sched_setaffinity(0, sizeof cpus, &cpus) == 0);
  const sched_param none{};
  make("sched_setscheduler", sched_setscheduler(0, SCHED_OTHER, &none) == 0);
  make("kill", kill(getpid(), 0) == 0);
  make("tgkill", syscall(SYS_tgkill, getpid(), gettid(), 0) == 0);
  bool begun = false;
  try {
    std::thread{[&begun] { begun = true; }}.join();
  } catch (const std::exception&) {
  }
  make("a thread", begun);
  return names;
}

}  // namespace rdmameter
