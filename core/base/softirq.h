// SPDX-License-Identifier: Apache-2.0
// Time that all CPUs together have spent in software interrupts: where a software device's driver,
// and a network stack, do their work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rdmameter {

/// The time in softirqs from /proc/stat, in steps of the kernel's clock tick (10 ms as a rule).
/// @param proc  another tree, for tests
std::optional<std::uint64_t> softirq_ns(const std::filesystem::path& proc = "/proc");

/// Measures from its making on.
class SoftirqTime {
 public:
  std::optional<std::uint64_t> elapsed_ns() const {
    const auto now = softirq_ns();
    if (!begin_ || !now || *now < *begin_) return std::nullopt;
    return *now - *begin_;
  }

 private:
  std::optional<std::uint64_t> begin_ = softirq_ns();
};

}  // namespace rdmameter
