// SPDX-License-Identifier: Apache-2.0
// What of the machine itself spoils a measurement: CPUs, memory, clock, load.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "core/base/kernel_files.h"
#include "core/base/parse_value.h"
#include "core/doctor/examination.h"
#include "core/doctor/thresholds.h"

namespace rdmameter {
namespace {

std::filesystem::path cpu_folder(const Examination& examination, unsigned cpu) {
  return examination.trees.sysfs / fmt::format("devices/system/cpu/cpu{}", cpu);
}

bool check_governor(Examination& examination) {
  bool known = false;
  for (const unsigned cpu : usable_cpus(examination)) {
    const auto governor = read_line(cpu_folder(examination, cpu) / "cpufreq/scaling_governor");
    known = known || governor.has_value();
    if (!governor || *governor == "performance") continue;
    examination.warn(fmt::format("the frequency governor of CPU {} is {}: the CPU's speed "
                                 "changes while it measures",
                                 cpu, *governor),
                     "cpupower frequency-set -g performance");
    break;  // one finding; the remedy is for all CPUs
  }
  return known;
}

/// The deepest idle state of a CPU that is enabled, by its exit latency [us].
std::optional<std::int64_t> deepest_idle_us(const std::filesystem::path& cpu) {
  std::optional<std::int64_t> deepest;
  for (const std::filesystem::path& state : entries_of(cpu / "cpuidle")) {
    const auto exit_us = read_number(state / "latency");
    if (!exit_us || read_number(state / "disable").value_or(0) != 0) continue;
    deepest = std::max(deepest.value_or(0), *exit_us);
  }
  return deepest;
}

bool check_idle_states(Examination& examination) {
  bool known = false;
  for (const unsigned cpu : usable_cpus(examination)) {
    const auto exit_us = deepest_idle_us(cpu_folder(examination, cpu));
    known = known || exit_us;
    if (!exit_us || static_cast<double>(*exit_us) <= threshold("idle_exit_us")) continue;
    examination.warn(fmt::format("CPU {} may enter an idle state (C-state) that takes {} us to "
                                 "leave: it adds to the latency of a thread that waits for events",
                                 cpu, *exit_us),
                     fmt::format("cpupower idle-set -D {:.0f}", threshold("idle_exit_us")));
    break;
  }
  return known;
}

bool check_memlock(Examination& examination) {
  const auto limit = word_behind(examination.trees.proc / "self/limits", "Max locked memory");
  if (!limit) return false;
  const auto bytes = parse_count(*limit);  // or "unlimited"
  constexpr double kMebibyte = 1 << 20;
  const double least_bytes = threshold("memlock_mib") * kMebibyte;
  if (!bytes || static_cast<double>(*bytes) >= least_bytes ||
      has_capability(kCapIpcLock, examination.trees.proc / "self/status"))
    return true;
  examination.fail(fmt::format("this process may lock {} bytes of memory: larger buffers and "
                               "queues cannot be registered",
                               *bytes),
                   "ulimit -l unlimited (limits.conf: memlock; systemd: LimitMEMLOCK=infinity; "
                   "container: --ulimit memlock=-1)");
  return true;
}

bool has_huge_pages(const std::filesystem::path& sysfs) {
  for (const std::filesystem::path& size : entries_of(sysfs / "kernel/mm/hugepages"))
    if (read_number(size / "nr_hugepages").value_or(0) > 0) return true;
  return false;
}

bool check_huge_pages(Examination& examination) {
  const auto transparent =
      read_line(examination.trees.sysfs / "kernel/mm/transparent_hugepage/enabled");
  if (!transparent) return false;
  if (transparent->find("[never]") != std::string::npos && !has_huge_pages(examination.trees.sysfs))
    examination.warn(
        "no huge pages are reserved and transparent ones are off: large buffers "
        "miss in the address translation of CPU and device",
        "sysctl vm.nr_hugepages=512, and --memory huge");
  return true;
}

bool check_clock(Examination& examination) {
  const auto source = read_line(examination.trees.sysfs /
                                "devices/system/clocksource/clocksource0/current_clocksource");
  if (!source) return false;
  constexpr std::array<std::string_view, 5> kSlow{"hpet", "acpi_pm", "pit", "jiffies",
                                                  "refined-jiffies"};
  if (std::ranges::find(kSlow, *source) != kSlow.end())
    examination.warn(fmt::format("the kernel keeps time by {}, which is slow to read, and does "
                                 "not trust the CPU's counter",
                                 *source),
                     "find the reason in `dmesg | grep -i -e tsc -e clocksource`; "
                     "boot with tsc=reliable if the counter is sound");
  return true;
}

bool check_load(Examination& examination) {
  const auto line = read_line(examination.trees.proc / "loadavg");
  if (!line) return false;
  const double load = std::strtod(line->c_str(), nullptr);
  if (load > threshold("load"))
    examination.warn(fmt::format("the load of the last minute is {:.2f}: other processes take "
                                 "CPU time from the measurement",
                                 load),
                     "end or move other work; `--core N` pins to a CPU that is free");
  return true;
}

}  // namespace

std::vector<unsigned> usable_cpus(const Examination& examination) {
  return cpu_list(
      word_behind(examination.trees.proc / "self/status", "Cpus_allowed_list:").value_or(""));
}

std::vector<Check> host_checks() {
  return {{"governor", check_governor}, {"idle_states", check_idle_states},
          {"memlock", check_memlock},   {"huge_pages", check_huge_pages},
          {"clock", check_clock},       {"load", check_load}};
}

}  // namespace rdmameter
