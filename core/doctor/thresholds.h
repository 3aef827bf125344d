// SPDX-License-Identifier: Apache-2.0
// The limits that the checks of `rdmameter doctor` compare with, each with its source.
#pragma once

#include <array>
#include <string_view>

namespace rdmameter {

struct Threshold {
  std::string_view name;  ///< ends in its unit
  double value;
  std::string_view source;
};

/// docs/doctor.md has them, too.
inline constexpr std::array kThresholds{
    Threshold{"idle_exit_us", 10,
              "C1E of Intel's servers; deeper states take 50 and more (Linux, intel_idle.c)"},
    Threshold{"memlock_mib", 64, "our choice: several times the buffers of 8 MiB messages"},
    Threshold{"load", 1, "our choice: more than one other runnable task"},
    Threshold{"numa_distance", 10, "the distance of a node to itself (ACPI, SLIT)"},
    Threshold{"infiniband_lanes", 4, "cables and ports are 4X (IBTA, volume 2)"},
    Threshold{"slot_share_of_link", 1, "a slot must carry at least the rate of the port"},
    Threshold{"objects_share", 0.9, "our choice: a run needs more than a few"},
    Threshold{"netdev_mtu_bytes", 4200, "4096 B of payload and RoCE v2's headers"},
};

/// @param name  one of the table; any other does not compile
consteval double threshold(std::string_view name) {
  for (const Threshold& row : kThresholds)
    if (row.name == name) return row.value;
  throw "no such threshold";
}

}  // namespace rdmameter
