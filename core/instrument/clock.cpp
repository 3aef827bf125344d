// SPDX-License-Identifier: Apache-2.0
#include "core/instrument/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/base/kernel_files.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rdmameter {
namespace {

constexpr std::uint64_t kIntervalNs = 8'000'000;  // two of them, and a few hundred readings
constexpr int kBracketTries = 32;
constexpr int kReadings = 301;  // odd: the median is one of them
constexpr int kReadsPerReading = 8;

#if defined(__x86_64__)
constexpr bool kHasCounter = true;
constexpr std::string_view kKernelName = "tsc";
/// Intel SDM vol. 3, "Invariant TSC"; AMD APM vol. 2: CPUID 0x80000007, EDX bit 8.
bool counter_is_invariant() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8)) != 0;
}
#elif defined(__aarch64__)
constexpr bool kHasCounter = true;
constexpr std::string_view kKernelName = "arch_sys_counter";
/// Arm ARM, "The Generic Timer": the system counter runs at one rate whatever the CPU does.
bool counter_is_invariant() {
  return true;
}
#else
constexpr bool kHasCounter = false;
constexpr std::string_view kKernelName = "none";
bool counter_is_invariant() {
  return false;
}
#endif

bool kernel_keeps_time_by_counter() {
  return read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource") ==
         kKernelName;
}

/// Both clocks at one moment.
struct Moment {
  std::uint64_t raw_ns = 0, ticks = 0;
};

/// The tightest of several (raw, counter, raw) brackets: the counter is read in its middle, so an
/// interrupt or a migration between the two spoils only the try it falls into.
Moment read_both() {
  const KernelClock kernel;
  const CounterClock counter;
  Moment best;
  std::uint64_t tightest = UINT64_MAX;
  for (int i = 0; i < kBracketTries; ++i) {
    const std::uint64_t before = kernel.now();
    const std::uint64_t ticks = counter.now();
    const std::uint64_t width = kernel.now() - before;
    if (width >= tightest) continue;
    tightest = width;
    best = {.raw_ns = before + width / 2, .ticks = ticks};
  }
  return best;
}

/// Asleep: of many ranks on a few CPUs each calibrates.
void wait_until(std::uint64_t raw_ns) {
  for (std::uint64_t now = KernelClock{}.now(); now < raw_ns; now = KernelClock{}.now())
    std::this_thread::sleep_for(std::chrono::nanoseconds(raw_ns - now));
}

double rate(const Moment& from, const Moment& to) {
  return static_cast<double>(static_cast<std::int64_t>(to.ticks - from.ticks)) /
         static_cast<double>(to.raw_ns - from.raw_ns);
}

CalibrationFacts calibrate() {
  const Moment begin = read_both();
  wait_until(begin.raw_ns + kIntervalNs);
  const Moment middle = read_both();
  wait_until(middle.raw_ns + kIntervalNs);
  const Moment end = read_both();
  return {.has_counter = true,
          .first_ticks_per_ns = rate(begin, middle),
          .second_ticks_per_ns = rate(middle, end),
          .ticks_per_ns = rate(begin, end),
          .invariant = counter_is_invariant(),
          .kernel_uses_counter = kernel_keeps_time_by_counter()};
}

/// Cost of one reading: a few in a row, so that the clock's own resolution does not show, and the
/// median of many such rows, so that an interrupt does not either.
template <class Clock>
double reading_cost_ns(const Clock& clock) {
  std::array<double, kReadings> costs{};
  for (double& cost : costs) {
    const std::uint64_t begin = clock.now();
    std::uint64_t end = begin;
    for (int i = 0; i < kReadsPerReading; ++i) end = clock.now();
    cost = static_cast<double>(clock.to_ns(end - begin)) / kReadsPerReading;
  }
  std::ranges::nth_element(costs, costs.begin() + kReadings / 2);
  return costs[kReadings / 2];
}

}  // namespace

ClockChoice judge_calibration(const CalibrationFacts& facts) {
  ClockChoice choice;
  const auto keep_kernel = [&](std::string reason) {
    choice.reason = std::move(reason);
    return choice;
  };
  if (!facts.has_counter) return keep_kernel("this CPU has no counter that the program can read");

  const double first = facts.first_ticks_per_ns, second = facts.second_ticks_per_ns;
  if (!(first > 0 && second > 0 && facts.ticks_per_ns > 0))
    return keep_kernel("the CPU's counter stood still or ran backwards");
  const double disagreement_ppm = std::abs(second - first) / first * 1e6;
  if (!(disagreement_ppm <= kMaxDisagreementPpm))
    return keep_kernel(
        fmt::format("calibration of the CPU's counter did not settle: {:.6f} and {:.6f} ticks/ns "
                    "differ by {:.0f} ppm, more than {:.0f}",
                    first, second, disagreement_ppm, kMaxDisagreementPpm));
  if (!facts.invariant && !facts.kernel_uses_counter)
    return keep_kernel(
        "the CPU does not call its counter invariant and the kernel does not keep time by it");

  choice.kind = ClockChoice::Kind::counter;
  choice.ticks_per_ns = facts.ticks_per_ns;
  choice.error_ppm = disagreement_ppm;
  choice.counter.scale.multiplier =
      static_cast<std::uint64_t>(std::llround(0x1p32 / facts.ticks_per_ns));
  choice.reason = fmt::format("{}; both calibration intervals agree within {:.1f} ppm",
                              facts.invariant ? "the CPU calls its counter invariant"
                                              : "the kernel keeps time by the CPU's counter",
                              disagreement_ppm);
  return choice;
}

std::optional<double> resolution_ns(const ClockChoice& clock) {
  if (clock.kind != ClockChoice::Kind::counter) return std::nullopt;
  return 1 / clock.ticks_per_ns;
}

std::string clock_warning(const ClockChoice& clock) {
  const std::optional<double> tick_ns = resolution_ns(clock);
  if (!tick_ns || *tick_ns < kCoarseTick_ns) return {};
  return fmt::format(
      "the CPU's counter steps by {:.1f} ns, so a single latency is known to that; percentiles of "
      "short latencies fall on few values",
      *tick_ns);
}

ClockChoice choose_clock() {
  ClockChoice choice = judge_calibration(kHasCounter ? calibrate() : CalibrationFacts{});
  choice.read_ns = choice.kind == ClockChoice::Kind::counter ? reading_cost_ns(choice.counter)
                                                             : reading_cost_ns(KernelClock{});
  return choice;
}

}  // namespace rdmameter
