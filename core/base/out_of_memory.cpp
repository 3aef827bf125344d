// SPDX-License-Identifier: Apache-2.0
#include "core/base/out_of_memory.h"

#include <algorithm>
#include <cstdio>

namespace rdmameter {
namespace {

constexpr std::size_t kMaxUserBytes = 60;
std::array<char, kMaxUserBytes + 1> memory_user{"rdmameter"};

}  // namespace

void set_memory_user(std::string_view who) noexcept {
  memory_user.fill('\0');
  std::copy_n(who.data(), std::min(who.size(), kMaxUserBytes), memory_user.begin());
}

OutOfMemory::OutOfMemory(std::size_t bytes) noexcept {
  const std::size_t mib = (bytes + (std::size_t{1} << 20) - 1) >> 20;
  std::snprintf(text_.data(), text_.size(), "out of memory: %zu MiB were asked for by %s", mib,
                memory_user.data());
}

}  // namespace rdmameter
