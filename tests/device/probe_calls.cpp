// SPDX-License-Identifier: Apache-2.0
// Preloaded into a server, it makes the system calls that a session is refused where the code of a
// client would run: in a session's process, as that listens for TCP traffic or looks for devices.
// The outcome is what the session says last.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cstdlib>
#include <iostream>

#include "tests/core/server/try_calls.h"

struct ibv_device;
// As verbs.h has it.
extern "C" ibv_device** ibv_get_device_list(int* count);

namespace {

void probe() {
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return;  // it is no session
  const std::string wrong = rdmameter::wrongly_allowed_calls() + rdmameter::wrongly_refused_calls();
  std::cerr << (wrong.empty() ? "each call is refused or allowed as the table says" : wrong)
            << std::endl;
  std::abort();
}

template <class Call>
Call* real(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int listen(int socket, int backlog) noexcept {
  probe();
  return real<int(int, int)>("listen")(socket, backlog);
}

extern "C" ibv_device** ibv_get_device_list(int* count) {
  probe();
  return real<ibv_device**(int*)>("ibv_get_device_list")(count);
}
