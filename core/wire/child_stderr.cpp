// SPDX-License-Identifier: Apache-2.0
#include "core/wire/child_stderr.h"

#include <unistd.h>

#include <array>
#include <string_view>

#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

/// A pipe's. One that is written to without end is left after so much.
constexpr std::size_t kCapacityBytes = 64 * 1024;

}  // namespace

ChildStderr::ChildStderr(std::pair<Descriptor, Descriptor> pipe)
    : readable_(std::move(pipe.first)), writable_(std::move(pipe.second)) {
  kept_.reserve(2 * kKeptBytes);  // take() allocates nothing
}

void ChildStderr::take() noexcept {
  std::array<char, kKeptBytes> bytes;
  for (std::size_t taken = 0; taken < kCapacityBytes;) {
    const ssize_t more = read(readable_.get(), bytes.data(), bytes.size());
    if (more <= 0) return;
    taken += static_cast<std::size_t>(more);
    kept_.append(bytes.data(), static_cast<std::size_t>(more));
    if (kept_.size() > kKeptBytes) kept_.erase(0, kept_.size() - kKeptBytes);
  }
}

std::vector<std::string> ChildStderr::lines() {
  take();
  std::vector<std::string> lines;
  for (const std::string_view line : split(kept_, "\n"))
    if (!line.empty()) lines.emplace_back(line);
  return lines;
}

}  // namespace rdmameter
