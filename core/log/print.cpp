// SPDX-License-Identifier: Apache-2.0
#include "core/log/print.h"

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace rdmameter {
namespace {

std::atomic<int> first_error{0};

void note_error() noexcept {
  int none = 0;
  first_error.compare_exchange_strong(none, errno == 0 ? EIO : errno);
}

}  // namespace

void print_text(std::string_view text) noexcept {
  if (first_error != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) note_error();
}

bool flush_print() noexcept {
  errno = 0;
  if (first_error == 0 && std::fflush(stdout) != 0) note_error();
  return first_error == 0;
}

int print_error() noexcept {
  return first_error;
}

}  // namespace rdmameter
