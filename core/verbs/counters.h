// SPDX-License-Identifier: Apache-2.0
// A port's counters as the kernel shows them: retransmissions and RNR NAKs explain tails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rdmameter {

/// Counters by the driver's names. Two of one name (counters/ and hw_counters/) keep the latter.
using Counters = std::map<std::string, std::uint64_t>;

/// Every readable number under SYSFS/class/infiniband/DEVICE/ports/PORT/{counters,hw_counters} and
/// DEVICE/hw_counters; empty where the driver has none. One system call or two per counter: set-up
/// only. hw_counters are as old as the kernel's cache of them, by default up to 10 ms (`lifespan`).
/// (`lifespan` itself is not there: it is a setting.)
/// @param sysfs  another tree, for tests
Counters read_counters(std::string_view device, unsigned port_num,
                       const std::filesystem::path& sysfs = "/sys");

/// The changes between two readings: {"duplicate_request": 3, ...}, by name, without those that
/// stayed; an object even when nothing changed; null when there are no counters at all. A counter
/// that went down was reset, or stuck at its maximum: it is left out, for its difference
/// is not known.
nlohmann::ordered_json counter_differences(const Counters& before, const Counters& after);

}  // namespace rdmameter
