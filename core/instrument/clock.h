// SPDX-License-Identifier: Apache-2.0
// The clocks a measured loop may read. The loop is instantiated for one of them; which one is
// decided, once, by choose_clock().
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <type_traits>

namespace rdmameter {

/// Converts ticks to nanoseconds: one multiply and one shift, no division.
struct TickScale {
  std::uint64_t multiplier = 1ULL << 32;  ///< [ns / tick, scaled by 2^32]
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
    __extension__ using uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<uint128>(ticks) * multiplier) >> 32);
  }
};

/// The CPU's own counter (x86: TSC, aarch64: virtual counter). Ordered: reads after everything
/// before it has executed (Intel SDM vol. 2, RDTSC: "LFENCE immediately before RDTSC"; Arm: ISB).
struct CounterClock {
  TickScale scale;
  std::uint64_t now() const noexcept {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks;
    asm volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
#else
    return 0;  // choose_clock() never picks it here
#endif
  }
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
    return scale.to_ns(ticks);
  }
  std::uint64_t to_ticks(std::uint64_t ns) const noexcept {  // set-up only: divides
    __extension__ using uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<uint128>(ns) << 32) / scale.multiplier);
  }
};

/// The kernel's CLOCK_MONOTONIC_RAW, where there is no counter to trust. One tick
/// is one nanosecond.
struct KernelClock {
  std::uint64_t now() const noexcept {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
  }
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept { return ticks; }
  std::uint64_t to_ticks(std::uint64_t ns) const noexcept { return ns; }
};

/// The outcome of choosing: which clock, and what is known of its error.
struct ClockChoice {
  enum class Kind { counter, kernel };
  Kind kind = Kind::kernel;
  CounterClock counter;  ///< of Kind::kernel its scale alone is valid: a tick is 1 ns
  double ticks_per_ns = 1.0;
  double error_ppm = 0.0;  ///< disagreement of the two calibration intervals [1e-6]
  double read_ns = 0.0;    ///< cost of one reading, median [ns]
  std::string reason;      ///< why this clock: for the result file and for people

  /// For set-up: a measured loop is made for one of the clocks.
  std::uint64_t now() const noexcept {
    return kind == Kind::counter ? counter.now() : KernelClock{}.now();
  }
  /// The clock of a loop that is made for it. The kernel's clock and others have no state.
  template <class Clock>
  Clock as() const noexcept {
    if constexpr (std::is_same_v<Clock, CounterClock>)
      return counter;
    else
      return {};
  }
};

/// Calibrates the CPU's counter against CLOCK_MONOTONIC_RAW over two intervals, and takes it when
/// the CPU calls it invariant (or the kernel keeps time by it) and both intervals agree; else the
/// kernel's clock. Takes about 20 ms; call it once per process. Never throws.
ClockChoice choose_clock();

// The decision behind choose_clock(), apart from the machine it is made for.

/// The facts about this machine's counter.
struct CalibrationFacts {
  bool has_counter = false;
  double first_ticks_per_ns = 0, second_ticks_per_ns = 0;  ///< of the two intervals
  double ticks_per_ns = 0;                                 ///< over both
  bool invariant = false;            ///< the CPU says that the rate never changes
  bool kernel_uses_counter = false;  ///< the kernel, which watches it, keeps time by it
};

/// An honest counter's intervals of 8 ms agree within some 10 ppm (a bracket of 100 ns); counters
/// that are emulated or follow the CPU's frequency miss by percents.
inline constexpr double kMaxDisagreementPpm = 200;

/// The counter where it can be trusted, else the kernel's clock; `reason` says why. read_ns is left
/// at 0.
ClockChoice judge_calibration(const CalibrationFacts& facts);

/// With a tick of this length or more, a latency of one microsecond has an error of 1 % or more.
inline constexpr double kCoarseTick_ns = 10;

/// How far apart two readings are at least if they differ [ns]: aarch64's counters often step by
/// 40 ns. Of the kernel's clock it is not known.
std::optional<double> resolution_ns(const ClockChoice& clock);

/// A warning about the clock for readers of latencies; empty: none.
std::string clock_warning(const ClockChoice& clock);

}  // namespace rdmameter
