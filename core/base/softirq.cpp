// SPDX-License-Identifier: Apache-2.0
#include "core/base/softirq.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace rdmameter {

std::optional<std::uint64_t> softirq_ns(const std::filesystem::path& proc) {
  std::ifstream stat(proc / "stat");
  std::string name;
  // cpu user nice system idle iowait irq softirq ... (proc(5))
  std::uint64_t skipped = 0, softirq = 0;
  stat >> name;
  for (int field = 0; field < 6; ++field) stat >> skipped;
  stat >> softirq;
  if (!stat || name != "cpu") return std::nullopt;
  const auto ticks_per_s = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return softirq * (1'000'000'000 / ticks_per_s);
}

}  // namespace rdmameter
