// SPDX-License-Identifier: Apache-2.0
#include "bench/running/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace rdmameter {

void occupy_standard_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() takes the lowest free number, which is this one.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace rdmameter
