// SPDX-License-Identifier: Apache-2.0
#include "core/log/tell.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace rdmameter {
namespace {

std::atomic<TellSink*> sink{nullptr};

}  // namespace

void tell_text(std::string_view text) noexcept {
  if (TellSink* const taker = sink) {
    taker->told(text);
    return;
  }
  const int before = errno;  // told in the middle of a failure, of which somebody may want to know
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {  // whoever shares it has made it non-blocking
      pollfd stream{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      poll(&stream, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      break;
    }
  }
  errno = before;
}

void TellSink::take_over() noexcept {
  sink = this;
}

void TellSink::give_back() noexcept {
  sink = nullptr;
}

}  // namespace rdmameter
