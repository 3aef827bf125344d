// SPDX-License-Identifier: Apache-2.0
#include "core/log/print.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>

#include "core/base/patient_write.h"

namespace rdmameter {
namespace {

/// What was printed and is not written yet. Not stdio's: its write() waits for a reader for ever.
class Printed {
 public:
  void add(std::string_view text) noexcept {
    const std::lock_guard lock{mutex_};
    const bool line = text.find('\n') != text.npos && terminal_;
    while (!text.empty() && error_ == 0) {
      const std::size_t part = std::min(text.size(), buffer_.size() - used_);
      std::copy_n(text.data(), part, buffer_.data() + used_);
      used_ += part;
      text.remove_prefix(part);
      if (used_ == buffer_.size()) write_out();
    }
    if (line) write_out();
  }

  bool flush() noexcept {
    const std::lock_guard lock{mutex_};
    write_out();
    return error_ == 0;
  }

  int error() noexcept {
    const std::lock_guard lock{mutex_};
    return error_;
  }

 private:
  void write_out() noexcept {
    if (error_ == 0 && used_ > 0) error_ = write_patiently(STDOUT_FILENO, {buffer_.data(), used_});
    used_ = 0;
  }

  std::mutex mutex_;
  std::array<char, 1 << 16> buffer_;
  std::size_t used_ = 0;
  int error_ = 0;  ///< the first
  const bool terminal_ = isatty(STDOUT_FILENO) == 1;
};

Printed& printed() {
  static Printed all;
  return all;
}

}  // namespace

void print_text(std::string_view text) noexcept {
  printed().add(text);
}

bool flush_print() noexcept {
  return printed().flush();
}

int print_error() noexcept {
  return printed().error();
}

}  // namespace rdmameter
