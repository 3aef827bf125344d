// SPDX-License-Identifier: Apache-2.0
#include "core/engine/affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/test_case/test_case.h"

namespace rdmameter {
namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

/// "0-3,8": as taskset(1) writes it.
std::string text(const cpu_set_t& set) {
  std::string list;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", first);
    if (last > first) list += fmt::format("-{}", last);
    first = last;
  }
  return list;
}

}  // namespace

Pinned::Pinned(std::uint64_t core, std::string_view option) {
  if (core == kAuto) return;
  const cpu_set_t now = allowed();
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  if (core < CPU_SETSIZE) CPU_SET(core, &wanted);
  if (core >= CPU_SETSIZE || sched_setaffinity(0, sizeof wanted, &wanted) != 0)
    throw UsageError(
        fmt::format("{} {}: there is no such CPU here, or this process may not use it; it "
                    "may run on {}",
                    option, core, text(now)));
  before_ = now;
}

Pinned::~Pinned() {
  if (before_) sched_setaffinity(0, sizeof *before_, &*before_);
}

std::uint64_t allowed_cpus() {
  const cpu_set_t set = allowed();
  return static_cast<std::uint64_t>(std::max(CPU_COUNT(&set), 1));
}

std::vector<std::uint64_t> allowed_cpu_numbers() {
  const cpu_set_t set = allowed();
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) numbers.push_back(cpu);
  return numbers;
}

std::optional<std::uint64_t> only_cpu() {
  const std::vector<std::uint64_t> numbers = allowed_cpu_numbers();
  return numbers.size() == 1 ? std::optional(numbers.front()) : std::nullopt;
}

}  // namespace rdmameter
