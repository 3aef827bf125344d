// SPDX-License-Identifier: Apache-2.0
// What a check has found, for people: one screen, or one line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/check/judge.h"
#include "reports/text/text.h"

namespace rdmameter {

/// What --device all leaves out, or a peer that could be expected.
struct UnusablePort {
  std::string where;  ///< "mlx5_3/1", "the peer's mlx5_1"
  std::string why;    ///< "DOWN"
};

struct CheckReport {
  std::span<const CheckSubject> subjects;
  std::span<const CheckReading> readings;
  std::vector<CheckFinding> findings;
  std::vector<UnusablePort> unusable;
  std::vector<std::string> notes;  ///< "not judged: ...", "left out: ..."
  double elapsed_s = 0;
};

/// Is anything degraded or broken?
bool is_well(const CheckReport& report);

/// "degraded: mlx5_1 (7 devices, 52 s); not measured: mlx5_3/1 (DOWN)", or with reasons.
std::string check_line(const CheckReport& report, bool reasons);

/// A line for each device, the numbers, what was not judged, what to do, and the line of all.
std::string check_text(const CheckReport& report, const TextStyle& style);

}  // namespace rdmameter
