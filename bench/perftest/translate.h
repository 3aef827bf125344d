// SPDX-License-Identifier: Apache-2.0
// What a command line of perftest means here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/perftest/command_line.h"
#include "bench/perftest/notes.h"
#include "bench/perftest/report.h"
#include "core/session/responder.h"

namespace rdmameter {

inline constexpr std::uint16_t kPerftestPort = 18515;            ///< TCP, perftest's own
inline constexpr std::string_view kPerftestNullDevice = "null";  ///< the built-in one: no server
inline constexpr const char* kPerftestJson = "perftest_out.json";

/// The command line, and what it comes to.
struct PerftestPlan : PerftestCommand {
  std::vector<const Test*> tests;  ///< one
  std::vector<GivenAxis> axes;     ///< of the client
  OwnEnd own;                      ///< device, port, GID and core of this end; a server's GPU
  /// Of this end: where the server listens, or the client connects from; empty: every address, or
  /// its route's.
  std::string address;
  std::uint16_t port = kPerftestPort;
  PerftestReport report;
  bool warns_of_no_peak = false;  ///< perftest says that this end measures none
  std::string json;               ///< our result file; empty: none
  PerftestLimits limits;
  std::vector<std::string> notes;  ///< for stderr: what is not as in perftest
};

/// @throws UsageError  naming perftest's option, and what it accepts here
PerftestPlan translate(const PerftestCommand& command);

}  // namespace rdmameter
