// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/base/kernel_files.h"

namespace rdmameter {
namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

}  // namespace

Pinned::Pinned(std::optional<unsigned> cpu, std::string_view option) {
  if (!cpu) return;
  const cpu_set_t now = allowed();
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  if (*cpu < CPU_SETSIZE) CPU_SET(*cpu, &wanted);
  if (*cpu >= CPU_SETSIZE || sched_setaffinity(0, sizeof wanted, &wanted) != 0)
    throw UsageError(
        fmt::format("{} {}: there is no such CPU here, or this process may not use it; it "
                    "may run on {}",
                    option, *cpu, cpu_list_text(allowed_cpu_numbers())));
  before_ = now;
}

Pinned::~Pinned() {
  if (before_) sched_setaffinity(0, sizeof *before_, &*before_);
}

std::uint64_t allowed_cpus() {
  const cpu_set_t set = allowed();
  return static_cast<std::uint64_t>(std::max(CPU_COUNT(&set), 1));
}

std::vector<unsigned> allowed_cpu_numbers() {
  const cpu_set_t set = allowed();
  std::vector<unsigned> numbers;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) numbers.push_back(cpu);
  return numbers;
}

std::vector<LoopPlace> place_now() {
  LoopPlace place;
  if (getcpu(&place.cpu, &place.numa_node) != 0) return {};
  return {place};
}

}  // namespace rdmameter
