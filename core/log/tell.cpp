// SPDX-License-Identifier: Apache-2.0
#include "core/log/tell.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "core/base/patient_write.h"

namespace rdmameter {
namespace {

std::atomic<TellSink*> sink{nullptr};

}  // namespace

void tell_text(std::string_view text) noexcept {
  if (TellSink* const taker = sink) {
    taker->told(text);
    return;
  }
  const int before = errno;  // the caller may still need the errno of its failure
  write_patiently(STDERR_FILENO, text);
  errno = before;
}

void TellSink::take_over() noexcept {
  sink = this;
}

void TellSink::give_back() noexcept {
  sink = nullptr;
}

}  // namespace rdmameter
